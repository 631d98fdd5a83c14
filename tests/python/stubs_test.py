#!/usr/bin/env python3
"""Checks the types of the Python package by mypy: its own code, a right program, and wrong lines of programs.

  stubs_test.py PACKAGES     PACKAGES: the folder with suf/
"""
import pathlib
import re
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
with suf.Searcher("h:1", "h:2", "certs", "store", index_plan="index.json", fetch=True) as s:
    hit: suf.Hit = s.search("the dog")[0]
    print(s.index, s.k, hit.row + 1, "" if hit.document is None else hit.document.title())


async def search() -> None:
    async with await suf.AsyncSearcher.open("h:1", "h:2", "certs", "store") as a:
        print(await a.search(["the dog"], priority=1))
'''
WRONG = {'suf.Encodr': 'has no attribute "Encodr"', 'suf.Hit(1).place': 'has no attribute "place"', 'suf.Hit(1).row = 2': 'is read-only',
         'suf.Searcher("h:1", "h:2", "certs", "store").find("x")': 'has no attribute "find"', 'm.encoder("the")': 'has no attribute "encoder"', 'suf.harden(1)': 'Too many arguments',
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
    out = check(packages, HEAD + '\n'.join(WRONG) + '\n')
    for line, (wrong, pattern) in enumerate(WRONG.items(), HEAD.count('\n') + 1):
        assert re.search(f'program.py:{line}: error: .*{pattern}', out), (wrong, out)
    print(f'stubs: a right program, and {len(WRONG)} wrong lines')


if __name__ == '__main__':
    main()
