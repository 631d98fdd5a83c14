#!/usr/bin/env python3
"""Checks the program at a terminal. Ctrl-C prints the reason for waiting, and a second one ends the program. Bars,
result lines and tables fit the terminal and do not run into each other. Without a terminal, long phases are lines of
the log.

  terminal_test.py SUF     as root, without which `paths` fails; about half a minute
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE, ONE, FunctionWorld, Tap, World
from rows import each

MANY = 20_000  # more texts than a session finishes during a test
LONG = 30  # seconds; a limit, not a wait


def many(w):
    (w.dir / 'many').write_text('the dog\n' * MANY)
    out = (w.dir / 'rows').open('wb')
    e = w.embed(None, file=w.dir / 'many', process={'stdout': out})
    end = time.monotonic() + LONG
    while (w.dir / 'rows').read_bytes().count(b'\n') < 3:
        assert time.monotonic() < end and e.process.poll() is None, e.err
        time.sleep(0.01)
    return e


def rows(w):
    return [json.loads(line) for line in (w.dir / 'rows').read_bytes().splitlines()]


def serve_waits(base):
    """serve: the first Ctrl-C prints the session it waits for. The second ends it, and the serial in use is burnt."""
    for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)):
        with World(base, f'serve {first} {second}') as w:
            w.both()
            e = many(w)
            e.stop()
            w.server.signal(first)
            said = w.server.said(r'serve: ending when the session with the data owner at 127\.0\.0\.1:\d+ ends: [01] texts?( of 4 tokens)? in flight, \d+ done; '
                                 'a second Ctrl-C or SIGTERM ends at once, and running work is lost with its keys$', LONG)
            assert said and w.server.process.poll() is None, w.server.err
            w.server.signal(second)
            assert w.server.finish() == -second, w.server.process.returncode
            assert w.server.err[-1] == 'suf: serve ended at once by a second signal; running work was dropped', w.server.err
            assert w.server.said('serve: ending at once; running work is dropped and its serial burnt', 0), w.server.err
            e.kill()
            fates = w.fates('model')
            assert 'claimed' not in fates.values() and list(fates.values()).count('burnt') <= 1, fates
            last = w.floor('model')
            assert w.works()['serial'] > last


class Held:
    """Holds back what a role at `port` sends ('down') or receives ('up') after `at` bytes, until it is released."""

    def __init__(self, port, at, way):
        self.reached, self.released = threading.Event(), threading.Event()
        self.port = Tap(port, at, lambda: (self.reached.set(), self.released.wait(AMPLE)), way=way).port


def second_signals(base, name, worlds, holds, waits):
    """The first signal waits for the session that a Held delays, the second drops it. `waits` is the pattern in the
    log.
    holds: (World) -> Held, process, data owner."""
    for first, second in ((signal.SIGINT, None), (signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGHUP)):
        for world in worlds:
            with world(base, f'{name} {world.__name__} {first} {second}') as w:
                held, process, e = holds(w)
                assert held.reached.wait(AMPLE), e.err
                before = {store: list(w.fates(store).values()).count('done') for store in ('model', 'data')}
                process.signal(first)
                role = f'fn {name}' if world is FunctionWorld and name == 'serve' else name
                assert process.said(f'info {role}: ending when {waits}; a second Ctrl-C or SIGTERM ends at once, and running work is lost with its keys$'), process.err
                assert process.process.poll() is None, process.err
                if second:
                    process.signal(second)
                    assert process.finish() == -second, process.process.returncode
                    assert process.said(f'warning {role}: ending at once; running work is dropped and its serial burnt$', 0), process.err
                    assert process.err[-1] == f'suf: {role} ended at once by a second signal; running work was dropped', process.err
                held.released.set()
                assert e.finish() == (3 if second else 0), e.err
                if not second:
                    assert process.finish() == 0, process.err
                last = max(w.floor('model'), w.floor('data'))
                assert w.works(*w.BIG)['serial'] > last
                for store in 'model', 'data':
                    fates = list(w.fates(store).values())
                    assert fates.count('done') == len(fates) - fates.count('burnt') == before[store] + (1 if second else 2), (store, fates)


def serve_drops(base):
    """serve and fn serve during a run: the first signal waits, the second drops it. Its serial is burnt in both
    stores."""
    def holds(w):
        w.works(*w.BIG)  # its store has the masked weights
        held = Held(w.server.port(), 12_000, 'up')
        return held, w.server, w.embed(*w.BIG, connect=held.port)
    second_signals(base, 'serve', (World, FunctionWorld), holds, r'the session with the data owner at 127\.0\.0\.1:\d+ ends: [01] (text|call)s?( of \d+ (tokens|values))? in flight, 0 done')


def deal_drops(base):
    """deal during a delivery: the first signal waits, the second drops it. Its serial is burnt in both stores.
    The keys are larger than the buffers of sockets, so they cannot all be under way."""
    def holds(w):
        held = Held(w.deal().port(), 12_000, 'down')
        w.serve(dealer=held.port).port()
        return held, w.dealer, w.embed(*w.BIG)
    second_signals(base, 'deal', (FunctionWorld,), holds, r'(1 delivery in flight, to the model owner at 127\.0\.0\.1:\d+, ends'
                   r'|2 deliveries in flight, to the \w+ owner at 127\.0\.0\.1:\d+ and the \w+ owner at 127\.0\.0\.1:\d+, end)')


def nothing_waits(base):
    """deal and serve without a session: Ctrl-C ends them at once, with code 0."""
    with World(base, 'nothing') as w:
        w.both()
        for role, name in (w.server, 'serve'), (w.dealer, 'deal'):
            role.signal(signal.SIGINT)
            assert role.finish() == 0 and role.said(f'{name}: ending; nothing runs$', 0), role.err


def embed_stops(base):
    """embed: the first Ctrl-C ends after the agreed texts, with all results and no fault at the model owner.
    The second ends it at once."""
    with World(base, 'embed') as w:
        w.both()
        e = many(w)
        e.signal(signal.SIGINT)
        assert e.finish() == -signal.SIGINT, e.err
        assert e.said('embed: ending after the text in flight; a second Ctrl-C or SIGTERM ends at once, and its keys are lost$', 0), e.err
        done = rows(w)
        assert e.err[-1] == f'suf: embed was stopped by a signal; {len(done)} of {MANY} texts have a result; run it again with the others', e.err
        assert [r['i'] for r in done] == list(range(len(done))) and all('y' in r for r in done)
        assert set(w.fates('data').values()) == {'done'}, w.fates('data')
        assert w.server.said('a session ended: the data owner ended the session for a reason of its own', LONG), w.server.err
        e = many(w)
        w.server.stop()
        e.signal(signal.SIGTERM)
        assert e.said('embed: ending after', LONG), e.err
        e.signal(signal.SIGTERM)
        assert e.finish() == -signal.SIGTERM
        w.server.go_on()


# ---- a terminal

class Terminal:
    """A program on a pseudo terminal; `bytes` is its output."""

    def __init__(self, columns, *command):
        self.ours, theirs = pty.openpty()
        self.resize(columns)
        self.process = subprocess.Popen([str(c) for c in command], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.bytes = b''

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))

    def read(self, until=None):
        """Reads until this output, or to the end."""
        end = time.monotonic() + 2 * LONG
        while until is None or until not in self.bytes:
            assert time.monotonic() < end, self.bytes[-2000:]
            if self.more(1) == b'':
                break
        return self

    def more(self, seconds):
        """Returns the output within that time: b'' at the end, None if nothing arrives."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return None
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # the end of the output
            return b''
        self.bytes += data
        return data

    def end(self):
        self.read()
        os.close(self.ours)
        return self.process.wait(LONG)

    def widths(self):
        """Returns the columns of everything that was ever on one line; braille and ASCII have one column each."""
        return [(len(x), x) for x in re.split(r'\r\n|\r|\x1b\[K', self.bytes.decode())]

    def screen(self):
        """Returns the final lines of the screen."""
        lines = ['']
        for token in re.findall(r'\r\n|\r|\x1b\[K|[^\r\x1b]+', self.bytes.decode()):
            if token == '\r\n':
                lines.append('')
            elif token == '\r':
                pass  # a bar, which is cleared next
            elif token == '\x1b[K':
                lines[-1] = ''
            else:
                lines[-1] += token
        return lines


def fits(t, columns):
    for width, text in t.widths():
        assert width <= columns, (width, text)
        assert width < columns or '%' not in text, f'a bar fills the last column: {text}'


def bars_fit(base):
    """serve's and embed's bars fit a terminal of any width. Result lines begin at column 1; no bar remains."""
    with World(base, 'bars') as w:
        w.deal().port()
        (w.dir / 'texts').write_text('the dog\n' * 12)
        for columns in 80, 40, 200:
            common = ['--certs', base.certs, '--plan', base.plan, '--dealer', f'127.0.0.1:{w.dealer.port()}']
            server = Terminal(columns, base.program, 'serve', *common, '--model', base.model, '--listen', '127.0.0.1:0', '--store', w.dir / f'model {columns}')
            server.read(b', pid ')
            port = re.search(rb'listening\s+on\s+port\s+(\d+)', server.bytes)[1].decode()
            fits(server, columns)
            assert b' %  reading the' in server.bytes, server.bytes
            assert not [x for x in server.screen() if '%' in x], server.screen()
            e = Terminal(columns, base.program, 'embed', *common, '--vocab', base.model / 'vocab.txt', '--connect', f'127.0.0.1:{port}',
                         '--store', w.dir / f'data {columns}', '--file', w.dir / 'texts')
            assert e.end() == 0, e.bytes
            fits(e, columns)
            assert b'%  receiving t' in e.bytes and b'12 of 12 te' in e.bytes, e.bytes
            lines = [x for x in e.screen() if 'ms' in x and 'serial' in x]
            assert len([x for x in e.screen() if x.startswith('line ')]) == 12, e.screen()
            assert not [x for x in e.screen() if '%' in x], e.screen()
            os.killpg(server.process.pid, signal.SIGTERM)
            assert server.end() == 0 and lines


def resized(base):
    """A bar that is drawn after the terminal became narrower fits it."""
    with World(base, 'resized') as w:
        w.both()
        (w.dir / 'texts').write_text('the dog\n' * MANY)
        e = Terminal(200, base.program, 'embed', '--certs', base.certs, '--plan', base.plan, '--dealer', f'127.0.0.1:{w.dealer.port()}', '--vocab',
                     base.model / 'vocab.txt', '--connect', f'127.0.0.1:{w.server.port()}', '--store', w.dir / 'data', '--file', w.dir / 'texts')
        e.read(b'Kline 3:')
        os.killpg(e.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, e.process.pid, os.WSTOPPED)
        e.resize(40)
        while e.more(0):  # output under way
            pass
        drawn = int(re.findall(rb'\x1b\[Kline (\d+):', e.bytes)[-1])
        os.killpg(e.process.pid, signal.SIGCONT)
        e.read(b'Kline %d:' % (drawn + 2))  # it may have been stopped amid a line
        e.bytes = b''
        e.read(b'Kline %d:' % (drawn + 100))
        e.bytes = e.bytes[e.bytes.index(b'\x1b[K'):e.bytes.rindex(b'\x1b[K')]
        assert e.bytes.count(b' of 20000') >= 10, e.bytes
        fits(e, 40)
        os.killpg(e.process.pid, signal.SIGKILL)
        e.end()


def tables_fit(base):
    """Every table fits 80 and 40 columns and says what it left out. Without a terminal it is complete."""
    texts = base.folder / 'texts of tables'
    texts.write_text('the dog\n')
    commands = {
        'estimate': ['estimate', '--plan', base.plan, '--tokens', '8', '--profile', 'wan', '--ahead', '3'],
        'plan show': ['plan', 'show', base.both],
        'graph': ['plan', 'show', base.plan, '--graph'],
        'backends': ['backends'],
        'fn list': ['fn', 'list'],
        'fn show': ['fn', 'show', 'relu'],
        'fn cost': ['fn', 'cost', 'tanh'],
        'fn plan': ['fn', 'plan', 'gelu', '--out', base.folder / 'gelu.plan'],
        'fn run': ['fn', 'run', 'relu', '--x', '5,-7'],
        'simulate': ['simulate', '--model', base.model, '--plan', base.plan, '--file', texts],
        'help': ['compile', '--help'],
    }
    for name, command in commands.items():
        whole = base.suf(*command)
        assert 'not shown in' not in whole, name
        for columns in 80, 40:
            t = Terminal(columns, base.program, *command)
            assert t.end() == 0, (name, t.bytes)
            if columns == 80 or name not in ('fn show',):  # a curve is 64 columns of dots
                fits(t, columns)
            if columns == 80 and name in ('estimate', 'fn cost'):
                assert b'not shown in 80 columns: ' in t.bytes, (name, t.bytes)


def demo_fits(base):
    """suf demo at 80 columns: one process writes, no bar remains, every table fits."""
    with World(base, 'demo') as w:
        (w.dir / 'texts').write_text('the dog\nthe river and the house\nwhy\n')
        t = Terminal(80, base.program, 'demo', '--model', base.model, '--plan', base.plan, '--file', w.dir / 'texts')
        assert t.end() == 0, t.bytes
        fits(t, 80)
        said = t.screen()
        assert not [x for x in said if '%' in x], said
        assert len([x for x in said if 'every word' in x]) == 3, said


def demo_stops(base):
    """suf demo: Ctrl-C leaves no process and no folder."""
    with World(base, 'demo stops') as w:
        (w.dir / 'texts').write_text('the dog\n' * MANY)
        process = {'env': {**os.environ, 'TMPDIR': str(w.dir)}}
        d = w.role('demo', '--model', base.model, '--plan', base.plan, '--file', w.dir / 'texts', **process)
        assert d.said('text 3 of', LONG), d.err
        d.signal(signal.SIGINT)
        assert d.said('embed: ending after the text in flight', LONG), d.err
        assert d.finish(LONG) == -signal.SIGINT, d.err
        assert re.fullmatch(r'suf: demo was stopped by a signal; \d+ of 20000 texts have a result', d.err[-1]), d.err[-1]
        assert not [x for x in os.listdir(w.dir) if x.startswith('suf-')]
        d = w.role('demo', '--model', base.model, '--plan', base.plan, '--file', w.dir / 'texts', **process)
        pids = [int(d.said(f'{who}.*: process (\\d+)', LONG)[1]) for who in ('dealer', r'model owner \(P0\)', r'data owner \(P1\)')]
        d.signal(signal.SIGHUP)
        assert d.finish(LONG) == -signal.SIGHUP, d.err
        assert not [x for x in os.listdir(w.dir) if x.startswith('suf-')]
        assert not [p for p in pids if os.path.exists(f'/proc/{p}')], pids


def elsewhere(base):
    """Without a terminal long phases are lines of the log: each step, and the total time if it is long."""
    with World(base, 'log') as w:
        w.both()
        e = w.embed()
        assert e.finish() == 0 and e.said(r' info embed: receiving the masked weights, [\d.]+ kB, once for this store$', 0), e.err
        assert w.server.said(r" info serve: sending the masked weights, [\d.]+ kB, once for a data owner's store$", 0), w.server.err
        assert not any('\x1b' in line or '\r' in line for line in e.err + w.server.err)
        assert not any('driver' in line or 'nvcc' in line for line in e.err + w.server.err + w.dealer.err) or os.path.exists('/proc/driver/nvidia/version')


def too_few(base):
    """compile reports too few calibration texts: their cost, how many are enough, and which were unusable."""
    with World(base, 'few') as w:
        (w.dir / 'texts').write_bytes(b'the dog\n\nthe river\n\nno \xff utf\nwhy ' + b'the ' * 30 + b'\n')
        done = subprocess.run([base.program, 'compile', '--model', base.model, '--calibrate', w.dir / 'texts', '--max-tokens', '8', *ONE,
                               '--out', w.dir / 'plan'], capture_output=True, text=True)
        lines = done.stderr.splitlines()
        assert done.returncode == 0, lines
        found = [x for x in lines if re.search(r'warning compile: 3 of 6 texts in .*texts are not used: 2, the first in line 2: the text has no token besides '
                                               r'\[CLS\] and \[SEP\].*; 1, the first in line 5: .*not UTF-8 at byte', x)]
        assert found, lines
        assert any(re.search(r'warning compile: 1 of 6 texts in .*texts is too long and cut to 8 tokens; raise --max-tokens', x) for x in lines), lines
        few = [re.search(r'warning compile: too few calibration texts: every softmax keeps its maximum, which costs about (\d+) of the plan\'s (\d+) flights; '
                         r'a fit needs 20 texts and 1000 tokens, there are 3 texts with 16 tokens; give about 188 such lines', x) for x in lines]
        assert any(few), lines
        assert re.search(r'^plan [0-9a-f]{16}: 1 length class up to 8 tokens, calibrated on 3 texts$', done.stderr, re.M), lines


FOREIGN = re.compile(r'filesystem|std::|basic_string|what\(\)|error:[0-9A-F]|nlohmann|json\.exception|asio|system:|SSL|routines|not converted|\[\w+ error\]')


def paths(base):
    """Each option with a path gets our sentence if the path is missing, unusable or unreadable, or below a file.
    The sentence names the path, and the exit code is 2 or 5."""
    with World(base, 'paths') as w:
        program = shutil.copy(base.program, w.dir / 'suf')
        shutil.copytree(base.model, w.dir / 'model'), shutil.copy(base.plan, w.dir / 'plan')
        shutil.copy(base.plan.with_name('plan.shifts.safetensors'), w.dir)
        base.suf('certs', w.dir / 'certs')
        (w.dir / 'texts').write_text('the dog\n')
        (w.dir / 'x').write_text('5\n')
        subprocess.run([program, 'fn', 'plan', 'relu', '--out', w.dir / 'f.plan'], check=True, capture_output=True)
        (w.dir / 'file').write_text('')
        (w.dir / 'folder').mkdir()
        (w.dir / 'locked').mkdir()
        (w.dir / 'locked' / 'in').write_text('')
        (w.dir / 'locked').chmod(0o700)
        for folder in (base.folder, w.dir):
            folder.chmod(0o755)
        (w.dir / 'out').mkdir()
        subprocess.run(['chown', '-R', '65534:65534', *(w.dir / name for name in ('certs', 'model', 'out', 'plan.shifts.safetensors'))], check=True)
        role = '--plan {plan} --certs {certs} --dealer 127.0.0.1:1 --timeout 1'
        embed = f'embed {role} --vocab {{model}}/vocab.txt --connect 127.0.0.1:1 --store {{out}}/store'
        serve = f'serve {role} --model {{model}} --listen 127.0.0.1:0 --store {{out}}/p0'
        reads = {
            'plan show': 'plan show {x}', 'estimate': 'estimate --plan {x} --tokens 5', 'tokenize --file': 'tokenize --model {model} --file {x}',
            'tokenize --json-file': 'tokenize --model {model} --json-file {x}', 'simulate --ids': 'simulate --model {model} --plan {plan} --ids {x}',
            'tokenize --model': 'tokenize --model {x} --file {texts}', 'compile --model': 'compile --model {x} --calibrate {texts} --max-tokens 8 --out {out}/p',
            'compile --calibrate': 'compile --model {model} --calibrate {x} --max-tokens 8 --out {out}/p',
            'simulate --model': 'simulate --model {x} --plan {plan} --file {texts}', 'embed --vocab': embed.replace('{model}/vocab.txt', '{x}') + ' a',
            'embed --plan': embed.replace('{plan}', '{x}') + ' a', 'embed --certs': embed.replace('{certs}', '{x}') + ' a',
            'serve --certs': serve.replace('{certs}', '{x}'), 'serve --model': serve.replace('--model {model}', '--model {x}'),
            'deal --certs': 'deal --plan {plan} --certs {x} --listen 127.0.0.1:0', 'certs --show': 'certs {x} --show', 'fn show': 'fn show {x}/f.suf',
            'fn run --values': 'fn run relu --values {x}', 'fn ask --plan': f'fn ask {role} --connect 127.0.0.1:1 --store {{out}}/s --values {{w}}/x'.replace('{plan}', '{x}'),
            'fn ask --values': f'fn ask {role} --connect 127.0.0.1:1 --store {{out}}/s --values {{x}}'.replace('{plan}', '{w}/f.plan'),
        }
        writes = {
            'embed --store': embed.replace('{out}/store', '{x}') + ' a', 'embed --record': embed + ' --record {x} a', 'embed --times': embed + ' --times {x} a',
            'embed --out': embed + ' --out {x} a', 'deal --state': 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --state {x}',
            'serve --store': serve.replace('{out}/p0', '{x}'), 'plan show --svg': 'plan show {plan} --svg {x}', 'certs': 'certs {x}',
            'fn plan --out': 'fn plan relu --out {x}', 'model random': 'model random --preset tiny --seed 1 --out {x}',
            'compile --out': 'compile --model {model} --calibrate {texts} --max-tokens 4 --set softmax=0 --out {x}',
        }
        wrong = []
        for name, command in {**reads, **writes}.items():
            bad = {'below a file': w.dir / 'file' / 'x', 'in a locked folder': w.dir / 'locked' / 'in'}
            if name in reads:
                bad['missing'] = w.dir / 'missing'
            if name not in ('embed --store', 'serve --store', 'deal --state', 'certs', 'model random'):
                bad['a folder'] = w.dir / 'folder'
            else:
                bad['a file'] = w.dir / 'file'
            for what, path in bad.items():
                words = [x.format(x=path, plan=w.dir / 'plan', certs=w.dir / 'certs', model=w.dir / 'model', texts=w.dir / 'texts', out=w.dir / 'out', w=w.dir)
                         for x in command.split()]
                done = subprocess.run([program, *words], capture_output=True, text=True, timeout=LONG, user=65534, group=65534, extra_groups=[])
                last = (done.stderr.splitlines() or [''])[-1]
                if done.returncode not in (2, 5) or not last.startswith('suf: ') or FOREIGN.search(done.stderr) or path.parts[-1] not in last and path.parts[-2] not in last:
                    wrong.append((name, what, done.returncode, last))
        assert not wrong, '\n' + '\n'.join(map(str, wrong))


if __name__ == '__main__':
    each(paths, serve_waits, serve_drops, deal_drops, nothing_waits, embed_stops, bars_fit, resized, tables_fit, demo_fits, demo_stops, elsewhere, too_few)
