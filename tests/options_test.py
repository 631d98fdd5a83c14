#!/usr/bin/env python3
"""Checks command lines that every command refuses before it does anything. They have empty values, options that exclude
each other, settings that no operator has, or files that cannot be written.

  options_test.py SUF [PATTERN]     from anywhere; some seconds. PATTERN picks cases
"""
import pathlib
import re
import subprocess
import sys

import cases

SUF, WORK = '', pathlib.Path()
COMPILE = 'compile --model {w}/model --calibrate {w}/texts --max-tokens 8'
BAD = [
    ('settings: too large a number', 2, r'--set takes NAME=VALUE with a whole number of at most 32 bits; got softmax=9{20}', f'{COMPILE} --out {{w}}/out --set softmax={"9" * 20}'),
    ('settings: no number', 2, 'with a whole number .*; got slope=a', f'{COMPILE} --out {{w}}/out --set slope=a'),
    ('settings: a key that no operator has', 2, '"weight.attendd" is no setting of the compiler; no operator has the key "attendd"',
     f'{COMPILE} --out {{w}}/out --set weight.attendd=13'),
    ('settings: a group without a key', 2, '"norm." is no setting of the compiler', f'{COMPILE} --out {{w}}/out --set norm.=8'),
    ('compile: a plan that cannot be written', 5, r'cannot write /none/out \(No such file or directory\)', f'{COMPILE} --out /none/out'),
    ('compile: a plan in place of a device', 5, '/dev/null, which is no ordinary file; name another file', f'{COMPILE} --out /dev/null'),
    ('texts: two sources', 2, 'give only one of --file, --json-file and --ids', 'simulate --model {w}/model --plan {w}/plan --file {w}/texts --ids {w}/texts'),
    ('texts: two sources, of calibration', 2, 'give only one of --calibrate and --ids', f'{COMPILE} --ids {{w}}/texts --out {{w}}/out'),
    ('texts: no source', 2, 'one of --file, --json-file and --ids is required', 'simulate --model {w}/model --plan {w}/plan'),
    ('ids: an empty file', 2, 'holds no text; write the ids of one text a line', 'simulate --model {w}/model --plan {w}/plan --ids {w}/empty'),
    ('plan show: a trace of no tokens', 2, 'a text of 0 tokens is below the limit of 3', 'plan show {w}/plan --trace 0'),
    ('plan show: two outputs', 2, '--(json|graph|trace) excludes --(json|graph|trace); give one of them', 'plan show {w}/plan --trace 8 --graph'),
    ('an option given twice', 2, '--plan is given twice; give it once', 'simulate --model {w}/model --plan {w}/plan --plan {w}/plan --file {w}/texts'),
    ('a number in letters', 2, '--max-tokens takes a number, in digits; got "abc"', 'compile --model {w}/model --calibrate {w}/texts --max-tokens abc --out {w}/out'),
    ('a number out of range', 2, '--max-tokens takes a number in its range; got "99999999999"', 'compile --model {w}/model --calibrate {w}/texts --max-tokens 99999999999 --out {w}/out'),
    ('a seed below 0', 2, '-1 is below 0', 'model random --preset tiny --seed -1 --out {w}/out'),
    ('an argument too many after --', 2, 'The following argument was not expected: -y', 'certs {w}/out -- -y'),
    ('plan show: JSON and a drawing', 2, '--(json|svg) excludes --(json|svg); give one of them', 'plan show {w}/plan --json --svg {w}/out'),
]


def run(*words):
    return subprocess.run([SUF, *words], capture_output=True, text=True, timeout=60)


def bad_input(what, code, sentence, command):
    done = run(*command.format(w=WORK).split())
    cases.refused(done, code, sentence, 400)
    assert not done.stdout and not list(WORK.glob('out*')), 'something was written'


def commands(words=()):
    """Returns every command that has options of its own, from the help."""
    text = run(*words, '--help').stdout
    _, found, below = text.partition('Subcommands:')
    if not found:
        return [words]
    return [c for name in re.findall(r'^  ([a-z]+)', below, re.M) for c in commands((*words, name))]


def test_empty_values():
    """Every command refuses an option with an empty value, as from an unset shell variable."""
    many = 0
    for words in commands():
        text = run(*words, '--help').stdout
        for option in re.findall(r'^  (?:-\w,)?(--[a-z0-9-]+) (?:[A-Z]+(?:[:=,]\S+)?(?=\s)|\S+:\{)', text, re.M):
            done = run(*words, option, '')
            last = done.stderr.splitlines()[-1]
            assert done.returncode == 2 and re.search(f'{option} (is empty; give it a value|takes )', last), (words, option, last)
            many += 1
    assert many > 100, many
    assert run('certs', '').returncode == 2


def prepare(folder):
    global SUF, WORK
    SUF, WORK = sys.argv[1], folder
    (folder / 'texts').write_text('the dog\na cat\n'), (folder / 'empty').write_text('')
    for command in ('model random --preset tiny --seed 1 --out {w}/model', f'{COMPILE} --out {{w}}/plan'):
        assert run(*command.format(w=WORK).split()).returncode == 0, command


if __name__ == '__main__':
    cases.main(globals(), prepare)
