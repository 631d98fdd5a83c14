"""Runs cases of a command in a folder of their own, one line each. They are bad inputs with exit code and sentence,
and functions test_*.
"""
import pathlib
import re
import sys
import tempfile


def refused(done, code, sentence, length):
    """Asserts the exit code, and that the last line is a sentence with this text, shorter than `length`."""
    last = done.stderr.splitlines()[-1] if done.stderr else ''
    assert done.returncode == code, f'exit code {done.returncode}, not {code}: {last}'
    assert re.match('suf: [^ ]', last) and len(last) < length, f'no sentence: {done.stderr}'
    assert re.search(sentence, last), f'says {last}'


def main(scope, prepare):
    """Runs all cases of a file, or those that its second argument picks. `scope` is its globals; `prepare` gets the
    folder first."""
    pattern = sys.argv[2] if len(sys.argv) > 2 else ''
    cases = [(f'bad input: {row[0]}', lambda row=row: scope['bad_input'](*row)) for row in scope['BAD']]
    cases += [(name[5:], case) for name, case in scope.items() if name.startswith('test_')]
    cases = [(what, case) for what, case in cases if re.search(pattern, what)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(pathlib.Path(folder))
        for what, case in cases:
            why = ''
            try:
                case()
            except Exception as x:  # the next cases still run
                why, failed = f'  {type(x).__name__}: {x}', failed + 1
            print(f'{"FAIL" if why else "ok  "} {what}{why}', flush=True)
    print(f'{len(cases) - failed} of {len(cases)} cases hold')
    sys.exit(failed > 0)
