#!/usr/bin/env python3
"""The library's sentences name no option and no command: a program that links it has neither. Only apps composes those.

  words_test.py        every string literal of suf/ outside tests; then the same check on planted lines, which it must find
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMAND = r'(?:model|tokenize|compile|plan|estimate|simulate|certs|deal|serve|embed|demo)'
FORBIDDEN = re.compile(rf'(?<![\w-])--[a-z]|\bsuf {COMMAND}(?! CA)\b|\btools/|\bmake (?:model|run|build)\b')


def found(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split('//')[0] if not line.lstrip().startswith('#') else ''
        for literal in LITERAL.findall(code):
            if FORBIDDEN.search(literal):
                yield f'{name}:{number}: {literal}'


def main():
    for planted in ('Fail(x, "shorten it or pass --truncate");', 'Str("; make one with suf compile")', '"run tools/x.py"'):
        assert list(found('planted', planted)), planted
    assert not list(found('fine', 'Str("suf B", a--b) // --pin'))
    files = [f for f in sorted((ROOT / 'suf').rglob('*.?pp')) if not f.stem.endswith(('_test', '_bench'))]
    assert len(files) > 100, files
    wrong = [w for f in files for w in found(f.relative_to(ROOT), f.read_text())]
    print('\n'.join(wrong) or f'words: {len(files)} files name no option and no command')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
