#!/usr/bin/env python3
"""README's samples are what the program prints: of `make run` the rows of its tables, but times and processes; of `suf fn run` whole lines.

  readme_test.py SUF      SUF: build/suf; needs the fetched model (tools/fetch_model.py)

The demo checks each text by itself: three processes over TLS, every word equal to the simulator's. A cosine to the float
model may differ in its last digit, as the float model is not the same on every machine.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUF = os.path.abspath(sys.argv[1])


def tables(text):
    """-> the rows of each table, by the first cell of its header: {row: {column: cell}}; a row is its leading number."""
    found, columns = {}, None
    for line in text.splitlines():
        cells = re.split(r'  +', line.strip())
        if cells[0] in ('text', 'similarity'):
            # a number's place in the table of similarities is its column
            columns, rows = cells, found.setdefault(cells[0], {})
        elif columns and re.match(r'\d+( |$)', cells[0]):
            if columns[0] == 'text':
                rows[cells[0].split()[0]] = dict(zip(columns, cells))
            else:
                rows[cells[0]] = dict(zip(columns, cells))
        elif columns and not set(line.strip()) <= {'-'}:
            columns = None
    return found


def same(column, stated, printed):
    if column == 'cosine to float':
        return abs(float(stated) - float(printed)) < 1.5e-6
    return stated == printed


def function_lines(page):
    """Lines of README's call of `suf fn run` that the program does not print, in this order."""
    command, shown = re.search(r'^ +suf (fn run .*)\n((?: +.*\n)+)', page, re.M).groups()
    printed = iter(subprocess.check_output([SUF, *command.split()], text=True).splitlines())
    return [f'suf {command}: README says {line.strip()}' for line in shown.splitlines() if not any(p.split() == line.split() for p in printed)]


def main():
    page = (ROOT / 'README.md').read_text()
    stated = tables(page)
    assert stated.keys() == {'text', 'similarity'} and len(stated['text']) >= 4, f'README shows the tables {stated}'
    model = subprocess.check_output([SUF, 'model', 'path'], text=True).strip()
    plan = subprocess.check_output([ROOT / 'tools/plan.sh', model], text=True, env={**os.environ, 'SUF': SUF}).strip()
    run = subprocess.run([SUF, 'demo', '--model', model, '--plan', plan, '--file', 'examples/sentences.txt', '--one-by-one'],
                         cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = tables(run.stdout)
    faults = function_lines(page)
    for name, rows in stated.items():
        for number, row in rows.items():
            for column, cell in row.items():
                got = printed[name][number][column]
                if not same(column, cell, got):
                    faults.append(f'{name} {number}, {column}: README says {cell}, the program {got}')
    cells = sum(len(row) for rows in stated.values() for row in rows.values())
    print(*faults, f'{cells} cells of README compared, {len(faults)} differ', sep='\n')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
