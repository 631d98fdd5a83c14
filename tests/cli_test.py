#!/usr/bin/env python3
"""Checks that docs/cli.md matches the program's help. A page that differs in one word, or lacks an option, is reported.

  cli_test.py SUF         exit 0, or 1 with the lines that differ
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import cli_page  # noqa: E402


def check(text):
    """-> the exit code of --check on a page with this text, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / 'cli.md'
        page.write_text(text)
        code = f'import cli_page, pathlib, sys; cli_page.PAGE = pathlib.Path({str(page)!r}); sys.exit(cli_page.main())'
        done = subprocess.run([sys.executable, '-c', code, sys.argv[1], '--check'], cwd=ROOT / 'tools', capture_output=True, text=True)
        assert page.read_text() == text, '--check has written the page'
        return done.returncode, done.stdout + done.stderr


def main():
    text = cli_page.PAGE.read_text()
    code, said = check(text)
    print(said, end='')
    if code:
        return 1
    for planted in (text.replace('plan file', 'plan', 1), re.sub(r'--timeout .*\n', '', text), text + '\n## fn gone\n'):
        code, said = check(planted)
        assert planted != text and code == 1 and 'differs from the help' in said, said
    for command in cli_page.commands(sys.argv[1]):  # every option at the start of a help line is in the command's section, or shared
        section = text.split(f'\n## {command.name}\n')[1].split('\n## ')[0] + text.split('\n## Session options\n')[1]
        listed = re.findall(r'^  (?:-\w,)?(--[a-z-]+)', cli_page.man.text_of(sys.argv[1], *command.name.split()), re.M)
        missing = [name for name in listed if name != '--help' and f'`{name}`' not in section and f'\n{name}' not in section]
        assert listed and not missing, (command.name, missing)
    return 0


if __name__ == '__main__':
    sys.exit(main())
