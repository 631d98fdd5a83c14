#!/usr/bin/env python3
"""Runs `suf fn bench` on this machine, and writes the table of docs/functions.md from its results.

    functions.py                  writes bench/results/functions-MACHINE-KERNELS.json and prints its verdicts
    functions.py --table FILE     writes the table of that JSON between the markers of docs/functions.md

Measuring takes some two minutes.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILES = ('lan', 'wan')  # of the table
BEGIN, END = '<!-- functions: tools/functions.py --table -->\n', '<!-- functions end -->\n'


def read(path):
    """Reads the results of suf.fn.bench/2, or of version 1, in which a row's flights are called rounds."""
    bench = json.loads(path.read_text())
    if bench['schema'] == 'suf.fn.bench/1':
        bench['rows'] = [{'flights' if k == 'rounds' else k: v for k, v in row.items()} for row in bench['rows']]
    elif bench['schema'] != 'suf.fn.bench/2':
        sys.exit(f"{path} has the schema {bench['schema']}; use a file of suf.fn.bench/1 or /2")
    return bench


def table(bench):
    """Makes a line for each function, a cell for each profile: lowering, flights, key bytes a value,
    microseconds a value."""
    lines = [f"| function, bits | {' | '.join(PROFILES)} |", '|---' * (len(PROFILES) + 1) + '|']
    for row in bench['choices']:
        cells = [f"`{c['lowering']}`; {c['flights']}; {c['key_bytes']:.0f}; {c['us']:.2f}" for c in (row[p] for p in PROFILES)]
        lines.append(f"| `{row['function']}`, {row['n']} | {' | '.join(cells)} |")
    return '\n'.join(lines) + '\n'


def measure():
    facts = machine.facts()
    bench = {**facts, **json.loads(subprocess.check_output([ROOT / 'build/suf', 'fn', 'bench', '--json'], text=True))}
    name = re.sub('[^a-z0-9]+', '-', facts['cpu'].lower()).strip('-')
    path = ROOT / f'bench/results/functions-{name}-{bench["variant"]}.json'
    rows, choices = bench.pop('rows'), bench.pop('choices')

    def listed(name, items):
        return f' "{name}": [\n' + ',\n'.join('  ' + json.dumps(i) for i in items) + '\n ]'

    head = json.dumps(bench, indent=1)[:-2]
    path.write_text(f"{head},\n{listed('choices', choices)},\n{listed('rows', rows)}\n}}\n")
    print(path.relative_to(ROOT))
    for keys, verdicts in bench['verdict'].items():
        for prices, v in verdicts.items():
            print(f"keys {keys}, prices of {prices}: {v['within_2x']} of {v['lowerings']} within 2x, {v['in_order']} of {v['pairs']} pairs in order")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--table', metavar='FILE', type=pathlib.Path)
    a = p.parse_args()
    if not a.table:
        return measure()
    page = ROOT / 'docs/functions.md'
    text = BEGIN + '\n' + table(read(a.table)) + '\n' + END
    written, count = re.subn('<!-- functions: .*?' + END, lambda _: text, page.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f'docs/functions.md has {count} places for the table; write these two lines where it belongs:\n{BEGIN}{END}')
    page.write_text(written)


if __name__ == '__main__':
    main()
