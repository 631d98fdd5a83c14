#!/usr/bin/env python3
"""Checks that the traces of committed plans, and of functions by every lowering, are the same in every build. Their
digests, flights and key bytes must equal tests/data/digests.txt.

    digest_test.py PROGRAM                  PROGRAM: a build of tests/trace_digest.cpp
    digest_test.py --build COMPILER DIR     compiles it with COMPILER first, without optimisation, into DIR
    digest_test.py --write PROGRAM          writes tests/data/digests.txt

After a change of the trace or of the plan's format, make all files anew with two compilers. Texts have at most 64
tokens for tiny, and 12 for tiny-gpt2 and tiny-llama:

  suf model random --preset tiny --seed 1 --out T
  suf compile --model T --calibrate tests/data/calibrate.txt --max-tokens 64 --profile lan --keys ahead \\
              --out tests/data/tiny_plan.json
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / 'tests/data'
COUNTS = {DATA / 'tiny_plan.json': (3, 8, 32, 33), DATA / 'tiny-gpt2_plan.json': (1, 8, 9), DATA / 'tiny-llama_plan.json': (1, 8, 9),  # token counts
          **{plan: (3, 4) for plan in sorted((ROOT / 'fuzz/plans').glob('*.json'))}}  # every family, for near and far links, tiles and variants
FUNCTIONS = ('relu', 'gelu', 'relubits', 'recip', DATA / 'terms.suf')  # terms: every kind of line and of term
MODULES = ('base', 'exec', 'ring', 'func', 'pfss', 'compiler', 'gates', 'nn')  # modules that emission links
MARCH = {'avx2': ['-march=haswell'], 'avx512': ['-march=icelake-server']}  # flags of files for one variant


def build(compiler, folder):
    if not shutil.which(compiler):
        sys.exit(f'digest: there is no {compiler}, the second compiler that must give the same digests; run tools/setup.sh, which installs it')
    sources = [f for module in MODULES for f in sorted((ROOT / 'suf' / module).rglob('*.cpp'))
               if not f.stem.endswith(('_test', '_bench')) and f.parent.name != 'cuda']
    sources += [ROOT / 'tests/trace_digest.cpp']
    flags = lambda kind: subprocess.check_output(['pkg-config', kind, 'spdlog', 'libcrypto', 'muparser', 'eigen3'], text=True).split()
    cache = ['ccache'] if shutil.which('ccache') else []
    folder.mkdir(parents=True, exist_ok=True)

    def compile_(source):
        target = folder / ('_'.join(source.relative_to(ROOT).parts) + '.o')
        subprocess.run(cache + [compiler, '-std=c++20', '-O0', '-w', *MARCH.get(source.stem.rpartition('_')[2], []), '-I', ROOT, *flags('--cflags'), '-c', source, '-o', target], check=True)
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_, sources))
    program = folder / 'trace_digest'
    subprocess.run([compiler, *objects, *flags('--libs'), '-o', program], check=True)
    return program


def main():
    program = build(sys.argv[2], pathlib.Path(sys.argv[3])) if sys.argv[1] == '--build' else sys.argv[-1]
    runs = [[plan, *map(str, counts)] for plan, counts in COUNTS.items()] + [['--functions', *FUNCTIONS]]
    got = ''.join(subprocess.check_output([program, *run], text=True) for run in runs)
    print(got, end='')
    if sys.argv[1] == '--write':
        sys.exit((DATA / 'digests.txt').write_text(got) == 0)
    want = (DATA / 'digests.txt').read_text()
    if got != want:
        sys.exit('tests/data/digests.txt has:\n' + want)


if __name__ == '__main__':
    main()
