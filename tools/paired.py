#!/usr/bin/env python3
"""Compares two programs on this machine, in turns: texts a second, times, memory, bytes and flights.

    paired.py BEFORE AFTER [--model DIR] [--plan FILE [FILE]] [--tokens 32 128 256] [--rounds 3] [--runs 4] [--out bench/results/paired.jsonl]

BEFORE and AFTER are paths of `suf`. Each compiles its own plan by default, because an old program cannot read a new plan.
With --plan, both run this plan, or each one of two. A round has two calls of `suf demo` by each program, in
turns. The first one runs texts one by one, for times. The second one runs the same texts in one go, for texts a second.
Every result is compared with the simulator's. The first text of a call warms up. A time is the median over all texts.
A ratio compares the medians of a round; the table has its median and its spread over rounds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench
import machine


def own_plan(program, model):
    """Returns the path of the plan that the program compiles with its defaults."""
    return subprocess.check_output([bench.ROOT / 'tools/plan.sh', model], text=True, env={**os.environ, 'SUF': os.path.abspath(program)}).strip()


def one(program, model, plan, tokens, runs, flags):
    """Measures two calls of `runs` texts after one more. Returns times in ms and texts a second, memory in MB, and
    bytes of one text."""
    rows = bench.demo(model, plan, tokens, runs + 1, '--one-by-one', *flags, program=program)[1:]
    many = bench.demo(model, plan, tokens, runs + 1, *flags, program=program)
    times = {'sum': [sum(r['ms'].values()) for r in rows], 'online': [r['ms']['online'] for r in rows], 'texts_per_s': [runs / (many[-1]['at_s'] - many[0]['at_s'])]}
    first = rows[0]
    same = {'flights': first.get('flights', first.get('rounds')), 'key_bytes': max(first['key_bytes']), 'sent_bytes': [first['bytes'][p] for p in ('p0', 'p1')],
            'trace': first['trace'], 'variant': first.get('variant')}
    return times, rows[-1]['rss_mb'], same


def paired(programs, model, plans, tokens, rounds, runs, flags):
    got = [[one(p, model, plan, tokens, runs, flags) for p, plan in zip(programs, plans)] for _ in range(rounds)]
    times = {}
    for name in ('sum', 'online', 'texts_per_s'):
        unit = '' if name == 'texts_per_s' else '_ms'
        ratios = [statistics.median(after[0][name]) / statistics.median(before[0][name]) for before, after in got]
        each = [statistics.median(t for r in got for t in r[k][0][name]) for k in range(2)]
        times[name] = {f'before{unit}': each[0], f'after{unit}': each[1], 'ratio': statistics.median(ratios), 'ratios': ratios}
    memory = [[max(r[k][1][role] for r in got) for role in range(3)] for k in range(2)]
    return {'tokens': tokens, 'rounds': rounds, 'runs': runs, 'verified': True, 'times': times, 'memory_mb': {'before': memory[0], 'after': memory[1]},
            'before': got[0][0][2], 'after': got[0][1][2]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('programs', nargs=2, metavar='PROGRAM')
    p.add_argument('--model')
    p.add_argument('--plan', nargs='+', help="one for both programs, or one for each (default: each program's own, for texts of up to 256 tokens)")
    p.add_argument('--tokens', type=int, nargs='+', default=[32, 128, 256])
    p.add_argument('--rounds', type=int, default=3)
    p.add_argument('--runs', type=int, default=4, help='texts of a call after the first one')
    p.add_argument('--note', default='', help='note for the line')
    p.add_argument('--out', help='JSON lines are added to it')
    a = p.parse_args()
    if a.plan and len(a.plan) > 2:
        p.error(f'--plan takes one plan or two; got {len(a.plan)}')
    model = a.model or machine.fetched()
    plans = 2 * a.plan if a.plan and len(a.plan) == 1 else a.plan or [own_plan(program, model) for program in a.programs]
    rows = []
    for n in a.tokens:
        print(f'measuring {n} tokens ..', file=sys.stderr)
        rows.append({'schema': 'suf.paired/1', **machine.facts(), 'note': a.note, **paired(a.programs, model, plans, n, a.rounds, a.runs, [])})
    if a.out:
        with open(a.out, 'a') as f:
            f.writelines(json.dumps(r) + '\n' for r in rows)
    bench.table(['tokens', 'sum ms', 'ratio', 'online ms', 'ratio', 'texts/s', 'ratio', 'memory MB before', 'after', 'flights', 'key MB', 'sent MB'],
                [[r['tokens'], *(cell for name in r['times'] for cell in times_cells(r['times'][name], 2 if name == 'texts_per_s' else 0)),
                  *(' '.join(f'{m:.0f}' for m in r['memory_mb'][k]) for k in ('before', 'after')),
                  *(change(r, f) for f in (lambda b: str(b['flights']), lambda b: f"{b['key_bytes'] / 1e6:.1f}", lambda b: f"{sum(b['sent_bytes']) / 1e6:.2f}"))] for r in rows])


def times_cells(t, digits):
    """Returns a quantity's medians and its ratio with the spread, as cells."""
    before, after = (value for name, value in t.items() if name.startswith(('before', 'after')))
    return f'{before:.{digits}f} -> {after:.{digits}f}', f"{t['ratio']:.2f} ({min(t['ratios']):.2f}-{max(t['ratios']):.2f})"


def change(row, text):
    before, after = text(row['before']), text(row['after'])
    return before if row['before'] == row['after'] else f'{before} -> {after}'


if __name__ == '__main__':
    main()
