#!/usr/bin/env python3
"""Runs examples/06_embed with the program's own dealer and model owner. Its lines have the simulator's numbers, and its
errors are sentences. Also, the course is complete in its README, and no example has more than 120 lines.

  example_test.py SUF EXAMPLE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from roles import Base, World

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / 'examples'


def course():
    files = sorted(f.name for f in EXAMPLES.glob('*.cpp'))
    listed = re.findall(r'^\| \[(\w+\.cpp)\]', (EXAMPLES / 'README.md').read_text(), re.M)
    assert files == listed and len(files) >= 6, (files, listed)
    for name in files:
        lines = (EXAMPLES / name).read_text().count('\n')
        assert lines <= 120, f'{name} has {lines} lines, the limit is 120'


def main():
    course()
    suf, example = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        base = Base(suf, folder)
        with World(base, 'example') as w:
            w.both()
            command = [example, base.plan, base.model / 'vocab.txt', base.certs / 'data', w.dir / 'data',
                       f'127.0.0.1:{w.dealer.port()}', f'127.0.0.1:{w.server.port()}']
            texts = ['the dog', 'a cat', base.text(9)]
            run = subprocess.run([*command, *texts], capture_output=True, text=True, timeout=60)
            assert run.returncode == 0, run.stdout + run.stderr
            rows = [[float(v) for v in line.split()] for line in run.stdout.splitlines()]
            for text, row, y in zip(texts, rows, base.simulate(texts), strict=True):
                assert len(row) == len(y) and all(abs(v - n / 2**16) < 1e-6 for v, n in zip(row, y)), text
            bad = subprocess.run([*command, base.text(40)], capture_output=True, text=True, timeout=60)
            assert bad.returncode == 1 and re.fullmatch(r'input: the text has 40 tokens; the limit is 16; .*\n', bad.stdout), bad.stdout
    print('example: ok')


if __name__ == '__main__':
    main()
