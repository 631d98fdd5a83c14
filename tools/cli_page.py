#!/usr/bin/env python3
"""Writes docs/cli.md from the help of the program.

    cli_page.py SUF [--check]     with --check it fails if the page differs

An option that several commands have is printed once: under "Session options" if all parties have it, otherwise under
"Shared options". A command names its shared options, with its default if that differs.
"""
import collections
import difflib
import itertools
import pathlib
import re
import sys
import textwrap

import man

PAGE = pathlib.Path(__file__).resolve().parent.parent / 'docs/cli.md'
MOST = 10  # shared options in a sentence
COLUMNS = 110
DEFAULT = re.compile(r' \(default: .*\)$')
PRICES = re.compile(r'cpu, gpu, .*keys=ahead\|now')  # in the help of each --profile
STDIN = '; - is standard input'
HEAD = '''# Commands of suf

<!-- tools/cli_page.py writes this page from the help of the program: change the help, then run it again -->

A block has the options of one command alone. The line below it names its [session options](#session-options) and
[shared options](#shared-options), required ones in italics. `PRICES` are those of a [profile](operations.md#profiles). `-` in
place of a file to read is standard input. All commands have the same [exit codes](operations.md#exit-codes) and
[error messages](operations.md#error-messages).'''


class Option:
    """An option or a positional argument of one command."""

    def __init__(self, name, meaning):
        self.required = meaning[0].startswith('Required. ')
        first = PRICES.sub('PRICES', meaning[0].removeprefix('Required. ').replace(STDIN, ''))
        rule = re.search(r' ((?:Excludes|Needs): .*)$', name)
        self.rule = rule[1].replace(':', '').lower() if rule else ''
        name = name.removesuffix(rule[0] if rule else ' ...')
        self.name = re.sub(r'TEXT:{(.*)}', lambda m: m[1].replace(',', '|'), name)  # TEXT:{a,b} -> a|b
        self.default = (DEFAULT.search(first) or [''])[0]
        self.meaning, self.more = first.removesuffix(self.default), meaning[1:]
        self.key = (self.name, self.meaning, *self.more)


class Command:
    def __init__(self, suf, words):
        text = man.text_of(suf, *words)
        about, _, below = text.partition('\nUsage:')
        about, *examples = about.strip().splitlines()
        self.name, self.inner = ' '.join(words), man.commands(text)
        self.about = about[:1].upper() + about[1:].rstrip('.') + '.'
        self.examples = [e for e in (re.sub(r'^\s*Examples?:\s*', '', line).strip() for line in examples) if e != f'suf {self.name}']
        self.options = [Option(*entry) for heading in ('Positionals', 'Options') for entry in man.entries(text, heading) if entry[0][:2] != '-h']
        blocks = re.split(r'\n\s*\n', below.strip())  # usage, then each heading, then notes
        self.notes = [block for block in blocks if not re.match(r'.*\[OPTIONS\]|(?:Positionals|Options|Subcommands):', block)]


def commands(suf, words=()):
    command = Command(suf, words)
    return [command] * (not command.inner) + [c for name in command.inner for c in commands(suf, (*words, name))]


def same(more):
    """Merges further lines NAME=NUMBER  MEANING of an option's help that have the same meaning."""
    for meaning, group in itertools.groupby((line.partition('  ') for line in more), lambda parts: parts[2].strip()):
        yield f'{" ".join(parts[0] for parts in group)}  {meaning}'.strip()


def rows(entries):
    """Yields names and meanings in two columns; entries: (name, meaning, further lines)."""
    width = min(24, max(len(name) for name, _, _ in entries))
    for name, meaning, more in entries:
        first = [name] if len(name) > width else []
        texts = [wrapped for text in (meaning, *same(more)) for wrapped in textwrap.wrap(text, COLUMNS - width - 2, break_on_hyphens=False)]
        yield from first
        for number, text in enumerate(texts):
            yield f'{name if number == 0 and not first else "":<{width}}  {text}'


def alone(option):
    mark = ', '.join(filter(None, ('required' * option.required, option.rule)))
    return option.name, option.meaning + option.default + f' ({mark})' * bool(mark), option.more


def section(command, shared, session):
    yield f'\n## {command.name}\n\n{textwrap.fill(command.about, 118)}'
    own = [alone(option) for option in command.options if option.key not in shared]
    block = command.examples + [''] * bool(command.examples and own) + list(rows(own) if own else ())
    if block:
        yield '\n'.join(('\n```', *block, '```'))
    others = [option for option in command.options if option.key in shared]
    names = []
    if session <= {option.key for option in others}:
        names = ['[session](#session-options)']
        others = [option for option in others if option.key not in session]
    for option in sorted(others, key=lambda option: not option.required):
        mark = '*' * option.required
        names.append(f'{mark}`{option.name.split()[0]}`{mark}' + option.default * (option.default != shared[option.key]))
    parts = [names[at:at + MOST] for at in range(0, len(names), MOST)]
    said = [f'{"Also" if i else "Shared"}: {", ".join(part)}.' for i, part in enumerate(parts)]
    if said:
        yield '\n' + textwrap.fill(' '.join(said), 118, break_on_hyphens=False, break_long_words=False)
    yield from (f'\nMore: [{name}]({name}).' for note in command.notes for name in re.findall(r'docs/(\w+\.md)', note))


def page(suf):
    found = commands(suf)
    having = collections.defaultdict(list)  # key of an option -> (command, option)
    for command in found:
        for option in command.options:
            having[option.key].append((command.name, option))
    shared = {}  # key -> the default, if all commands have the same
    for key, those in having.items():
        if len(those) > 1:
            defaults = {option.default for _, option in those}
            shared[key] = defaults.pop() if len(defaults) == 1 else ''
    parties = [{option.key for option in c.options} for c in found if any(option.name.startswith('--dealer HOST') for option in c.options)]
    session = set.intersection(*parties) & set(shared)
    of_name = collections.Counter(key[0] for key in shared)

    def entry(key):
        name, meaning, *more = key
        those = ', '.join(command for command, _ in having[key]) + ': ' if of_name[name] > 1 else ''
        options = [option for _, option in having[key]]
        required = ' (required)' * (any(o.required for o in options) and all(o.required or o.default for o in options))
        return name, those + meaning + shared[key] + required, more

    yield HEAD
    for command in found:
        yield from section(command, shared, session)
    for title, keys in (('Session options', session), ('Shared options', set(shared) - session)):
        entries = sorted(map(entry, keys), key=lambda row: (row[0].lstrip('-'), row[1]))
        yield '\n'.join((f'\n## {title}\n\n```', *rows(entries), '```'))


def main():
    text = '\n'.join(page(sys.argv[1])) + '\n'
    if '--check' not in sys.argv:
        PAGE.write_text(text)
        return 0
    changed = list(difflib.unified_diff(PAGE.read_text().splitlines(), text.splitlines(), 'docs/cli.md', 'the help', lineterm='', n=0))
    verdict = 'docs/cli.md differs from the help: run tools/cli_page.py SUF' if changed else 'docs/cli.md is as the help says'
    print(*changed, verdict, sep='\n')
    return bool(changed)


if __name__ == '__main__':
    sys.exit(main())
