#!/usr/bin/env python3
"""Checks that a room includes only the rooms that layers.toml grants it.

  check_layers.py [ROOT]        every include of suf/<room>/ and apps/; exit 1 and one line per forbidden include
  check_layers.py --self-test   also runs on a copy of the rules with one forbidden include planted, which must be reported
"""
import pathlib
import re
import sys
import tempfile
import tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](?:suf/)?(\w+)/([\w./]+)[>"]', re.M)


def forbidden(root):
    rules = tomllib.loads((root / 'layers.toml').read_text())
    rooms, tests, only, order = rules['rooms'], rules['tests'], rules['only'], rules['order']
    for room, grants in rooms.items():
        for g in grants:
            if order.index(g) >= order.index(room):
                yield f'layers.toml grants {room} the room {g}, which is not below it'
    for file in sorted([*root.glob('suf/*/**/*'), *root.glob('apps/*')]):
        if file.suffix not in ('.hpp', '.cpp', '.cu', '.cuh'):
            continue
        parts = file.relative_to(root).parts
        room = parts[1] if parts[0] == 'suf' else 'apps'
        test = file.stem.endswith(('_test', '_bench'))
        granted = {room, 'base', *rooms[room], *(tests.get(room, []) if test else [])}
        for other, rest in INCLUDE.findall(file.read_text()):
            if other not in rooms:
                continue
            name = '/'.join(parts)
            if other not in granted:
                yield f'{name} includes {other}/{rest}; {room} may include {", ".join(sorted(granted))}'
            elif other != room and rest.startswith('internal/'):
                yield f'{name} includes {other}/{rest}, which is private to {other}'
            elif other != room and rest.startswith('cuda/') and parts[2] not in ('cuda', 'cuda.cpp'):
                yield f'{name} includes {other}/{rest}, which is for the cuda folders of rooms and their doors, cuda.cpp'
            elif rest.startswith('cuda/') and rest.endswith('.cuh') and file.suffix not in ('.cu', '.cuh'):
                yield f'{name} includes {other}/{rest}; device code is for .cu files'
            elif not test and other in only.get(room, {}) and f'{other}/{rest}' not in only[room][other]:
                yield f'{name} includes {other}/{rest}; of {other}, {room} may include {", ".join(only[room][other])}'


def self_test(root):
    """A small tree with six plants: upward, private, sizes only, two of devices, and a grant that points up. Each must be reported."""
    with tempfile.TemporaryDirectory() as d:
        tree = pathlib.Path(d)
        (tree / 'layers.toml').write_text((root / 'layers.toml').read_text())
        for name, text in {'suf/ring/good.hpp': '#include "suf/exec/pool.hpp"', 'suf/ring/up.hpp': '#include "suf/proto/x.hpp"',
                           'suf/pfss/kernel.cpp': '#include "suf/fss/prg.hpp"', 'suf/proto/x.cpp': '#include "suf/ring/internal/y.hpp"',
                           'suf/ring/host.cpp': '#include "suf/exec/cuda/x.hpp"', 'suf/ring/cuda/host.cpp': '#include "suf/exec/cuda/x.cuh"',
                           'suf/ring/cuda/good.cu': '#include "suf/exec/cuda/x.cuh"', 'suf/ring/cuda.cpp': '#include "suf/exec/cuda/x.hpp"'}.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text + '\n')
        found = list(forbidden(tree))
        assert [f.split()[0] for f in found] == ['suf/pfss/kernel.cpp', 'suf/proto/x.cpp', 'suf/ring/cuda/host.cpp', 'suf/ring/host.cpp', 'suf/ring/up.hpp'], found
        text = (tree / 'layers.toml').read_text()
        (tree / 'layers.toml').write_text(text.replace('ring = ["exec"]', 'ring = ["exec", "proto"]'))
        assert any('not below' in f for f in forbidden(tree)), 'an upward grant went unseen'


def main():
    args = [a for a in sys.argv[1:] if a != '--self-test']
    root = pathlib.Path(args[0] if args else pathlib.Path(__file__).resolve().parent.parent)
    if '--self-test' in sys.argv:
        self_test(root)
    found = list(forbidden(root))
    print('\n'.join(found) or f'layers: every include is granted ({len(list(root.glob("suf/*/*")))} files)')
    sys.exit(bool(found))


if __name__ == '__main__':
    main()
