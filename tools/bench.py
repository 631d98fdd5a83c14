#!/usr/bin/env python3
"""Runs `make bench`: three processes on this machine, with TLS and fresh keys of the dealer. Every timed result is
compared with the simulator.

    bench.py [--model DIR] [--tokens 16 32 128 256] [--runs 9] [--out bench/results]
    bench.py --shape PRESET [--tokens 128] [--runs 3] [--out bench/results]
    bench.py --many [--runs 9] [--out bench/results]
    bench.py --service [--runs 5] [--out bench/results]
    bench.py --python [--runs 5] [--out bench/results]
    bench.py --search [--runs 5] [--out bench/results]
    bench.py --models [NAME ..] [--tokens 32 128] [--runs 3] [--out bench/results]

Prints the tables of docs/measurements.md. Writes JSON lines with commit and machine: inference.jsonl (one line for each
length) and kernels.jsonl. Times are medians of fresh serials after one warm-up, text by text (--one-by-one). A line
"throughput" has sentences per second of many texts in one call. Calls that fetch the next bundle meanwhile alternate
with calls that do not. The yardstick is the float32 forward of tools/reference.py on one thread, in the same run. With
--shape the model is a random one of that preset, and its lines are added to shapes.jsonl.

--many prints the table of many texts at once, with limits. As root: it runs tools/owners.py and tools/link.py, which
append to their own files.

--service runs tools/service.py: owners, counts, metrics, log and receipts, and several processes.

--python runs tools/gateway.py: the Python package against suf embed, and its gateway.

--search runs tools/search.py: private search, alone and by three processes. Without an option it runs last.

--models fetches the models of tools/models.json and prints the table of docs/models.md. Plans are for near links. Online
times are those of keys from disk, so it needs root as --many does. The lines are added to models.jsonl.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROLES = {'dealer': 'dealer', 'p0': 'model owner (P0)', 'p1': 'data owner (P1)'}
PARTS = ('compute', 'key', 'upload', 'wire', 'wait')


def entries(model):
    """Returns the entries of the vocabulary with which a word may begin."""
    lines = pathlib.Path(model) / 'vocab.txt'
    if lines.exists():
        return lines.read_text().split('\n')
    pieces = json.loads((pathlib.Path(model) / 'tokenizer.json').read_text())['model']['vocab']
    return [piece[1:] for piece, _ in pieces[:20000] if piece.startswith('\u2581')]  # rarer words may be cut in two


def texts(model, tokens, count):
    """Makes texts of exactly `tokens` tokens: random whole words of the vocabulary between [CLS] and [SEP]."""
    words = [w for w in entries(model) if w.isascii() and w.isalpha() and w.islower() and len(w) > 3]
    draw = random.Random(tokens)
    return [' '.join(draw.choice(words) for _ in range(tokens - 2)) for _ in range(count)]


def median(rows, *path):
    def get(r):
        for key in path:
            r = r[key]
        return r
    return statistics.median(get(r) for r in rows)


def demo(model, plan, tokens, count, *flags, program=ROOT / 'build/suf'):
    """Returns the rows of `suf demo` for `count` texts; every result must equal the simulator's."""
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.writelines(json.dumps({'id': str(i), 'text': t}) + '\n' for i, t in enumerate(texts(model, tokens, count)))
        f.flush()
        out = subprocess.check_output([program, 'demo', '--model', model, '--plan', plan, '--json-file', f.name, '--json', *flags], text=True, stderr=subprocess.DEVNULL)
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == count and all(r['n'] == tokens and r['sim_equal'] for r in rows), 'a timed result differs from the simulator'
    return rows


def throughput(model, plan, tokens, count, pairs):
    rates = {'ahead': [], 'one_by_one': []}
    for _ in range(pairs):
        for name, flags in (('one_by_one', ['--one-by-one']), ('ahead', [])):
            rates[name].append(count / demo(model, plan, tokens, count, *flags)[-1]['at_s'])
    gain = statistics.median(a / b for a, b in zip(rates['ahead'], rates['one_by_one']))
    return {'schema': 'suf.bench/1', 'bench': 'throughput', 'tokens': tokens, 'sentences': count, 'pairs': pairs, 'verified': True, 'gain': gain,
            'per_s': {k: statistics.median(v) for k, v in rates.items()}, 'per_s_of_each': rates}


def measure(model, plan, tokens, runs):
    rows = demo(model, plan, tokens, runs + 1, '--one-by-one')
    first, rows = rows[0], rows[1:]
    yardstick = json.loads(subprocess.check_output([sys.executable, ROOT / 'tools/reference.py', 'time', '--model', model, '--tokens', str(tokens)]))
    ms = {k: median(rows, 'ms', k) for k in ('fetch', 'ahead', 'online')}
    within = {k: median(rows, 'within_ms', k) for k in ('deal', 'keys')}
    ms['total'] = statistics.median(sum(r['ms'].values()) for r in rows)
    yard = yardstick['median_s'] * 1e3
    return {'schema': 'suf.bench/1', 'tokens': tokens, 'runs': runs, 'verified': True, 'float32_ms': yard, 'ms': ms, 'within_ms': within, 'online_x': ms['online'] / yard, 'total_x': ms['total'] / yard,
            'flights': first['flights'], 'frames': first['frames'], 'bytes': {**rows[0]['bytes'], 'setup': first['bytes']['setup']}, 'key_bytes': first['key_bytes'],
            'rss_mb': rows[-1]['rss_mb'], 'cos_min': min(r['cos'] for r in rows),
            'times_ms': {role: operators([r['times'][role]['by'] for r in rows]) for role in ROLES}}


def operators(runs):
    """-> {operator: {part: ms}}: the median over runs of the sum over layers; the operator 'total' sums all."""
    sums = []
    for by in runs:
        one = collections.defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        for scope, parts in by.items():
            for name in (scope.split('/')[-1], 'total'):
                for part, v in parts.items():
                    one[name][part] += v
        sums.append(one)
    return {name: {part: statistics.median(s[name][part] for s in sums) for part in PARTS} for name in sums[0]}


def yardsticks(lines):
    """Returns the limits of this machine: one core, the memory and the loopback."""
    of = {k['bench']: k for k in reversed(lines)}  # the first of each name
    return {'aes_blocks_per_s': of['prg']['aes_bound_gb_per_s'] * 1e9 / 16, 'float32_gmac_per_s': max(k['float32_gmac_per_s'] for k in lines if k['bench'] == 'gemm'),
            'memory_read_gb_per_s': of['yardstick']['memory_read_gb_per_s'], 'tcp_round_trip_us': of['yardstick']['tcp_round_trip_us'],
            'tls_round_trip_us': of['tls loopback']['round_trip_us']}


def kernels():
    """Returns the JSON lines of the kernels' own benchmarks that concern inference."""
    keep = []
    for name in ('gemm_bench', 'prg_bench', 'cut_bench', 'table_bench', 'dpf_bench', 'myl7_bench', 'tls_bench', 'yardstick_bench'):
        program = ROOT / 'build' / name
        if name == 'myl7_bench' and not program.exists():
            continue  # SUF_MYL7=OFF
        for line in subprocess.run([program], capture_output=True, text=True, timeout=300).stdout.splitlines():
            if line.startswith('{'):
                keep.append(json.loads(line))
    return keep


def table(head, rows):
    width = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
    for r in [head, ['-' * w for w in width]] + rows:
        print('| ' + ' | '.join(str(c).rjust(w) if i else str(c).ljust(w) for i, (c, w) in enumerate(zip(r, width))) + ' |')


def measured(model, plan, lengths, runs, facts):
    rows = []
    for n in lengths:
        print(f'measuring {n} tokens ..', file=sys.stderr)
        rows.append({**facts, **measure(model, plan, n, runs)})
    return rows


def report(facts, rows):
    print(f"{facts['cpu']}, {facts['cores']} cores for all three processes, commit {facts['commit']}\n")
    table(['tokens', 'online ms', 'x float32', 'with keys ms', 'x float32', 'flights', 'key a party MB', 'sent P0 MB', 'sent P1 MB', 'memory MB (dealer, P0, P1)', 'cosine >='],
          [[r['tokens'], f"{r['ms']['online']:.0f}", f"{r['online_x']:.1f}", f"{r['ms']['total']:.0f}", f"{r['total_x']:.1f}", r['flights'], f"{max(r['key_bytes']) / 1e6:.1f}",
            f"{r['bytes']['p0'] / 1e6:.2f}", f"{r['bytes']['p1'] / 1e6:.2f}", ' '.join(f'{m:.0f}' for m in r['rss_mb']), f"{r['cos_min']:.6f}"] for r in rows])
    print()
    for r in rows:
        names = [n for n in r['times_ms']['p1'] if n != 'total'] + ['total']
        table([f"{r['tokens']} tokens, ms: arithmetic / keys / upload / wire / waiting"] + [ROLES[role] for role in ROLES],
              [[n] + [' / '.join(f'{r["times_ms"][role][n][part]:.1f}' for part in PARTS) if n in r['times_ms'][role] else '' for role in ROLES] for n in names])
        print()


def lines_of(tool, file, *flags):
    """Runs a tool that appends lines to a file. Returns the new lines."""
    before = file.read_text().count('\n') if file.exists() else 0
    subprocess.run([sys.executable, ROOT / 'tools' / tool, *map(str, flags), '--out', file], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in file.read_text().splitlines()[before:]]


def many_texts(runs, out):
    """Measures many texts at once. Returns rows for a table: subject, limit, ratio, and the two values."""
    owners = {n: [r for r in rows if r['owners'] == n] for rows in [lines_of('owners.py', out / 'owners.jsonl', '--owners', 1, 8, 1, 8)] for n in (1, 8)}
    one, eight = (median(owners[n], 'texts_per_s') for n in (1, 8))
    rows = [['8 data owners against one, texts/s', '>= 0.90', f'{eight / one:.2f}', f'{eight:.2f} / {one:.2f}'],
            ['the slowest of them against the mean', '>= 0.70', f'{min(r["slowest_x"] for r in owners[8]):.2f}', ''],
            ['one more running inference, MB at P0', '<= 90', f'{(median(owners[8], "serve_mb") - median(owners[1], "serve_mb")) / 7:.0f}', '']]

    def link(rtt, tokens, *flags):
        return lines_of('link.py', out / 'link.jsonl', '--ahead', '--pin', 'parties', '--variant', 'lan', '--delay-ms', rtt / 2, '--tokens', tokens, '--runs', runs,
                        '--note', 'many texts', *flags)[0]
    alone, parallel = link(40, 32), link(40, 32, '--parallel', 8)
    rows.append(['8 sessions against one, 40 ms, texts/s', '>= 5', f'{parallel["texts_per_s"] / alone["texts_per_s"]:.1f}', f'{parallel["texts_per_s"]:.2f} / {alone["texts_per_s"]:.2f}'])
    for rtt, tokens, limit in ((20, 32, 2.5), (60, 32, 1.7), (60, 8, 1.2)):
        text, batch = link(rtt, tokens), link(rtt, tokens, '--batch', 8)
        rows.append([f'a batch of 8 against one text, {rtt} ms, {tokens} tokens, ms', f'<= {limit}', f'{batch["online_ms"] / text["online_ms"]:.2f}', f'{batch["online_ms"]:.0f} / {text["online_ms"]:.0f}'])
    return rows


def with_cls(model, folder):
    """Makes a copy of a model in `folder` that pools the first row. Returns its path."""
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns('1_Pooling'), copy_function=os.symlink)
    (folder / '1_Pooling').mkdir()
    (folder / '1_Pooling/config.json').write_text(json.dumps({'pooling_mode': 'cls'}))
    return folder


def search(runs, out):
    subprocess.run([sys.executable, ROOT / 'tools/search.py', '--runs', str(runs), '--out', out / 'search.jsonl'], check=True)


def real_models(names, lengths, runs, facts):
    """Measures the models of tools/models.json, and variants of them. Returns rows as measured() does."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or json.loads((ROOT / 'tools/models.json').read_text()):
            subprocess.check_call([sys.executable, ROOT / 'tools/fetch_model.py', name], stdout=subprocess.DEVNULL)
            model = subprocess.check_output([ROOT / 'build/suf', 'model', 'path', name], text=True).strip()
            jobs = [(name, model, ())]
            if name == 'all-MiniLM-L6-v2':
                jobs.append((name + ', CLS', with_cls(model, pathlib.Path(folder) / 'cls'), ()))
            if name == 'multilingual-e5-small':
                jobs.append((name + ', public table', model, ('--public-table',)))
            for label, path, options in jobs:
                plan = machine.model_and_plan(str(path), max(lengths), '--profile', 'lan', '--keys', 'ahead', *options)[1]
                for row in measured(path, plan, lengths, runs, {**facts, 'model': label}):
                    ahead, = lines_of('link.py', pathlib.Path(folder) / 'link.jsonl', '--model', path, '--plan', plan, '--ahead', '--variant', 'lan', '--delay-ms', 0, '--tokens', row['tokens'], '--runs', runs)
                    rows.append({**row, 'ahead_ms': ahead['online_ms'], 'ahead_x': ahead['online_ms'] / row['float32_ms']})
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--shape', help='a preset of `suf model random`')
    p.add_argument('--many', action='store_true', help='many texts at once')
    p.add_argument('--service', action='store_true', help='records, quotas and several processes')
    p.add_argument('--python', action='store_true', help='the Python package and its gateway')
    p.add_argument('--search', action='store_true', help='private search')
    p.add_argument('--models', nargs='*', metavar='NAME', help='models with real weights')
    p.add_argument('--tokens', type=int, nargs='+', help='16 32 128 256, 128 of a shape, or 32 128 of models')
    p.add_argument('--runs', type=int, help='9, or 3 of a shape or of models')
    p.add_argument('--sentences', type=int, default=32, help='of the throughput')
    p.add_argument('--out', default=str(ROOT / 'bench/results'))
    p.add_argument('--no-kernels', action='store_true')
    a = p.parse_args()
    facts, out = machine.facts(), pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    if a.many:
        rows = many_texts(a.runs or 9, out)
        print(f"{facts['cpu']}, {facts['cores']} cores for all processes, commit {facts['commit']}; every output verified\n")
        return table(['many texts at once, MiniLM, lan', 'limit', 'measured', 'of'], rows)
    if a.service:
        return subprocess.run([sys.executable, ROOT / 'tools/service.py', '--rounds', str(a.runs or 5), '--out', out / 'service.jsonl'], check=True) and None
    if a.python:
        return subprocess.run([sys.executable, ROOT / 'tools/gateway.py', '--rounds', str(a.runs or 5), '--out', out / 'gateway.jsonl'], check=True) and None
    if a.search:
        return search(a.runs or 5, out)
    if a.models is not None:
        rows = real_models(a.models, a.tokens or [32, 128], a.runs or 3, facts)
        with open(out / 'models.jsonl', 'a') as f:
            f.writelines(json.dumps(r) + '\n' for r in rows)
        print(f"{facts['cpu']}, {facts['cores']} cores for all three processes, commit {facts['commit']}; every output verified\n")
        return table(['model', 'tokens', 'flights', 'key a party MB', 'sent P0, P1 MB', 'online ms', 'x float32', 'of it lookup, P0, P1', 'memory MB (dealer, P0, P1)', 'cosine >='],
                     [[r['model'], r['tokens'], r['flights'], f"{max(r['key_bytes']) / 1e6:.1f}", f"{r['bytes']['p0'] / 1e6:.1f}, {r['bytes']['p1'] / 1e6:.1f}",
                       f"{r['ahead_ms']:.0f}", f"{r['ahead_x']:.1f}", ', '.join(f"{r['times_ms'][role]['embed']['compute']:.0f} of {r['times_ms'][role]['total']['compute']:.0f}" for role in ('p0', 'p1')), ' '.join(f'{m:.0f}' for m in r['rss_mb']), f"{r['cos_min']:.6f}"] for r in rows])
    if a.shape:
        lengths = a.tokens or [128]
        model, plan = machine.model_and_plan(machine.random_model(a.shape), max(lengths))
        rows = measured(model, plan, lengths, a.runs or 3, {**facts, 'shape': a.shape})
        with open(out / 'shapes.jsonl', 'a') as f:
            f.writelines(json.dumps(r) + '\n' for r in rows)
        return report(facts, rows)
    model, plan = machine.model_and_plan(a.model)
    rows = measured(model, plan, a.tokens or [16, 32, 128, 256], a.runs or 9, facts)
    many = {**facts, **throughput(model, plan, 32, a.sentences, 3)}
    (out / 'inference.jsonl').write_text(''.join(json.dumps(r) + '\n' for r in rows + [many]))
    report(facts, rows)
    print(f"\n{many['sentences']} sentences of {many['tokens']} tokens in one call: {many['per_s']['ahead']:.2f} a second; one by one {many['per_s']['one_by_one']:.2f} (gain {many['gain']:.2f}, {many['pairs']} pairs)")
    if not a.no_kernels:
        lines = kernels()
        (out / 'kernels.jsonl').write_text(''.join(json.dumps({**facts, **k}) + '\n' for k in lines))
        print()
        wanted = {(k, s) for k in ('u32 x i16', 'u32', 'u16', 'u64 mod 2^52', 'u64') for s in ('32x384x1536',)}
        table(['ring GEMM, one core', 'GMAC/s', 'of float32'], [[f"{k['kernel']} {k['shape']}", k['gmac_per_s'], k['ratio']] for k in lines if k['bench'] == 'gemm' and (k['kernel'], k['shape']) in wanted])
        print()
        y = yardsticks(lines)
        print(f"this machine: {y['aes_blocks_per_s'] / 1e9:.2f}e9 AES blocks/s and {y['float32_gmac_per_s']:.0f} float32 GMAC/s a core, {y['memory_read_gb_per_s']:.0f} GB/s read from memory, "
              f"{y['tcp_round_trip_us']:.0f} us a round trip on loopback by TCP, {y['tls_round_trip_us']:.0f} us by our TLS channel")
        prg = next(k for k in lines if k['bench'] == 'prg')
        cut = {k['tables_drawn']: k for k in lines if k['bench'] == 'cut'}
        print(f"PRG: {prg['gb_per_s']:.1f} GB/s, {prg['fraction']:.2f} of AES in registers; a 12-bit cut by two tables: {cut[2]['m_per_s']} million a second, {cut[2]['of_expansion']:.2f} of the tables' expansion ({cut[1]['of_expansion']:.2f} with one of them from the key)")
        print(flush=True)
        search(5, out)


if __name__ == '__main__':
    main()
