#!/usr/bin/env python3
"""Uses the files of cmake --install as a stranger would. A program of ten lines is built by find_package and by
pkg-config, shared and static, with g++ and clang++-19. No header needs an outside library, and the libraries export
none of its symbols.

  install_test.py BUILD [EXAMPLE..]   BUILD: the build folder
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ('g++', 'clang++-19')
PROGRAM = '''#include <suf/cpu/packed.hpp>
#include <suf/roles/estimate.hpp>
#include <cstdio>
int main(int, char** argv) try {
  const auto backend = suf::cpu::MakePacked(suf::exec::Default());
  suf::roles::ModelEngine engine(suf::roles::LoadPlan(argv[1]), *backend);
  const suf::roles::Estimate cost(engine, 7);
  std::printf("%d flights, %ld bytes of keys\\n", cost.flights, long(cost.key_bytes[1]));
} catch (const suf::Error& e) {
  return std::printf("%s: %s\\n", Name(e.cause()), e.what()), 1;
}
'''
PROJECT = '''cmake_minimum_required(VERSION 3.25)
project(ten LANGUAGES CXX)
find_package(suf 0.1 REQUIRED COMPONENTS {components})
add_executable(ten ten.cpp)
target_link_libraries(ten PRIVATE {target})
'''
SYMBOL = re.compile(r'_Z(?:G?V?Z?N[VKRO]*|T[ISVT]N|G?V?ZN[VKRO]*|Thn\d+_N[VKRO]*|Tv0_n\d+_N[VKRO]*)3suf')
OUTSIDE = re.compile(r'nlohmann|spdlog|fmt::|CLI::|asio|openssl|utf8proc|muparser', re.I)


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f'{" ".join(map(str, command))}\n{done.stdout}{done.stderr}'
    return done.stdout


def symbols(library):
    """Asserts that every exported symbol is declared in namespace suf, and that none has a type of an outside
    library."""
    lines = run('nm', '-D' if library.suffix == '.so' else '-g', '--defined-only', '--format=just-symbols', library).split()
    names = [line for line in lines if not line.endswith(':')]
    assert len(names) > 300, f'only {len(names)} symbols'
    plain = subprocess.run(['c++filt'], input='\n'.join(names), capture_output=True, text=True, check=True).stdout.splitlines()
    strange = [p for n, p in zip(names, plain) if not SYMBOL.match(n) or OUTSIDE.search(p)]
    assert not strange, f'{library.name} exports ' + '; '.join(strange[:5])
    for wanted in ('suf::roles::Engine::Compile(int, int)', 'typeinfo for suf::Error'):
        assert wanted in plain, f'{library.name} lacks {wanted}'
    if library.suffix == '.so':
        assert not re.search(r'spdlog|fmt|CLI', run('readelf', '-d', library))
    return f'{library.name} exports {len(names)} symbols, all of suf'


def headers(prefix):
    """Asserts that no header includes an outside library, and that all of them together compile alone, without a
    warning."""
    files = sorted(p.relative_to(prefix / 'include') for p in (prefix / 'include').rglob('*.hpp'))
    assert len(files) > 40, files
    for file in files:
        for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', (prefix / 'include' / file).read_text(), re.M):
            assert (prefix / 'include' / name).is_file() if name.startswith('suf/') else re.fullmatch(r'[a-z_]+(\.h)?', name), f'{file}: {name}'
            assert name not in ('asio', 'gtest'), f'{file}: {name}'
    source = ''.join(f'#include <{f}>\n' for f in files)
    for compiler in COMPILERS:
        run(compiler, '-std=c++20', '-Wall', '-Wextra', '-Wno-missing-field-initializers', '-Werror', '-fsyntax-only', '-I', prefix / 'include', '-x', 'c++', '-', input=source)
    return f'{len(files)} headers'


def by_cmake(prefix, work, compiler, target, said):
    folder = work / f'cmake-{compiler}-{target.replace(":", "")}'
    folder.mkdir()
    (folder / 'ten.cpp').write_text(PROGRAM)
    (folder / 'CMakeLists.txt').write_text(PROJECT.format(target=target, components='static' if target == 'suf::static' else ''))
    run('cmake', '-S', folder, '-B', folder, '-G', 'Ninja', f'-DCMAKE_CXX_COMPILER={compiler}', f'-DCMAKE_PREFIX_PATH={prefix}')
    run('cmake', '--build', folder)
    said(folder / 'ten')
    linked = 'libsuf.so.0.1' in run('readelf', '-d', folder / 'ten')
    assert linked == (target == 'suf::suf'), f'{target}: shared {linked}'


def by_pkg_config(prefix, work, compiler, static, said):
    config = next(prefix.rglob('suf.pc'))
    env = {**os.environ, 'PKG_CONFIG_PATH': str(config.parent)}
    flags = run('pkg-config', '--cflags', '--libs', *(['--static'] if static else []), 'suf', env=env).split()
    version = run('pkg-config', '--modversion', 'suf', env=env).strip()
    assert re.fullmatch(r'\d+\.\d+\.\d+', version), version
    (work / 'ten.cpp').write_text(PROGRAM)
    out = work / f'ten-{compiler}-{static}'
    flags = [str(next(prefix.rglob('libsuf.a'))) if static and f == '-lsuf' else f for f in flags]
    run(compiler, '-std=c++20', work / 'ten.cpp', '-o', out, *flags)
    said(out, env={**os.environ, 'LD_LIBRARY_PATH': str(next(prefix.rglob('libsuf.so')).parent)})


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as d:
        work = pathlib.Path(d)
        prefix = work / 'prefix'
        run('cmake', '--install', build, '--prefix', prefix)
        plan = ROOT / 'tests/data/tiny_plan.json'
        want = run(prefix / 'bin/suf', 'estimate', '--plan', plan, '--tokens', '7', '--json')
        flights, keys = re.search(r'"flights":(\d+)', want).group(1), re.search(r'"key_bytes":\[\d+,(\d+)\]', want).group(1)

        def said(program, **options):
            assert run(program, plan, **options) == f'{flights} flights, {keys} bytes of keys\n'
            bad = subprocess.run([program, '/nowhere'], capture_output=True, text=True, **options)
            assert bad.returncode == 1 and bad.stdout.startswith('input: cannot read the plan /nowhere; '), bad.stdout

        for library in ('libsuf.so', 'libsuf.a'):
            print(symbols(next(prefix.rglob(library))))
        print('headers:', headers(prefix))
        for compiler in COMPILERS:
            assert shutil.which(compiler), f'{compiler} is missing; tools/setup.sh installs it'
            by_cmake(prefix, work, compiler, 'suf::suf', said)
        by_cmake(prefix, work, 'g++', 'suf::static', said)
        by_pkg_config(prefix, work, 'clang++-19', False, said)
        by_pkg_config(prefix, work, 'g++', True, said)
        print('programs: find_package (g++, clang++, static), pkg-config (clang++, static g++)')
        page = next(prefix.rglob('suf.1')).read_text()
        for part in ('.SS suf embed', '.B \\-\\-audit N', '.SH EXIT STATUS'):
            assert part in page, f'the man page lacks {part}'
        if shutil.which('man'):
            warned = subprocess.run(['man', '--warnings', '-l', next(prefix.rglob('suf.1'))], capture_output=True, text=True).stderr
            assert not warned, warned
    print('install: ok')


if __name__ == '__main__':
    main()
