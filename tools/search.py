#!/usr/bin/env python3
"""Measures private search and compares each figure with its limit. Everything runs on this machine.

    search.py [--part traces processes] [--million] [--runs 5] [--rounds 3] [--rows 100000] [--out FILE]

* traces: searches alone and a fetch alone, on a given embedding, by build/search_bench. Dealer, P0 and P1 are processes
  with one thread each. Every word is compared with the specification. --million adds a million rows.
* processes: suf deal, serve and search with an index of random rows, against embed with a service that has none. Then
  1,000 rows are appended, and a new session searches them. All hits are compared with suf simulate.

Flights, keys and bytes are exact. A processor time is that of all threads of a role. Every search reads all rows, so it
depends on the memory, which is measured first. Wall times are medians. A figure that misses its limit has a "!". Prints tables and appends JSON lines
to bench/results/search.jsonl. Exit code 1 if a result is wrong.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tests')]
import bench
import machine
from roles import Role

SUF = ROOT / 'build/suf'
PROGRAMS = ('search_bench', 'random_index', 'yardstick_bench')
# case of search_bench -> its row, and limits of flights, MB of key of both parties, ms of all roles
CASES = {
    '1000-exact': ('1,000, exact', 14, 1.3, 6),
    '10000-exact': ('10,000, exact', 18, 10, 30),
    '10000': ('10,000, M 1,024', 24, 2, 10),
    '100000': ('100,000, M 4,096', 36, 7, 35),
    '100000-far': ('100,000, M 8,192', 18, 35, 110),
    '100000-exact': ('100,000, exact', 24, 90, 200),
    '1000000': ('1,000,000, M 4,096', 44, 40, 450),
}
SENT_MB, MEMORY_MB = 2.5, 350  # of 100,000 rows
FETCH_SENT_MB, FETCH_MS = 2.1, 25  # the time is that of a role
OVER_EMBEDDING_MS, APPEND_MB, APPEND_S = 20, 1.2, 1


def beside(value, limit=None, digits=0):
    """Returns a figure as a cell, with its limit."""
    text = f'{value:.{digits}f}'
    return text if limit is None else f'{text} ({limit:g})' + '!' * (float(text) > limit)


def sent_mb(line):
    """Returns what both parties send, before the inference and in it."""
    return (sum(line['payload']) + line['p1_ahead']) / 1e6


def traces(cases, runs, facts):
    out = subprocess.check_output([ROOT / 'build/search_bench', *cases, f'runs={runs}'], text=True)
    return [{'schema': 'suf.search/1', **facts, **json.loads(line)} for line in out.splitlines()]


def report_traces(lines):
    rows = []
    for line in lines:
        if line['case'] == 'fetch':
            continue
        name, flights, key, processor = CASES[line['case']]
        large = line['case'].startswith('100000') and line['case'] != '1000000'
        rows.append([name, beside(line['flights'], flights), beside(sum(line['key_bytes']) / 1e6, key, 2), beside(sent_mb(line), SENT_MB if line['case'] == '100000' else None, 2),
                     beside(line['cpu_ms'], processor, 1), ' '.join(f'{line["memory_mb"][role]:.0f}' for role in ('dealer', 'p0', 'p1')) + '!' * (large and max(line['memory_mb'].values()) > MEMORY_MB)])
    bench.table(['rows', 'flights', 'key, MB', 'sent, MB', 'cpu, ms', 'memory, MB'], rows)
    print(f'\nIn brackets: limits; {MEMORY_MB} MB a role for 100,000 rows. Memory of dealer, P0, P1.')
    for line in lines:
        if line['case'] == 'fetch':
            print()
            bench.table(['10 documents of 2 kB from 100,000', 'measured'], [
                ['sent, MB', beside(sent_mb(line), FETCH_SENT_MB, 2)], ['processor time of P0, ms', beside(line['cpu_ms_of']['p0'], FETCH_MS, 1)],
                ['processor time of P1, ms', beside(line['cpu_ms_of']['p1'], FETCH_MS, 1)], ['processor time of the dealer, ms', beside(line['cpu_ms_of']['dealer'], FETCH_MS, 1)],
                ['memory, MB', ' '.join(f'{line["memory_mb"][role]:.0f}' for role in ('dealer', 'p0', 'p1'))]])


class Service:
    """A dealer and a model owner, with an index or without, and a data owner's store."""

    def __init__(self, folder, model, plan, tokens, bundles, index=None):
        folder.mkdir()
        self.folder, self.model, self.plan, self.index, self.bundles = folder, model, plan, index, bundles
        subprocess.run([SUF, 'certs', folder / 'certs'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        public = ['--index-plan', index / 'index.json'] if index else []
        self.deal = Role([SUF, 'deal', *self.common('dealer'), '--listen', '127.0.0.1:0', '--state', folder / 'state', '--tokens', tokens, '--count', bundles, *public])
        self.address = f'127.0.0.1:{self.deal.port()}'
        begun = time.monotonic()
        self.serve = Role([SUF, 'serve', *self.common('model'), '--model', model, '--dealer', self.address, '--listen', '127.0.0.1:0', '--store', folder / 'p0', '--ahead', bundles,
                           *(['--index', index] if index else [])])
        self.at = f'127.0.0.1:{self.serve.port(600)}'
        self.start_s = time.monotonic() - begun

    def common(self, role):
        return ['--plan', self.plan, '--certs', self.folder / 'certs' / role]

    def run(self, file, *words):
        """Returns the seconds of one call of embed or search, and its rows."""
        command = ['search', '--index-plan', self.index / 'index.json'] if self.index else ['embed']
        begun = time.monotonic()
        done = Role([SUF, *command, *self.common('data'), '--vocab', machine.vocabulary(self.model, self.plan), '--dealer', self.address, '--connect', self.at, '--store', self.folder / 'p1', '--json',
                     '--one-by-one', '--json-file', file, *words])
        if done.finish(600):
            sys.exit(f'search: suf {command[0]} failed: {done.err[-1:]}')
        return time.monotonic() - begun, done.rows()

    def ahead(self, file):
        return self.run(file, '--ahead', self.bundles)

    def memory_mb(self):
        return [int(re.search(r'VmHWM:\s+(\d+)', pathlib.Path(f'/proc/{role.process.pid}/status').read_text())[1]) * 1024 / 1e6 for role in (self.deal, self.serve)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for role in (self.serve, self.deal):
            role.end()


def simulated(model, plan, index, file):
    """Returns the hits of each text by the specification."""
    out = subprocess.check_output([SUF, 'simulate', '--model', model, '--plan', plan, '--index', index, '--json-file', file, '--json'], text=True, stderr=subprocess.DEVNULL)
    return [ranks(json.loads(line)) for line in out.splitlines()]


def ranks(row):
    return [(hit['row'], hit['rank']) for hit in row['hits']]


def written(path, texts):
    path.write_text(''.join(json.dumps({'id': i, 'text': t}) + '\n' for i, t in enumerate(texts)))
    return path


def expect(rows, wanted):
    if [ranks(row) for row in rows] != wanted:
        sys.exit('search: a timed result differs from the simulator')


def processes(rows, rounds, made, facts):
    tokens, texts = 18, 6
    model, plan = machine.model_and_plan(None, 256, '--profile', 'lan', '--keys', 'ahead')
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        index, random_index = made or folder / 'index', ROOT / 'build/random_index'
        if not made:
            print('making the index ..', file=sys.stderr)
            subprocess.run([random_index, model, plan, index, str(rows)], check=True)
        many = written(folder / 'many.jsonl', bench.texts(model, tokens, texts))
        one = written(folder / 'one.jsonl', bench.texts(model, tokens, 1))
        wanted = simulated(model, plan, index, many)
        line = {'schema': 'suf.search/1', **facts, 'bench': 'search processes', 'rows': rows, 'tokens': tokens, 'texts': texts, 'rounds': rounds, 'index': json.loads((index / 'index.json').read_text())}
        with Service(folder / 'plain', model, plan, tokens, texts) as plain, Service(folder / 'search', model, plan, tokens, texts, index) as search:
            print('searching ..', file=sys.stderr)
            line['first_session_s'], first = search.run(one)
            line['setup_bytes'] = first[0]['bytes']['setup']
            plain.run(one)
            embed, found, memory_mb = [], [], []
            for _ in range(rounds):
                embed += [row['ms']['online'] for row in plain.ahead(many)[1][1:]]
                part = search.ahead(many)[1]
                expect(part, wanted)
                found += [row['ms']['online'] for row in part[1:]]
            for service in (plain, search):
                memory_mb.append(service.memory_mb() + [service.ahead(many)[1][-1]['rss_mb'][0]])
            last = part[-1]
            line |= {'embed_ms': statistics.median(embed), 'search_ms': statistics.median(found), 'memory_mb': dict(zip(('embed', 'search'), memory_mb)), 'serve_start_s': [plain.start_s, search.start_s],
                     'flights': last['flights'], 'key_bytes': last['key_bytes'], 'bytes': last['bytes']}
            print('appending ..', file=sys.stderr)
            sessions, room = [], line['index']['places'] * line['index']['buckets'] - rows
            for turn in range(min(rounds, room // 1000)):
                before = search.run(one)[0]
                begun = time.monotonic()
                subprocess.run([random_index, model, plan, index, '1000'], check=True)
                appended = time.monotonic() - begun
                after, got = search.run(one)
                expect(got, simulated(model, plan, index, one))
                sessions.append({'append_s': appended, 'before_s': before, 'after_s': after, 'setup_bytes': got[0]['bytes']['setup']})
            line['appends'] = sessions
            print('fetching ..', file=sys.stderr)
            line['first_fetch_s'], _ = search.run(one, '--fetch')
            line['fetch_s'], got = search.run(one, '--fetch')
            if any(hit['document'] != f'document {hit["row"]}' for hit in got[0]['hits']):
                sys.exit('search: a fetched document is another one')
    return line


def report_processes(line):
    over = line['search_ms'] - line['embed_ms']
    rows = [[f'{line["rows"]:,} rows: time over the embedding, ms', beside(over, OVER_EMBEDDING_MS, 1)], ['the same: online, embed and search, ms', f'{line["embed_ms"]:.0f}, {line["search_ms"]:.0f}']]
    for i, role in enumerate(('dealer', 'P0', 'P1')):
        alone, both = (line['memory_mb'][name][i] for name in ('embed', 'search'))
        rows.append([f'memory of {role} over that of embed, MB', beside(both - alone, MEMORY_MB) + f' of {both:.0f}'])
    if line['appends']:
        seconds = statistics.median(a['after_s'] - a['before_s'] for a in line['appends'])
        rows += [['1,000 rows appended: W - B sent, MB', beside(max(a['setup_bytes'] for a in line['appends']) / 1e6, APPEND_MB, 2)],
                 ['the same: a new session takes longer by, s', beside(seconds, APPEND_S, 2)],
                 ['the same: all of that session, s', f"{statistics.median(a['after_s'] for a in line['appends']):.2f}"]]
    rows += [['first session: W - B of all rows, MB; s', f"{line['setup_bytes'] / 1e6:.0f}; {line['first_session_s']:.1f}"],
             ['start of serve without and with the index, s', ', '.join(f'{s:.1f}' for s in line['serve_start_s'])],
             ['search and fetch of one text, first and later, s', f"{line['first_fetch_s']:.1f}, {line['fetch_s']:.1f}"]]
    print()
    bench.table(['three processes, MiniLM, 18 tokens', 'measured'], rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--part', nargs='+', choices=('traces', 'processes'), default=['traces', 'processes'])
    p.add_argument('--case', nargs='+', choices=[*CASES, 'fetch'], help='of the traces (default: all but the million rows)')
    p.add_argument('--million', action='store_true', help='also search a million rows, which takes 10 GB of memory')
    p.add_argument('--runs', type=int, default=5, help='of each trace')
    p.add_argument('--rounds', type=int, default=3, help='calls of embed and search, in turns; and appends')
    p.add_argument('--rows', type=int, default=100000, help='of the index that three processes search')
    p.add_argument('--index', type=pathlib.Path, help='an index of so many rows that build/random_index made for the plan; it grows (default: a new one)')
    p.add_argument('--out', default=str(ROOT / 'bench/results/search.jsonl'))
    a = p.parse_args()
    missing = [name for name in PROGRAMS if not (ROOT / 'build' / name).exists()]
    if missing:
        sys.exit(f'search: build/{missing[0]} is missing; run ninja -C build {" ".join(PROGRAMS)}')
    yardstick = json.loads(subprocess.check_output([ROOT / 'build/yardstick_bench'], text=True))
    facts, lines = machine.facts() | {'memory_read_gb_per_s': yardstick['memory_read_gb_per_s']}, []
    print(f"{facts['cpu']}, {facts['cores']} cores for all roles, {facts['memory_read_gb_per_s']:g} GB/s read from memory\ncommit {facts['commit']}; every result verified\n", flush=True)
    if 'traces' in a.part:
        cases = a.case or [*(case for case in CASES if case != '1000000' or a.million), 'fetch']
        lines = traces(cases, a.runs, facts)
        report_traces(lines)
    if 'processes' in a.part:
        lines.append(processes(a.rows, a.rounds, a.index, facts))
        report_processes(lines[-1])
    with open(a.out, 'a') as f:
        f.writelines(json.dumps(line) + '\n' for line in lines)


if __name__ == '__main__':
    main()
