#!/usr/bin/env python3
"""Checks the types of the Python package by mypy: its own code, and programs that use it right or wrong.

  stubs_test.py PACKAGES     PACKAGES: the folder with suf/
"""
import pathlib
import subprocess
import sys
import tempfile

HEAD = 'import suf\n\nm = suf.Encoder("h:1", "h:2", "certs", "store", parallel=2)\n'
RIGHT = HEAD + '''
one = m.encode("the dog", batch_size=2)
many: list[int] = [] if m.last is None else m.last.serials
found = m.tokenize(["the dog"])
try:
    m.similarity(one, one)
except suf.RefusedError as x:
    print(x.refusal, x.retry_after)
print(suf.estimate("plan.json")["flights"], suf.__version__)
'''
WRONG = {'suf.Encodr': 'has no attribute "Encodr"', 'm.encoder("the")': 'has no attribute "encoder"', 'suf.harden(1)': 'Too many arguments',
         'x: int = suf.Error("x").retry_after': 'Incompatible types'}


def check(packages, text):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'program.py')
        file.write_text(text)
        return subprocess.run([sys.executable, '-m', 'mypy', '--cache-dir', folder, str(file)], capture_output=True, text=True, cwd=folder,
                              env={'MYPYPATH': packages, 'PATH': '/usr/bin:/bin'}).stdout


def main():
    packages = str(pathlib.Path(sys.argv[1]).resolve())
    own = subprocess.run([sys.executable, '-m', 'mypy', '--cache-dir', '/dev/null', '-p', 'suf'], capture_output=True, text=True, cwd=packages)
    assert own.returncode == 0, own.stdout + own.stderr
    assert 'Success' in (out := check(packages, RIGHT)), out
    for wrong, pattern in WRONG.items():
        assert pattern in (out := check(packages, f'{HEAD}{wrong}\n')), (wrong, out)
    print(f'stubs: {len(WRONG) + 1} programs')


if __name__ == '__main__':
    main()
