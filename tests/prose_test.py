#!/usr/bin/env python3
"""Finds the faults of prose that a script can find: the mechanical part of the ten rules in STYLE.md.

  prose_test.py [FILE..]      comments, messages and help texts of the code, and all documents; default: every tracked file

Each rule is a function from a sentence to the words at fault. Planted faults of every rule must be found first, and good
sentences that resemble them must pass. Strings that are hashed or sent are not prose; a comment `hashed` marks their line.
"""
import ast
import io
import itertools
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLASHES = {'.hpp', '.cpp', '.cu', '.cuh'}
HASHES = {'.cmake', '.txt', '.toml', '.sh', '.yml', '.cff'}
COLUMNS, WORDS = 120, {'comment': 20, 'message': 25, 'page': 25}

# -- Texts: (line, kind, text) of each paragraph, list item or cell

C_TOKEN = re.compile(r'R"(\w*)\((?P<raw>(?s:.*?))\)\1"|"(?P<string>(?:[^"\\\n]|\\.)*)"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'|//(?P<comment>[^\n]*)|/\*(?P<block>(?s:.*?))\*/')


def paragraphs(lines, kind):
    """Joins lines (number, text) to paragraphs; an empty line, an indented one or a list mark begins another."""
    held, first = [], 0
    for number, line in lines + [(0, '')]:
        item = re.match(r'\s*(?:[*-]|\d+\.) +', line)
        if held and (not line.strip() or item):
            yield first, kind, ' '.join(held)
            held = []
        if line.strip() and not re.match(r'\s{3,}\S', line):
            first = first if held else number
            held.append(line[item.end():].strip() if item else line.strip())


def of_c(text, messages):
    """Comments of C++ and CUDA; with `messages` also string literals that are sentences."""
    block, strings = [], []
    for m in C_TOKEN.finditer(text):
        at = text.count('\n', 0, m.start()) + 1
        if m['comment'] is not None:
            before = text[text.rfind('\n', 0, m.start()) + 1:m.start()]
            if block and (before.strip() or block[-1][0] != at - 1):
                yield from paragraphs(block, 'comment')
                block = []
            block.append((at, m['comment'].removeprefix(' ').removeprefix('/')))
        elif m['block'] is not None:
            yield from paragraphs([(at + i, line.strip(' *')) for i, line in enumerate(m['block'].splitlines())], 'comment')
        elif messages and m['string'] is not None:
            strings.append((at, m.start(), m.end(), m['string'].replace('\\n', ' ')))
    yield from paragraphs(block, 'comment')
    joined = []
    for at, start, end, string in strings:  # adjacent literals are one
        if joined and not text[joined[-1][2]:start].strip():
            joined[-1] = (joined[-1][0], joined[-1][1], end, joined[-1][3] + string)
        else:
            joined.append((at, start, end, string))
    for at, start, end, string in joined:
        if 'hashed' not in text[end:text.find('\n', end)] and len(re.findall(r'[a-z]{2,}', string)) >= 4 and ' ' in string.strip():
            yield at, 'message', string


def of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith('#!'):
            yield token.start[0], 'comment', token.string.lstrip('# ')
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (doc := ast.get_docstring(node)):
            at = node.body[0].lineno
            yield from paragraphs([(at + i, line) for i, line in enumerate(doc.splitlines())], 'comment')
        if isinstance(node, ast.keyword) and node.arg == 'help' and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.lineno, 'message', node.value.value


def of_hashes(text):
    block = []
    for number, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#+ ?(?!!)(.*)', line)
        if m:
            block.append((number, m[1]))
        elif block:
            yield from paragraphs(block, 'comment')
            block = []
    yield from paragraphs(block, 'comment')


def of_page(text):
    """Paragraphs, list items and cells of Markdown, without code, headings and addresses."""
    text = re.sub(r'<!--(?s:.*?)-->', lambda m: '\n' * m[0].count('\n'), text)
    text = re.sub(r'^```(?s:.*?)^```', lambda m: '\n' * m[0].count('\n'), text, flags=re.M)
    held, blank, table = [], True, False
    for number, line in enumerate(text.splitlines(), 1):
        table = '|' in line and (table or bool(re.fullmatch(r'[-| :]+', line)) or line.startswith('|'))
        code = blank and re.match(r'    \S', line)
        blank = not line.strip() or bool(code)
        if code or line.startswith('#') or re.match(r'\s*\|?[-| :]+$', line):
            line = ''
        if table:
            yield from ((number, 'page', part.strip()) for part in re.split(r' \| |; ', line.strip('|')) if part.strip())
            line = ''
        held.append((number, re.sub(r'^ {1,6}(?=\S)', '', re.sub(r'<[^>]+>', '', line))))
    yield from paragraphs(held, 'page')


# -- Rules: from a sentence to the words at fault

ENDS = re.compile(r'(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)(?<!\bal)(?<!\bFig)(?<!\bSec)(?<!\bNo)([.!?])(?=[)"\'`*]*(?:\s+[\[("`*]*(?:[A-Z0-9`]|suf\b|rho\b|tests/)|\s*$))')
HEADLESS = re.compile(r'(?:^|[;:(] |[,;] (?:and|but|or) )(?:[A-Z]\w*: )?(who|whoever|what|whatever|that which)\b(?! (?:if|about)\b)', re.IGNORECASE)
WHOEVER = re.compile(r'\b(whoever|whomever|that which|by who|to who|than who|from who|lets who)\b', re.IGNORECASE)
WHERE = re.compile(r'^(Where)\b.*,|[;:(] (where)\b[^;:.]*,|\b((?:only|except|even|unless|but|also|true|false|none|empty|nothing|zero) where)\b')
FAILS_WHERE = re.compile(r'\b(?:fails|throws|refuses|refused|returns|ends|stops|dies|skipped|wrong|used)\b[^.;,]{0,30}? (where) (?:the|a|an|it|no|there|that|one)\b', re.IGNORECASE)
PERSON = re.compile(r"\b(hears?|heard|tells?|told|asks|asked|asking|looks?|looked|looking|he|his|him|himself|she)\b(?! (?:apart|like|up)\b)")
HUMAN = re.compile(r'\b(?:you|your|users?|readers?|people|person|operators?|engineers?|reviewers?|newcomers?|one|we|us|customers?|maintainers?|authors?|please)\b', re.IGNORECASE)


def headless(sentence, kind):
    """Rule 2: no clause begins with a bare `who`, `whoever` or `what`. A question may, and a heading of a column."""
    if sentence.rstrip('"\')*').endswith('?') or len(sentence.split()) < 3:
        return
    yield from (m[1] for m in HEADLESS.finditer(sentence))
    yield from (m[1] for m in WHOEVER.finditer(sentence))


def where(sentence, kind):
    """Rule 5: `where` is a place, `if` a condition."""
    if not sentence.endswith('?'):
        yield from (m[1] or m[2] or m[3] for m in WHERE.finditer(sentence))
        yield from (m[1] for m in FAILS_WHERE.finditer(sentence))


def persons(sentence, kind):
    """Rule 6: no machine does these, and none is a `he`."""
    for m in PERSON.finditer(sentence):
        if not HUMAN.search(' '.join(sentence[:m.start()].split()[-5:])):
            yield m[1]


def length(sentence, kind):
    """Rule 4: a sentence has at most 20 words in a comment, 25 elsewhere. Formulas and code count as one word each."""
    words = [w for w in sentence.split() if re.search('[A-Za-z]', w)]
    if len(words) > WORDS[kind]:
        yield f'{len(words)} words'


def several(sentence, kind):
    """Rule 3: a comment documents one declaration."""
    heads = re.findall(r'(?:^|[.;] )([A-Z][a-z]\w*(?:, [A-Z][a-z]\w*)*): ', sentence)
    if kind == 'comment' and len(heads) > 1:
        yield ' and '.join(heads)


def sentences(text):
    """Sentences of a paragraph; code, quotations, words in italics and links are one word."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', text)
    text = re.sub(r'``.*?``|`[^`]*`|"[^"]*"|(?<!\*)\*[^*\s]+\*(?!\*)', 'X', text)
    ends = [0, *(m.end() for m in ENDS.finditer(text)), len(text)]
    for begin, end in itertools.pairwise(ends):
        if sentence := text[begin:end].strip().lstrip('*_("').strip():
            yield sentence


RULES = (headless, where, persons, length, several)


def headed(path, text):
    """Rule 3 again: a comment does not repeat the name of the declaration below it, and no comment has two names."""
    for m in re.finditer(r'((?:^[ \t]*// .*\n)+)([^\n]*)', text, re.M):
        heads = re.findall(r'^[ \t]*// ([A-Z]\w*(?:, [A-Z]\w*)*): ', m[1], re.M)
        if len(heads) > 1 or (heads and path.suffix != '.cpp' and re.search(rf'\b{heads[0].split(",")[0]}\b', m[2])):
            yield text.count('\n', 0, m.start()) + 1, 'headed', ' and '.join(heads), m[1].strip().splitlines()[0]


def columns(path, text):
    """A line of prose ends at 120 columns or holds one sentence."""
    for number, line in enumerate(text.splitlines(), 1):
        prose = path.suffix == '.md' and not re.match(r'\||    |#|<|\[', line) or re.match(r'\s*(?://|#) ', line)
        if prose and len(line) > COLUMNS and (path.suffix != '.md' or len(list(sentences(line))) > 1):
            yield number, 'columns', f'{len(line)} columns', line.strip()


def is_prose(path):
    """Whether a file holds text that people wrote to be read: code, scripts and pages, but no data."""
    return (path.suffix in SLASHES | HASHES | {'.py', '.md'} and not {'testdata', 'corpus'} & set(path.parts) and
            (path.suffix != '.txt' or path.name == 'CMakeLists.txt'))


def faults(path, text):
    """-> (line, rule, words, sentence) of each fault of a file"""
    product = path.parts[0] in ('suf', 'apps') and not path.stem.endswith(('_test', '_bench'))
    texts = (of_c(text, product) if path.suffix in SLASHES else of_python(text) if path.suffix == '.py' else
             of_page(text) if path.suffix == '.md' else of_hashes(text))
    for line, kind, paragraph in texts:
        for sentence in sentences(paragraph):
            yield from ((line, rule.__name__, words, sentence) for rule in RULES for words in rule(sentence, kind))
    yield from columns(path, text)
    if path.suffix in SLASHES:
        yield from headed(path, text)


PLANTED = {  # a file and a line of it -> the rule that finds it
    ('suf/a/x.hpp', '// Who releases a frame waits for that one alone.'): 'headless',
    ('suf/a/x.hpp', '// What a peer did wrong ends the session.'): 'headless',
    ('suf/a/x.hpp', '// A client is refused; whoever comes later is served.'): 'headless',
    ('suf/a/x.hpp', '// Lives: what is kept, when it dies.'): 'headless',
    ('suf/a/x.cpp', 'int x;  // woken by who holds the lock'): 'headless',
    ('a.md', 'A session ends. Whoever holds both files can read it.'): 'headless',
    ('a.md', '| option | what it does; what fails is refused |'): 'headless',
    ('suf/a/x.cpp', 'Fail(c, "the plan is too long " "for a text where no window fits; where it is, it is cut");'): 'where',
    ('suf/a/x.hpp', '// Where the disk is full, the write fails.'): 'where',
    ('suf/a/x.hpp', '// The address; empty where nobody listens.'): 'where',
    ('suf/a/x.hpp', '// Throws where the disk refuses the write.'): 'where',
    ('suf/a/x.hpp', '// The dealer hears of bundles in memory.'): 'persons',
    ('apps/x.cpp', 'Say("the dealer was told of this bundle and waits");'): 'persons',
    ('tests/x.py', '# Each thread looks after its own client.'): 'persons',
    ('tests/x.py', '"""The client sends his frame."""'): 'persons',
    ('suf/a/x.hpp', '// One' + ' two' * 20 + '.'): 'length',
    ('apps/x.cpp', 'Help("One' + ' two' * 25 + '.");'): 'length',
    ('a.md', 'One' + ' two' * 25 + '.'): 'length',
    ('suf/a/x.hpp', '// Down: bit i of the string; Exchanged: its bit x.'): 'several',
    ('suf/a/x.hpp', '// Down: bit i\n// Exchanged: bit j\nint Down();'): 'headed',
    ('suf/a/x.hpp', '// Reads: reads all.\nint Reads();'): 'headed',
    ('suf/a/x.cpp', "int x = 10'000;  // a peer's limit; what is larger is refused"): 'headless',
    ('a.md', 'One sentence. ' + 'Word ' * 22 + 'end. ' + 'Another.'): 'columns',
    ('suf/a/x.hpp', '// ' + 'a/long/path ' * 10): 'columns',
}
GOOD = (
    ('suf/a/x.hpp', '// A dealer, who sees no message, says what it costs and who learns the result.'),
    ('suf/a/x.hpp', '// The folder where keys lie. Returns whether it exists, and where it is.'),
    ('suf/a/x.hpp', '// The client requests a bundle if the operator asks for one. You are asked for a text.'),
    ('suf/a/x.hpp', '// Shares look like random words. Reads one word (e.g. a serial). Returns it.'),
    ('suf/a/x.cpp', 'Key("suf who derives the label what is hashed");  // hashed'),
    ('a.md', '## What is private\n\nWho is the dealer?\n\n    Who is code\n\n| who | what |\n|---|---|\n\n`who` is a command.'),
    ('a.md', 'A long line of one sentence ' + 'a/path/of/a/file/that/is/long ' * 4 + 'is good.'),
)


def self_test():
    for (path, text), rule in PLANTED.items():
        found = {f[1] for f in faults(pathlib.PurePath(path), text + '\n')}
        assert found == {rule}, f'{text}: {found} instead of {rule}'
    for path, text in GOOD:
        found = list(faults(pathlib.PurePath(path), text + '\n'))
        assert not found, found


def main():
    self_test()
    names = sys.argv[1:] or subprocess.check_output(['git', '-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard'], text=True).split()
    paths = [p for p in map(pathlib.PurePath, names) if is_prose(p) and (ROOT / p).is_file()]
    bad = 0
    for path in paths:
        found = sorted(faults(path, (ROOT / path).read_text()))
        bad += bool(found)
        print(*(f'{path}:{line}: {rule}: {words}: {sentence[:160]}' for line, rule, words, sentence in found), sep='\n', end='\n' * bool(found))
    print(f'prose: {len(paths)} files, {bad} with faults')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
