#!/usr/bin/env python3
"""Writes suf/model/tokens/unicode_tables.hpp by experiments with Hugging Face `tokenizers` (pip install
tokenizers==0.23.3). Each class is the set of code points that one of its parts treats alike. So the tables have
the versions of Unicode that `tokenizers` was built with.

    unicode_tables.py               rewrites the header
    unicode_tables.py --digests     prints, for each part, a SHA-256 of its results on each code point of the planes in
                                    use; the tests of suf/model/tokens hold them
"""
import argparse
import base64
import hashlib
import json
import pathlib

import tokenizers
from tokenizer_golden import bert
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

HEADER = pathlib.Path(__file__).resolve().parent.parent / 'suf' / 'model' / 'tokens' / 'unicode_tables.hpp'
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 4096
SYLLABLES = range(0xAC00, 0xD7A4)
DIGEST_POINTS = [c for c in POINTS if c < 0x32000 or 0xE0000 <= c < 0xE0200]
ACUTE = '\u0301'


# ---- experiments ----------------------------------------------------------------------------------------------------

def image(n, left='x', right='x'):
    return {c: n.normalize_str(left + chr(c) + right)[1:-1] for c in POINTS}


def beside(**flags):
    """For each code point c: how many code points of the text x + c an added token x matches."""
    t = Tokenizer(models.WordPiece({'[UNK]': 0}, unk_token='[UNK]', max_input_chars_per_word=100))
    t.add_tokens([AddedToken('x', normalized=False, **flags)])
    found = {}
    for start in range(0, len(POINTS), BLOCK):
        part = POINTS[start:start + BLOCK]
        for c, e in zip(part, t.encode_batch(['x' + chr(c) for c in part])):
            found[c] = e.offsets[0][1] if e.ids[0] == 1 else 0
    return found


def split_by(pre):
    """The code points at which a pre-tokenizer splits or removes."""
    return [c for c in POINTS if len(pre.pre_tokenize_str('x' + chr(c) + 'x')) != 1]


def expression(text):
    return split_by(pre_tokenizers.Split(Regex(text), 'removed'))


def every_byte():
    """A charsmap whose trie turns each string of bytes into "|". It shows graphemes. One of up to 5 bytes becomes one
    "|". A longer one becomes one for each code point."""
    units = [0] * 768
    units[0] = 256 << 10
    for c in range(1, 256):
        units[256 + c] = c | 1 << 8 | (768 + c) << 10
    units[512] = 1 << 31
    trie = b''.join(u.to_bytes(4, 'little') for u in units)
    return len(trie).to_bytes(4, 'little') + trie + b'|\0'


class Graphemes:
    """The classes of UAX 29 that decide how graphemes of up to 5 bytes are cut. Regional indicators have 4 bytes each,
    so they decide nothing."""

    def __init__(self):
        self.map = normalizers.Precompiled(every_byte())
        others = [c for c in POINTS if c > 0x20]
        extending = {c for c in others if self.count('a' + chr(c)) == 1}
        control = [c for c in others if c not in extending and self.count(chr(c) + ACUTE + ACUTE) == 2]
        apart = set(control) | extending
        rest = [c for c in others if c not in apart]
        prepend = [c for c in rest if c > 0x7F and self.count(chr(c) + 'a') == 1]
        rest = [c for c in rest if c not in set(prepend)]
        # x + c + U+0301: x alone and c with the mark, or three together.
        joins = lambda c, x: self.count(chr(c) + x + ACUTE) == 3 if x != 'a' else False
        before = {x: {c for c in rest if joins(c, x)} for x in '\u1100\u1160\u11a8'}
        # U+0600 prepends: it and x have 5 bytes, which are together unless c joins them.
        follows = lambda x, c: self.count('\u0600' + x + chr(c)) == 3
        vowels, leading, trailing, lv, lvt = [], [], [], [], []
        for c in sorted(set().union(*before.values())):
            joined = [c in before[x] for x in '\u1100\u1160\u11a8']
            if joined == [True, True, False]:
                leading.append(c)
            elif joined == [False, True, True]:
                (vowels if follows('\u1160', c) else lv).append(c)
            elif joined == [False, False, True]:
                (trailing if follows('\u11a8', c) else lvt).append(c)
            else:
                raise AssertionError(hex(c))
        assert sorted(lv + lvt) == list(SYLLABLES) and lv == list(SYLLABLES[::28])
        pictographic = [c for c in rest if self.count('\u00a9\u200d' + chr(c) + ACUTE) == 4]
        spacing = [c for c in extending if self.count('\u00a9' + chr(c) + '\u200d\u00a9' + ACUTE) == 4]
        self.classes = [('kControl', control), ('kExtend', sorted(extending - set(spacing) - {0x200D})), ('kSpacingMark', sorted(spacing)),
                        ('kPrepend', prepend), ('kLeading', leading), ('kVowel', vowels), ('kTrailing', trailing),
                        ('kPictographic', pictographic)]
        self.consonants = [c for c in rest if self.count(chr(c) + '\u094d\u0915' + ACUTE) == 4]
        self.linkers = [c for c in extending if self.count('\u0915' + chr(c) + '\u0915' + ACUTE) == 4]
        self.between = [c for c in extending if self.count('\u0915' + chr(c) + '\u094d\u0915' + ACUTE) == 5]
        assert set(self.linkers) <= set(self.between)

    def count(self, text):
        return len(self.map.normalize_str(text))

    def ranges(self):
        found = sorted((a, b, name) for name, points in self.classes for a, b in ranges(points))
        return [f'{{0x{a:X}, 0x{b:X}, GraphemeClass::{name}}}' for a, b, name in found]


# ---- the header -----------------------------------------------------------------------------------------------------

def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def table(name, comment, points):
    return rows('CodeRange', name, comment, [f'{{0x{a:X}, 0x{b:X}}}' for a, b in ranges(points)])


def rows(kind, name, comment, cells):
    lines, line = [], ''
    for cell in cells:
        if len(line) + len(cell) + 2 > 112:
            lines.append(line)
            line = ''
        line += (', ' if line else '') + cell
    body = ',\n    '.join(lines + [line])
    return f'// {comment}\ninline constexpr {kind} {name}[] = {{\n    {body}}};\n'


def lower_rows(lower):
    """Ranges of capital letters whose lower case is at one distance. In a range of step 2 every second one counts."""
    runs = []
    for c in POINTS:
        if lower[c] == chr(c) or c == 0x130:
            continue
        add = ord(lower[c]) - c
        if runs and runs[-1][2] == add and (c - runs[-1][1] == runs[-1][3] or runs[-1][0] == runs[-1][1] and c - runs[-1][1] <= 2):
            runs[-1][3] = c - runs[-1][1]
            runs[-1][1] = c
        else:
            runs.append([c, c, add, 1])
    return [f'{{0x{a:X}, 0x{b:X}, {add}, {step}}}' for a, b, add, step in runs]


def tables():
    clean, chinese, stripped = image(bert(clean=True)), image(bert(chinese=True)), image(bert(accents=True))
    lower, nfd, nfkd = image(normalizers.Lowercase()), image(normalizers.NFD()), image(normalizers.NFKD())
    assert lower[0x130] == 'i\u0307' and lower == image(bert(lower=True))
    nfc, accents = image(normalizers.NFC()), image(normalizers.StripAccents())
    # A mark of a class other than 0 commutes with U+0334 (class 1) on its right, or with U+0345 (class 240) on its
    # left.
    after, before = image(normalizers.NFD(), right='\u0334x'), image(normalizers.NFD(), left='x\u0345')
    combining = [c for c in POINTS if nfd[c] == chr(c) and
                 (after[c][0] == '\u0334' and c != 0x334 or before[c][-1] == '\u0345' and c != 0x345 or c in (0x334, 0x345))]
    form_c, pairs = normalizers.NFC(), []
    for c in POINTS:
        if c in SYLLABLES or nfd[c] == chr(c) or nfc[c] != chr(c):
            continue
        left, right = form_c.normalize_str(nfd[c][:-1]), nfd[c][-1]
        assert len(left) == 1 and form_c.normalize_str(left + right) == chr(c)
        pairs.append((ord(left), ord(right), c))
    punctuation = split_by(pre_tokenizers.BertPreTokenizer())
    blank = [c for c, n in beside(rstrip=True).items() if n == 2]
    word = [c for c, n in beside(single_word=True).items() if not n]
    symbols = split_by(pre_tokenizers.Whitespace())
    assert sorted(word + symbols) == POINTS  # both have the \w of one library
    whitespace = split_by(pre_tokenizers.WhitespaceSplit())
    assert blank == whitespace == expression(r'\s')
    assert set(whitespace) <= set(punctuation)
    graphemes = Graphemes()
    return '\n'.join([
        f'// Classes of code points, as tokenizers {tokenizers.__version__} treats them. Written by tools/unicode_tables.py.\n'
        '#pragma once\n#include <cstdint>\n\n// clang-format off\nnamespace suf::model {\n\n'
        '// The code points from `first` to `last`, both included.\n'
        'struct CodeRange {\n  char32_t first, last;\n};\n'
        '// Capital letters from `first` to `last`, both included, each `step` after the previous one. Their lower case is\n'
        '// the code point plus `add`.\n'
        'struct LowerRange {\n  char32_t first, last;\n  int32_t add;\n  char32_t step;\n};\n'
        '// Two code points and the one that composes them.\n'
        'struct ComposedPair {\n  char32_t left, right, whole;\n};\n'
        '// The classes of UAX 29 that decide how graphemes of up to 5 bytes are cut, but for Hangul syllables.\n'
        'enum class GraphemeClass : uint8_t {\n  kOther, kControl, kExtend, kSpacingMark, kPrepend, kLeading, kVowel, kTrailing, kPictographic\n};\n'
        'struct GraphemeRange {\n  char32_t first, last;\n  GraphemeClass value;\n};\n',
        *(table(*c) for c in [
            ('kRemoved', 'The code points that clean_text removes.', [c for c in POINTS if clean[c] == '']),
            ('kSpace', 'The code points that are a space after clean_text.', [c for c in POINTS if clean[c] == ' ']),
            ('kChinese', 'The code points that handle_chinese_chars sets apart by spaces.', [c for c in POINTS if chinese[c] != chr(c)]),
            ('kNonspacing', 'The nonspacing marks (Mn) that strip_accents removes.', [c for c in POINTS if stripped[c] == '']),
            ('kAccents', 'The marks (M) that StripAccents removes.', [c for c in POINTS if accents[c] == '']),
            ('kPunctuation', 'The punctuation (P and that of ASCII) at which BertPreTokenizer splits.',
             sorted(set(punctuation) - set(whitespace))),
            ('kNumeric', 'The numbers (N) at which Digits splits.', split_by(pre_tokenizers.Digits())),
            ('kWord', r'The word characters (\w) of Whitespace and beside an added token.', word),
            ('kBlank', r'The whitespace (\s) of all parts.', blank),
            ('kLetter', r'The letters (\p{L}) of expressions in Split.', expression(r'\p{L}')),
            ('kNumber', r'The numbers (\p{N}) of expressions in Split.', expression(r'\p{N}')),
            ('kCombining', 'The code points whose canonical combining class is not 0 in NFD.', combining),
            ('kCanonical', 'The code points that NFD decomposes, but for Hangul syllables.',
             [c for c in POINTS if nfd[c] != chr(c) and c not in SYLLABLES]),
            ('kCompatible', 'The code points that NFKD decomposes and NFD does not.',
             [c for c in POINTS if nfkd[c] != chr(c) and nfd[c] == chr(c)]),
            ('kConsonants', 'The consonants that linkers conjoin (InCB=Consonant).', graphemes.consonants),
            ('kLinkers', 'The marks that conjoin consonants (InCB=Linker).', graphemes.linkers),
            ('kBetween', 'The marks that may stand between conjoined consonants (InCB=Extend, Linker).', graphemes.between),
        ]),
        rows('LowerRange', 'kLower', 'All capital letters but U+0130, whose lower case is U+0069 U+0307.', lower_rows(lower)),
        rows('ComposedPair', 'kComposed', 'The pairs that NFC composes, in order, but for Hangul.',
             [f'{{0x{a:X}, 0x{b:X}, 0x{c:X}}}' for a, b, c in sorted(pairs)]),
        rows('GraphemeRange', 'kGraphemes', 'The classes of code points other than kOther.', graphemes.ranges()),
        '}  // namespace suf::model\n'])


# ---- digests --------------------------------------------------------------------------------------------------------

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"""
          r"""\s+(?!\S)|\s+""")
QWEN2 = LLAMA3.replace('{1,3}', '')


def digests():
    """Yields the part and the digest of its results on " x<c>y<c>" for each c of DIGEST_POINTS. A newline follows each
    word or text, and one more each c."""
    parts = [
        *({'type': t} for t in ('NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents', 'Nmt')),
        {'type': 'Strip', 'strip_left': True, 'strip_right': True},
        *({'type': 'BertNormalizer', 'clean_text': a, 'handle_chinese_chars': b, 'strip_accents': c, 'lowercase': d}
          for a, b, c, d in [(True, True, None, True), (True, True, None, False), (False, False, True, False), (False, True, False, True)]),
        {'type': 'Precompiled', 'precompiled_charsmap': base64.b64encode(every_byte()).decode()},
        *({'type': t} for t in ('BertPreTokenizer', 'Whitespace', 'WhitespaceSplit')),
        *({'type': 'Digits', 'individual_digits': d} for d in (False, True)),
        {'type': 'Punctuation', 'behavior': 'Isolated'},
        {'type': 'ByteLevel', 'add_prefix_space': True, 'trim_offsets': True, 'use_regex': True},
        *({'type': 'Split', 'pattern': {'Regex': r}, 'behavior': 'Isolated', 'invert': False} for r in (GPT2, LLAMA3, QWEN2)),
    ]
    tokenizer = json.loads(Tokenizer(models.WordPiece({'[UNK]': 0}, unk_token='[UNK]')).to_str())
    for part in parts:
        normal = part['type'] not in ('BertPreTokenizer', 'Whitespace', 'WhitespaceSplit', 'Digits', 'Punctuation', 'ByteLevel', 'Split')
        t = Tokenizer.from_str(json.dumps(tokenizer | {'normalizer' if normal else 'pre_tokenizer': part}))
        digest = hashlib.sha256()
        for c in DIGEST_POINTS:
            text = f' x{chr(c)}y{chr(c)}'
            out = [t.normalizer.normalize_str(text)] if normal else [w for w, _ in t.pre_tokenizer.pre_tokenize_str(text)]
            digest.update(''.join(w + '\n' for w in out + ['']).encode('utf-32-le'))
        yield part, digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--digests', action='store_true')
    if parser.parse_args().digests:
        for part, digest in digests():
            print(json.dumps(part), digest)
    else:
        HEADER.write_text(tables(), encoding='ascii')


if __name__ == '__main__':
    main()
