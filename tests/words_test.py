#!/usr/bin/env python3
"""Checks the library's messages. They name no option and no command, because a program that links it has neither; only
apps adds them. No message is another library's: errors of std::filesystem, OpenSSL, Asio, JSON or CLI11 are translated.
The messages in the table of docs/operations.md are in literals.

    words_test.py        every string literal of suf/ outside tests, every line of suf/ and apps/

It must also find planted lines.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMAND = r'(?:model|tokenize|compile|plan|estimate|simulate|certs|deal|serve|embed|demo|log)'
FORBIDDEN = re.compile(rf'(?<![\w-])--[a-z]|\bsuf {COMMAND}(?! CA)\b|\btools/|\bmake (?:model|run|build)\b')


def found(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split('//')[0] if not line.lstrip().startswith('#') else ''
        for literal in LITERAL.findall(code):
            if FORBIDDEN.search(literal):
                yield f'{name}:{number}: {literal}'


# A call of std::filesystem without an error_code throws its own text; the others are texts of a library.
THROWS = re.compile(r'\b(?:fs|filesystem)::(?:exists|is_\w+|file_size|create_director\w+|remove\w*|rename|copy\w*|permissions|canonical|absolute|temp_directory_path|'
                    r'last_write_time|\w*directory_iterator)\((?!.*\b(?:error|ec|none|ignored|now|there|here)\))')
FOREIGN = re.compile(r'\bec\.message\(\)|\berror\.message\(\)|code\(\)\.message|ERR_(?:error|reason_error)_string|X509_verify_cert_error_string|SSL_alert_desc')
CAUGHT = re.compile(r'catch \(const (std::(?:exception|system_error|runtime_error|logic_error)|nlohmann::\S+|json::\S+|fs::\S+|CLI::\S+)& (\w+)\)')


def raw(name, text):
    """Yields lines that may print another library's text."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        code = line.split('//')[0]
        if THROWS.search(code) or FOREIGN.search(code):
            yield f'{name}:{number}: {line.strip()}'
        if caught := CAUGHT.search(code):
            for inside in lines[number:number + 4]:
                if f'{caught[2]}.what()' in inside:
                    yield f'{name}:{number}: {inside.strip()}'
                if inside.strip().startswith('}'):
                    break


def stale(page, texts):
    """Returns the parts of messages in the table of a page, and those that no string literal has. In a cell ".." is
    a value, and ";" separates messages."""
    joined = (re.sub(r'"\s*\n\s*"', '', text) for text in texts)
    literals = '\n'.join(literal for text in joined for literal in LITERAL.findall(text)).replace('\\"', '"')
    table = page.partition('## Error messages\n')[2].partition('---|---\n')[2]
    cells = [line.split('|')[0] for line in table.splitlines() if '|' in line and not line.startswith('**')]
    parts = [part.strip() for cell in cells for part in re.split(r';|\.\.', cell) if part.strip()]
    return parts, [part for part in parts if part not in literals]


def main():
    for planted in ('if (fs::exists(dir / "x")) {', 'std::filesystem::remove_all(path);', 'Fail(x, ec.message());', 'ERR_error_string(e, b)',
                    '} catch (const std::exception& e) {\n  report(e.what());\n}'):
        assert list(raw('planted', planted)), planted
    assert not list(raw('fine', 'fs::exists(dir / "x", error); } catch (const Error& e) {\n  say(e.what());'))
    for planted in ('Fail(x, "shorten it or pass --truncate");', 'Str("; make one with suf compile")', '"run tools/x.py"'):
        assert list(found('planted', planted)), planted
    assert not list(found('fine', 'Str("suf B", a--b) // --pin'))
    planted = '## Error messages\n\nmessage has | do\n---|---\n**code 2** |\nis there; is not | x\nhas .. "bytes" | y\n'
    assert stale(planted, ['Fail("it is "\n  "there, has ", n, " \\"bytes\\"");']) == (['is there', 'is not', 'has', '"bytes"'], ['is not'])
    files = [f for f in sorted((ROOT / 'suf').rglob('*.?pp')) if not f.stem.endswith(('_test', '_bench'))]
    assert len(files) > 100, files
    wrong = [w for f in files for w in found(f.relative_to(ROOT), f.read_text())]
    both = files + [f for f in sorted((ROOT / 'apps').rglob('*.?pp')) if not f.stem.endswith('_test')]
    wrong += [w for f in both for w in raw(f.relative_to(ROOT), f.read_text())]
    parts, old = stale((ROOT / 'docs/operations.md').read_text(), [f.read_text() for f in both])
    assert len(parts) > 150, parts
    wrong += [f'docs/operations.md: no message has "{part}"' for part in old]
    print('\n'.join(wrong) or f'words: {len(files)} files name no option and no command; {len(both)} pass no text of another library on; '
          f'{len(parts)} parts of messages in docs/operations.md')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
