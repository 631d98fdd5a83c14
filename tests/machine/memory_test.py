#!/usr/bin/env python3
"""Searches the memory of live processes. After a run, even a failed one, no role holds its keys, seeds, pair secrets,
key bodies or token ids. After a call of a function, no process holds its keys, seeds, pair secrets or key bodies.
An idle session takes little memory, and a running inference the bytes of its estimate.

  memory_test.py SUF PACKAGES     PACKAGES: the folder with suf/; as root, which may read the roles' memory; needs
                                  numpy; about half a minute

The values are known. Preprocessed bundles are on disk before they are claimed, and `suf tokenize` prints the ids. Seeds
are written as they are drawn (tests/faults/random.c). Each scan must also find a value that the process rightly holds,
as proof that it would find the others.
"""
import fcntl
import hashlib
import itertools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import FunctionWorld, HeldRuns, Tap, World
from rows import each

HEADER, TAG, AHEAD = 384, 16, 4  # bytes, bytes, bundles
SLOW = 60  # seconds, because no time-out is the subject here
TOKENS, OTHER = 8, 12  # of texts with preprocessed bundles, and of others


class Bundle:
    """The contents of a preprocessed bundle's file."""

    def __init__(self, path):
        raw = path.read_bytes()
        assert struct.unpack_from('<I', raw)[0] == HEADER + 32
        header, self.key = raw[4:4 + HEADER], raw[4 + HEADER:36 + HEADER]
        self.serial, = struct.unpack_from('<Q', header, 32)
        self.seed_hash = header[HEADER - 160:HEADER - 128], header[HEADER - 128:HEADER - 96]
        self.pair, self.body, at = header[-32:], b'', 4 + HEADER + 64
        while at < len(raw):
            n, = struct.unpack_from('<I', raw, at)
            self.body += raw[at + 4 + TAG:at + 4 + n]
            at += 4 + n
        self.words = windows(self.body)


def memory(pid):
    """Returns all writable memory of a process, read while it is stopped."""
    os.kill(pid, 19)
    try:
        regions = re.findall(r'^(\w+)-(\w+) rw', pathlib.Path(f'/proc/{pid}/maps').read_text(), re.M)
        with open(f'/proc/{pid}/mem', 'rb', buffering=0) as f:
            out = []
            for begin, end in ((int(a, 16), int(b, 16)) for a, b in regions):
                f.seek(begin)
                while begin < end and (piece := f.read(end - begin)):
                    out.append(piece)
                    begin += len(piece)
            return b''.join(out)
    finally:
        os.kill(pid, 18)


def windows(body):
    """Returns every 8 consecutive bytes of a body, as numbers, sorted."""
    return np.sort(np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(np.frombuffer(body, np.uint8), 8)).view('<u8').ravel())


def shares(mem, body, words):
    """Whether any 32 consecutive bytes of a key body are anywhere in memory. If so, three aligned words match."""
    aligned = np.frombuffer(mem[:len(mem) // 8 * 8], '<u8')
    there, some = np.zeros(len(aligned), bool), np.flatnonzero(aligned)
    there[some] = words[np.minimum(np.searchsorted(words, aligned[some]), len(words) - 1)] == aligned[some]
    for at in np.flatnonzero(there[:-2] & there[1:-1] & there[2:]):
        piece = mem[8 * int(at):8 * int(at) + 24]
        if len(set(piece)) > 8 and piece in body:  # runs of zeros are no key
            return True
    return False


def forms(ids):
    """Returns runs of token ids in every form in which the program may hold them."""
    return [struct.pack(f'<5{t}', *ids[i:i + 5]) for t in 'HiqI' for i in range(1, len(ids) - 5)]


def left(pid, secrets):
    """Returns the names of secrets found in the process's memory; secrets: {name: values, or the Bundle of a body}."""
    mem = memory(pid)
    return {name for name, s in secrets.items() if (shares(mem, s.body, s.words) if isinstance(s, Bundle) else any(v in mem for v in s))}


def holds(role, secrets, *want):
    """Asserts which of these secrets the role's memory holds: the wanted ones, and no other."""
    found = left(role.process.pid, secrets)
    assert found == set(want), f'{found} where {want} was expected'


class Case:
    """Roles whose random draws are written down, with bundles for TOKENS tokens or values, AHEAD at a time."""

    def drawn(self, role):
        library = self.base.program.parent / 'tests' / 'faults' / 'libdrawn_random.so'
        assert library.exists(), f'{library} is not built'
        return {'env': {**os.environ, 'LD_PRELOAD': str(library), 'SUF_DRAWN': str(self.dir / f'{role}.drawn')}}

    def draws(self, role):
        return [bytes.fromhex(line) for line in (self.dir / f'{role}.drawn').read_text().split()]

    def begin(self):
        """Starts P0 and the dealer, and leaves bundles 2 to AHEAD in the stores."""
        self.deal(tokens=TOKENS, count=AHEAD, timeout=15, process=self.drawn('deal')).port()
        self.serve(timeout=SLOW, process=self.drawn('serve')).port()
        e = self.embed(self.usual(), timeout=SLOW, process=self.drawn('embed'))
        assert e.finish() == 0, e.err
        bundles = {store: {b.serial: b for b in map(Bundle, self.bundles(store))} for store in ('model', 'data')}
        assert set(bundles['model']) == set(bundles['data']) == set(range(2, AHEAD + 1))
        return bundles

    def ids(self, text):
        (self.dir / 'text').write_text(text + '\n')
        return json.loads(self.base.suf('tokenize', '--model', self.base.model, '--json', '--file', self.dir / 'text'))['ids']

    def done(self, fate, serial):
        end = time.monotonic() + SLOW
        while self.fates('model').get(serial) != fate and time.monotonic() < end:
            time.sleep(0.01)
        assert self.fates('model').get(serial) == fate, self.fates('model')


class ModelCase(Case, World):
    def usual(self):
        return self.base.text(TOKENS)


class FunctionCase(Case, FunctionWorld):
    def usual(self):
        return TOKENS


def of(name, bundle):
    """Returns the secrets of one party's bundle."""
    return {f'K of {name}': [bundle.key], f'body of {name}': bundle, f'pair of {name}': [bundle.pair]}


def seed(w, role, seed_hash, b_seed):
    """Returns the draw that was the session seed of a role."""
    found = [d for d in w.draws(role) if hashlib.sha256(d + b_seed).digest() == seed_hash]
    assert len(found) == 1
    return found


def planted(base, _):
    """A scan finds a key body, a key and ids wherever they are in a process."""
    body, key = os.urandom(4096), os.urandom(32)
    bundle = Bundle.__new__(Bundle)
    bundle.body, bundle.words = body, windows(body)
    ids = list(range(700, 700 + 9 * 13, 13))
    program = 'import sys; held = bytearray(sys.stdin.buffer.read()); print(len(held), flush=True); import time; time.sleep(600)'
    for secret, there in ((bundle, body[1001:1033 + 5]), ([key], key), (forms(ids), struct.pack('<9q', *ids))):
        for noise, held in itertools.product((b'', b'abc'), (False, True)):
            with subprocess.Popen([sys.executable, '-c', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
                p.stdin.write(noise + (there if held else bytes(len(there))))
                p.stdin.close()
                p.stdout.readline()
                found = left(p.pid, {'it': secret})
                p.kill()
            assert (found == {'it'}) == held, (found, held)


def after_a_run(base, _):
    """After a run P0, P1 and the dealer hold secrets of the future, but none of the run."""
    with ModelCase(base, 'run') as w:
        bundles = w.begin()
        b_seed = (w.dir / 'model' / 'b.seed').read_bytes()
        seeds = {'seed of P0': seed(w, 'serve', bundles['model'][2].seed_hash[0], b_seed + bytes(32)),
                 'seed of P1': seed(w, 'embed', bundles['data'][2].seed_hash[1], bytes(64))}
        texts = [base.text(TOKENS, 7), base.text(OTHER, 8)]
        first, second = ({name: forms(w.ids(t))} for name, t in zip(('ids of the run', 'ids to come'), texts))
        (w.dir / 'texts').write_text('\n'.join(texts) + '\n')
        # The dealer has dealt all bundles.
        dealt = {k: v for p in ('model', 'data') for k, v in of(f'bundle {AHEAD} of {p}', bundles[p][AHEAD]).items()}
        hashes = {'a fingerprint': [bytes.fromhex(w.dealer.said(r'our key is dealer=(\w+)')[1])]}
        holds(w.dealer, {**dealt, **seeds, 'seed of B': [b_seed], **hashes}, 'a fingerprint')
        # The second text waits for keys that do not come. The dealer is stopped in their delivery, after it has
        # witnessed bundle 2.
        dealer = Tap(w.dealer.port(), 5000, w.dealer.stop).port
        with open(w.dir / 'out', 'wb') as out:
            e = w.embed(None, file=w.dir / 'texts', timeout=SLOW, dealer=dealer, process={**w.drawn('embed'), 'stdout': out})
            end = time.monotonic() + SLOW
            while not (w.dir / 'out').read_bytes().endswith(b'}\n'):
                assert time.monotonic() < end and e.process.poll() is None, e.err
                time.sleep(0.01)
        w.done('done', 2)
        used = [of('2', bundles[p][2]) for p in ('model', 'data')]
        ahead = {'pair to come': [bundles['data'][3].pair]}
        both = {**seeds, **first, **second, **ahead, 'seed of B': [b_seed]}
        holds(e, {**used[1], **both}, 'ids to come', 'pair to come')
        holds(w.server, {**used[0], **both}, 'pair to come', 'seed of B')


def after_a_failure(base, _):
    """P0 and the dealer after a run that P1 aborts, and after a delivery that never arrives."""
    with ModelCase(base, 'failure') as w:
        bundles = w.begin()
        b_seed = (w.dir / 'model' / 'b.seed').read_bytes()
        row = w.embed(base.text(TOKENS), timeout=SLOW)
        assert row.finish() == 0, row.err
        sent = row.rows()[0]['bytes']
        begun = len(w.server.err)
        broken = w.embed(base.text(TOKENS), timeout=SLOW, connect=Tap(w.server.port(), sent['p1_offline'] + sent['p1'] // 2, way='up',
                                                                  then=lambda: broken.signal(9)).port)
        assert broken.finish() == -9
        assert w.server.said('a session ended', SLOW, since=begun)
        w.done('burnt', 3)
        keys = {k: v for s in (2, 3) for k, v in of(str(s), bundles['model'][s]).items()}
        there = {'pair to come': [bundles['model'][4].pair], 'seed of B': [b_seed]}
        holds(w.server, {**keys, **there}, *there)
        # P0 has no dealer any more, so P1 requests a bundle alone, in vain.
        w.server.end()
        w.serve(timeout=SLOW, dealer=1).port()
        (w.dir / 'embed.drawn').unlink()
        lone = w.embed(base.text(OTHER), timeout=SLOW, process=w.drawn('embed'))
        assert lone.finish() == 3, lone.err
        assert w.dealer.said('hung up before the request of the other party|ended the', SLOW)
        seeds = {f'draw {i}': [d] for i, d in enumerate(w.draws('embed'))}
        assert len(seeds) > 0
        holds(w.dealer, {**keys, **seeds, 'seed of B': [b_seed]})
        holds(w.server, {**keys, **there}, *there)


def after_a_call(base, _):
    """After a call of a function P0, P1 and the dealer hold nothing of it but P1's result."""
    with FunctionCase(base, 'call') as w:
        bundles = w.begin()
        b_seed = (w.dir / 'model' / 'b.seed').read_bytes() if (w.dir / 'model' / 'b.seed').exists() else bytes(32)
        seeds = {'seed of P0': seed(w, 'serve', bundles['model'][2].seed_hash[0], b_seed + bytes(32)),
                 'seed of P1': seed(w, 'embed', bundles['data'][2].seed_hash[1], bytes(64))}
        dealt = {k: v for p in ('model', 'data') for k, v in of(f'bundle {AHEAD} of {p}', bundles[p][AHEAD]).items()}
        hashes = {'a fingerprint': [bytes.fromhex(w.dealer.said(r'our key is dealer=(\w+)')[1])]}
        holds(w.dealer, {**dealt, **seeds, **hashes}, 'a fingerprint')
        # P1's stdout is not read, and its pipe is full. The call is over when the file of times has a line; P1 is still
        # running.
        reading, writing = os.pipe()
        os.write(writing, bytes(fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)))
        (w.dir / 'embed.drawn').unlink()
        e = w.embed(TOKENS, timeout=SLOW, times=w.dir / 'times', process={**w.drawn('embed'), 'stdout': writing})
        os.close(writing)
        end = time.monotonic() + SLOW
        while not (w.dir / 'times').exists() or not (w.dir / 'times').read_bytes().endswith(b'\n'):
            assert time.monotonic() < end and e.process.poll() is None, e.err
            time.sleep(0.01)
        w.done('done', 2)
        used = [of('2', bundles[p][2]) for p in ('model', 'data')]
        drawn = {f'draw {i}': [d] for i, d in enumerate(w.draws('embed'))}
        assert drawn
        result = {'result': [json.dumps(w.expected(TOKENS), separators=(',', ':')).encode()]}  # in the row that waits
        holds(e, {**used[1], **seeds, **drawn, **result}, 'result')
        holds(w.server, {**used[0], **used[1], **seeds, **drawn, **result, 'pair to come': [bundles['data'][3].pair]}, 'pair to come')
        os.close(reading)


def after_a_call_of_python(base, packages):
    """A Python process that has embedded holds its result, but no key, seed or token ids of the run."""
    with ModelCase(base, 'python') as w:
        bundles = w.begin()
        text, (result,) = base.text(TOKENS, 7), base.simulate([base.text(TOKENS, 7)])
        script = f"""
import suf, sys
m = suf.Encoder(connect="127.0.0.1:{w.server.port()}", dealer="127.0.0.1:{w.dealer.port()}", certs="{base.certs}", store="{w.dir}/data",
                plan="{base.plan}", vocab="{base.model}/vocab.txt", parallel=1)
v = m.encode(sys.stdin.readline().strip())
scale = m.last.scales[0]
print("done", flush=True)
sys.stdin.read()
"""
        drawn = w.drawn('python')
        drawn['env']['PYTHONPATH'] = packages
        with subprocess.Popen([sys.executable, '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **drawn) as p:
            print(text, file=p.stdin, flush=True)
            assert p.stdout.readline() == 'done\n'
            w.done('done', 2)
            seeds = {f'draw {i}': [d] for i, d in enumerate(w.draws('python'))}
            assert seeds
            secrets = {**of('2', bundles['data'][2]), **seeds, 'ids': forms(w.ids(text)), 'result': [np.array(result, np.int64).tobytes()]}
            assert left(p.pid, secrets) == {'result'}, left(p.pid, secrets)
            p.kill()


# ---- how much memory

IDLE_MB, SPARE_MB = 1.0, 6.0  # of an idle session; of a running inference beside its keys, frames and values
FEW, MANY = 2, 34  # sessions
HELD = 400  # seconds for which a session may be held


def resident_mb(*roles):
    return [int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{role.process.pid}/status').read_text())[1]) * 1024 / 1e6 for role in roles]


def sessions(w, count, jobs, each, **flags):
    """Starts P1 with `count` sessions that run `jobs` texts, or batches. One session is held in its inference, or each.
    Returns (process, HeldRuns)."""
    w.deal(timeout=HELD, **{'at-once': flags['at-once']}).port()
    w.serve(timeout=HELD, **{'at-once': flags.pop('at-once')}).port()
    w.works()  # fetches the masked weights
    (w.dir / 'texts').write_text('\n'.join(w.base.text(TOKENS, i) for i in range(jobs * flags.get('batch', 1))) + '\n')
    inside = HeldRuns(w.server.port(), each=each)
    e = w.embed(None, file=w.dir / 'texts', parallel=count, connect=inside.port, timeout=HELD, **{'one-by-one': True}, **flags)
    assert inside.arrived(*[e] * (count if each else 1)), e.err
    return e, inside


def idle_sessions(base, _):
    """A session over TLS that has run a text and idles takes less than 1 MB at P0, and at P1."""
    few = None
    for count in (FEW, MANY):
        with World(base, f'{count} idle') as w:
            # Two run at once, and one of them is held. The others run one after another, and idle at the end.
            e, inside = sessions(w, count, 2 * count, False, **{'at-once': 2})
            end = time.monotonic() + HELD / 2
            while sum(f', {TOKENS} tokens' in line for line in w.server.err) < 2 * count - 1:
                assert time.monotonic() < end and e.process.poll() is None, e.err
                time.sleep(0.01)
            lanes = len(w.lanes('model'))
            while few and max(slope := [(b - a) / (lanes - FEW) for a, b in zip(few, resident_mb(w.server, e))]) >= IDLE_MB:
                assert time.monotonic() < end, f'an idle session takes {slope} MB at P0 and P1'
                time.sleep(0.1)
            few = few or resident_mb(w.server, e)
            assert lanes > count / 2, f'{lanes} sessions were opened'
            inside.go()
            assert e.finish() == 0, e.err
    print(f'     {lanes} sessions: {slope[0]:.2f} MB at P0, {slope[1]:.2f} MB at P1 for each idle one')


def running_inferences(base, _):
    """A further inference that runs takes little more memory at P0 and P1 than its keys, frames and values."""
    few, more, batch = 1, 7, 8
    estimate = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', TOKENS, '--batch', batch, '--json'))['memory_bytes']
    needs = [sum(estimate[p][part] for part in ('keys', 'frames', 'values')) / 1e6 for p in ('p0', 'p1')]
    taken = []
    for count in (few, more):
        with World(base, f'{count} running') as w:
            e, inside = sessions(w, count, 2 * count, True, batch=batch, **{'at-once': more})
            taken.append(resident_mb(w.server, e))
            inside.go()
            assert e.finish() == 0, e.err
    each = [(b - a) / (more - few) for a, b in zip(*taken)]
    print(f'     {more} inferences: {each[0]:.1f} MB at P0, {each[1]:.1f} MB at P1 for each; the estimate is {needs[0]:.1f} and {needs[1]:.1f} MB')
    assert all(mb < need + SPARE_MB for mb, need in zip(each, needs)), f'a running inference takes {each} MB, the estimate is {needs}'


if __name__ == '__main__':
    assert os.getuid() == 0, 'the memory of the roles is read as root'
    each(planted, after_a_run, after_a_failure, after_a_call, after_a_call_of_python, idle_sessions, running_inferences)
