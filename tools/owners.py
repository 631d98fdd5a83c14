#!/usr/bin/env python3
"""Measures texts a second of several data owners with one model owner and one dealer, all on this machine.

    owners.py [--owners 1 8] [--texts 20] [--tokens 32] [--variant lan] [--batch 1] [--random PRESET] [--out FILE]

Keys are ahead: each data owner fetches them before it is timed. Every output is compared with the simulator. Texts/s
count while all owners run. A line also has the slowest owner against the mean, and the memory of serve. Its embed_mb is
the peak memory of one owner's embed with 1 and 8 sessions, whose keys are in memory. Prints a table and appends JSON
lines to bench/results/owners.jsonl.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tests')]
import bench
import machine
from link import Timed

SUF = ROOT / 'build/suf'
SESSIONS = (1, 8)  # of one owner, whose memory is compared


def peak_mb(role):
    """Returns the peak memory of a process."""
    return int(re.search(r'VmHWM:\s+(\d+)', pathlib.Path(f'/proc/{role.process.pid}/status').read_text())[1]) / 1024


class Roles:
    """A dealer, a model owner and the certificates of data owners, in a folder."""

    def __init__(self, a, owners, model, plan, folder, at_once=None):
        self.a, self.folder, self.started, self.plan, self.model = a, folder, [], plan, model
        self.names = [f'owner{i}' for i in range(owners)]
        subprocess.run([SUF, 'certs', folder / 'certs', *(word for name in self.names for word in ('--data', name))], check=True, capture_output=True)
        self.count = a.texts // a.batch + 1
        limits = ('--at-once', at_once) if at_once else ()
        self.dealer = self.start('deal', '--listen', '127.0.0.1:0', '--tokens', a.tokens, '--texts', a.batch, '--count', self.count, '--variant', a.variant, *limits).port()
        self.serve = self.start('serve', '--listen', '127.0.0.1:0', '--model', model, '--dealer', f'127.0.0.1:{self.dealer}', '--store', folder / 'model', '--ahead', self.count, *limits)
        self.at = self.serve.port(600)

    def start(self, *command, certs=None):
        self.started.append(Timed([SUF, *command, '--plan', self.plan, '--certs', certs or self.folder / 'certs']))
        return self.started[-1]

    def embed(self, name, texts, *options):
        return self.start('embed', '--vocab', f'{self.model}/vocab.txt', '--dealer', f'127.0.0.1:{self.dealer}', '--connect', f'127.0.0.1:{self.at}', '--store', self.folder / name,
                          '--variant', self.a.variant, *(options or ('--ahead', self.count)), '--batch', self.a.batch, '--json', '--json-file', texts, certs=self.folder / 'certs' / f'data-{name}')

    def all(self, texts):
        """Runs all data owners at the same time; returns them when finished."""
        embeds = [self.embed(name, texts) for name in self.names]
        for e in embeds:
            assert e.finish(1800) == 0, f'embed failed: {e.err}'
        return embeds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for role in self.started:
            role.kill()


def write(path, texts):
    path.write_text(''.join(json.dumps({'id': str(i), 'text': t}) + '\n' for i, t in enumerate(texts)))
    return path


def simulated(a, model, plan, path):
    """Returns the results of a file of texts."""
    return [json.loads(line)['y'] for line in subprocess.check_output(
        [SUF, 'simulate', '--model', model, '--plan', plan, '--variant', a.variant, '--json', '--json-file', path], text=True).splitlines()]


def embed_mb(a, model, plan):
    """Returns the memory of embed with so many sessions, and of each further running inference."""
    peak = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = write(folder / 'texts', bench.texts(model, a.tokens, 4 * a.batch * max(SESSIONS)))
        wanted = simulated(a, model, plan, path)
        with Roles(a, 1, model, plan, folder, max(SESSIONS)) as roles:
            for n in (1, *SESSIONS):  # the first one fetches the masked weights
                e = roles.embed('owner0', path, '--parallel', n)
                assert e.finish(1800) == 0, f'embed failed: {e.err}'
                assert [row['y'] for _, row in e.lines] == wanted, 'a result differs from the simulator'
                peak[n] = max(row['rss_mb'][0] for _, row in e.lines)
    few, many = SESSIONS
    return {'embed_mb': peak, 'embed_mb_each': (peak[many] - peak[few]) / (many - few)}


def measure(a, owners, model, plan):
    """Returns the line of so many data owners."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        texts = bench.texts(model, a.tokens, a.texts)
        write(folder / 'first', texts[:a.batch])
        wanted = simulated(a, model, plan, write(folder / 'texts', texts))
        with Roles(a, owners, model, plan, folder) as roles:
            for name in roles.names:  # the masked weights and the keys
                assert roles.embed(name, folder / 'first').finish(1800) == 0
            embeds = roles.all(folder / 'texts')
            memory = peak_mb(roles.serve)
        for e in embeds:
            assert [row['y'] for _, row in e.lines] == wanted, 'a timed result differs from the simulator'
        begin, end = max(e.lines[a.batch - 1][0] for e in embeds), min(e.lines[-1][0] for e in embeds)
        rates = [sum(begin < at <= end for at, _ in e.lines) / (end - begin) for e in embeds]
    row = embeds[0].lines[0][1]
    return {'schema': 'suf.owners/1', **machine.facts(), 'owners': owners, 'tokens': a.tokens, 'variant': row['variant'], 'batch': a.batch, 'texts': a.texts, 'verified': True,
            'flights': row['flights'], 'bytes': [row['bytes']['p0'], row['bytes']['p1']], 'key_bytes': row['key_bytes'], 'texts_per_s': sum(rates),
            'slowest_x': min(rates) * owners / sum(rates), 'serve_mb': memory, 'load': os.getloadavg()[0]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--owners', type=int, nargs='+', default=[1, 8, 1, 8])
    p.add_argument('--texts', type=int, default=20)
    p.add_argument('--tokens', type=int, default=32)
    p.add_argument('--variant', default='lan')
    p.add_argument('--batch', type=int, default=1)
    p.add_argument('--random', help='a random model of this preset, if none is fetched')
    p.add_argument('--plan')
    p.add_argument('--out', default=str(ROOT / 'bench/results/owners.jsonl'))
    a = p.parse_args()
    model, plan = (machine.fetched(), a.plan) if a.plan else machine.model_and_plan(machine.random_model(a.random) if a.random else None, 256, '--keys', 'ahead')
    memory = embed_mb(a, model, plan)
    print(f'embed takes {memory["embed_mb"][SESSIONS[0]]:.0f} MB, and {memory["embed_mb_each"]:.1f} MB for each further running inference', file=sys.stderr)
    lines = []
    for owners in a.owners:
        print(f'{owners} data owners ..', file=sys.stderr)
        lines.append({**measure(a, owners, model, plan), **memory})
        with open(a.out, 'a') as f:
            f.write(json.dumps(lines[-1]) + '\n')
    bench.table(['owners', 'tokens', 'variant', 'batch', 'flights', 'MB', 'texts/s', 'slowest / mean', 'serve MB'],
                [[r['owners'], r['tokens'], r['variant'], r['batch'], r['flights'], f'{sum(r["bytes"]) / 1e6:.2f}', f'{r["texts_per_s"]:.2f}', f'{r["slowest_x"]:.2f}', f'{r["serve_mb"]:.0f}'] for r in lines])


if __name__ == '__main__':
    main()
