#!/usr/bin/env python3
"""The trace of a committed plan has the same digest, flights and key bytes in every build: tests/data/digests.txt.

  digest_test.py PROGRAM                  PROGRAM: a build of tests/trace_digest.cpp
  digest_test.py --build COMPILER DIR     compiles it with COMPILER first, without optimisation, into DIR

After a change of the trace or of the plan's format, make both files anew with two compilers:
  suf model random --preset tiny --seed 1 --out T; suf compile --model T --calibrate tests/data/calibrate.txt --max-tokens 64 --out tests/data/tiny_plan.json
  trace_digest tests/data/tiny_plan.json 3 8 32 33 > tests/data/digests.txt
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ('base', 'func', 'pfss', 'compiler', 'gates')  # what emission needs, and of nn:
NN = ('attention', 'build', 'check', 'layers', 'linear', 'norm', 'plan')


def build(compiler, folder):
    sources = [f for room in ROOMS for f in sorted((ROOT / 'suf' / room).glob('*.cpp')) if not f.stem.endswith(('_test', '_bench'))]
    sources += [ROOT / 'suf/nn' / (name + '.cpp') for name in NN] + [ROOT / 'tests/trace_digest.cpp']
    flags = lambda kind: subprocess.check_output(['pkg-config', kind, 'spdlog', 'libcrypto'], text=True).split()
    cache = ['ccache'] if shutil.which('ccache') else []
    folder.mkdir(parents=True, exist_ok=True)

    def compile_(source):
        target = folder / ('_'.join(source.relative_to(ROOT).parts) + '.o')
        subprocess.run(cache + [compiler, '-std=c++20', '-O0', '-w', '-I', ROOT, *flags('--cflags'), '-c', source, '-o', target], check=True)
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_, sources))
    program = folder / 'trace_digest'
    subprocess.run([compiler, *objects, *flags('--libs'), '-o', program], check=True)
    return program


def main():
    program = build(sys.argv[2], pathlib.Path(sys.argv[3])) if sys.argv[1] == '--build' else sys.argv[1]
    want = (ROOT / 'tests/data/digests.txt').read_text()
    counts = [line.split()[0] for line in want.splitlines()[1:]]
    got = subprocess.check_output([program, ROOT / 'tests/data/tiny_plan.json', *counts], text=True)
    print(got, end='')
    if got != want:
        sys.exit('tests/data/digests.txt has:\n' + want)


if __name__ == '__main__':
    main()
