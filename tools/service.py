#!/usr/bin/env python3
"""Measures the cost of owners, counts, metrics, log and receipts, and the gain of further processes. All on this machine.

    service.py [--texts 8] [--rounds 5] [--tokens 32] [--random PRESET] [--before SUF] [--out FILE]

* "all on" against "all off": the time of a text. "On" has a list of owners, counts, metrics at each role, logs and
  receipts. Both services run all the time, and calls of one data owner alternate.
* "spread": texts a second of 8 sessions with two dealers and two processes of the model owner, against one of each.
* "before": all off, against another program, if --before names one. Its roles are of that program.
* Costs of one receipt, of one count and of 10,000 owners, from the benches of these.

Every output is compared with the simulator. A ratio is the median over rounds, with its spread. Prints a table and
appends JSON lines to bench/results/service.jsonl.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tests')]
import bench
import machine
from link import Timed
from owners import simulated, write

SUF = ROOT / 'build/suf'
SESSIONS = 8


class Service:
    """Dealers and processes of a model owner in a folder, and one data owner."""

    def __init__(self, a, model, plan, folder, program=SUF, records=False, each=1):
        self.a, self.folder, self.plan, self.model, self.program, self.started = a, folder, plan, model, program, []
        folder.mkdir()
        names = [f'd{i}' for i in range(each)] if each > 1 else []
        self.suf('certs', folder / 'certs', *(word for name in names for word in ('--dealer', name)))
        places = [f'dealer-{name}' for name in names] or ['dealer']
        deals = [self.start('deal', '--listen', '127.0.0.1:0', certs=place, state=folder / place, **self.records(records, place)) for place in places]
        listed = ','.join(f'127.0.0.1:{d.port()}' for d in deals)
        self.to_dealers = ['--dealer', listed]
        if names:
            self.to_dealers += [word for place in places for word in ('--pin', self.suf('certs', folder / 'certs' / place, '--show').split()[0])]
            self.suf('secrets', folder / 'secrets', '--certs', folder / 'certs')
        shared = {'secrets': folder / 'secrets'} if names else {}
        if records:
            owners = folder / 'owners.toml'
            owners.write_text(f'[[owner]]\nname = "bench"\nkeys = ["{self.suf("certs", folder / "certs/data", "--show").split()[0]}"]\ntexts = 1000000\ntokens = 1000000000\n')
            shared['owners'] = owners
        self.serves = [self.start('serve', '--listen', '127.0.0.1:0', '--model', model, *self.to_dealers, certs='model', store=folder / f'model{i}', **shared, **self.records(records, f'model{i}'))
                       for i in range(each)]
        self.at = ','.join(f'127.0.0.1:{s.port(600)}' for s in self.serves)
        self.to_records = ['--receipts', folder / 'receipts', '--metrics', folder / 'data.prom'] if records else []

    def suf(self, *command):
        return subprocess.check_output([self.program, *map(str, command)], text=True, stderr=subprocess.DEVNULL)

    def records(self, on, name):
        return {'audit-log': self.folder / f'{name}.log', 'metrics': self.folder / f'{name}.prom'} if on else {}

    def start(self, command, *words, certs, **flags):
        words = [command, *words, *(word for name, value in flags.items() for word in (f'--{name}', value)), '--plan', self.plan, '--certs', self.folder / 'certs' / certs]
        self.started.append(Timed([self.program, *map(str, words)]))
        return self.started[-1]

    def embed(self, path, wanted, *options):
        """Runs the texts of a file; returns [(time of its row, row)]."""
        e = self.start('embed', '--vocab', f'{self.model}/vocab.txt', *self.to_dealers, '--connect', self.at, '--variant', 'lan', *self.to_records, *options, '--json', '--json-file', path,
                       certs='data', store=self.folder / 'data')
        assert e.finish(1800) == 0, f'embed failed: {e.err}'
        assert [row['y'] for _, row in e.lines] == wanted, 'a timed result differs from the simulator'
        return e.lines

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for role in self.started:
            role.kill()


def text_ms(lines):
    """Returns the median time of a text from its request to its result, without the first text."""
    return statistics.median(sum(row['ms'].values()) for _, row in lines[1:])


def texts_per_s(lines):
    """Returns the rate after the first texts, which open the sessions."""
    return (len(lines) - SESSIONS) / (lines[-1][0] - lines[SESSIONS - 1][0])


def paired(a, services, value, *options, files):
    """Runs calls with both services in turns. Returns the medians of both, and the ratios second / first."""
    got = [[], []]
    for service in services:  # the masked weights
        service.embed(*files['first'])
    for turn in range(a.rounds):
        for k in (0, 1) if turn % 2 else (1, 0):
            got[k].append(value(services[k].embed(*files['texts'], *options)))
    return [statistics.median(g) for g in got], [y / x for x, y in zip(*got)]


BENCHES = ('receipt_bench', 'sqlite_counts_bench', 'owners_bench')


def bench_lines(name):
    return [json.loads(line) for line in subprocess.check_output([ROOT / 'build' / name], text=True).splitlines() if line.startswith('{')]


def measure(a, model, plan, folder):
    """Yields a dict for each comparison: subject, limit, unit, both values, and their ratios."""
    texts = bench.texts(model, a.tokens, a.texts * SESSIONS)
    files = {}
    for name, some in (('first', texts[:1]), ('texts', texts[:a.texts + 1]), ('many', texts)):
        path = write(folder / f'{name}.jsonl', some)
        files[name] = path, simulated(argparse.Namespace(variant='lan'), model, plan, path)
    with Service(a, model, plan, folder / 'off') as off:
        with Service(a, model, plan, folder / 'on', records=True) as on:
            print('all on against all off ..', file=sys.stderr)
            values, ratios = paired(a, (off, on), text_ms, '--one-by-one', files=files)
            yield {'subject': 'all on against all off', 'limit': '<= 1.04', 'unit': 'ms a text', 'values': values, 'ratios': ratios}
        if a.before:
            print('all off against another program ..', file=sys.stderr)
            with Service(a, model, plan, folder / 'before', program=pathlib.Path(a.before).resolve()) as before:
                values, ratios = paired(a, (before, off), text_ms, '--one-by-one', files=files)
            yield {'subject': 'all off against the program before', 'limit': '<= 1.02', 'unit': 'ms a text', 'values': values, 'ratios': ratios}
        print('two of each process against one ..', file=sys.stderr)
        with Service(a, model, plan, folder / 'spread', each=2) as spread:
            values, ratios = paired(a, (off, spread), texts_per_s, '--parallel', SESSIONS, files={'first': files['first'], 'texts': files['many']})
        yield {'subject': 'two of each process against one, 8 sessions', 'limit': '>= 0.90', 'unit': 'texts/s', 'values': values, 'ratios': ratios}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--texts', type=int, default=8, help='of a call for times; of each session for texts a second')
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--tokens', type=int, default=32)
    p.add_argument('--random', help='a random model of this preset, if none is fetched')
    p.add_argument('--before', help='another program, for the time without all of this')
    p.add_argument('--out', default=str(ROOT / 'bench/results/service.jsonl'))
    a = p.parse_args()
    missing = [name for name in BENCHES if not (ROOT / 'build' / name).exists()]
    if missing:
        sys.exit(f'service: build/{missing[0]} is missing; run ninja -C build {" ".join(BENCHES)}')
    model, plan = machine.model_and_plan(machine.random_model(a.random) if a.random else None, max(a.tokens, 32) if a.random else 256)
    rows, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for r in measure(a, model, plan, pathlib.Path(folder)):
            lines.append({'schema': 'suf.service/1', **machine.facts(), 'tokens': a.tokens, 'rounds': a.rounds, 'verified': True, 'load': os.getloadavg()[0], **r})
            ratio = statistics.median(r['ratios'])
            rows.append([r['subject'], r['limit'], f'{ratio:.3f} ({min(r["ratios"]):.2f}-{max(r["ratios"]):.2f})', f'{r["values"][1]:.2f} / {r["values"][0]:.2f} {r["unit"]}'])
    for name in BENCHES:
        lines += [{'schema': 'suf.service/1', **machine.facts(), **line} for line in bench_lines(name)]
    with open(a.out, 'a') as f:
        f.writelines(json.dumps(line) + '\n' for line in lines)
    bench.table(['MiniLM, lan' if not a.random else a.random, 'limit', 'ratio', 'of'], rows)
    print()
    for line in lines:
        if 'bench' in line:
            print(' '.join(f'{k}={v}' for k, v in line.items() if k not in machine.facts() and k != 'schema'))


if __name__ == '__main__':
    main()
