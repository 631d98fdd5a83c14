#!/usr/bin/env python3
"""Measures the Python package and its gateway beside real roles. All on this machine.

    gateway.py [--tokens 32] [--rounds 5] [--many 1000] [--random PRESET] [--out FILE]

* encode: 32 texts in one call, against `suf embed` with the same texts, in turns. Both start and open two sessions.
* gateway: one text by an open connection, against encode of an open object, in turns.
* a long request: --many texts in one request. Its processor time is that of the gateway's Python thread, beside the
  protocol's own threads. Meanwhile single texts are sent; the turns that each waits for are counted.
* memory: the peak of a gateway after one text, against the peak of `suf embed` with one text.

Every result is compared with the simulator. Prints a table and appends JSON lines to bench/results/gateway.jsonl.
Needs build/python (make wheel, or ninja suf_package).
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tests'), str(ROOT / 'build/python')]
import numpy as np
import suf

import bench
import machine
from link import Timed
from owners import simulated, write
from service import Service

SINGLES = 15  # texts of a round through the gateway, and as many through encode
WARM = 3


class Gateway:
    def __init__(self, service, store):
        words = ['--connect', service.at, *service.to_dealers, '--certs', service.folder / 'certs/data', '--store', store, '--plan', service.plan,
                 '--vocab', f'{service.model}/vocab.txt', '--variant', 'lan', '--listen', '127.0.0.1:0']
        self.role = Timed([sys.executable, '-m', 'suf', 'gateway', *map(str, words)], env={**os.environ, 'PYTHONPATH': str(ROOT / 'build/python')})
        service.started.append(self.role)
        self.at = http.client.HTTPConnection('127.0.0.1', self.role.port(600))
        self.token, self.pid = (store / 'gateway.token').read_text().strip(), self.role.process.pid

    def ask(self, texts, connection=None):
        """Returns (float32 vectors, serials)."""
        at = connection or self.at
        at.request('POST', '/v1/embeddings', json.dumps({'model': 'suf', 'input': texts}), {'Authorization': f'Bearer {self.token}'})
        answer = at.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        return np.array([d['embedding'] for d in found['data']], np.float32), found['suf']['serials']

    def seconds(self):
        """Processor time of the thread that runs Python."""
        fields = pathlib.Path(f'/proc/{self.pid}/task/{self.pid}/stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def peak_mb(self):
        return int(re.search(r'VmHWM:\s+(\d+)', pathlib.Path(f'/proc/{self.pid}/status').read_text())[1]) * 1024 / 1e6


def encoder(service, store, **options):
    return suf.Encoder(connect=service.at, dealer=service.to_dealers[1], certs=service.folder / 'certs/data', store=store, plan=service.plan,
                       vocab=f'{service.model}/vocab.txt', variant='lan', **options)


def seconds_of(embed):
    """Returns the seconds that `suf embed` states at its end."""
    return float(re.search(r'sentences in ([\d.]+) s', embed.err[-1])[1])


def compare(values, wanted, scale):
    assert (values == (np.array(wanted) / 2.0 ** scale).astype(np.float32)).all(), 'a timed result differs from the simulator'


def ended(service, wanted=None):
    """Returns the serials whose end the model owner has logged; waits for the wanted one."""
    while True:
        found = [int(m[1]) for line in service.serves[0].err if (m := re.search(r': serial (\d+)', line))]
        if wanted is None or wanted in found:
            return found
        time.sleep(0.01)


def measure(a, service, folder):
    """Yields a dict for each line of the table."""
    texts = bench.texts(service.model, a.tokens, a.many + 2 * (WARM + SINGLES) * a.rounds + 100)
    path = {n: write(folder / f'{n}.jsonl', texts[:n]) for n in (1, 32, len(texts))}
    wanted = simulated(argparse.Namespace(variant='lan'), service.model, service.plan, path[len(texts)])
    left = iter(range(32, len(texts)))

    print('encode ..', file=sys.stderr)
    options = '--parallel', 2
    service.embed(path[1], wanted[:1])  # the masked weights
    with encoder(service, folder / 'package') as m:
        m.encode(texts[0])
        scale = m.last.scales[0]
    times = []
    for _ in range(a.rounds):
        service.embed(path[32], wanted[:32], *options)
        with encoder(service, folder / 'package', parallel=2) as m:
            m.encode(texts[:32])
            assert [y.tolist() for y in m.last.integers] == wanted[:32], 'a timed result differs from the simulator'
            times.append((seconds_of(service.started[-1]), m.last.ms / 1e3))
    yield {'subject': 'encode of 32 texts against suf embed', 'limit': 1.05, 'unit': 's', 'values': [statistics.median(t) for t in zip(*times)],
           'measured': statistics.median(y / x for x, y in times)}

    print('gateway ..', file=sys.stderr)
    g, differences, each = Gateway(service, folder / 'gateway'), [], []
    with encoder(service, folder / 'package', parallel=2) as m:
        for _ in range(a.rounds):
            took = [], []
            for i in range(2 * (WARM + SINGLES)):
                text = next(left)
                begun = time.monotonic()
                values = g.ask([texts[text]])[0] if i % 2 else m.encode([texts[text]])
                took[i % 2].append(time.monotonic() - begun)
                compare(values, [wanted[text]], scale)
            each.append([1e3 * statistics.median(t[WARM:]) for t in took])
            differences.append(each[-1][1] - each[-1][0])
    yield {'subject': 'gateway, one text, over encode', 'limit': 10, 'unit': 'ms', 'values': [statistics.median(e) for e in zip(*each)],
           'measured': statistics.median(differences)}

    print(f'{a.many} texts in a request ..', file=sys.stderr)
    many, begun = [next(left) for _ in range(a.many)], g.seconds()
    waits = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(g.ask, [texts[i] for i in many], http.client.HTTPConnection('127.0.0.1', g.at.port))
        for _ in range(SINGLES):
            time.sleep(1)
            if asked.done():
                break
            text, before = next(left), len(ended(service))
            values, (serial,) = g.ask([texts[text]])
            compare(values, [wanted[text]], scale)
            waits.append(ended(service, serial).index(serial) - before)
        values, serials = asked.result()
    own = 1e3 * (g.seconds() - begun) / a.many
    compare(values, [wanted[i] for i in many], scale)
    assert len(set(serials)) == a.many and waits
    yield {'subject': f'its own processor time for a text, of {a.many}', 'limit': 2, 'unit': 'ms', 'values': [], 'measured': own}
    yield {'subject': f'inferences that end before a text behind {a.many}', 'limit': 3, 'unit': '', 'values': waits, 'measured': max(waits)}

    print('memory ..', file=sys.stderr)
    g = Gateway(service, folder / 'gateway2')
    g.ask([texts[0]])
    p = subprocess.Popen([service.program, 'embed', '--plan', service.plan, '--vocab', f'{service.model}/vocab.txt', *service.to_dealers, '--connect', service.at, '--variant', 'lan', '--parallel', '2',
                          '--certs', service.folder / 'certs/data', '--store', folder / 'peak', '--json-file', path[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    assert status == 0
    peaks = usage.ru_maxrss * 1024 / 1e6, g.peak_mb()
    yield {'subject': 'memory of a gateway, beyond suf embed', 'limit': 80, 'unit': 'MB', 'values': list(peaks), 'measured': peaks[1] - peaks[0]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tokens', type=int, default=32)
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--many', type=int, default=1000)
    p.add_argument('--random', help='a random model of this preset, if none is fetched')
    p.add_argument('--out', default=str(ROOT / 'bench/results/gateway.jsonl'))
    a = p.parse_args()
    model, plan = machine.model_and_plan(machine.random_model(a.random) if a.random else None, max(a.tokens, 32) if a.random else 256)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with Service(a, model, plan, folder / 'service') as service:
            for r in measure(a, service, folder):
                print(f"{r['subject']}: {r['measured']:.3g}", file=sys.stderr)
                lines.append({'schema': 'suf.gateway/1', **machine.facts(), 'model': a.random or pathlib.Path(model).name, 'tokens': a.tokens, 'rounds': a.rounds, 'verified': True,
                              'load': os.getloadavg()[0], **r})
    with open(a.out, 'a') as f:
        f.writelines(json.dumps(line) + '\n' for line in lines)
    bench.table([f"{a.random or 'MiniLM'}, {a.tokens} tokens", 'limit', 'measured', 'of'],
                [[r['subject'], f"{r['limit']} {r['unit'] if r['unit'] != 's' else ''}", f"{r['measured']:.2f}", ', '.join(f'{v:.4g}' for v in r['values'][:2])] for r in lines])


if __name__ == '__main__':
    main()
