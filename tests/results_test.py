#!/usr/bin/env python3
"""Checks that every line of bench/results names the commit that it was measured at, and that no checkout had changes.

  results_test.py         exit 0, or 1 with a sentence a line; first it finds faults planted in a folder of its own
"""
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMIT = re.compile(r'[0-9a-f]{7,40}')


def commits(value):
    """Yields every value of a field `commit`, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == 'commit':
                yield inner
            else:
                yield from commits(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from commits(inner)


def faults(folder):
    for path in sorted(folder.glob('*.json*')):
        texts = path.read_text().splitlines() if path.suffix == '.jsonl' else [path.read_text()]
        known = False  # in a file of several tables, the first line of each names the commit
        for number, text in enumerate(texts, 1):
            found = list(commits(json.loads(text)))
            known = known or bool(found)
            for commit in found:
                if not COMMIT.fullmatch(str(commit)):
                    yield f'{path.name}:{number} was measured at {commit}; measure it again at a commit without changes'
            if not known:
                yield f'{path.name}:{number} names no commit'


def planted():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / 'a.jsonl').write_text('{"commit": "0123456789ab"}\n{"commit": "0123456789ab-dirty"}\n')
        (root / 'b.jsonl').write_text('{"ms": 1}\n')
        (root / 'c.json').write_text('{"rows": [{"machine": {"commit": "unknown"}}]}')
        return list(faults(root))


def main():
    assert len(planted()) == 3, f'three planted faults, found: {planted()}'
    found = list(faults(ROOT / 'bench/results'))
    print(*found, f'{len(found)} faults', sep='\n')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
