#!/usr/bin/env python3
"""Checks that a module includes and names only the modules that layers.toml grants it, and that only suf/base/json.cpp
parses JSON.

    check_layers.py [ROOT]        every include and every name of another module (`compiler::`) in suf/<module>/ and apps/
    check_layers.py --self-test   also runs on small trees with forbidden includes, names and grants planted, which it must report

Exit code 1, and one line for each forbidden include, name or parser.
"""
import pathlib
import re
import sys
import tempfile
import tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](?:suf/)?(\w+)/([\w./]+)[>"]', re.M)
SILENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)  # texts and comments, which name nothing


def sources(root):
    return [f for f in sorted([*root.glob('suf/*/**/*'), *root.glob('apps/**/*')]) if f.suffix in ('.hpp', '.cpp', '.cu', '.cuh')]


def names(text, modules):
    """Returns {(module, name)} of the code, such as `fss::Prg`. The name is empty if a namespace is opened, used or
    renamed."""
    any_module = '|'.join(modules)
    code = SILENT.sub('""', text)
    said = set(re.findall(rf'(?<![\w:])(?:::)?(?:suf::)?({any_module})::(\w+)', code))
    opened = re.findall(rf'\bnamespace\s+(?:\w+\s*=\s*)?(?:::)?(?:suf::)?({any_module})\b', code)
    nested = re.findall(rf'\bnamespace\s+suf\s*{{\s*namespace\s+({any_module})\b', code)
    return said | {(module, '') for module in opened + nested}


# The parsers of nlohmann's library: functions, their callbacks, and literals.
JSON = re.compile(r'\bjson_sax|\bparse_event_t|\b(?:[jJ]son|ordered_json)\s*::\s*(?:parse|accept|sax_parse|from_[a-z]+)\b|"_json')
JSON_READER = 'suf/base/json.cpp'


def forbidden(root):
    rules = tomllib.loads((root / 'layers.toml').read_text())
    modules, tests, only, private, order = (rules[table] for table in ('modules', 'tests', 'only', 'private', 'order'))
    for module, grants in modules.items():
        for g in grants:
            if order.index(g) >= order.index(module):
                yield f'layers.toml grants {module} the module {g}, which is not below it'
    for file in sources(root):
        parts = file.relative_to(root).parts
        module = parts[1] if parts[0] == 'suf' else 'apps'
        test = file.stem.endswith(('_test', '_bench'))
        granted = {module, 'base', *modules[module], *(tests.get(module, []) if test else [])}
        name, text = '/'.join(parts), file.read_text()
        if not test and name != JSON_READER and (found := JSON.search(text)):
            yield f'{name} parses JSON ({found[0]}); use ReadJson of suf/base/json.hpp'
        for other in sorted({other for other, _ in names(text, modules)} - granted):
            yield f'{name} names {other}::, and {module} may name {", ".join(sorted(granted))}'
        for other, headers in ({} if test else only.get(module, {})).items():
            seen = ''.join((root / 'suf' / h).read_text() for h in headers if (root / 'suf' / h).exists())
            for word in sorted(word for o, word in names(text, modules) if o == other and word and not re.search(rf'\b{word}\b', seen)):
                yield f'{name} names {other}::{word}, which is not in {", ".join(headers)}'
        for other, rest in INCLUDE.findall(text):
            if other not in modules:
                continue
            if other not in granted:
                yield f'{name} includes {other}/{rest}; {module} may include {", ".join(sorted(granted))}'
            elif other != module and (rest.startswith('internal/') or rest in private.get(other, [])):
                yield f'{name} includes {other}/{rest}, which is private to {other}'
            elif other != module and rest.startswith('cuda/') and parts[2] not in ('cuda', 'cuda.cpp'):
                yield f'{name} includes {other}/{rest}, which is for the cuda folders of modules and their doors, cuda.cpp'
            elif rest.startswith('cuda/') and rest.endswith('.cuh') and file.suffix not in ('.cu', '.cuh'):
                yield f'{name} includes {other}/{rest}; device code is for .cu files'
            elif not test and other in only.get(module, {}) and f'{other}/{rest}' not in only[module][other]:
                yield f'{name} includes {other}/{rest}; of {other}, {module} may include {", ".join(only[module][other])}'


def self_test(root):
    """Checks that faults planted in a small tree are reported, and nothing besides.
    There are includes (upward, private, sizes only, two of devices) and names (qualified, opened, used whole,
    renamed, beyond the sizes). There are also a JSON parser and a grant that points up."""
    with tempfile.TemporaryDirectory() as d:
        tree = pathlib.Path(d)
        (tree / 'layers.toml').write_text((root / 'layers.toml').read_text())
        for name, text in {'suf/ring/good.hpp': '#include "suf/exec/pool.hpp"', 'suf/ring/up.hpp': '#include "suf/proto/x.hpp"',
                           'suf/pfss/kernel.cpp': '#include "suf/fss/prg.hpp"', 'suf/proto/private.cpp': '#include "suf/net/pipe.hpp"', 'suf/proto/x.cpp': '#include "suf/ring/internal/y.hpp"',
                           'suf/ring/host.cpp': '#include "suf/exec/cuda/x.hpp"', 'suf/ring/cuda/host.cpp': '#include "suf/exec/cuda/x.cuh"',
                           'suf/ring/cuda/good.cu': '#include "suf/exec/cuda/x.cuh"', 'suf/ring/cuda.cpp': '#include "suf/exec/cuda/x.hpp"',
                           'suf/fss/sizes.hpp': 'struct Form {};', 'suf/base/json.cpp': 'json::sax_parse(a, b, c);',
                           'suf/nn/parses.cpp': 'auto j = Json::parse(text);', 'suf/nn/parses_test.cpp': 'auto j = Json::parse(text);',
                           'suf/model/good.cpp': 'nn::Plan p;  // as roles:: has\nauto s = "proto::X", t = R"(run::Y)"; std::run::Z z; my_run::Z w;',
                           'suf/model/says.cpp': 'suf::proto::Session s;', 'suf/model/opens.hpp': 'namespace suf::proto {\nclass Session;\n}',
                           'suf/model/uses.cpp': 'using namespace run;', 'suf/model/renames.cpp': 'namespace r = ::suf::run;',
                           'suf/model/nests.hpp': 'namespace suf {\nnamespace net {\n}\n}',
                           'suf/pfss/good.hpp': 'fss::Form f;', 'suf/pfss/prg.hpp': 'fss::Form f; fss::Prg p;'}.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text + '\n')
        found = list(forbidden(tree))
        assert [f.split()[0] for f in found] == [
            'suf/model/nests.hpp', 'suf/model/opens.hpp', 'suf/model/renames.cpp', 'suf/model/says.cpp', 'suf/model/uses.cpp', 'suf/nn/parses.cpp',
            'suf/pfss/kernel.cpp', 'suf/pfss/prg.hpp', 'suf/proto/private.cpp', 'suf/proto/x.cpp', 'suf/ring/cuda/host.cpp', 'suf/ring/host.cpp', 'suf/ring/up.hpp'], found
        text = (tree / 'layers.toml').read_text()
        (tree / 'layers.toml').write_text(text.replace('ring = ["exec"]', 'ring = ["exec", "proto"]'))
        assert any('not below' in f for f in forbidden(tree)), 'an upward grant went unseen'


def main():
    args = [a for a in sys.argv[1:] if a != '--self-test']
    root = pathlib.Path(args[0] if args else pathlib.Path(__file__).resolve().parent.parent)
    if '--self-test' in sys.argv:
        self_test(root)
    found = list(forbidden(root))
    print('\n'.join(found) or f'layers: every include and name is granted ({len(sources(root))} files)')
    sys.exit(bool(found))


if __name__ == '__main__':
    main()
