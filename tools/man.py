#!/usr/bin/env python3
"""Writes the man page of suf from its --help: man.py SUF OUT."""
import re
import subprocess
import sys


def text_of(suf, *command):
    out = subprocess.run([suf, *command, '--help'], check=True, capture_output=True, text=True).stdout
    return out.replace(suf, 'suf')


def quoted(line):
    """Quotes a line for troff: no control character begins it, and backslashes and hyphens are literal."""
    line = line.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + line if line[:1] in ".'" else line


def commands(text):
    """Returns the names under "Subcommands:"."""
    found = re.search(r'^Subcommands:\n((?:  .*\n?)+)', text, re.M)
    return re.findall(r'^  (\w[\w-]*) ', found.group(1), re.M) if found else []


def entries(text, heading):
    """Returns (option with its value, meaning) under a heading; continued lines are joined."""
    found = re.search(rf'^{heading}:\n((?:  .*\n?)+)', text, re.M)
    rows = []
    for line in (found.group(1) if found else '').splitlines():
        if not line.startswith('    '):  # one space follows a name that fills its column; a longer name has its meaning below
            name, required, after, meaning = re.fullmatch(r'(.*?)(?: (REQUIRED)(?: +(.*))?|  +(.*))?', line.strip()).groups()
            rows.append((name, [('Required. ' if required else '') + (after or meaning or '')]))
        elif rows[-1][1][-1] in ('', 'Required. '):
            rows[-1][1][-1] += line.strip()
        else:
            rows[-1][1].append(line.strip())
    return rows


def section(suf, *command):
    text = text_of(suf, *command)
    inner = commands(text)
    if command and not inner:
        usage = re.search(r'^Usage: (.*)$', text, re.M).group(1)
        yield f'.SS {quoted(" ".join(("suf",) + command))}'
        yield quoted(text.split('\nUsage:')[0].strip())
        yield f'.PP\n.B {quoted(usage)}'
        for heading in ('Positionals', 'Options'):
            for name, meaning in entries(text, heading):
                if not name.startswith('-h'):
                    yield f'.TP\n.B {quoted(name)}'
                    yield '\n.br\n'.join(quoted(m) for m in meaning if m)
    for name in inner:
        yield from section(suf, *command, name)


def page(suf):
    version = subprocess.run([suf, '--version'], check=True, capture_output=True, text=True).stdout.split(',')[0].strip()
    about = text_of(suf).split('\nUsage:')[0].strip().split('\n')
    yield f'.TH SUF 1 "" "{version}"'
    yield '.SH NAME\nsuf \\- private sentence embeddings between two parties and a dealer'
    yield '.SH SYNOPSIS\n.B suf\n.I COMMAND OPTIONS'
    yield '.SH DESCRIPTION'
    yield '\n.PP\n'.join(quoted(line.removeprefix('suf: ')) for line in about)
    yield '.SH COMMANDS'
    yield from section(suf)
    yield '.SH EXIT STATUS'
    for code, meaning in (('0', 'done'), ('2', 'something that was given cannot be used'), ('3', 'another role did not answer, or fell silent'),
                          ('4', 'refused: going on would be wrong or unsafe'), ('5', 'this machine lacks disk, memory or rights')):
        yield f'.TP\n.B {code}\n{meaning}'
    yield '.PP\nThe last line on stderr names the quantity, the limit and the remedy.'


def main():
    with open(sys.argv[2], 'w') as out:
        out.write('\n'.join(page(sys.argv[1])) + '\n')


if __name__ == '__main__':
    main()
