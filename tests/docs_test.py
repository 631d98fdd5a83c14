#!/usr/bin/env python3
"""docs_test.py: every link of a Markdown page leads to a file and, where it names one, to a heading or anchor; every section that code cites
(docs/mathematics.md#NAME) exists. It first finds three planted faults in a tree of its own."""
import os
import pathlib
import re
import sys
import tempfile

CODE = {'.hpp', '.cpp', '.py', '.cmake', '.txt', '.toml', '.sh'}
LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]+))?\)')
CITE = re.compile(r'(docs/\w+\.md)((?:(?:,\s*(?://\s*)?)?#[a-z0-9-]+)+)')


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


def faults(root, files):
    found = []
    for path in files:
        text = (root / path).read_text()
        if path.suffix == '.md':
            for target, name in LINK.findall(text):
                page = root / path.parent / target if target else root / path
                if target.startswith(('http:', 'https:')):
                    continue
                if not page.exists():
                    found.append(f'{path}: there is no {target}')
                elif name and page.suffix == '.md' and name not in anchors(page):
                    found.append(f'{path}: {target} has no #{name}')
        elif path.suffix in CODE:
            for page, names in CITE.findall(text):
                for name in re.findall(r'#([a-z0-9-]+)', names):
                    if not (root / page).exists() or name not in anchors(root / page):
                        found.append(f'{path}: {page} has no #{name}')
    return found


def planted():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / 'docs').mkdir()
        (root / 'docs/a.md').write_text('# A b\n<a id="here"></a>\n[x](a.md#here) [y](a.md#a-b) [z](none.md) [w](#gone)\n')
        (root / 'x.hpp').write_text('// docs/a.md' + '#here, #nowhere\n')
        return faults(root, list(pages(root)))


def main():
    assert len(planted()) == 3, f'three planted faults, found: {planted()}'
    root = pathlib.Path(__file__).resolve().parent.parent
    files = list(pages(root))
    found = faults(root, files)
    print(*found, f'{len(files)} files, {len(found)} faults', sep='\n')
    return 1 if found or not files else 0


if __name__ == '__main__':
    sys.exit(main())
