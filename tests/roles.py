"""Real processes of the three roles on loopback, for tests of whole sessions: a tiny model, its plan, certificates. A
World holds the stores of one case. Tap makes faults: it forwards bytes between two roles and acts at a chosen byte.
"""
import contextlib
import fcntl
import hashlib
import json
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

LIMIT = 16  # longest text of the tiny plan, in tokens
AMPLE = 60  # seconds that a loaded machine may take for milliseconds of work
PATIENT, HASTY = 20, 3  # --timeout in seconds: of most roles, and of a role whose time-out is the subject
FATES = {1: 'claimed', 2: 'done', 3: 'audited', 4: 'burnt', 6: 'told'}
LEDGER_HEADER, LEDGER_RECORD, FLOOR = 144, 64, 7  # bytes in suf/store/ledger.cpp, and the fate that records the spent serials


class Role:
    """A process whose stderr is read as it arrives."""

    def __init__(self, command, **options):
        self.begun = time.monotonic()
        self.process = subprocess.Popen([str(c) for c in command], **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options})
        self.err, self.out, self.seconds = [], b'', None
        self.readers = [threading.Thread(target=self.read_err), threading.Thread(target=self.read_out)]
        for r in self.readers:
            r.start()

    def read_err(self):
        for line in self.process.stderr or ():
            self.err.append(line.decode(errors='replace').rstrip('\n'))

    def read_out(self):
        self.out = self.process.stdout.read() if self.process.stdout else b''

    def port(self, seconds=AMPLE):
        """Returns the port of a listening role; raises if it ends instead."""
        line = self.said(r'listening on port (\d+)', seconds)
        assert line, f'it does not listen: {self.err}'
        return int(line[1])

    def said(self, pattern, seconds=AMPLE, since=0):
        """Waits for a matching line on stderr, after the first `since` lines; returns the match, or None."""
        end = time.monotonic() + seconds
        while True:
            over = self.process.poll() is not None
            if over:
                self.readers[0].join(AMPLE)  # its last lines
            for line in self.err[since:]:
                if found := re.search(pattern, line):
                    return found
            if over or time.monotonic() > end:
                return None
            time.sleep(0.01)

    def finish(self, seconds=2 * AMPLE):
        """Returns the exit code; raises if it still runs."""
        self.process.wait(seconds)
        self.seconds = time.monotonic() - self.begun
        for r in self.readers:
            r.join()
        return self.process.returncode

    def rows(self):
        return [json.loads(line) for line in self.out.decode().splitlines()]

    def signal(self, s):
        if self.process.poll() is None:
            self.process.send_signal(s)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.finish()

    def end(self):
        self.signal(signal.SIGTERM)
        self.finish()

    def stop(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)


class Tap:
    """Forwards connections to `port`. After `at` bytes from it ('down') or to it ('up') on one connection, it calls
    `then` once and goes on. With each, it does so on every connection.
    With flip, the next byte is altered. With cut, nothing more is forwarded, even if the sender has sent more."""

    def __init__(self, port, at, then=lambda: None, flip=False, way='down', cut=False, each=False):
        self.to, self.at, self.then, self.flip, self.way, self.cut, self.each, self.used = port, at, then, flip, way, cut, each, False
        self.passed = {'up': 0, 'down': 0}  # most bytes of one connection
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(('127.0.0.1', self.to))
            except OSError:
                near.close()
                continue
            for s in (near, far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise a flight takes 40 ms
            for way, a, b in (('up', near, far), ('down', far, near)):
                threading.Thread(target=self.pump, args=(way, a, b), daemon=True).start()

    def pump(self, way, source, sink):
        count = 0
        try:
            while data := source.recv(4096):
                if way == self.way and (not self.used or self.each) and count <= self.at < count + len(data):
                    self.used = True
                    here = self.at - count
                    sink.sendall(data[:here])
                    self.then()
                    if self.cut:
                        break
                    data = bytes([data[here] ^ (1 if self.flip else 0)]) + data[here + 1:]
                sink.sendall(data)
                count += len(data)
                self.passed[way] = max(self.passed[way], count)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for s in (source, sink):
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)  # close alone ends nothing while the other thread receives
                s.close()


ONLINE = 12_000  # bytes from the model owner: within the online frames of an inference that fetches no masked weights


class HeldRuns:
    """Inferences that stop inside their online part until go(). `port` stands for the model owner's `port`: there each
    connection is held, or the first one alone. Masked weights must have arrived before, or their bytes be in `at`."""

    def __init__(self, port, at=ONLINE, each=False):
        self.reached, self.going = threading.Semaphore(0), threading.Event()
        self.port = Tap(port, at, self.wait, each=each).port

    def wait(self):
        self.reached.release()
        self.going.wait()

    def arrived(self, *processes):
        """Waits until an inference of each process is held; returns whether they all are."""
        end = time.monotonic() + AMPLE
        for _ in processes:
            while not self.reached.acquire(timeout=0.1):
                if time.monotonic() > end or any(p.process.poll() is not None for p in processes):
                    return False
        return True

    def go(self):
        self.going.set()


def context(own, server):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_REQUIRED
    c.load_cert_chain(own / 'cert.pem', own / 'key.pem')
    c.load_verify_locations(own / 'ca.pem')
    return c


class Between:
    """Terminates TLS on both sides, with certificates of both roles, and passes every byte on. `act` may alter or
    keep the far side's bytes."""

    def __init__(self, port, as_server, as_client, act=lambda data: data):
        self.listener, self.to, self.act, self.passed = socket.create_server(('127.0.0.1', 0)), port, act, 0
        self.port = self.listener.getsockname()[1]
        self.contexts = context(as_server, True), context(as_client, False)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        near = self.contexts[0].wrap_socket(self.listener.accept()[0], server_side=True)
        far = self.contexts[1].wrap_socket(socket.create_connection(('127.0.0.1', self.to)))
        try:
            while True:
                ready = [s for s in (near, far) if s.pending()] or select.select([near, far], [], [])[0]
                for s in ready:
                    s.setblocking(False)
                    try:
                        data = s.recv(1 << 16)
                    except ssl.SSLWantReadError:
                        continue
                    finally:
                        s.setblocking(True)
                    if not data:
                        return
                    (far if s is near else near).sendall(self.act(data) if s is far else data)
                    self.passed += len(data)
        except OSError:
            pass
        finally:
            near.close(), far.close()


FIXED = [x for segment in ('softmax', 'scores', 'square', 'pieces') for x in ('--set', segment + '=1')]  # if choosing is not the subject
AHEAD = ('--keys', 'ahead')
ONE = ('--profile', 'lan', *AHEAD)  # one variant, if variants are not the subject
PLANS = {'plan': (LIMIT, *ONE), 'other': (LIMIT - 1, *ONE, *FIXED), 'both': (LIMIT, '--profile', 'lan,wan', *AHEAD)}  # both: one plan of two variants


class Base:
    """The data that all cases share: program, model, plans, certificates. Model and plans take a minute of search.
    So they are made once for a program, beside it, and copied."""

    def __init__(self, program, folder):
        self.program, self.folder = pathlib.Path(program).resolve(), pathlib.Path(folder)
        self.model, self.certs, self.strangers = self.folder / 'model', self.folder / 'certs', self.folder / 'strangers'
        self.plan, self.other_plan, self.both = (self.folder / f'{name}.json' for name in PLANS)
        self.function = self.folder / 'function.plan'  # max(x, 0) of P1's x, to P1
        self.gates = self.folder / 'gates.plan'  # the same, and its product with P0's v
        made = self.program.parent / 'tiny'
        digest = hashlib.sha256(self.program.read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()
        with open(self.program.parent / 'tiny.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (made / 'of').is_file() or (made / 'of').read_text() != digest:
                shutil.rmtree(made, ignore_errors=True)
                self.make(made)
                (made / 'of').write_text(digest)
            shutil.copytree(made, self.folder, dirs_exist_ok=True)
        self.words = self.words_of(self.model)
        self.suf('certs', self.certs)
        self.suf('certs', self.strangers)

    def words_of(self, model):
        return [w for w in (model / 'vocab.txt').read_text().split() if w.isalpha() and w.isascii()]

    def make(self, folder):
        folder.mkdir()
        self.suf('model', 'random', '--preset', 'tiny', '--seed', 1, '--out', folder / 'model')
        words, r = self.words_of(folder / 'model'), random.Random(1)
        calibration = [' '.join(r.choice(words) for _ in range(r.randint(1, LIMIT - 2))) for _ in range(160)]
        (folder / 'calibrate.txt').write_text('\n'.join(calibration) + '\n')
        for name, (limit, *flags) in PLANS.items():
            self.suf('compile', '--model', folder / 'model', '--calibrate', folder / 'calibrate.txt', '--max-tokens', limit, *flags,
                     '--out', folder / f'{name}.json')
        self.suf('fn', 'plan', 'relu', '--out', folder / 'function.plan')
        (folder / 'product.gates').write_text('x = input p1 32:12 [n]\nv = input p0 8:0\ny = relu(x)\nz = multiply(y, v)\noutput y -> p1\noutput z -> p1\n')
        self.suf('gate', 'plan', folder / 'product.gates', '--out', folder / 'gates.plan')

    def text(self, tokens, seed=0):
        """Returns a text of exactly `tokens` tokens, [CLS] and [SEP] included."""
        r = random.Random(seed)
        return ' '.join(r.choice(self.words) for _ in range(tokens - 2))

    def suf(self, *args):
        """Runs a command that must succeed; returns its stdout."""
        run = subprocess.run([str(a) for a in (self.program, *args)], capture_output=True)
        assert run.returncode == 0, f'suf {args} ended with {run.returncode}: {run.stderr.decode()}'
        return run.stdout.decode()

    def simulate(self, texts, *flags):
        """Returns the simulator's y of each text; flags choose another plan or a variant."""
        lines = '\n'.join(json.dumps({'text': t}) for t in texts) + '\n'
        plan = () if '--plan' in flags else ('--plan', self.plan)
        run = subprocess.run([self.program, 'simulate', '--model', self.model, *plan, *flags, '--json', '--json-file', '/dev/stdin'],
                             input=lines.encode(), capture_output=True, check=True)
        return [json.loads(line)['y'] for line in run.stdout.decode().splitlines()]


class World:
    """One case: a folder of its own with stores and the dealer's state. `under` is a command that runs the roles,
    such as valgrind."""

    def __init__(self, base, name, under=()):
        self.under, self.base, self.dir = under, base, base.folder / re.sub(r'\W+', '-', name)
        self.dir.mkdir()
        self.roles, self.dealer, self.server = [], None, None
        self.ahead = None  # bundles that the dealer offers and both parties request
        self.past = {}  # of ledgers, because a starting party forgets finished serials

    def role(self, *command, **options):
        self.roles.append(Role((*self.under, self.base.program, *command), **options))
        return self.roles[-1]

    def command(self, name, defaults, given):
        """Returns the words of a command, with flags from keywords. None drops a flag, True gives it alone, a list
        repeats it."""
        if 'store' in defaults:
            self.fates(pathlib.Path({**defaults, **given}['store']).name)
        flags = {**defaults, 'timeout': PATIENT, **given}
        out = name.split()
        for flag, value in flags.items():
            for v in value if isinstance(value, list) else [value]:
                if v is not None:
                    out += ['--' + flag] + ([] if v is True else [v])
        return out

    def deal(self, process={}, **flags):
        defaults = {'plan': self.base.plan, 'certs': self.base.certs, 'listen': '127.0.0.1:0', 'state': self.dir / 'state'}
        self.ahead = flags.get('count')
        self.dealer = self.role(*self.command('deal', defaults, flags), **process)
        return self.dealer

    def serve(self, process={}, dealer=None, **flags):
        dealer = dealer or self.dealer.port()
        defaults = {'plan': self.base.plan, 'model': self.base.model, 'certs': self.base.certs, 'dealer': f'127.0.0.1:{dealer}',
                    'listen': '127.0.0.1:0', 'store': self.dir / 'model', 'ahead': self.ahead}
        self.server = self.role(*self.command('serve', defaults, flags), **process)
        return self.server

    def embed(self, text='the dog', process={}, dealer=None, connect=None, **flags):
        dealer, connect = dealer or self.dealer.port(), connect or self.server.port()
        defaults = {'plan': self.base.plan, 'vocab': self.base.model / 'vocab.txt', 'certs': self.base.certs, 'json': True,
                    'dealer': f'127.0.0.1:{dealer}', 'connect': f'127.0.0.1:{connect}', 'store': self.dir / 'data', 'ahead': self.ahead,
                    'parallel': 1}  # one session, if several are not the subject
        return self.role(*self.command('embed', defaults, flags), *([] if text is None else ['--', text]), **process)

    AHEAD = {'tokens': 8, 'count': 30}  # the dealer's bundles, for two long sessions
    BIG = ()  # arguments of embed for frames of 20 kB

    def long_texts(self):
        return [self.base.text(8, seed) for seed in range(14)]

    def long(self, **flags):
        """Starts a session that takes a while, with the bundles of AHEAD."""
        if not (path := self.dir / 'texts').exists():  # another process may be reading it
            path.write_text('\n'.join(self.long_texts()) + '\n')
        return self.embed(None, file=path, **flags)

    def long_expected(self):
        """Returns the y of each row of that session."""
        return self.base.simulate(self.long_texts())

    def both(self, **flags):
        """Starts dealer and model owner, listening."""
        self.deal(**flags).port()
        self.serve().port()

    def lanes(self, store):
        """Returns the folders of a store's lanes."""
        return sorted([*(self.dir / store).glob('lanes/*'), *(self.dir / store).glob('owners/*/*')])

    def lane(self, store):
        """Returns the folder of a store's only lane."""
        lane, = self.lanes(store)
        return lane

    def records(self, store):
        """Returns [(serial, number of its fate)] of the ledgers of a store's lanes as they are. No two share a serial."""
        files = [lane / 'ledger' for lane in self.lanes(store)]
        each = [path.read_bytes()[LEDGER_HEADER:] if path.is_file() else b'' for path in files]
        return [struct.unpack_from('<QI', data, at) for data in each for at in range(0, len(data) - LEDGER_RECORD + 1, LEDGER_RECORD)]

    def fates(self, store):
        """Returns {serial: fate} of a store, including those that its ledger has forgotten since this case began."""
        past = self.past.setdefault(store, {})
        past.update({serial: FATES[fate] for serial, fate in self.records(store) if fate in FATES})
        return past

    def floor(self, store):
        """Returns the serial up to which all are spent."""
        return max((serial for serial, fate in self.records(store) if fate in FATES or fate == FLOOR), default=0)

    def spent(self, *serials):
        """Asserts that these serials are unusable in both stores: burnt, or never claimed and below a claimed one."""
        for store in ('model', 'data'):
            fates = self.fates(store)
            for s in serials:
                assert fates.get(s) in ('burnt', None) and self.floor(store) > s, f'serial {s} in the {store} store: {fates}'

    def result(self, row):
        """Returns the result in the row of an inference."""
        return row['y']

    def expected(self, text='the dog'):
        """Returns the result that the row of an inference must have."""
        return self.base.simulate([text])[0]

    def works(self, *texts, **flags):
        """Runs an inference, which must succeed and equal the simulator. A role that is gone is started again."""
        if not self.dealer or self.dealer.process.poll() is not None:
            self.deal().port()
            if self.server and self.server.process.poll() is None:
                self.server.signal(signal.SIGTERM)
                self.server.finish()
        if not self.server or self.server.process.poll() is not None:
            self.serve().port()
        e = self.embed(*texts, **flags)
        assert e.finish() == 0, f'the next inference failed: {e.err}'
        row = e.rows()[0]
        assert self.result(row) == self.expected(*texts), 'the next inference differs from the simulator'
        serial = row['serial']
        server = lambda: self.fates('model').get(serial)
        end = time.monotonic() + AMPLE  # the model owner books its end after the data owner has the result
        while server() != 'done' and time.monotonic() < end:
            time.sleep(0.01)
        assert self.fates('data')[serial] == 'done' and server() == 'done', 'the next serial is not done in both ledgers'
        return row

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for r in self.roles:
            r.go_on()
            r.kill()

    def bundles(self, store):
        return sorted((path for lane in self.lanes(store) for path in (lane / 'bundles').iterdir()), key=lambda path: path.name)


class FunctionWorld(World):
    """The same with a function, the rectifier of P1's numbers. The parties are `fn serve` and `fn ask`. Names are
    World's, so that a case can run in both."""
    AHEAD, BIG, LONG = {}, (20_000,), 100_000
    COMMAND, INPUT = 'fn', ''  # the command, and the words before the file of --values

    def numbers(self, count):
        r = random.Random(count)
        return [r.randrange(-2**20, 2**20) for _ in range(count)]

    def deal(self, process={}, **flags):
        return super().deal(process, **{'plan': self.plan(), **flags})

    def plan(self):
        return self.base.function

    def serve(self, process={}, dealer=None, **flags):
        dealer = dealer or self.dealer.port()
        defaults = {'plan': self.plan(), 'certs': self.base.certs, 'dealer': f'127.0.0.1:{dealer}', 'listen': '127.0.0.1:0',
                    'store': self.dir / 'model', 'ahead': self.ahead}
        self.server = self.role(*self.command(f'{self.COMMAND} serve', defaults, flags), **process)
        return self.server

    def embed(self, count=8, process={}, dealer=None, connect=None, **flags):
        """Runs P1 with `count` numbers."""
        dealer, connect = dealer or self.dealer.port(), connect or self.server.port()
        if not (values := self.dir / f'{count}.values').exists():  # another process may be reading it
            values.write_text(''.join(f'{v}\n' for v in self.numbers(count)))
        defaults = {'plan': self.plan(), 'values': f'{self.INPUT}{values}', 'certs': self.base.certs, 'json': True, 'dealer': f'127.0.0.1:{dealer}',
                    'connect': f'127.0.0.1:{connect}', 'store': self.dir / 'data', 'ahead': self.ahead}
        return self.role(*self.command(f'{self.COMMAND} ask', defaults, flags), **process)

    def long(self, **flags):
        return self.embed(self.LONG, **flags)

    def long_expected(self):
        return [self.expected(self.LONG)]

    def expected(self, count=8):
        return [[max(v, 0)] for v in self.numbers(count)]


class GateWorld(FunctionWorld):
    """The same with a composition of gates: the rectifier, and its product with a number of P0. The parties are
    `gate serve` and `gate ask`."""
    COMMAND, INPUT, V = 'gate', 'x=', -3

    def plan(self):
        return self.base.gates

    def serve(self, process={}, dealer=None, **flags):
        v = self.dir / 'v.values'
        v.write_text(f'{self.V}\n')
        return super().serve(process, dealer, **{'values': f'v={v}', **flags})

    def result(self, row):
        return [[y, z] for y, z in zip(row['outputs']['y'], row['outputs']['z'], strict=True)]

    def expected(self, count=8):
        return [[max(x, 0), self.V * max(x, 0)] for x in self.numbers(count)]


def read_safetensors(path):
    """-> (header, data)."""
    raw = pathlib.Path(path).read_bytes()
    n, = struct.unpack_from('<Q', raw)
    return json.loads(raw[8:8 + n]), raw[8 + n:]


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack('<Q', len(text)) + text + data)


def read_record(path):
    """-> [(sent, peer, kind, sequence, payload)] of a --record file."""
    raw, at, frames = pathlib.Path(path).read_bytes(), 8, []
    assert raw[:8] == b'SUFREC2\n'
    while at < len(raw):
        sent, peer, length, kind, sequence = struct.unpack_from('<BBIHH', raw, at)
        frames.append((sent, peer, kind, sequence, raw[at + 10:at + 10 + length]))
        at += 10 + length
    return frames
