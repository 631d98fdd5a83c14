#!/usr/bin/env python3
"""Checks that README's samples are the program's output. They are table rows of `make run`, without times and
processes, and whole lines of `suf fn run`. Its calls of `suf gate` succeed.

  readme_test.py SUF      SUF: build/suf; needs the fetched model (tools/fetch_model.py)

The demo checks each text itself: three processes over TLS, with every word equal to the simulator's. A cosine to the
float model may differ in its last digit, because that model varies from machine to machine.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUF = os.path.abspath(sys.argv[1])


def tables(text):
    """-> the rows of each table, by the first cell of its header: {row: {column: cell}}. A row is its leading
    number."""
    found, columns = {}, None
    for line in text.splitlines():
        cells = re.split(r'  +', line.strip())
        if cells[0] in ('text', 'similarity'):
            # A number's position in the table of similarities is its column.
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
    """Returns the lines of README's call of `suf fn run` that the program does not print, in this order."""
    command, shown = re.search(r'^ +suf (fn run .*)\n((?: +.*\n)+)', page, re.M).groups()
    printed = iter(subprocess.check_output([SUF, *command.split()], text=True).splitlines())
    return [f'suf {command}: README says {line.strip()}' for line in shown.splitlines() if not any(p.split() == line.split() for p in printed)]


def gate_faults(page):
    """Returns README's calls of `suf gate` that fail."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / 'examples').symlink_to(ROOT / 'examples')
        commands = re.findall(r'^ +suf (gate .*)$', page, re.M)
        assert len(commands) >= 3, commands
        runs = [(c, subprocess.run([SUF, *c.split()], cwd=folder, capture_output=True, text=True)) for c in commands]
    return [f'suf {c}: exit {run.returncode}, {run.stderr}' for c, run in runs if run.returncode]


def main():
    page = (ROOT / 'README.md').read_text()
    stated = tables(page)
    assert stated.keys() == {'text', 'similarity'} and len(stated['text']) >= 4, f'README shows the tables {stated}'
    run = subprocess.run([ROOT / 'tools/run.sh'], capture_output=True, text=True, env={**os.environ, 'SUF': SUF})
    assert run.returncode == 0, run.stderr
    printed = tables(run.stdout)
    faults = function_lines(page) + gate_faults(page)
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
