#!/usr/bin/env python3
"""Each type name of the product's headers is a noun and means one thing, nested types included.

  types_test.py        exit 0, or 1 with a sentence a line

At most eight names (SHARED) may occur twice, because their scope says the rest. A public type is no bare participle
(`Agreed`, `Waiting`): NOUNS lists words that end like one. Copies of a type for several instruction sets may share a
name, and so may aliases of one type.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = {'Kind', 'Options', 'Session'}
NOUNS = {'Ring', 'String', 'Setting', 'Embedding', 'Lowering', 'Seed', 'Padding', 'Speed', 'Opening', 'Reading', 'Rounding', 'Encoding', 'Ending'}
TYPE = re.compile(r'^[ \t]*(?:template\s*<[^;{]*>\s*)?(?:struct|class|enum class|enum|union)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?'
                  r'([A-Z]\w*)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{|^[ \t]*using\s+([A-Z]\w*)\s*=\s*([^;]+);', re.M)
ISA = re.compile(r'_(?:portable|avx2|avx512)$')
PARTICIPLE = re.compile(r'^(?:[A-Z][a-z]+(?:ed|ing)|Done|Found|Given|Held|Kept|Known|Made|Met|Ran|Said|Sent|Taken|Told)$')


def types(headers):
    """-> name: the headers that define a type of this name by what they define, from (path, text) pairs"""
    found = collections.defaultdict(dict)
    for path, text in headers:
        for m in TYPE.finditer(text):
            alias = re.sub(r'^(?:\w+::)+(?=[A-Z]\w*$)', '', m[3] or '')
            if alias != m[2]:  # `using Node = pfss::Node` is no other type
                file = 'instruction sets' if ISA.search(path.stem) else path.as_posix()
                found[m[1] or m[2]][alias if alias and file == path.as_posix() else file] = file
    return found


def faults(found, shared=SHARED):
    for name, paths in sorted(found.items()):
        if len(paths) > 1 and len(set(paths.values())) > 1 and name not in shared:
            yield f'{name} is a type of {", ".join(sorted(paths.values()))}; give each thing a name of its own'
        if PARTICIPLE.match(name) and name not in NOUNS:
            yield f'{name} in {", ".join(sorted(paths.values()))} is a participle; name the thing'
    for name in sorted(shared):
        if len(set(found.get(name, {}).values())) < 2:
            yield f'{name} is unique now; take it off the list of shared names'


def self_test():
    a, b, isa = pathlib.PurePath('suf/a/a.hpp'), pathlib.PurePath('suf/b/b.hpp'), pathlib.PurePath('suf/a/a_avx2.hpp')
    planted = types([(a, 'struct Frame {\n  enum class Kind { kA };\n};\nclass Part final : public X<1> {\nstruct Agreed {'),
                     (b, 'namespace b {\n  using Frame = int;\ntemplate <class T>\nstruct alignas(64) Kind {\nclass Part;\nstruct Ring {'),
                     (isa, 'struct Lane {\n  using Frame = a::Frame;\n  using Word = int;'), (isa.with_name('b_avx512.hpp'), 'struct Lane {\n  using Word = int;')])
    found = [f.split(' ')[0] for f in faults(planted, {'Kind', 'Old'})]
    assert found == ['Agreed', 'Frame', 'Old'], found


def main():
    self_test()
    assert len(SHARED) <= 8, SHARED
    paths = [p for module in ('suf', 'apps') for ending in ('*.hpp', '*.cuh') for p in sorted((ROOT / module).rglob(ending)) if not p.stem.endswith(('_test', '_bench'))]
    assert len(paths) > 150, paths
    found = types((p.relative_to(ROOT), p.read_text()) for p in paths)
    wrong = list(faults(found))
    print(*wrong, f'types: {len(found)} names in {len(paths)} headers, {len(wrong)} at fault', sep='\n')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
