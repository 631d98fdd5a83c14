#!/usr/bin/env python3
"""Checks that a build without the backend myl7 says so wherever it is requested. A build without its headers must not
begin.

  myl7_test.py SUF SUF_WITHOUT CMAKE SOURCE     SUF_WITHOUT: the program as -DSUF_MYL7=OFF builds it; needs some seconds
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from matrix_test import summary

SUF, WITHOUT, CMAKE, SOURCE = sys.argv[1:5]
SENTENCE = 'suf: the backend myl7 was not built here (SUF_MYL7=OFF); build it with the headers that the set-up fetches, or use clear or packed\n'


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def configure(*options):
    with tempfile.TemporaryDirectory() as build:
        return run(CMAKE, '-S', SOURCE, '-B', build, *options)


def backend(program):
    listed = json.loads(run(program, 'backends', '--json').stdout)['backends']
    return next(b for b in listed if b['name'] == 'myl7')


def main():
    for command in ('fn run relu --x 1 --backend myl7', 'fn run relu --x 1 --lowering StepDcf --backend myl7', 'fn cost relu --backend myl7'):
        done = run(WITHOUT, *command.split())
        assert (done.returncode, done.stdout, done.stderr) == (5, '', SENTENCE), (command, done)
    files = [f.name for f in pathlib.Path(SOURCE).glob('suf/**/*.?pp') if 'half_tree_dpf' in f.read_text()]
    assert files == ['myl7_test.cpp'], f'the half-tree of myl7/fss is for its attack alone: {files}'
    has, lacks = backend(SUF), backend(WITHOUT)
    assert not lacks['built'] and not lacks['runs'] and not lacks['models'] and 'SUF_MYL7=OFF' in lacks['why_not'] and 'not built here' in run(WITHOUT, 'backends').stdout
    assert has['dcf_schemes'] == ['myl7'] and has['largest_n'] == 64 and {'dpfgen', 'dpfparity'} <= set(has['lacks'])
    checked = run(WITHOUT, 'fn', 'check', 'sign', '--json')
    cells = json.loads(checked.stdout)['cells']
    assert checked.returncode == 0 and 'myl7 was not built' in summary(cells, False)
    try:
        summary(cells, True)
    except AssertionError as x:
        assert 'the matrix has the backends' in str(x)
    else:
        sys.exit('a matrix without myl7 passes where it is built')
    missing = configure('-DSUF_MYL7=ON', '-DSUF_MYL7_HEADERS=/nowhere')
    assert missing.returncode != 0, 'configured without headers'
    says = ' '.join(missing.stderr.split())
    assert 'needs fss/dcf.cuh, and /nowhere/include lacks it; run tools/setup.sh, or configure with -DSUF_MYL7=OFF' in says, says
    off = configure('-DSUF_MYL7=OFF')
    assert off.returncode == 0 and 'SUF_MYL7 is OFF: the backend myl7 is not built' in off.stdout, off
    print('all hold')


if __name__ == '__main__':
    main()
