#!/usr/bin/env python3
"""Checks that each test has one tier, that filters name existing cases, and that each module's cases run once. Checks
that a nightly run goes on when only its own record differs from the commit.

  tiers_test.py BUILD     exit 0, or 1 with a sentence a line

A module's program may have two tests, MODULE and MODULE_sweeps (one shard of eight). They share its cases by filters
(cmake/tests.cmake).
"""
import contextlib
import io
import json
import os
import subprocess
import sys
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
import nightly

BUILD = sys.argv[1]
TIERS = {'fast', 'full', 'nightly'}


def cases(program, filter):
    """-> names of the cases that a filter of GoogleTest selects."""
    listed = subprocess.run([program, '--gtest_list_tests', f'--gtest_filter={filter}'], capture_output=True, text=True, check=True).stdout
    found, suite = [], ''
    for line in listed.splitlines():
        if line.startswith('  '):
            found.append(suite + line.split('#')[0].strip())
        else:
            suite = line.split('#')[0].strip()
    return found


def goes_on(status):
    """-> whether a nightly run takes a checkout with this status."""
    answer = lambda command, text: status if 'status' in command else 'abc\n'
    with mock.patch('subprocess.check_output', answer), contextlib.redirect_stderr(io.StringIO()):
        try:
            return nightly.commit() == 'abc'
        except SystemExit:
            return False


def main():
    listed = json.loads(subprocess.check_output(['ctest', '--test-dir', BUILD, '--show-only=json-v1'], text=True))
    faults, filters = [], {}
    for test in listed['tests']:
        properties = {p['name']: p['value'] for p in test['properties']}
        labels = properties.get('LABELS', [])
        if len(labels) != 1 or labels[0] not in TIERS:
            faults.append(f'{test["name"]} has the labels {labels}; one of {sorted(TIERS)} is needed')
        for word in test.get('command', []):
            if word.startswith('--gtest_filter='):
                program = next(w for w in test['command'] if os.path.basename(w).endswith('_test'))
                filters.setdefault(program, []).append((test['name'], word.removeprefix('--gtest_filter=')))
    for program, of in filters.items():
        if not os.path.exists(program):
            continue  # its tier was not built
        taken = []
        for name, filter in of:
            parts = filter.lstrip('-').split(':')
            faults += [f'{name}: {program} has no case {part}' for part in parts if not cases(program, part)]
            taken += cases(program, filter)
        if sorted(taken) != sorted(cases(program, '*')):
            faults.append(f'{program}: its tests {[name for name, _ in of]} run {len(taken)} cases, and it has {len(cases(program, "*"))}')
    if not goes_on(' M bench/results/nightly.jsonl\n') or goes_on(' M README.md\n') or goes_on(' M README.md\n M bench/results/nightly.jsonl\n'):
        faults.append('tools/nightly.py takes a checkout with other changes, or refuses one whose record alone differs')
    if not filters:
        faults.append('no test has a filter; this test looks at none')
    print(*faults, f'{len(listed["tests"])} tests, {len(filters)} programs with filters, {len(faults)} faults', sep='\n')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
