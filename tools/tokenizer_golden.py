#!/usr/bin/env python3
"""Writes the data that the tokenizer is built from and tested against, by Hugging Face `tokenizers` (pip install
tokenizers==0.23.3).

    tokenizer_golden.py
        rewrites suf/model/testdata/{vocab.txt,tokens.jsonl,tokenizer.json,added.jsonl}
    tokenizer_golden.py --tokenizer tokenizer.json --count 200000 --seed 1 --out tokens.jsonl
        random texts and their ids by a real tokenizer, truncation and padding off

* tokens.jsonl: {"text", "ids"} per line. If the ids are only [CLS] [SEP], the text has no tokens.
* tokenizer.json: vocab.txt's entries with added tokens of every kind; added.jsonl: texts with them, as tokens.jsonl.

tokenizer_kinds.py has tokenizers of other kinds, and more texts.
"""
import argparse
import json
import pathlib
import random

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

MODULE = pathlib.Path(__file__).resolve().parent.parent / 'suf' / 'model'
SPECIALS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']


def bert(clean=False, chinese=False, accents=False, lower=False):
    return normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower)


# ---- the test's own vocabulary --------------------------------------------------------------------------------------

WORDS = '''the of and to in is was he for it with as his on be at by had are but from have an they which one you were all her
she there would their we him been has when who will no more if out so up said what its about than into them can only other time
new some could these two may first then do any like my now over such our man me even most made after also did many off before
must well back through years where much your way down should because long each just state those people too mr how little good
world make very year still see own work men day get here old life both between being under three never know same last another
while us might great go come since against right came take used himself few house american use place during high without again
home around small however found mrs part school thought went say general once upon war left fact head something public less
number though water put think almost hand enough far took yet better night called things best city side cat dog river bank money
music train station ticket weather rain sun snow wind north south east west hotel price doctor letter paper book story film
computer network key secret private model token sentence language tokyo paris london berlin unaffable playing running happy
hello thank morning evening today tomorrow yesterday week month winter summer spring autumn red green blue black white'''.split()
PIECES = '''s ed ing er est ly ness ment tion able al an ar ate en ence ent ful ic ing ion ish ism ist ity ive ize less or ous
th ty un ward y aff ab le play run ning er s ts ck st nd rd ll ss tt ea ee oo ou ai ie ch sh ph gh qu re pre con dis in im de
ber ter ver der ger ler ner per ser wer'''.split()
LETTERS = [(0x61, 0x7A), (0x30, 0x39), (0xB5, 0xB5), (0xDF, 0xDF), (0xE6, 0xE6), (0xF0, 0xF0), (0xF8, 0xF8), (0xFE, 0xFE),
           (0x111, 0x111), (0x127, 0x127), (0x131, 0x131), (0x142, 0x142), (0x14B, 0x14B), (0x153, 0x153), (0x180, 0x24F),
           (0x250, 0x270), (0x3B1, 0x3C9), (0x430, 0x45F), (0x561, 0x587), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939),
           (0x93E, 0x940), (0x985, 0x9A0), (0xE01, 0xE30), (0x10D0, 0x10F0), (0x1100, 0x1112), (0x1161, 0x1175),
           (0x11A8, 0x11C2), (0x3041, 0x3093), (0x30A1, 0x30F3), (0x2C30, 0x2C40), (0x1B44, 0x1B44), (0x302E, 0x302F),
           (0xAB70, 0xAB75), (0x10428, 0x10430), (0x1F600, 0x1F60A), (0x1F3FB, 0x1F3FF)]
ALONE = [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF), (0x2010, 0x2027), (0x2030, 0x205E),
         (0x20A0, 0x20B0), (0x2190, 0x2199), (0x2600, 0x2610), (0x3001, 0x3003), (0x3008, 0x3011), (0xFF01, 0xFF0F)]
CHINESE = '一二三人大小中国日本語学生天地山水火木金土年月上下左右东西南北我你他是不在有的了和爱好車龍鳥'


def vocabulary():
    norm = bert(True, False, True, True)
    letters = [chr(c) for a, b in LETTERS for c in range(a, b + 1)]
    entries = [*SPECIALS, *(chr(c) for a, b in ALONE for c in range(a, b + 1)), *letters, *CHINESE, '\U00020000', '\uf900',
               *('##' + c for c in letters), *WORDS, *('##' + p for p in PIECES), '##' + 'a' * 30, 'b' * 99]
    return list(dict.fromkeys(e for e in entries if e in SPECIALS or norm.normalize_str(e) == e))


def own_tokenizer(entries, lower=True, specials=SPECIALS, pairs=False):
    t = Tokenizer(models.WordPiece({e: i for i, e in enumerate(entries)}, unk_token='[UNK]', max_input_chars_per_word=100))
    t.normalizer = bert(True, True, None, lower)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    if specials:
        pair = {'pair': '[CLS] $A [SEP] $B:1 [SEP]:1'} if pairs else {}
        t.post_processor = processors.TemplateProcessing(
            single='[CLS] $A [SEP]', special_tokens=[(s, t.token_to_id(s)) for s in ('[CLS]', '[SEP]')], **pair)
    return t


ADDED = [  # content, then the flags that are true; the first two are entries of the vocabulary
    ('tokyo', 'normalized'), ('##ing', ''), ('[EMAIL]', 'special'), ('covid-19', ''), ('<mask>', 'special lstrip'), ('<r>', 'rstrip'),
    ('<both>', 'lstrip rstrip'), ('New York', 'single_word'), ('New York City', ''), ('Hello World', 'normalized'), ('Ångström', 'normalized'),
    ('é', 'single_word'), ('中国', 'normalized'), ('日', ''), (' lead', 'normalized'), ('tail ', ''), ('  ', 'rstrip'), ('\n', 'lstrip'), ('x.y', 'normalized single_word'),
    ('a', 'single_word'), ('AB', ''), ('ABC', 'single_word'), ('[CLS', ''), ('İ', 'normalized'), ('ß', 'lstrip single_word'), ('😀', 'rstrip normalized'), ('!?', 'normalized rstrip lstrip')]


def with_added(entries, added):
    t = own_tokenizer(entries)
    for content, flags in added:
        on = dict.fromkeys(('single_word', 'lstrip', 'rstrip', 'normalized', 'special'), False) | dict.fromkeys(flags.split(), True)
        t.add_tokens([AddedToken(content, **on)])
    return t


# ---- texts ----------------------------------------------------------------------------------------------------------

SENTENCES = [
    'The cat sat on the mat.', 'Unaffable dogs were playing, running & happy!', "It's 7:30 a.m.; don't be late (please)...",
    'naïve café résumé Ångström façade coöperate', 'ÀÉÎÕÜ àéîõü ÿ Ÿ ñ Ñ ç Ç', 'Straße GROSSE ẞ ß Maße', 'İstanbul I İ ı i̇ ISPARTA',
    'Die Bäume blühen im Frühling über München.', 'Où est la gare, s’il vous plaît ?', 'El niño comió piñas, ¿verdad? ¡Sí!',
    'Žluťoučký kůň úpěl ďábelské ódy', 'Łódź, Gdańsk; zażółć gęślą jaźń', 'Þú ert í Reykjavík, ekki satt? Ævar Øystein',
    'Η γρήγορη αλεπού ΑΣ ΟΔΥΣΣΕΎΣ σς', 'Съешь же ещё этих мягких булок, ЙОГУРТ', 'Їжак і ґанок', 'Բարեւ աշխարհ և', 'გამარჯობა ᲒᲐᲛᲐᲠᲯᲝᲑᲐ',
    'שָׁלוֹם עוֹלָם', 'مَرْحَبًا بِالْعَالَم؟ لا،', 'नमस्ते दुनिया। क्या हाल है', 'আমার সোনার বাংলা', 'வணக்கம் உலகம்', 'สวัสดีชาวโลก', 'ສະບາຍດີ',
    '你好，世界。我爱中国', '東京は日本の首都です。カタカナ ガギグ ﾊﾟ', '한국어 안녕하세요 각', 'Xin chào thế giới ướt', 'ሰላም ለዓለም።', 'ᏣᎳᎩ Ꭰ ꭰ', 'ⰀⰁ ⰰⰱ 𐐀𐐨',
    '😀 😃👍🏽 👩‍👩‍👧 🇩🇪 ❤️ ☃', '🏳️‍🌈ok', 'a\u0301b e\u0323\u0301 e\u0301\u0323', 'x\u302e\u0323y \u302f\u302e', '\u1b13\u1b44\u0334\u1b44',
    '[CLS] a [SEP] b [MASK] [PAD] [UNK]', 'a[SEP]b[MASK]c', '[cls] [sep] [Mask] [CLS', '[[CLS]] [CLS][CLS]]', '[\u200bCLS] [C\u0301LS]',
    '[MASKED] ##ing ## #', 'e\u0301[SEP]\u0301e', '\ufeffBOM', 'zero\u200bwidth\u200djoin\u00adsoft', 'nul\0in\0side', 'bad\ufffdchar', 'tab\tnew\nline\r\nvt\x0bff\x0cend',
    'nel\x85here ls\u2028ps\u2029 nb\u00a0sp\u3000id\u2003em', 'del\x7f c1\x80\x9f esc\x1b[0m', '\u202eRTL\u202c', 'a\U000e0001\U000e0061b', '\ue000pua\U000f0000\U0010fffd',
    '', ' ', '\t\n', '\0', '\u0301\u0302', '\u200b', 'a' * 99, 'a' * 100, 'a' * 101, 'b' * 99, 'b' * 100, 'é' * 100, 'é' * 101, 'e\u0301' * 100,
    'q' * 300, 'a' * 100 + '\u0301', 'İ' * 100, 'x ' * 200, '!' * 50, '中' * 40, '\U00020000\U0002a6df\U0002a700\U0002b81f\U0002b820\U0002b920\U0002ceaf\U0002ceb0',
    '\u3400\u4dbf\u4dc0\u4e00\u9fff\uf900\ufaff\ufb00 ﬁ ﬃ', '\U0002f800\U0002fa1f\U00030000', '½ ² ™ ℃ Å Ω K ſ ﬅ', '\u0344 \u0374 \u037e \u1fef \u2126 \u212a \u212b',
    '１２３ ＡＢＣ ａｂｃ ！', 'ǅ ǈ ǋ Ǆ ǲ', 'price: $1,000.50 €20 £30 ¥40 ₹50 ¢', 'https://example.org/a_b?c=d&e=%20#f', 'C++ 100% @user #tag a/b\\c ^_^ `code` {x} ~y |z|']
ODD = ['\u0301', '\u0323', '\u0334', '\u0345', '\u302e', '\u1b44', '\u200b', '\u200d', '\u00ad', '\ufeff', '\ufffd', '\0', '\x85', '\xa0', '\u3000', '\t', '\n', '\x1f', '\ue000',
       'İ', 'ẞ', 'Σ', 'ǅ', 'Å', 'ﬁ', '中', '\U00020000', '각', '\u1100\u1161\u11a8', '😀', '\U0001f3fd', '\u202e', '\U00011938', '\U00011935\U00011930', '\U00016121']
COMBINING = [c for a, b in [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x64B, 0x65F), (0x8CA, 0x8FF), (0x1AB0, 0x1ACE),
                            (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x302A, 0x302F), (0x1D165, 0x1D172), (0x1E000, 0x1E02A),
                            (0x1E944, 0x1E94A), (0x16FF0, 0x16FF1)] for c in range(a, b + 1)]


def word(rng, entries):
    w = rng.choice(entries).removeprefix('##')
    if rng.random() < 0.3:
        w += rng.choice(entries).removeprefix('##')
    w = rng.choice([str, str, str.lower, str.upper, str.title])(w)
    if rng.random() < 0.25:
        i = rng.randrange(len(w) + 1)
        w = w[:i] + rng.choice(ODD) + w[i:]
    return w


def soup(rng):
    limit = rng.choice([0x80, 0x250, 0x800, 0x3000, 0x10000, 0x20000, 0x110000])
    out = ''
    for _ in range(rng.randrange(1, 30)):
        c = rng.randrange(limit)
        out += chr(c) if not 0xD800 <= c < 0xE000 else ' '
        if rng.random() < 0.2:
            out += ' '
    return out


def marks(rng):
    return ''.join(rng.choice('aexΑИ') + ''.join(chr(rng.choice(COMBINING)) for _ in range(rng.randrange(5)))
                   for _ in range(rng.randrange(1, 8)))


def text(rng, entries):
    kind = rng.random()
    if kind < 0.25:
        return soup(rng)
    if kind < 0.35:
        return marks(rng)
    if kind < 0.40:
        return word(rng, entries) * rng.randrange(1, 120)
    if kind < 0.5:
        return rng.choice(SENTENCES) + rng.choice(ODD) + rng.choice(SENTENCES)
    parts = [word(rng, entries) if rng.random() < 0.85 else rng.choice([*SPECIALS, '[CLS', 'SEP]', '.', ', ', '-', "'s"])
             for _ in range(rng.randrange(1, 25))]
    return rng.choice(['', ' ', ' ', ' ']).join(parts)


def added_text(rng, entries, contents):
    """Makes a text of added tokens, exact or slightly altered, among words, with and without spaces."""
    parts = []
    for _ in range(rng.randrange(1, 9)):
        part = rng.choice(contents) if rng.random() < 0.6 else rng.choice([word(rng, entries), rng.choice(ODD), rng.choice('a_1.é中x')])
        part = rng.choice([str] * 5 + [str.upper, str.lower, str.title, str.strip])(part)
        if part and rng.random() < 0.1:
            i = rng.randrange(len(part))
            part = part[:i] + part[i + 1:]
        parts.append(part)
    return ''.join(p + rng.choice(['', '', ' ', ' ', '  ', '\n', '\t', '\u3000', '\x0b', '_', '.', '\u200d']) for p in parts)


def golden_texts(entries):
    rng = random.Random(20240229)
    yield from SENTENCES
    for start in range(0, 0x800, 64):
        yield ' '.join('a' + chr(c) + 'b' for c in range(start, start + 64))
    for _ in range(150):
        yield text(rng, entries)


def write_texts(out, tokenizer, texts):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with open(out, 'w', encoding='ascii') as f:
        for t in texts:
            try:
                ids = tokenizer.encode(t).ids
            except BaseException as x:  # tokenizers panics if spaces that one token takes contain another token
                if type(x).__name__ != 'PanicException':
                    raise
                continue
            f.write(json.dumps({'text': t, 'ids': ids}, separators=(',', ':')) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tokenizer', help='a tokenizer.json; without it the committed files are rewritten')
    parser.add_argument('--count', type=int, default=200000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--out', default='tokens.jsonl')
    args = parser.parse_args()
    if args.tokenizer:
        tokenizer = Tokenizer.from_file(args.tokenizer)
        entries, rng = sorted(tokenizer.get_vocab()), random.Random(args.seed)
        contents = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        write_texts(args.out, tokenizer, (text(rng, entries) if rng.random() < 0.5 else added_text(rng, entries, contents) for _ in range(args.count)))
        return
    entries = vocabulary()
    tokenizer = own_tokenizer(entries)
    (MODULE / 'testdata' / 'vocab.txt').write_text(''.join(e + '\n' for e in entries), encoding='utf-8')
    write_texts(MODULE / 'testdata' / 'tokens.jsonl', tokenizer, golden_texts(entries))
    added, rng = with_added(entries, ADDED), random.Random(20261126)
    added.save(str(MODULE / 'testdata' / 'tokenizer.json'), pretty=False)
    contents = [c for c, _ in ADDED] + SPECIALS
    write_texts(MODULE / 'testdata' / 'added.jsonl', added, [added_text(rng, entries, contents) for _ in range(1500)])


if __name__ == '__main__':
    main()
