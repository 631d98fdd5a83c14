#!/usr/bin/env python3
"""Runs every test of a build folder, with whole sweeps. Appends one line per test to bench/results/nightly.jsonl as it
ends.

    nightly.py BUILD [TESTS]      TESTS: a pattern of names, to run only these

A line has commit, test, tier, seconds, result, cores and day. A second call at the same commit runs tests that failed
or have no line. Exit code 1 if a test failed or has no line; 2 if the checkout has uncommitted changes (other than that
file).
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / 'bench/results/nightly.jsonl'
ENDED = re.compile(r'^ *\d+/(\d+) Test +#\d+: (\S+) \.*\s*(Passed|\*\*\*.*?|Not Run.*?) +([\d.]+) sec')


def git(*command):
    return subprocess.check_output(['git', '-C', ROOT, *command], text=True).rstrip()


def commit():
    dirty = [line[3:] for line in git('status', '--porcelain').splitlines() if line[3:] != RECORD.relative_to(ROOT).as_posix()]
    if dirty:
        sys.exit(print(f'nightly: {len(dirty)} files differ from the commit, {dirty[0]} first; commit them', file=sys.stderr) or 2)
    return git('rev-parse', '--short=12', 'HEAD')


def tiers(build):
    """-> {test: tier}."""
    listed = json.loads(subprocess.check_output(['ctest', '--test-dir', build, '--show-only=json-v1'], text=True))
    return {t['name']: {p['name']: p['value'] for p in t['properties']}['LABELS'][0] for t in listed['tests']}


def lines_of(this):
    """-> {test: its last line at this commit}."""
    rows = [json.loads(line) for line in RECORD.read_text().splitlines()] if RECORD.exists() else []
    return {row['test']: row for row in rows if row['commit'] == this}


def main():
    build, this, wanted = sys.argv[1], commit(), ''.join(sys.argv[2:])
    tier, done = tiers(build), lines_of(this)
    left = [name for name in tier if done.get(name, {}).get('result') != 'passed' and re.search(wanted, name)]
    print(f'nightly: {len(left)} of {len(tier)} tests to run at {this}', flush=True)
    if left:
        run = subprocess.Popen(['ctest', '--test-dir', build, '--output-on-failure', '--no-tests=error', '-j', '2', '--timeout', '5400',
                                '-R', '^(' + '|'.join(map(re.escape, left)) + ')$'],
                               stdout=subprocess.PIPE, text=True, errors='replace', env={**os.environ, 'SHARD': 'all'})
        count = None  # of tests; the output of a failed test may have lines of another ctest
        for line in run.stdout:
            print(line, end='', flush=True)
            ended = ENDED.match(line)
            count = count or (ended and ended[1])
            if ended and ended[1] == count and ended[2] in tier:
                row = {'commit': this, 'test': ended[2], 'tier': tier[ended[2]], 'seconds': float(ended[4]),
                       'result': 'passed' if ended[3] == 'Passed' else 'failed',
                       'cores': len(os.sched_getaffinity(0)), 'day': datetime.date.today().isoformat()}
                with open(RECORD, 'a') as record:
                    record.write(json.dumps(row) + '\n')
        run.wait()
    done = lines_of(this)
    bad = [name for name in tier if done.get(name, {}).get('result') != 'passed']
    print(f'nightly: {len(tier) - len(bad)} of {len(tier)} tests passed at {this}, {sum(row["seconds"] for row in done.values()):.0f} s of tests'
          + (f'; not: {", ".join(bad)}' if bad else ''))
    sys.exit(bool(bad))


if __name__ == '__main__':
    main()
