#!/usr/bin/env python3
"""Writes suf/model/testdata/kinds/: one small tokenizer of each kind, and the ids of generated texts. Needs Hugging Face
`tokenizers` and two other packages (pip install tokenizers==0.23.3 sentencepiece protobuf).

    tokenizer_kinds.py      rewrites the folder

* KIND.json, or KIND.txt: the tokenizer. Vocabularies are trained here on sentences that this script generates.
* parts.json: the lists of parts from which texts are made.
* texts.jsonl: the first 1,000 texts, as JSON strings. KIND.ids: their ids, one text a line.
* KIND.pairs: objects with two numbers of texts, "first" and "second", a limit "n" (0: none), ids and types.
* digests.json: for each kind 25 digests, each of 4,096 texts by SHA-256. Of a text the number of its ids is hashed,
  then its ids, as 32-bit little-endian numbers. A text without a token counts 0.

tokenizer_texts.py makes the texts.

    tokenizer_kinds.py --published FOLDER..      prints such digests of the tokenizers of fetched models, as JSON
"""
import argparse
import base64
import hashlib
import io
import json
import pathlib

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import tokenizer_golden as golden
from tokenizer_texts import BLOCK, TEXTS, Rng, hashed, raised, text

KINDS = golden.MODULE / 'testdata' / 'kinds'
ROWS = 1000
LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA.replace('{1,3}', '')
PARTS = {
    'words': [*golden.WORDS, 'naïve', 'café', 'Ångström', 'straße', 'ǆungla', 'İzmir', 'ﬁnal', 'ΟΔΥΣΣΕΎΣ', 'привет', 'ёлка', 'שלום', 'مرحبا',
              'नमस्ते', 'สวัสดี', '你好', '世界', '東京', 'カタカナ', 'ﾊﾟ', '안녕하세요', '각', 'xin', 'chào', '①②', '㍿', 'ﷺ', '½', 'ｆｕｌｌ', '２０２４'],
    'specials': ['[CLS]', '[SEP]', '[PAD]', '[UNK]', '[MASK]', '[cls]', '<s>', '</s>', '<pad>', '<unk>', '<mask>', ' <mask>', '<s', '<|endoftext|>',
                 '<|begin_of_text|>', '<|end_of_text|>', '<|im_start|>', '<|im_end|>', '<tool>', '▁', '##', 'Ġ', '<0x0A>'],
    'odd': [*golden.ODD, '\u0f71\u0f72', '\u0f73', '\u0344', '\u1e9b\u0323', '\u2126', '\u212b', '\uf900', '\ud7a3', '\u11a8', '\u115f', '\u034f', '\u2028', '\u180e',
            '\u00a0', '\u2581', '\u3099', '\u0378', '\U000e0061', '\U0010ffff', '\u2044', '\u0130', '\u017f', '\u212a', '\u0149', '\ufdfa', '\u0670', '\u0e33', '\u0eb3'],
    'emoji': ['👩\u200d👩\u200d👧', '👍🏽', '🏳\ufe0f\u200d🌈', '🇩🇪', '🇩🇪🇫🇷', '❤\ufe0f', '1\ufe0f\u20e3', '🧑🏿\u200d🚀', '😀', '🏴\U000e0067\U000e0062\U000e007f'],
    'endings': ["'s", "'S", "'t", "'re", "'VE", "'m", "'ll", "'Ll", "'d", "'\u017f", "\u2019s", "'", "n't", "'sx", "''s"],
    'blanks': [' ', ' ', '  ', '\t', '\n', '\r', '\r\n', '\u00a0', '\u2003', '\u3000', '\u2028', '\u0085', '\x0b', '\x1c', '\u200b'],
    'scripts': [[0x400, 0x60], [0x3b1, 25], [0x5d0, 27], [0x620, 43], [0x900, 0x80], [0xe00, 0x5c], [0x1100, 0x100], [0x3040, 0xc0], [0x4e00, 0x200],
                [0xac00, 11172], [0x1f300, 0x300], [0xa0, 0x60], [0x1e00, 0x100], [0xff00, 0x100], [0x2460, 0xa0], [0xf00, 0xbc], [0x1d400, 0x400]],
    'punctuation': ['.', ',', '!', '?', '-', '_', '(', ')', '"', '/', '\\', '#', '@', '$', '^', '`', '~', '|', '+', '<', '=', '%', '&', '*', '…', '—', '“', '¿', '。', '、', '٪', '€', '€', '©', '´', '·'],
}


# ---- tokenizers -----------------------------------------------------------------------------------------------------

def corpus():
    """Sentences of random words, most of them among the first ones."""
    rng = Rng(20261127)
    for _ in range(4000):
        words = []
        for _ in range(4 + rng.below(12)):
            n = len(PARTS['words'])
            w = PARTS['words'][rng.below(1 + rng.below(n))]
            words.append(raised(w, 1 if rng.below(6) == 0 else 0) + (rng.of(PARTS['endings']) if rng.below(12) == 0 else ''))
            if rng.below(15) == 0:
                words.append(str(rng.below(3000)))
        yield ' '.join(words) + rng.of('.!?,;')


def special(content, **flags):
    return AddedToken(content, special=True, normalized=False, **flags)


def bert_uncased():
    return golden.own_tokenizer(golden.vocabulary(), pairs=True)


def bert_cased():
    entries = golden.vocabulary()
    cased = [w.title() for w in golden.WORDS[:150]] + [chr(c) for c in range(65, 91)] + ['##' + chr(c) for c in range(65, 91)]
    cased += ['É', 'é', 'ß', 'Å', '##é', 'ﬁ', '\u0301', '##\u0301', 'Привет', 'П', '##р']
    return golden.own_tokenizer(list(dict.fromkeys([*entries, *cased])), lower=False, pairs=True)


def mpnet():
    words = [e for e in golden.vocabulary() if e not in golden.SPECIALS]
    entries = ['<s>', '<pad>', '</s>', '<unk>', '[UNK]', *words, '<mask>']
    t = golden.own_tokenizer(entries, specials=[])
    t.add_special_tokens([special(s) for s in ('<s>', '<pad>', '</s>', '<unk>', '[UNK]')] + [special('<mask>', lstrip=True)])
    t.post_processor = processors.RobertaProcessing(('</s>', 2), ('<s>', 0), trim_offsets=True, add_prefix_space=False)
    return t


def train(t, trainer):
    t.train_from_iterator(corpus(), trainer)
    return t


def bytes_trainer(size, specials=()):
    return trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=list(specials), show_progress=False)


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    train(t, bytes_trainer(700, ['<s>', '<pad>', '</s>', '<unk>']))
    t.add_special_tokens([special('<mask>', lstrip=True)])
    t.post_processor = processors.RobertaProcessing(('</s>', 2), ('<s>', 0), trim_offsets=True, add_prefix_space=False)
    return t


def split_bytes(expression, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), behavior='isolated', invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    return train(t, bytes_trainer(size))


def llama3():
    t = json.loads(split_bytes(LLAMA, 650).to_str())
    t['model']['ignore_merges'] = True
    for whole in ['Ġunaffable', 'hello', 'ĠTokyo', 'ðŁĺĢ']:  # entries that no merge makes
        t['model']['vocab'].setdefault(whole, len(t['model']['vocab']))
    t = Tokenizer.from_str(json.dumps(t))
    t.add_special_tokens([special(s) for s in ('<|begin_of_text|>', '<|end_of_text|>')])
    begin = t.token_to_id('<|begin_of_text|>')
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single='<|begin_of_text|> $A', pair='<|begin_of_text|> $A <|begin_of_text|>:1 $B:1', special_tokens=[('<|begin_of_text|>', begin)])])
    return t


def qwen2():
    t = split_bytes(QWEN, 620)
    t.normalizer = normalizers.NFC()
    t.add_special_tokens([special(s) for s in ('<|endoftext|>', '<|im_start|>', '<|im_end|>')])
    t.add_tokens([AddedToken('<tool>', normalized=False)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def charsmap():
    """A small table of a Precompiled normalizer: compatibility forms of some characters, as SentencePiece writes it."""
    import unicodedata
    rules = ''
    for c in [*range(0xa0, 0x100), *range(0x2000, 0x2030), *range(0x2460, 0x24b0), *range(0xff01, 0xff60), 0x1f, 0x7f, 0x85, 0x200b, 0xfb01, 0xfdfa, 0x337f, 0x2126, 0x212b, 0x1e9b]:
        form = unicodedata.normalize('NFKC', chr(c))
        form = {'\x1f': '', '\x7f': '', '\x85': ' ', '\u200b': ' '}.get(chr(c), form)
        if form != chr(c):
            rules += f'{c:X}\t' + ' '.join(f'{ord(x):X}' for x in form) + '\n'
    for base, mark in [(0x65, 0x301), (0x61, 0x30a), (0x41, 0x30a), (0x1100, 0x1161), (0xff8a, 0xff9f)]:
        rules += f'{base:X} {mark:X}\t' + ' '.join(f'{ord(x):X}' for x in unicodedata.normalize('NFKC', chr(base) + chr(mark))) + '\n'
    table = KINDS / 'rules.tsv'
    table.write_text(rules, encoding='ascii')
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=model, vocab_size=300, model_type='unigram',
                                             normalization_rule_tsv=str(table), num_threads=1, minloglevel=2, hard_vocab_limit=False)
    table.unlink()
    from sentencepiece import sentencepiece_model_pb2 as proto
    m = proto.ModelProto.FromString(model.getvalue())
    return m.normalizer_spec.precompiled_charsmap


def xlmr():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Precompiled(charsmap())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement='▁', prepend_scheme='always')])
    t.decoder = decoders.Metaspace(replacement='▁', prepend_scheme='always')
    train(t, trainers.UnigramTrainer(vocab_size=600, special_tokens=['<s>', '<pad>', '</s>', '<unk>'], unk_token='<unk>', show_progress=False))
    t.add_special_tokens([special('<mask>', lstrip=True)])
    t.post_processor = processors.TemplateProcessing(single='<s> $A </s>', pair='<s> $A </s> </s> $B </s>', special_tokens=[('<s>', 0), ('</s>', 2)])
    return t


MAKERS = {f.__name__: f for f in (bert_uncased, bert_cased, mpnet, roberta, llama3, qwen2, xlmr)}


# ---- files ----------------------------------------------------------------------------------------------------------

def digests(tokenizer, texts):
    none = len(tokenizer.encode('').ids)
    for start in range(0, len(texts), BLOCK):
        digest = hashlib.sha256()
        for e in tokenizer.encode_batch(texts[start:start + BLOCK]):
            ids = e.ids if len(e.ids) > none else []
            digest.update(hashed(ids))
        yield digest.hexdigest()


def published(folder):
    """Returns the tokenizer of a model's folder: tokenizer.json, or vocab.txt of uncased BERT."""
    if (folder / 'tokenizer.json').exists():
        t = Tokenizer.from_file(str(folder / 'tokenizer.json'))
    else:
        t = golden.own_tokenizer((folder / 'vocab.txt').read_text().splitlines())
    t.no_truncation()
    t.no_padding()
    return t


def pairs(tokenizer, texts):
    rng = Rng(7)
    none = len(tokenizer.encode('').ids)
    while True:
        i, j = rng.below(ROWS), rng.below(ROWS)
        if min(len(tokenizer.encode(texts[k]).ids) for k in (i, j)) <= none:
            continue
        whole = len(tokenizer.encode(texts[i], texts[j]).ids)
        least = len(tokenizer.encode('', '').ids)
        n = 0 if rng.below(3) == 0 else least + rng.below(whole - least + 1)
        if n:
            tokenizer.enable_truncation(n, strategy='longest_first')
        e = tokenizer.encode(texts[i], texts[j])
        tokenizer.no_truncation()
        yield {'first': i, 'second': j, 'n': n, 'ids': e.ids, 'types': e.type_ids}


def write(name, text):
    (KINDS / name).write_text(text, encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--published', nargs='+', type=pathlib.Path, metavar='FOLDER')
    folders = parser.parse_args().published
    texts = [text(i, PARTS) for i in range(TEXTS)]
    if folders:
        print(json.dumps({f.name: list(digests(published(f), texts)) for f in folders}, indent=1))
        return
    KINDS.mkdir(exist_ok=True)
    write('parts.json', json.dumps(PARTS, separators=(',', ':')) + '\n')
    write('texts.jsonl', ''.join(json.dumps(t) + '\n' for t in texts[:ROWS]))
    found = {}
    for kind, maker in MAKERS.items():
        t = maker()
        t.no_truncation()
        t.no_padding()
        if kind != 'bert_uncased':  # vocab.txt is the whole file
            write(f'{kind}.json', t.to_str())
        write(f'{kind}.ids', ''.join(' '.join(map(str, e.ids)) + '\n' for e in t.encode_batch(texts[:ROWS])))
        some = pairs(t, texts)
        write(f'{kind}.pairs', ''.join(json.dumps(next(some), separators=(',', ':')) + '\n' for _ in range(60)))
        found[kind] = list(digests(t, texts))
    write('digests.json', json.dumps(found, indent=1) + '\n')


if __name__ == '__main__':
    main()
