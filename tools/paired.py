#!/usr/bin/env python3
"""Compares two builds of the program on this machine, in turns: times, memory, bytes and flights.

    paired.py BEFORE AFTER [--model DIR] [--tokens 32 128 256] [--rounds 3] [--runs 4] [--out bench/results/paired.jsonl]

BEFORE and AFTER are paths of `suf`; both run the plan of this checkout. A round is one `suf demo --one-by-one` of each,
in turns. Every result is compared with the simulator's. The first text of a call warms up. A time is the median over
all texts. A ratio compares the medians of a round; the table has its median and its spread over rounds.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench
import machine


def one(program, model, plan, tokens, runs, flags):
    """Measures a call of `runs` texts after one more: times in ms, memory in MB, bytes of one text."""
    rows = bench.demo(model, plan, tokens, runs + 1, '--one-by-one', *flags, program=program)[1:]
    times = {'sum': [sum(r['ms'].values()) for r in rows], 'online': [r['ms']['online'] for r in rows]}
    same = {'flights': rows[0]['flights'], 'key_bytes': max(rows[0]['key_bytes']), 'sent_bytes': [rows[0]['bytes'][p] for p in ('p0', 'p1')], 'trace': rows[0]['trace']}
    return times, rows[-1]['rss_mb'], same


def paired(programs, model, plan, tokens, rounds, runs, flags):
    got = [[one(p, model, plan, tokens, runs, flags) for p in programs] for _ in range(rounds)]
    times = {}
    for name in ('sum', 'online'):
        ratios = [statistics.median(after[0][name]) / statistics.median(before[0][name]) for before, after in got]
        each = [statistics.median(t for r in got for t in r[k][0][name]) for k in range(2)]
        times[name] = {'before_ms': each[0], 'after_ms': each[1], 'ratio': statistics.median(ratios), 'ratios': ratios}
    memory = [[max(r[k][1][role] for r in got) for role in range(3)] for k in range(2)]
    return {'tokens': tokens, 'rounds': rounds, 'runs': runs, 'verified': True, 'times': times, 'memory_mb': {'before': memory[0], 'after': memory[1]},
            'before': got[0][0][2], 'after': got[0][1][2]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('programs', nargs=2, metavar='PROGRAM')
    p.add_argument('--model')
    p.add_argument('--plan', help='that of the model for texts of up to 256 tokens')
    p.add_argument('--tokens', type=int, nargs='+', default=[32, 128, 256])
    p.add_argument('--rounds', type=int, default=3)
    p.add_argument('--runs', type=int, default=4, help='texts of a call after the first one')
    p.add_argument('--note', default='', help='note for the line')
    p.add_argument('--out', help='JSON lines are added to it')
    a = p.parse_args()
    model, plan = (a.model, a.plan) if a.plan else machine.model_and_plan(a.model)
    rows = []
    for n in a.tokens:
        print(f'measuring {n} tokens ..', file=sys.stderr)
        rows.append({'schema': 'suf.paired/1', **machine.facts(), 'note': a.note, **paired(a.programs, model, plan, n, a.rounds, a.runs, [])})
    if a.out:
        with open(a.out, 'a') as f:
            f.writelines(json.dumps(r) + '\n' for r in rows)
    bench.table(['tokens', 'sum ms', 'ratio', 'online ms', 'ratio', 'memory MB before', 'after', 'flights', 'key MB', 'sent MB'],
                [[r['tokens'], *(x for t in r['times'].values() for x in (f"{t['before_ms']:.0f} -> {t['after_ms']:.0f}", f"{t['ratio']:.2f} ({min(t['ratios']):.2f}-{max(t['ratios']):.2f})")),
                  *(' '.join(f'{m:.0f}' for m in r['memory_mb'][k]) for k in ('before', 'after')),
                  *(change(r, f) for f in (lambda b: str(b['flights']), lambda b: f"{b['key_bytes'] / 1e6:.1f}", lambda b: f"{sum(b['sent_bytes']) / 1e6:.2f}"))] for r in rows])


def change(row, text):
    before, after = text(row['before']), text(row['after'])
    return before if row['before'] == row['after'] else f'{before} -> {after}'


if __name__ == '__main__':
    main()
