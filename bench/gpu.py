#!/usr/bin/env python3
"""Tests and measures the backend cuda on this machine, in one call: its tests, primitives, flights, whole inferences.

    bench/gpu.sh --mode cpu|gpu|gpu_device_only    softmax and LayerNorm alone, 1 x 2 x 8 to 1 x 16 x 128
    bench/gpu.sh [--build DIR] [--plans DIR] [--presets bert-tiny:128 bert-base:128] [--parts tests primitives flights rows] [--out FILE]

The machine needs a driver, Python's standard library and the programs of a build folder (possibly from
tools/gpu/pack.sh). These are *_cuda_test, fss_bench, products_bench, flight_bench, inference_bench, operator_bench and
suf. Models are made on the spot (suf model random, seed 1). Kernels are compiled before the runs if there is NVRTC.
Plans come from --plans as PRESET.json, or are compiled here, which takes minutes for bert-base.

Rows of a preset (--rows):
* a: both parties as threads of one process on one device, with a queue, then plain TCP (the benchmark's link).
* b: two processes with a device each, plain TCP.
* c: the product: suf deal, serve and embed over TLS on the loopback, with --streams, a device each.
* d: b and c with both parties on the first device. They share it by NVIDIA's MPS if installed, or take turns.
With one device there are no rows b and c. The dealer shares P0's device.

Keys are resident, uploaded or streamed. Resident keys of row c are in stores on a memory file system. Uploaded keys
(rows a and b) are whole in the host's memory and go to the device during the run. Streamed keys are dealt during the
run. Row a is also run with packed on all cores, 3 times. Without a device every row runs with packed, and says so.

Every run has fresh keys, and every word of every timed run is compared with the simulator's. A row's times are medians.
One JSON line for each measurement, with commit and machine, goes to --out (bench/results/gpu.jsonl). The file is made
anew unless --add is given. A table comes last. docs/measurements.md#devices has the results.

Fields of a line, times in ms:
    online_ms, online_all_ms      P1's online part: median, and every run
    blocks_ms                     its part in the transformer's blocks, waiting included
    deal_ms, transport_ms         generating both bundles (alone if keys are resident); sending them to both parties (row b)
    fetch_ms, ahead_ms            row c: until a bundle is claimed; the steps before the inference
    keys_wait_ms                  row c: waiting for keys during the inference
    spent_ms                      means of the timed runs: compute (on a device: kernels, copies and host), wire, wait, launches
    dealing_ms                    the dealer in the runs that measure each operator: compute, key (PRG words), upload (copies), host, wire
    by_operator_ms, measured_ms   the parties by operator, from 3 further runs; their online time
    flights, payload, p1_ahead    flights; bytes that P0 and P1 send online; bytes that P1 sends before (row c: with headers)
    key_bytes                     keys of both parties
    device_bytes, pinned_bytes    maximum of each process
"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPENT = ('compute', 'key', 'upload', 'host', 'wire', 'wait')
WARM, MEASURED = 2, 3  # runs before the timed ones: memory and kernels, then graphs; runs that measure each operator
TEXTS = 3  # used in turn


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT, **options)


def devices():
    try:
        return run('nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader').stdout.strip().splitlines()
    except OSError:
        return []


def machine(commit, build):
    gpus = devices()
    return {'commit': commit or run('git', 'describe', '--always', '--dirty', '--abbrev=12').stdout.strip(),
            'tls': re.search(r'OpenSSL [\d.]+', run(build / 'suf', '--version').stdout)[0],
            'gpu': gpus[0].strip() if gpus else 'none', 'gpus': len(gpus), 'cores': len(os.sched_getaffinity(0))}


def architecture():
    return run('nvidia-smi', '--query-gpu=compute_cap', '--format=csv,noheader').stdout.splitlines()[0].strip().replace('.', '')


@contextlib.contextmanager
def shared(device, parties):
    """Lets processes started inside share a device at the same time, if there is MPS; yields whether they do."""
    control = shutil.which('nvidia-cuda-mps-control')
    if device[0] != device[1] or parties == 'threads' or not devices() or not control:
        yield False
        return
    with tempfile.TemporaryDirectory() as folder:
        names = ('CUDA_MPS_PIPE_DIRECTORY', 'CUDA_MPS_LOG_DIRECTORY')
        os.environ.update({name: folder for name in names})
        try:
            subprocess.run([control, '-d'], check=True)
            yield True
        finally:
            subprocess.run([control], input='quit', text=True, stdout=subprocess.DEVNULL)
            for name in names:
                del os.environ[name]


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith('{')]


def checked(done, what):
    if done.returncode:
        sys.exit(f'{what}: {done.stderr.strip()[-2000:]}')
    return done.stdout


def tests(build):
    """Runs every *_cuda_test except the sweep of faults, which takes minutes (tools/gpu/test.sh). A failure ends the
    call, so nothing wrong is timed."""
    for program in sorted(set(build.glob('*_cuda_test')) - {build / 'frames_cuda_test'}):
        done = run(program)
        print(f'{program.name}: {"passes" if not done.returncode else "FAILS"}', flush=True)
        if done.returncode:
            sys.exit(done.stdout[-3000:] + done.stderr[-2000:])


class Preset:
    """A model, its plan and kernels."""

    def __init__(self, folder, a, name, tokens, backend):
        self.suf, self.name, self.tokens, self.kernels_s = a.build / 'suf', name, tokens, None
        self.model, self.plan = folder / 'model', a.plans / f'{name}.json' if a.plans else None
        checked(run(self.suf, 'model', 'random', '--preset', name, '--seed', '1', '--out', self.model), name)
        if not self.plan or not self.plan.exists():
            self.plan = folder / 'plan.json'
            checked(run(self.suf, 'compile', '--model', self.model, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--profile', 'gpu', '--keys', 'ahead',
                        '--max-tokens', tokens, '--out', self.plan), name)
        if backend == 'cuda':  # otherwise the interpreter computes the first runs
            begin = time.monotonic()
            made = run(self.suf, 'kernels', '--plan', self.plan, '--tokens', tokens, '--arch', architecture())
            print(f'{name}: {" ".join(made.stdout.split(chr(10))) or made.stderr.strip()}', flush=True)
            self.kernels_s = round(time.monotonic() - begin, 1)

    @functools.cached_property
    def texts(self):
        """The token ids of row c, and the simulator's results for them."""
        draw = random.Random(1)
        vocabulary = json.loads((self.model / 'config.json').read_text())['vocab_size']
        ids = [[draw.randrange(1, vocabulary) for _ in range(self.tokens)] for _ in range(TEXTS)]
        with tempfile.NamedTemporaryFile('r') as file:
            write_ids(pathlib.Path(file.name), ids)
            done = run(self.suf, 'simulate', '--model', self.model, '--plan', self.plan, '--ids', file.name, '--json')
        return ids, [row['y'] for row in lines(checked(done, 'suf simulate'))]


class Role:
    """A listening process of the product; its stderr goes to a file."""

    def __init__(self, folder, name, *command):
        self.log = folder / f'{name}.log'
        with self.log.open('w') as log:
            self.process = subprocess.Popen([str(c) for c in command], stderr=log, stdout=subprocess.DEVNULL, cwd=ROOT)

    def port(self, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(r'listening on port (\d+)', self.log.read_text()):
                return f'127.0.0.1:{found[1]}'
            time.sleep(0.05)
        sys.exit(f'{self.log.name}: {self.log.read_text()[-2000:]}')

    def stop(self, seconds=90):
        """Ends the role. It finishes its sessions first, and these wait a minute for a silent peer. If that fails, the
        first error stays visible."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f'{self.log.name}: no end {seconds} s after SIGTERM, killed', file=sys.stderr, flush=True)
            self.process.kill()
            self.process.wait()


def write_ids(file, texts):
    file.write_text(''.join(' '.join(map(str, ids)) + '\n' for ids in texts))


def session(folder, preset, backend, device, streams, keys, ids, right, timed):
    """Runs texts in one session of the product. Returns P1's rows, and the measured times of P0 and the dealer by
    serial."""
    suf, count = preset.suf, len(ids)
    checked(run(suf, 'certs', folder / 'certs'), 'suf certs')
    write_ids(folder / 'ids', ids)

    def flags(at):
        return ['--backend', backend, '--streams', streams, *(['--device', at] if backend == 'cuda' else [])]

    def times(role):
        return ['--times', folder / f'{role}.times'] if timed else []
    ahead = ['--ahead', count, '--key-window', 4096] if keys == 'resident' else []
    deal = Role(folder, 'deal', suf, 'deal', '--plan', preset.plan, '--certs', folder / 'certs/dealer', '--listen', '127.0.0.1:0',
                *flags(device[0]), *times('dealer'), *(['--tokens', preset.tokens, '--count', count] if keys == 'resident' else []))
    roles = [deal]
    try:
        dealer = deal.port()
        serve = Role(folder, 'serve', suf, 'serve', '--plan', preset.plan, '--model', preset.model, '--certs', folder / 'certs/model', '--dealer', dealer,
                     '--listen', '127.0.0.1:0', '--store', folder / 'p0', '--once', *flags(device[0]), *times('p0'), *ahead)
        roles.append(serve)
        server = serve.port()
        done = run(suf, 'embed', '--plan', preset.plan, '--certs', folder / 'certs/data', '--dealer', dealer, '--connect', server, '--store', folder / 'p1',
                   '--ids', folder / 'ids', '--json', *flags(device[1]), *times('p1'), *(ahead or ['--one-by-one']))
        rows = lines(checked(done, f'suf embed ({serve.log.read_text()[-500:]})'))
        serve.process.wait(60)
    finally:
        for role in roles:
            role.stop()
    assert len(rows) == count, (len(rows), count)
    for i, row in enumerate(rows):
        if row['y'] != right[i % len(right)]:
            sys.exit(f'{preset.name} over TLS: text {i + 1} differs from the simulator')
    for role in ('p0', 'dealer') if timed else ():
        by_serial = {t['serial']: t for t in lines((folder / f'{role}.times').read_text())}
        for row in rows:
            row['times'][role] = by_serial[row['serial']]
    return rows


def in_block(scope):
    return scope[0].isdigit()


def summed(times, keep=lambda scope: True):
    out = {part: 0.0 for part in SPENT} | {'launches': 0}
    for scope, spent in times['by'].items():
        if keep(scope):
            for part in out:
                out[part] += spent.get(part, 0)
    return out


def mean(all_of):
    out = {part: round(sum(s[part] for s in all_of) / len(all_of), 3) for part in all_of[0]}
    out['launches'] = int(out['launches'])
    return out


def by_operator(all_times):
    scopes = sorted({scope for t in all_times for scope in t['by']})
    out = {}
    for op in sorted({s.split('/')[-1] for s in scopes}):
        out[op] = mean([summed(t, lambda s: s.split('/')[-1] == op) for t in all_times])
    out['all blocks'], out['all else'] = (mean([summed(t, lambda s: in_block(s) == block) for t in all_times]) for block in (True, False))
    return out


def product(preset, backend, device, streams, keys, runs):
    """Runs row c: first the timed texts, then texts whose operators are measured."""
    texts, right = preset.texts
    memory = pathlib.Path('/dev/shm')
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        folder = pathlib.Path(folder)
        for part in ('timed', 'measured'):
            (folder / part).mkdir()

        def told(part, n):
            ids = [texts[i % TEXTS] for i in range(WARM + n)]
            return session(folder / part, preset, backend, device, streams, keys, ids, right, part == 'measured')[WARM:]
        rows, measured = told('timed', runs), told('measured', MEASURED)

    def median(of):
        return round(statistics.median(of), 3)
    roles = ('p0', 'p1', 'dealer')
    of = {role: [row['times'][role] for row in measured] for role in roles}
    first = rows[0]
    return {'bench': 'inference', 'tokens': preset.tokens, 'backend': backend, 'link': 'tls', 'streams': streams, 'keys': keys, 'devices': list(device),
            'runs': runs, 'online_ms': median(r['ms']['online'] for r in rows), 'online_all_ms': [round(r['ms']['online'], 3) for r in rows],
            'blocks_ms': median(sum(summed(r['times']['p1'], in_block)[part] for part in SPENT) for r in rows),
            'deal_ms': median(t['total'] for t in of['dealer']), 'fetch_ms': median(r['ms']['fetch'] for r in rows),
            'ahead_ms': median(r['ms']['ahead'] for r in rows), 'keys_wait_ms': median(r['within_ms']['keys'] for r in rows),
            'measured_ms': median(r['ms']['online'] for r in measured),
            'spent_ms': {'p1': mean([summed(r['times']['p1']) for r in rows])},
            'by_operator_ms': {role: by_operator(of[role]) for role in roles},
            'device_bytes': [max(t.get('device_bytes', 0) for t in of[role]) for role in roles],
            'pinned_bytes': [max(t.get('pinned_bytes', 0) for t in of[role]) for role in roles],
            'flights': first['flights'], 'key_bytes': first['key_bytes'], 'payload': [first['bytes']['p0'], first['bytes']['p1']],
            'p1_ahead': first['bytes']['p1_offline'], 'words_compared': sum(len(r['y']) for r in rows + measured)}


def where(backend, device, parties, mps=False):
    if backend != 'cuda':
        return 'two threads, all cores' if parties == 'threads' else 'processes that share all cores'
    return f'two {parties}, {"a device each" if device[0] != device[1] else "one device"}{" by MPS" if mps else ""}'


def inferences(a, preset, backend, pairs):
    """Runs every row of a preset."""
    facts = {'preset': preset.name} | ({'kernels_s': preset.kernels_s} if backend == 'cuda' else {})

    def bench(of, link, keys, device=(0, 0), streams=1, parties='threads', runs=a.runs):
        keys = [k for k in keys if k in a.keys]
        if not keys or link not in a.links:
            return
        with shared(device, parties) as mps:
            done = run(a.build / 'inference_bench', preset.model, preset.plan, preset.tokens, runs, of, f'link={link}', f'parties={parties}',
                       f'keys={",".join(keys)}', f'streams={streams}', f'devices={device[0]},{device[1]}')
        for line in lines(checked(done, f'{preset.name}, {of}, {link}')):
            yield {**facts, **line, 'parties': where(of, device, parties, mps)}
    if 'a' in a.rows:
        yield from ({'row': 'a', **line} for line in bench(backend, 'queue', ('resident', 'uploaded', 'streamed')))
        yield from ({'row': 'a', **line} for line in bench(backend, 'tcp', ('resident', 'uploaded'), streams=a.streams))
    for device in pairs:
        plain, product_row = ('b', 'c') if backend != 'cuda' or device[0] != device[1] else ('d', 'd')
        if plain in a.rows:
            for line in bench(backend, 'tcp', ('resident', 'uploaded', 'streamed'), device, a.streams, 'processes'):
                yield {'row': plain, **line}
        if product_row in a.rows and 'tls' in a.links:
            for keys in (k for k in ('resident', 'streamed') if k in a.keys):
                with shared(device, 'processes') as mps:
                    line = product(preset, backend, device, a.streams, keys, a.runs)
                yield {'row': product_row, **facts, 'parties': where(backend, device, 'processes', mps), **line}
    if 'a' in a.rows and backend != 'packed':
        yield from ({'row': 'a', **line} for line in bench('packed', 'queue', ('resident',), runs=min(a.runs, 3)))


def mb(counts):
    return ' / '.join(f'{c / 1e6:.1f}' for c in (counts if isinstance(counts, list) else [counts]))


def printed(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print('  '.join(str(cell).rjust(w) for cell, w in zip(row, widths)))


def table(rows):
    out = [('row', 'model', 'backend', 'parties', 'link', 'keys', 'tokens', 'online ms', 'blocks ms', 'deal ms', 'flights', 'sent MB', 'ahead MB', 'keys MB',
            'launches', 'device MB')]
    for r in rows:
        measured = r['by_operator_ms']
        launches = [sum(measured[p][part]['launches'] for part in ('all blocks', 'all else')) for p in ('p0', 'p1')]
        out.append((r['row'], r['preset'], r['backend'], r['parties'], r['link'] + (f' x{r["streams"]}' if r['streams'] > 1 else ''), r['keys'], r['tokens'],
                    f'{r["online_ms"]:.1f}', f'{r["blocks_ms"]:.1f}', f'{r["deal_ms"]:.1f}', r['flights'], mb(r['payload']), mb(r['p1_ahead']),
                    mb(r['key_bytes']), ' / '.join(map(str, launches)), mb(r['device_bytes'])))
    printed(out)
    for r in rows:
        print(f'\n{r["row"]}, {r["preset"]}, {r["backend"]}, {r["parties"]}, {r["link"]}, keys {r["keys"]}; '
              f'ms of runs that measure each operator, {r["measured_ms"]:.1f} online')
        printed([('role', 'operator', 'kernels', 'keys', 'upload', 'host', 'wire', 'wait', 'launches')] +
                [(role, op, *(f'{spent[part]:.2f}' for part in SPENT), spent['launches'])
                 for role, of in r['by_operator_ms'].items() for op, spent in of.items()])


def operators(build, mode, runs):
    """Times softmax and LayerNorm alone: on the processor, on a device, or only its kernels. A kernel reads keys and
    computes at once."""
    out = []
    for line in lines(checked(run(build / 'operator_bench', 'packed' if mode == 'cpu' else 'cuda', runs), 'operator_bench')):
        spent = {part: sum(line['measured_ms' if mode == 'gpu_device_only' else 'spent_ms'][p][part] for p in ('p0', 'p1')) for part in (*SPENT, 'launches')}
        ms = spent['compute'] if mode == 'gpu_device_only' else line['online_ms']
        out.append({**line, 'mode': mode, 'ms': ms, 'both_ms': {part: round(ms, 3) for part, ms in spent.items()}})
    return out


def primitives(build, runs, put):
    """Times kernels alone. A kernel of the cut is also compared with a kernel that only reads."""
    ceiling = None
    for bench in (('fss_bench',), ('products_bench',), ('operator_bench', 'cuda', runs, 'cut')):
        for line in lines(checked(run(build / bench[0], *bench[1:]), bench[0])):
            if line['bench'] == 'memory':
                ceiling = line['gb_per_s']
            if line['bench'] == 'cut':
                line['of_read'] = round(line['gb_per_s'] / ceiling, 3)
                print(f'cut of {line["count"]} words, {line["stage"]}: {line["us"]:.1f} us, {line["of_read"]:.2f} of reading', flush=True)
            put(line)


def flights(pairs, streams):
    """Yields devices, connections, and whether the parties are threads or processes. On one device processes take
    turns."""
    for device in pairs:
        for parties in ('threads', 'processes') if device[0] == device[1] else ('processes',):
            yield from ((device, s, parties) for s in sorted({1, streams}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='folder of the programs')
    p.add_argument('--plans', type=pathlib.Path, help='folder of compiled plans, PRESET.json')
    p.add_argument('--presets', nargs='*', default=['bert-tiny:128', 'bert-base:128'], help='PRESET:TOKENS')
    p.add_argument('--parts', nargs='*', default=['tests', 'primitives', 'flights', 'rows'], choices=['tests', 'primitives', 'flights', 'rows'])
    p.add_argument('--rows', nargs='*', default=['a', 'b', 'c', 'd'], choices=['a', 'b', 'c', 'd'])
    p.add_argument('--keys', nargs='*', default=['resident', 'uploaded', 'streamed'], choices=['resident', 'uploaded', 'streamed'])
    p.add_argument('--links', nargs='*', default=['queue', 'tcp', 'tls'], choices=['queue', 'tcp', 'tls'], help='of the rows: queue: of a; tls: of c and d')
    p.add_argument('--runs', type=int, default=9, help=f'timed runs of an inference, after {WARM} that warm up')
    p.add_argument('--streams', type=int, default=8, help='connections between the parties, of rows b, c and d')
    p.add_argument('--mode', choices=['cpu', 'gpu', 'gpu_device_only'], help='instead of all that: softmax and LayerNorm alone; lines are added to --out')
    p.add_argument('--commit', help='of the programs, where this folder is no repository')
    p.add_argument('--add', action='store_true', help='lines are added to --out: for a call in parts')
    p.add_argument('--out', type=pathlib.Path, default=ROOT / 'bench/results/gpu.jsonl')
    a = p.parse_args()
    a.build, a.plans = a.build.resolve(), a.plans and a.plans.resolve()
    if (a.build / 'lib').is_dir():  # made by tools/gpu/pack.sh
        os.environ['LD_LIBRARY_PATH'] = f'{a.build / "lib"}:{os.environ.get("LD_LIBRARY_PATH", "")}'.rstrip(':')
    facts, rows = machine(a.commit, a.build), []
    backend, pairs = ('cuda' if facts['gpus'] else 'packed'), ([(0, 1)] if facts['gpus'] > 1 else []) + [(0, 0)]
    if a.mode:
        found = operators(a.build, a.mode, a.runs)
        with a.out.open('a') as out:
            for line in found:
                out.write(json.dumps({**line, **facts}) + '\n')
        return printed([('operator', 'shape', 'ms', 'reads and arithmetic', 'key words', 'copies', 'host', 'wire', 'kernels')] +
                       [(line['operator'], ' x '.join(map(str, line['shape'])), f'{line["ms"]:.3f}',
                         *(f'{line["both_ms"][part]:.3f}' for part in ('compute', 'key', 'upload', 'host', 'wire')), line['both_ms']['launches'])
                        for line in found])
    if backend == 'packed':
        print('no device: every row is of the backend packed, and tests and primitives, which need one, are left out', flush=True)
    with a.out.open('a' if a.add else 'w') as out:
        def put(line):
            out.write(json.dumps({**line, **facts}) + '\n')
            out.flush()
        if 'tests' in a.parts and backend == 'cuda':
            tests(a.build)
        if 'primitives' in a.parts and backend == 'cuda':
            primitives(a.build, a.runs, put)
        for device, streams, parties in flights(pairs, a.streams) if 'flights' in a.parts else ():
            with shared(device, parties) as mps:
                done = run(a.build / 'flight_bench', backend, streams, f'{device[0]},{device[1]}', parties)
            for line in lines(checked(done, 'flight_bench')):
                line['parties'] = where(backend, device, parties, mps)
                put(line)
                print(f'flight of {line["bytes"]} bytes, {line["parties"]}, {streams} connection{"s" * (streams > 1)}: {line["us"]:.1f} us', flush=True)
        for item in a.presets if 'rows' in a.parts else ():
            name, tokens = item.split(':')
            with tempfile.TemporaryDirectory() as folder:
                for row in inferences(a, Preset(pathlib.Path(folder), a, name, int(tokens), backend), backend, pairs):
                    put(row)
                    rows.append(row)
                    print(f'{row["row"]}, {name}, {row["backend"]}, {row["link"]}, keys {row["keys"]}: {row["online_ms"]:.1f} ms', flush=True)
    if rows:
        table(rows)


if __name__ == '__main__':
    main()
