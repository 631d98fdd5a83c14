#!/usr/bin/env python3
"""docs_test.py: pages and comments point at things that exist. It first finds planted faults of each kind in its own tree.

* Every link of a page leads to a file and, if it names one, to a heading or anchor.
* Every section that code cites (docs/mathematics.md#NAME, docs/design/cpu.md#NAME) exists.
* A section of a page in docs/design has an anchor and the parts of PARTS in this order. Its Test names a test, its Status has a date.
* The index docs/design/README.md has a row for each section, and one for each number from 1 on. The Status of a row's section has the row's number.
* Every test that a page or a comment names exists. Names are `Suite.Name` (also `Suite.Name*`), x_test.py with its rows,
  other files *_test.*, names of ctest, fuzz targets and their number. A test that is said to be in a file is there.
* A qualified name (`Engine::Compile`) in a page or a comment occurs in the code.
* Every refusal that a side may send is read by a test of a session.
* A page's block of C++ is a piece of the source file that the page links last above it.
* A page's block of Python is Python, and marks of blocks stand on lines of their own.
* CITATION.cff has the version of CMakeLists.txt.
"""
import ast
import io
import os
import pathlib
import re
import sys
import tempfile
import tokenize

CODE = {'.hpp', '.cpp', '.cu', '.cuh', '.py', '.cmake', '.txt', '.toml', '.sh'}
SLASHES = {'.hpp', '.cpp', '.cu', '.cuh'}
LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]+))?\)')
CITE = re.compile(r'(docs/(?:design/)?\w+\.md)((?:(?:,\s*(?://\s*)?)?#[a-z0-9-]+)+)')
GTEST = re.compile(r'(?<![\w./-])([A-Z]\w*[a-z]\w*)\.([A-Z]\w*|\*(?=\w*`))')
FILE = re.compile(r'(?<![\w`.*-])`?((?:[\w-]+/)*\w+_test\.(?:py|cpp|hpp|cu))\b')
ROWS = re.compile(r'(\w+_test\.py)((?:,? (?:and )?`[^`]+`)+)')
TARGETS = re.compile(r'\bfuzz (?:targets? )?((?:`\w+`(?:, | and )?)+)')
CTEST = re.compile(r'\bctest ((?:`\w+`(?:, | and )?)+)|\bctest [^`\n]*-R (\w+)')
TEXT_OR_COMMENT = r'R"(\w*)\((?s:.*?)\)\1"|"(?:[^"\\\n]|\\.)*"|(//.*)'
PARTS = ['Decision', 'Why', 'Alternatives', 'Test', 'Status']
ROW = re.compile(r'\| (\d{4})? ?\| \[[^\]]+\]\(([\w-]+\.md)#([a-z0-9-]+)\) \|')
EXAMPLES = {'x_test.cpp', 'x_test.cu', 'x_test.py', 'Suite.Name'}  # of how names are made


def anchors(page):
    """Names that a link may give after '#': explicit anchors, and headings as GitHub turns them."""
    text = page.read_text()
    headings = re.findall(r'^#+ (.*)$', text, re.M)
    return set(re.findall(r'<a id="([^"]+)">', text)) | {re.sub(r'[^\w -]', '', h.lower()).replace(' ', '-') for h in headings}


def pages(root):
    """Pages and code, without what is hidden or built."""
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(d for d in inside if not d.startswith(('.', 'build')))
        for name in sorted(names):
            if pathlib.Path(name).suffix in CODE | {'.md'}:
                yield (pathlib.Path(folder) / name).relative_to(root)


def said(path, text):
    """Returns the prose of a file: a page as it is, and the joined comments of code."""
    if path.suffix == '.md':
        return text
    if path.suffix in SLASHES:
        return re.sub(r'\n[ \t]*//[ \t]*', ' ', re.sub(TEXT_OR_COMMENT + r'|[^"/\n]+|.', lambda m: m[2] or '', text))
    if path.suffix == '.py':
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        return '\n'.join(t.string for t in tokens if t.type == tokenize.COMMENT or (t.type == tokenize.STRING and t.string.startswith('"""')))
    return '\n'.join((re.search(r'(?:^|\s)#.*', line) or [''])[0] for line in text.splitlines())


class Tests:
    """All tests of the tree by the names that documents give them."""

    def __init__(self, root, files):
        texts = {p: (root / p).read_text() for p in files}
        self.suites, self.files, self.rows = {}, {}, {}
        for path, text in texts.items():
            if path.suffix in SLASHES:
                for suite, name in re.findall(r'\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)', text):
                    self.suites.setdefault(suite, {}).setdefault(name, set()).add(path)
            if path.stem.endswith('_test'):
                self.files.setdefault(path.name, set()).add(path)
                self.rows.setdefault(path.name, []).append(text)
        cmake = [re.sub(r'#[^\n]*', '', text) for p, text in texts.items() if p.name == 'CMakeLists.txt' or p.suffix == '.cmake']
        self.ctest = {p.parts[1] for ps in self.files.values() for p in ps if p.parts[0] == 'suf'}  # a module's tests have its name
        for text in cmake:
            self.ctest |= {w for name in re.findall(r'\b(?:add_test\(NAME|suf_\w*test\w*\()\s*(\w+)', text) for w in [name]}
            for variable, words in re.findall(r'foreach\((\w+)((?:\s+\w+)+)\)', text):
                self.ctest |= {f'{head}{w}' for head in re.findall(rf'(?:\(NAME\s+|suf_test\()(\w*)\$\{{{variable}\}}', text) for w in words.split()}
        lists = [re.search(r'set\(targets ([^)]*)\)', text) for p, text in texts.items() if p.as_posix() == 'fuzz/CMakeLists.txt']
        self.targets = set(lists[0][1].split()) if lists and lists[0] else set()

    def has(self, suite, name, star):
        """Whether a suite has a test of this name, or one that begins so."""
        names = self.suites.get(suite, {})
        return bool(names) if name == '*' else any(n.startswith(name) for n in names) if star else name in names


def names(path, text, tests):
    """Faults among the names of tests in a text."""
    for m in GTEST.finditer(text):
        suite, name = m[1], m[2]
        star = re.match(r'\*|\w*\*|\.\.', text[m.end():m.end() + 40])
        if f'{suite}.{name}' in EXAMPLES or (suite not in tests.suites and path.suffix in CODE and not re.search('[a-z]', name)):
            continue
        if not tests.has(suite, name, star):
            yield f'{path}: there is no test {suite}.{name}'
    for listed, target in re.findall(r'((?:`[A-Z]\w+\.[A-Z]\w+`(?:, | and )?\s*)+) in\s+\[[^\]]*\]\(([^)#]*)\)', text):
        for suite, name in re.findall(r'`(\w+)\.(\w+)`', listed):
            file = pathlib.PurePath(os.path.normpath(path.parent / target)).as_posix()
            if all(p.as_posix() != file for p in tests.suites.get(suite, {}).get(name, ())):
                yield f'{path}: {suite}.{name} is not in {file}'
    for name in FILE.findall(text):
        base = name.rsplit('/', 1)[-1]
        if base not in EXAMPLES and not any(('/' + p.as_posix()).endswith('/' + name) for p in tests.files.get(base, ())):
            yield f'{path}: there is no {name}'
    for file, rows in ROWS.findall(text):
        for row in (' '.join(words.split()) for words in re.findall(r'`([^`]+)`', rows)):
            if re.match(r'[A-Z]\w*\.', row) or '/' in row or row.startswith(('fuzz', 'make ', '--')):
                continue
            if not any(re.sub(r'\s*\.\.$', '', row) in t for t in tests.rows.get(file, ())):
                yield f'{path}: {file} has no row {row}'
    for listed in TARGETS.findall(text):
        yield from (f'{path}: there is no fuzz target {t}' for t in re.findall(r'\w+', listed) if t not in tests.targets | {'and'})
    for listed, one in CTEST.findall(text):
        for name in re.findall(r'\w+', listed) + [one] * bool(one):
            if name != 'and' and not any(n.startswith(name) if one else n == name for n in tests.ctest):
                yield f'{path}: ctest has no test {name}'
    for count in re.findall(r'\b(\d+) libFuzzer targets', text):
        if int(count) != len(tests.targets):
            yield f'{path}: {count} libFuzzer targets are said, and there are {len(tests.targets)}'
    if path.as_posix() == 'fuzz/README.md':
        yield from (f'{path}: it lists no target {t}' for t in sorted(tests.targets) if not re.search(rf'^\|[^|]*\b{t}\b', text, re.M))


def code_of(path, text):
    """A source without its comments."""
    return re.sub(TEXT_OR_COMMENT, lambda m: '' if m[2] else m[0], text) if path.suffix in SLASHES else ''


def refusals(texts):
    """Codes by which a side may end a session (suf/net/refusal.cpp) and whose sentence no test of a session reads."""
    table = texts.get(pathlib.Path('suf/net/refusal.cpp'), '')
    tests = '\n'.join(t for p, t in texts.items() if p.stem.endswith('_test') and p.name != 'refusal_test.cpp')
    sent = '\n'.join(t for p, t in texts.items() if p.suffix == '.cpp' and p.stem != 'refusal' and not p.stem.endswith('_test'))
    for code, literals in re.findall(r'{Refusal::(k\w+), Cause::\w+,\s*((?:"[^"]*"\s*)+)}', table):
        words = ''.join(re.findall(r'"([^"]*)"', literals)).split()
        if re.search(rf'Refusal::{code}\b', sent) and not any(' '.join(words[i:i + 3]) in tests for i in range(len(words) - 2)):
            yield f'suf/net/refusal.cpp: no test of a session reads what {code} says'


def sections(text):
    """Of a page in docs/design: (anchor or None, title, body) of each section."""
    parts = re.split(r'^(?:<a id="([a-z0-9-]+)"></a>\n)?## (.+)\n', text, flags=re.M)
    return list(zip(parts[1::3], parts[2::3], parts[3::3]))


def design(texts):
    """Faults in the form of the pages in docs/design, and in their index."""
    index = pathlib.Path('docs/design/README.md')
    status = {}  # of each section, by page and anchor
    for path, text in texts.items():
        if path == index:
            continue
        if not re.match(r'# .+\n\n[\w`]', text):
            yield f'{path}: no paragraph follows the title'
        for anchor, title, body in sections(text):
            if not anchor:
                yield f'{path}: the section {title} has no anchor'
            parts = re.split(r'^\*\*(\w+)\.\*\* ', body, flags=re.M)[1:]
            if parts[::2] != PARTS:
                yield f'{path}: the section {title} has the parts {", ".join(parts[::2])}, not {", ".join(PARTS)}'
                continue
            test, last = parts[7], parts[9]
            if not any(pattern.search(test) for pattern in (GTEST, FILE, CTEST, TARGETS)):
                yield f'{path}: the section {title} names no test'
            if not re.search(r'\b\d{4}-\d\d-\d\d\b', last):
                yield f'{path}: the Status of {title} has no date'
            status[path.name, anchor] = last
    rows = re.findall(r'^\| *(?:\d.*)?\|.*$', texts.get(index, ''), re.M)
    read = [ROW.fullmatch(row) for row in rows]
    yield from (f'{index}: this is no row with number and link: {row}' for row, m in zip(rows, read) if not m)
    led, numbers = set(), []
    for m in filter(None, read):
        led.add((m[2], m[3]))
        numbers += [int(m[1])] if m[1] else []
        if m[1] and m[1] not in status.get((m[2], m[3]), ''):
            yield f'{index}: {m[1]} leads to {m[2]}#{m[3]}, whose Status does not name it'
    yield from (f'{index}: no row leads to {page}#{anchor}' for page, anchor in status if anchor and (page, anchor) not in led)
    old = [int(n) for last in status.values() for n in re.findall(r'\b0\d{3}\b', last)]
    yield from (f'{index}: there are {numbers.count(n)} rows {n:04}' for n in range(1, max(numbers + old, default=0) + 1) if numbers.count(n) != 1)


def blocks(root, path, text):
    """Blocks of C++ in a page that are no piece of a file."""
    for m in re.finditer(r'^```cpp\n(.*?)^```$', text, re.M | re.S):
        begin = m[1].split('\n')[0].strip()
        links = re.findall(r'\]\(([^)#\s]+\.(?:cpp|hpp))\)', text[:m.start()])
        source = root / path.parent / links[-1] if links else None
        if not source:
            yield f'{path}: no link above the block of {begin} names its file'
        elif source.exists() and f'\n{m[1]}' not in f'\n{source.read_text()}':
            yield f'{path}: {links[-1]} does not contain the block of {begin}'


def python_blocks(path, text):
    """Blocks of Python in a page that do not compile, and marks of blocks inside a line."""
    for i, line in enumerate(text.split('\n'), 1):
        if '```' in line and not re.fullmatch(r' *```\w*', line):
            yield f'{path}:{i}: a mark of a block is no line of its own'
    for m in re.finditer(r'^```python\n(.*?)^```$', text, re.M | re.S):
        try:
            compile(m[1], str(path), 'exec', ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as x:
            yield f'{path}: the block of {m[1].split(chr(10))[0].strip()} is no Python: {x}'


def citation(root):
    """Faults of the version in CITATION.cff."""
    version = re.search(r'project\(\w+ VERSION (\S+)', (root / 'CMakeLists.txt').read_text())[1]
    if f'\nversion: {version}\n' not in (root / 'CITATION.cff').read_text():
        yield f'CITATION.cff: its version is not {version}'


def faults(root, files):
    found, tests = [], Tests(root, files)
    known = {'std'} | {word for p in files for word in re.findall(r'\w+', code_of(p, (root / p).read_text()))}
    for path in files:
        text = (root / path).read_text()
        if path.suffix == '.md':
            found += [*blocks(root, path, text), *python_blocks(path, text)]
            for target, name in LINK.findall(text):
                page = root / path.parent / target if target else root / path
                if target.startswith(('http:', 'https:')):
                    continue
                if not page.exists():
                    found.append(f'{path}: there is no {target}')
                elif name and page.suffix == '.md' and name not in anchors(page):
                    found.append(f'{path}: {target} has no #{name}')
        elif path.suffix in CODE:
            for page, cited in CITE.findall(text):
                for name in re.findall(r'#([a-z0-9-]+)', cited):
                    if not (root / page).exists() or name not in anchors(root / page):
                        found.append(f'{path}: {page} has no #{name}')
        told = said(path, text)
        found += names(path, told, tests)
        if path.name != 'CHANGELOG.md':  # whose old entries name removed tests
            found += [f'{path}: no code has {a}::{b}' for a, b in re.findall(r'\b(\w+)::(\w+)', told) if not {a, b} <= known and a != 'std']
    found += refusals({p: (root / p).read_text() for p in files if p.suffix in ('.cpp', '.py')})
    found += design({p: (root / p).read_text() for p in files if p.match('docs/design/*.md')})
    found += citation(root)
    return found


FORM = '**Decision.** x\n\n**Why.** y\n\n**Alternatives.** z\n\n**Test.** `Good.Works`.\n\n**Status.** In force since 2026-11-21 (0001).\n'
PLANTED = {  # file: (text, how many faults)
    'docs/a.md': ('# A b\n<a id="here"></a>\n[x](a.md#here) [y](a.md#a-b) [z](none.md) [w](#gone)\n', 2),
    'docs/design/README.md': ('# Index\n| record | decision |\n|---|---|\n| 0001 | [good](p.md#good) |\n'
                              '| 0001 | [once more](p.md#good) |\n'
                              '| | [without a number](p.md#new) |\n| 0003 | [another number](p.md#new) |\n'
                              '| 0004 | [no such section](p.md#gone) |\n| 0005 | no link |\n', 8),
    'docs/design/p.md': ('# P\n\nA paragraph.\n\n<a id="good"></a>\n## Good\n\n' + FORM + '\n## Without an anchor\n\n' + FORM +
                         '\n<a id="new"></a>\n## New\n\n' + FORM.replace(' (0001)', '') + '\n<a id="lost"></a>\n## In no row\n\n' + FORM +
                         '\n<a id="short"></a>\n## Short\n\n' + FORM.replace('**Why.** y\n\n', ''), 2),
    'docs/design/q.md': ('# Q\n\n<a id="idle"></a>\n## No test, no date\n\n' + re.sub('`.*`|2026-11-21', 'none', FORM), 3),
    'x.hpp': ('// docs/a.md' + '#here, #nowhere\n// docs/design/p.md' + '#good, #nowhere\n', 2),
    'suf/ring/good_test.cpp': ('TEST(Good, Works) {}\n', 0),
    'suf/ring/other_test.cpp': ('TEST(Good, Others) {}  // Bad' + '.Fails has "it"\n', 1),
    'tests/rows_test.py': ("@row('a row of this file')\n", 0),
    'tests/CMakeLists.txt': ('foreach(n rows)\n  add_test(NAME ${n} COMMAND x)\nendforeach()\n', 0),
    'fuzz/CMakeLists.txt': ('set(targets one two)\n', 0),
    'fuzz/README.md': ('| target | what |\n|---|---|\n| one | this, not two |\n', 1),
    'y.md': ('`Good.Works`, `Good.Wo*`, `Good.*`, `Good.Works` in [x](suf/ring/good_test.cpp), tests/rows_test.py, rows_test.py `a row of ..`,\n'
             'ctest `rows`, `ctest -R ring`, fuzz target `one`, 2 libFuzzer targets\n', 0),
    'z.md': ('`Good.Fails`, `Good.Fa*`, `Gone.*`, `Good.Works` in [x](suf/ring/other_test.cpp), gone_test.py, suf/rows_test.py,\n'
             'rows_test.py `another row`, ctest `gone`, `ctest -R gone`, fuzz target `three`, 3 libFuzzer targets\n', 11),
    'examples/a.cpp': ('int main() {\n  A();\n  B();\n}\n', 0),
    'block.md': ('```cpp\nint none;\n```\n[a](examples/a.cpp)\n```cpp\n  A();\n  B();\n```\n```cpp\n  A();\n  C();\n```\n', 2),
    'python.md': ('```python\nx = await f()\n```\n```python\nif x: y = 1 z\n```\n    a ```\n', 2),
    'CMakeLists.txt': ('project(x VERSION 1.2.3 LANGUAGES CXX)\n', 0),
    'CITATION.cff': ('title: x\nversion: 1.2.0\n', 1),
    'suf/net/refusal.cpp': ('{Refusal::kA, Cause::kPeer, "is read by a test"}, {Refusal::kB, Cause::kPeer, "goes to " "nobody at all"},\n', 1),
    'suf/net/sent.cpp': ('Refuse(Refusal::kA), Refuse(Refusal::kB);\n', 0),
    'suf/net/sent_test.cpp': ('Fails("is read by a test");\n', 0),
    'suf/ring/head.hpp': ('// A head: of the file.\n#pragma once\n\n// Is below, as Good' + '::names.\nstruct Good {};\n', 1),
}


def planted():
    """Every planted fault is found, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, (text, _) in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = faults(root, list(pages(root)))
        for name, (_, count) in PLANTED.items():
            here = [f for f in found if re.match(rf'{re.escape(name)}[:]', f)]
            assert len(here) == count, f'{count} faults are planted in {name}, and these were found: {here}'
        assert len(found) == sum(count for _, count in PLANTED.values()), found


def main():
    planted()
    root = pathlib.Path(__file__).resolve().parent.parent
    files = list(pages(root))
    found = faults(root, files)
    print(*found, f'{len(files)} files, {len(found)} faults', sep='\n')
    return 1 if found or not files else 0


if __name__ == '__main__':
    sys.exit(main())
