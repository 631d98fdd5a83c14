#!/usr/bin/env python3
"""Checks that only builders know families: no line of suf/nn and suf/model names one.

    family_names_test.py        exit 0, or 1 with a sentence a line

Builders (suf/model/families), parts of tokenizers (suf/model/tokens: the names in a tokenizer.json) and tests may. So
may the files of OTHERS, each for the reason given. A file that no longer names a family must leave the list. First the
search must find a line planted in a copy of each module.
"""
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = re.compile('bert|gpt|llama|mpnet|minilm|xlm', re.IGNORECASE)
OTHERS = {
    'suf/model/tokenizer.hpp': 'the tokenizer has the name of the paper that it is from',
    'suf/model/internal/entries.hpp': 'likewise',
    'suf/model/internal/separate_files.hpp': 'classes of tokenizers by their names',
    'suf/model/internal/separate_files.cpp': 'likewise',
    'suf/model/internal/entries.cpp': 'names of rules in tokenizer.json',
    'suf/model/internal/modules.cpp': 'names of files of sentence-transformers',
    'suf/model/vocabulary.hpp': 'published vocabularies by their names',
    'suf/model/vocabulary.cpp': 'likewise',
    'suf/model/fetch.cpp': 'models that are fetched by their names',
    'suf/model/README.md': 'it lists the tokenizer',
}


def is_test(path):
    return path.stem.endswith(('_test', '_bench')) or 'testdata' in path.parts


def search(root):
    """-> sentences on lines that name a family, names of the OTHERS that do."""
    faults, others = [], set()
    for module in ('suf/nn', 'suf/model'):
        for path in sorted((root / module).rglob('*')):
            name = path.relative_to(root).as_posix()
            if not path.is_file() or is_test(path) or name.startswith(('suf/model/families/', 'suf/model/tokens/')):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not NAMES.search(line):
                    continue
                others.add(name)
                if name not in OTHERS:
                    faults.append(f'{name}:{number} names a family of models; say what it computes instead: {line.strip()[:120]}')
    return faults, others


def self_test():
    """Checks that a planted line is found in every kind of file, and none in a builder or a test."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for module in ('suf/nn', 'suf/model'):
            shutil.copytree(ROOT / module, root / module, ignore=shutil.ignore_patterns('testdata'))
        before = len(search(root)[0])
        planted = ('suf/nn/graph/graph.hpp', 'suf/nn/ops/map.cpp', 'suf/nn/README.md', 'suf/model/family.cpp', 'suf/model/internal/config.hpp', 'suf/model/testing.hpp')
        for name in planted + ('suf/model/families/bert.cpp', 'suf/nn/graph/graph_test.cpp'):
            with open(root / name, 'a') as f:
                f.write('// only for gPT-2\n')
        found = [fault.split(':')[0] for fault in search(root)[0]]
        missed = [name for name in planted if name not in found]
        if missed or len(found) != before + len(planted):
            sys.exit(f'names: lines planted in {", ".join(planted)} were not found as they should: {found}')


def main():
    self_test()
    faults, others = search(ROOT)
    faults += [f'{name} names no family any more; take it off the list of tests/family_names_test.py' for name in OTHERS if name not in others]
    for fault in faults:
        print(fault)
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
