#!/usr/bin/env python3
"""Runs tests many times beside busy loops. A test that depends on load or luck fails here.

    busy.py [-b BUILD] [-n TIMES] [-l LOOPS] [ctest options]     such as -R 'stress|tls', -L fast; default: 10 times beside 4 loops, in build/

Each time is a call of ctest of its own. A table at the end shows for each test how often it passed. It also has the
test's least, median and longest time in seconds. BUILD/busy/TEST.TIME.txt has the output of failed tests. Exit code 1
if a test failed once, or if no test was chosen.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import xml.etree.ElementTree

LOOP = 'while True: pass'


def run(build, options, out):
    """Calls ctest once; returns {test: (passed, seconds, output)}."""
    report = out / 'report.xml'
    report.unlink(missing_ok=True)
    subprocess.run(['ctest', '--test-dir', build, '--output-junit', report, '-Q', *options], env={**os.environ, 'CTEST_OUTPUT_ON_FAILURE': '1'})
    if not report.exists():
        return {}
    return {case.get('name'): (case.get('status') == 'run', float(case.get('time')), case.findtext('system-out') or '')
            for case in xml.etree.ElementTree.parse(report).iter('testcase')}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('-b', '--build', default='build', type=pathlib.Path)
    p.add_argument('-n', '--times', default=10, type=int)
    p.add_argument('-l', '--loops', default=4, type=int)
    args, options = p.parse_known_args()
    out = args.build.resolve() / 'busy'
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows = collections.defaultdict(list)
    loops = [subprocess.Popen([sys.executable, '-c', LOOP]) for _ in range(args.loops)]
    try:
        for time in range(1, args.times + 1):
            for name, (passed, seconds, text) in run(args.build, options, out).items():
                rows[name].append((passed, seconds))
                if not passed:
                    (out / (re.sub(r'[^\w.-]', '_', name) + f'.{time}.txt')).write_text(text)
            failed = sum(not row[-1][0] for row in rows.values() if len(row) == time)
            print(f'time {time} of {args.times}: {len(rows)} tests, {failed} failed', flush=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    width = max((len(name) for name in rows), default=4)
    print(f'\n{"test":{width}}  passed   least  median  longest, s')
    for name, row in sorted(rows.items()):
        passed, seconds = sum(ok for ok, _ in row), [s for _, s in row]
        print(f'{name:{width}}  {passed:2} of {len(row):2} {min(seconds):7.1f} {statistics.median(seconds):7.1f} {max(seconds):8.1f}'
              + ('' if passed == len(row) else '  FAILED'))
    sys.exit(not rows or any(not ok for row in rows.values() for ok, _ in row))


if __name__ == '__main__':
    main()
