#!/usr/bin/env python3
"""Writes the index of docs/security.md, from each promise to its tests and their files.

    promises.py            writes the index between its markers
    promises.py --check    exit code 0, or 1 with a line for each fault; first it finds faults planted in a tree of its own

A promise is a list item that begins with an anchor. Other items begin with `Limit:` or `Untested:`. A test is
`Suite.Name` (also `Suite.*`), a file *_test.*, or a script or program in tests, tools or fuzz. It may also be a fuzz
target, in backticks after the word fuzz. A promise without a test is a fault. A row of docs/threats.md names a test or
links to a promise, unless its defence begins with `no:`.
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests'))
import docs_test

PAGE, THREATS = 'docs/security.md', 'docs/threats.md'
BEGIN, END = '<!-- index: tools/promises.py -->\n', '<!-- index end -->\n'
ITEM = re.compile(r'^\* .*(?:\n  .*)*', re.M)
PROMISE = re.compile(r'\* <a id="([^"]+)"></a>')
ROW = re.compile(r'^\| (.*) \|$', re.M)
TEST = re.compile(r'`([A-Z]\w*)\.(\w*)(\*|\.\.)?`|\b((?:\w+/)*\w+_test(?:\.\w+)?)\b|\bfuzz ((?:`\w+`(?:, )?)+)|`((?:tests|tools|fuzz)/[\w./]+)`')


def tests_of(text, tests, root):
    """-> [(name, its files)] of the tests that a text names, in its order; no files if a test is missing."""
    found = {}
    for suite, name, star, file, targets, path in TEST.findall(text):
        if suite:
            files = [p for n, ps in tests.suites.get(suite, {}).items() if n == name or (star and n.startswith(name)) for p in ps]
            found[f'`{suite}.{name}{star}`'] = files
        elif file:
            found[file] = [p for ps in tests.files.values() for p in ps if f'/{p if "." in file else p.with_suffix("")}'.endswith(f'/{file}')]
        elif path:
            found[f'`{path}`'] = [pathlib.PurePath(path)] * (root / path).is_file()
        for target in re.findall(r'\w+', targets):
            found[f'fuzz `{target}`'] = [pathlib.PurePath(f'fuzz/{target}.cpp')] * (target in tests.targets)
    return list(found.items())


def read(root):
    """-> (the page before its index, the index as it is, as it should be, faults)."""
    tests = docs_test.Tests(root, list(docs_test.pages(root)))
    before, _, rest = (root / PAGE).read_text().partition(BEGIN)
    index, faults, anchors = ['|promise|tests|files|', '|---|---|---|'], [], set()
    for item in ITEM.findall(before):
        promise = PROMISE.match(item)
        if not promise:
            if not item.startswith(('* Limit: ', '* Untested: ')):
                faults.append(f'{PAGE}: an item has no anchor: {item[:60]}')
            continue
        name, held = promise[1], tests_of(item, tests, root)
        if name in anchors:
            faults.append(f'{PAGE}: two promises are called {name}')
        anchors.add(name)
        if not held:
            faults.append(f'{PAGE}: the promise {name} names no test')
        faults += [f'{PAGE}: the promise {name} names {test}, which is not there' for test, files in held if not files]
        files = sorted({p.as_posix() for _, of in held for p in of})
        cells = f'[{name}](#{name})', '<br>'.join(t.replace(' ', '&nbsp;') for t, _ in held), '<br>'.join(f'[{f}](../{f})' for f in files)
        index.append(f'|{"|".join(cells)}|')
    if not anchors:
        faults.append(f'{PAGE}: there is no promise')
    for row in ROW.findall((root / THREATS).read_text() if (root / THREATS).exists() else ''):
        cells = row.split(' | ')
        linked = anchors & set(re.findall(r'\(security\.md#([\w-]+)\)', row))
        if cells[-1] != 'tests' and not cells[1].startswith('no:') and not linked and not tests_of(row, tests, root):
            faults.append(f'{THREATS}: a row names no test and no promise: {row[:60]}')
    return before, rest.partition(END)[0], '\n' + '\n'.join(index) + '\n\n', faults


PLANTED = {
    PAGE: f'''* <a id="good"></a>**Good.** (`Good.Works`, `Good.*`, rows_test.py, fuzz `one`,
  `tools/run.sh`)
* Limit: none.
* <a id="bare"></a>**No test.**
* <a id="good"></a>**A second one.** (good_test.cpp)
* <a id="gone"></a>**Gone.** (`Good.Fails`, gone_test.py, fuzz `two`, `tools/gone.sh`)
* No anchor (rows_test.py).

{BEGIN}{END}''',
    THREATS: '| attack | defence | tests |\n|---|---|---|\n| a | this | rows_test |\n| b | no: none | |\n| c | this | |\n| d | [this](security.md#good) | |\n| e | [this](security.md#limit) | |\n',
    'suf/ring/good_test.cpp': 'TEST(Good, Works) {}\n',
    'tests/rows_test.py': '',
    'tools/run.sh': '',
    'fuzz/CMakeLists.txt': 'set(targets one)\n',
}


def planted():
    """Checks that every planted fault is found and nothing else, and that the index has each test with its files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        _, old, new, faults = read(root)
        assert old != new, 'an empty index is taken for a whole one'
        assert '|[good](#good)|`Good.Works`<br>`Good.*`<br>rows_test.py<br>fuzz&nbsp;`one`<br>`tools/run.sh`|' in new, new
        assert '|[fuzz/one.cpp](../fuzz/one.cpp)<br>[suf/ring/good_test.cpp](../suf/ring/good_test.cpp)<br>' in new, new
        for words, count in {'called good': 1, 'names no test': 3, 'not there': 4, 'no anchor': 1}.items():
            assert sum(words in f for f in faults) == count, f'{count} faults are planted with "{words}", and these were found: {faults}'
        assert len(faults) == 9, faults


def main():
    planted()
    before, old, new, faults = read(ROOT)
    if '--check' in sys.argv[1:]:
        if old != new:
            faults.append(f'{PAGE}: the index is not that of the promises; run tools/promises.py')
    else:
        (ROOT / PAGE).write_text(before + BEGIN + new + END)
    print(*faults, f'{new.count(chr(10)) - 5} promises, {len(faults)} faults', sep='\n')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
