#!/usr/bin/env python3
"""Checks that bad texts, broken files of model or plan, and bad usage get one sentence and their exit code.

  inputs_test.py SUF [PATTERN]     from anywhere; a few seconds. PATTERN picks rows
"""
import hashlib
import json
import os
import re
import resource
import shutil
import struct
import subprocess

from roles import FIXED, LIMIT, ONE, read_safetensors, write_safetensors
from rows import alone, main, row

# ---- texts

EMBED = 'embed --plan {plan} --vocab {vocab} --certs {certs} --dealer 127.0.0.1:1 --connect 127.0.0.1:1 --store {w}/data --json'.split()
alone('text is not UTF-8', 2, 'not UTF-8 at byte 4', EMBED + ['--file', '{w}/t'], lambda w: (w.dir / 't').write_bytes(b'the \xff\n'))
alone('text is empty', 2, 'no token besides', EMBED + [''])
alone('text is spaces', 2, 'no token besides', EMBED + ['   '])
alone('text over the limit', 2, r'the text has 22 tokens; the limit is 16; .*--truncate', EMBED + ['the ' * 20])
alone('file of texts is empty', 2, 'holds no text', EMBED + ['--file', '/dev/null'])
alone('file of texts is missing', 2, 'cannot read .*/none', EMBED + ['--file', '{w}/none'])

alone('file of texts is a folder', 2, 'cannot read', EMBED + ['--file', '{w}'])
alone('vocabulary is a folder', 2, 'cannot read the vocabulary', [word.replace('{vocab}', '{w}') for word in EMBED] + ['the dog'])



def deep_line(w):
    """Writes t: a line whose id nests 100,000 deep."""
    (w.dir / 't').write_text('{"id":' + '[' * 100_000 + ']' * 100_000 + ',"text":"the dog"}\n')


for name, command in (('embed', EMBED), ('simulate', 'simulate --plan {plan} --model {model}'.split()), ('tokenize', 'tokenize --model {model}'.split()),
                      ('demo', 'demo --plan {plan} --model {model}'.split())):
    alone(f'{name}: a line of JSON nests 100,000 deep', 2, 'the line nests deeper than 64 levels, at column 70; write {"id"', command + ['--json-file', '{w}/t'], deep_line)


@row('--truncate cuts the text', 0, '')
def _(w):
    w.both()
    yield w.embed('the ' * 20, truncate=True)
    assert w.rows()[0]['n'] == 16


@row('bad lines among good ones', 2, '4 of 6 texts could not be used; line 2: ')
def _(w):
    w.both()
    (w.dir / 't').write_bytes(b'{"id": 1, "text": "the dog"}\nno json\n{"text": ""}\n{"text": "\xff"}\n{"id": "x", "text": 5}\n{"text": "a cat"}\n')
    yield w.embed(None, **{'json-file': w.dir / 't'})
    rows = w.rows()
    assert [r['i'] for r in rows] == list(range(6)) and [set(r) - {'i', 'error'} for r in rows[1:5]] == [set(), set(), set(), {'id'}] and rows[4]['id'] == 'x'
    assert [rows[0]['y'], rows[5]['y']] == w.base.simulate(['the dog', 'a cat']) and w.fates('data') == {1: 'done', 2: 'done'}
    assert [rows[k]['id'] for k in (0, 5)] == [1, None]


@row('bad lines among good ones: demo', 2, '2 of 4 texts could not be used; line 2: ', 30)
def _(w):
    (w.dir / 't').write_bytes(b'the dog\n\n\xff\na cat\n')
    yield (p := w.role('demo', '--model', w.base.model, '--plan', w.base.plan, '--file', w.dir / 't', '--json'))
    assert [('y' in r, 'error' in r) for r in w.rows()] == [(True, False), (False, True), (False, True), (True, False)], w.rows()
    assert sum('line 2' in line for line in p.err) == 1, p.err  # the data owner's process receives good lines only


# ---- ids of lines: they come out as they went in, digit for digit and with their type

IDS = ['"a"', '""', '7', '"7"', '0', '-7', '18446744073709551616', '-9223372036854775809', '12345678901234567890123', '9' * 400, '"\\u00e9\\n"', None]
NO_IDS = ['1.0', '1e3', '-0.0', 'true', 'false', 'null', '[]', '[1]', '{}', '{"a": 1}']


def lines_with_ids(w):
    good = ['{"text": "the dog"}' if i is None else f'{{"id": {i}, "text": "the dog"}}' for i in IDS]
    bad = [f'{{"id": {i}, "text": "the dog"}}' for i in NO_IDS]
    twice = ['{"id": 1, "id": 2, "text": "the dog"}', '{"id": 1, "text": "the dog", "text": "a cat"}', '{"id": ' + '[' * 100_000 + ']' * 100_000 + ', "text": "a"}']
    (w.dir / 't').write_text('\n'.join([*good, *bad, *twice, '{"id": 8, "text": ""}', '{"id": "' + 'x' * 40 + '"}', '{"text": "x"']) + '\n')


def ids_come_back(w, out, none):
    """none: replaces the id in a row without one."""
    lines = out.decode().splitlines()
    assert len(lines) == len(IDS) + len(NO_IDS) + 6
    for line, i in zip(lines, IDS):
        assert 'error' not in line and ((none if i is None else f'"id":{i},') in line.replace('é', '\\u00e9')), (i, line[:200])
    errors = [json.loads(line) for line in lines[len(IDS):]]
    assert [e['i'] for e in errors] == list(range(len(IDS), len(lines)))
    for e in errors[:len(NO_IDS)]:
        assert e == {'i': e['i'], 'error': 'the "id" of the line is neither a string nor a whole number; make it one of these, or leave it out'}, e
    said = [e['error'] for e in errors[len(NO_IDS):]]
    assert ['twice in one object' in s for s in said[:2]] == [True, True] and 'nests deeper than 64 levels' in said[2], said
    assert [e.get('id') for e in errors[len(NO_IDS):]] == [None, None, None, 8, 'x' * 40, None], errors
    assert 'no "text" that is a string' in said[4] and 'is not JSON text' in said[5], said


BAD_IDS = fr'{len(NO_IDS) + 6} of {len(IDS) + len(NO_IDS) + 6} texts could not be used; line {len(IDS) + 1}: the "id" of the line is neither'


@row('ids of lines: tokenize', 2, BAD_IDS)
def _(w):
    lines_with_ids(w)
    yield (p := w.role('tokenize', '--model', w.base.model, '--json-file', w.dir / 't', '--json'))
    ids_come_back(w, p.out, '{"i":11,"n":')


@row('ids of lines: simulate', 2, BAD_IDS)
def _(w):
    lines_with_ids(w)
    yield (p := w.role('simulate', '--model', w.base.model, '--plan', w.base.plan, '--json-file', w.dir / 't', '--json'))
    ids_come_back(w, p.out, '"i":11,"n":')


@row('ids of lines: embed', 2, BAD_IDS, 30)
def _(w):
    w.both()
    lines_with_ids(w)
    yield (p := w.embed(None, **{'json-file': w.dir / 't'}))
    ids_come_back(w, p.out, '"id":null,')


@row('ids of lines: demo', 2, BAD_IDS, 30)
def _(w):
    lines_with_ids(w)
    yield (p := w.role('demo', '--model', w.base.model, '--plan', w.base.plan, '--json-file', w.dir / 't', '--json'))
    ids_come_back(w, p.out, '"id":null,')


# ---- token ids that the vocabulary does not have

def lines_of_ids(w):
    """Writes t; returns the error message of each of its lines, '' for good ones."""
    size = len((w.base.model / 'vocab.txt').read_text().splitlines())
    outside = lambda id, token=2: f"token {token} has the id {id}, and the vocabulary has the ids 0 to {size - 1}; use the tokenizer of the plan's model"
    lines = [('2 5 6 3', ''), (f'2 {size} 3', outside(size)), ('2 -1 3', outside(-1)), (f'2\t7  {size - 1} 3', ''),
             ('2 5 99999999999999999999 3', outside('9' * 20, 3)), ('2 ' + '1' * 40 + ' 3', outside('1' * 24 + '..')),
             ('2 x 3', 'word 2 of the line is no token id; write whole numbers with spaces between'),
             ('2 5.0 3', 'word 2 of the line is no token id; write whole numbers with spaces between'),
             ('2 5, 3', 'word 2 of the line is no token id; write whole numbers with spaces between'),
             ('2 - 3', 'word 2 of the line is no token id; write whole numbers with spaces between'),
             ('', 'the line has no token id; leave it out, or write whole numbers with spaces between'),
             ('2 3', 'a text of 2 tokens is below the limit of 3; make it longer'),
             ('2 5\0 3', 'the line has a NUL byte at byte 3; save the file as text in UTF-8'),
             ('5 ' * 17, 'the text has 17 tokens; the limit is 16; shorten it or let it be cut (--truncate cuts it)'),
             (f'2 {size + 5} ' * 9, outside(size + 5)), ('2 9 3', '')]
    (w.dir / 't').write_text('\n'.join(line for line, _ in lines))  # without a newline at the end
    w.outside = f'13 of 16 texts could not be used; line 2: {outside(size)}'
    return [why for _, why in lines]


OUTSIDE = r'13 of 16 texts could not be used; line 2: token 2 has the id (\d+), and the vocabulary has the ids 0 to \d+; use the tokenizer'


def ids_refused(w, rows, whys):
    assert [r.get('error', '') for r in rows] == whys, rows
    good = w.dir / 'good'
    good.write_text(''.join(line + '\n' for line, why in zip((w.dir / 't').read_text().split('\n'), whys) if not why))
    said = w.base.suf('simulate', '--model', w.base.model, '--plan', w.base.plan, '--ids', good, '--json')
    assert [r['y'] for r in rows if 'y' in r] == [json.loads(line)['y'] for line in said.splitlines()]


@row('ids outside the vocabulary: embed', 2, OUTSIDE)
def _(w):
    whys = lines_of_ids(w)
    w.both()
    yield w.embed(None, vocab=None, ids=w.dir / 't')
    ids_refused(w, w.rows(), whys)
    assert w.fates('data') == {k: 'done' for k in (1, 2, 3)} and w.fates('model') == w.fates('data'), 'a line that was refused took a bundle'


@row('ids outside the vocabulary: simulate', 2, OUTSIDE)
def _(w):
    whys = lines_of_ids(w)
    yield w.role('simulate', '--model', w.base.model, '--plan', w.base.plan, '--ids', w.dir / 't', '--json')
    ids_refused(w, w.rows(), whys)


@row('ids outside the vocabulary: demo', 2, OUTSIDE, 30)
def _(w):
    whys = lines_of_ids(w)
    yield w.role('demo', '--model', w.base.model, '--plan', w.base.plan, '--ids', w.dir / 't', '--json')
    ids_refused(w, w.rows(), whys)


# Longer lines are cut, as calibration texts are.
@row('ids outside the vocabulary: compile', 2, OUTSIDE.replace('13', '12'), 60)
def _(w):
    lines_of_ids(w)
    yield (p := w.role('compile', '--model', w.base.model, '--ids', w.dir / 't', '--max-tokens', 16, *ONE, *FIXED, '--set', 'softmax=0', '--out', w.dir / 'p'))
    assert any('calibrated on 4 texts' in line for line in p.err) and 'certificates' in w.base.suf('plan', 'show', w.dir / 'p'), p.err


def only_outside(w):
    (w.dir / 't').write_text('2 500 3')


for command in (EMBED, 'simulate --model {model} --plan {plan} --json'.split(), 'compile --model {model} --out {w}/p'.split(),
                'demo --model {model} --plan {plan} --json'.split(), 'demo --model {model}'.split()):
    alone(f'ids outside the vocabulary: all, {" ".join(command[:1] + command[3:4])}', 2, r'^suf: line 1: token 2 has the id 500, and the vocabulary has the ids 0 to',
          [*command, '--ids', '{w}/t'], only_outside)


# ---- forms of a file of texts

FORMS = {'a mark of UTF-8': b'\xef\xbb\xbfthe dog\na cat\n', 'lines as of Windows': b'the dog\r\na cat\r\n',
         'a mark and lines as of Windows': b'\xef\xbb\xbfthe dog\r\na cat\r\n', 'no newline at the end': b'the dog\na cat'}


@row('texts: other forms of the same lines', 0, '')
def _(w):
    def said(flag, data):
        (w.dir / 't').write_bytes(data)
        return w.base.suf('tokenize', '--model', w.base.model, flag, w.dir / 't', '--json')
    expected = said('--file', b'the dog\na cat\n')
    assert len(expected.splitlines()) == 2
    for what, data in FORMS.items():
        assert said('--file', data) == expected, what
        mark, lines = (data[:3], data[3:]) if data[0] == 0xef else (b'', data)
        as_json = mark + b''.join(json.dumps({'text': line.decode().rstrip('\r\n')}).encode() + line[len(line.rstrip(b'\r\n')):]
                                  for line in lines.splitlines(keepends=True))
        assert said('--json-file', as_json) == expected, what
        ids = mark + lines.replace(b'the dog', b'2 5 3').replace(b'a cat', b'2 6 7 3')
        (w.dir / 'ids').write_bytes(ids)
        simulated = w.base.suf('simulate', '--model', w.base.model, '--plan', w.base.plan, '--ids', w.dir / 'ids', '--json')
        assert [json.loads(line)['ids'] for line in simulated.splitlines()] == [[2, 5, 3], [2, 6, 7, 3]], what
    yield w.role('tokenize', '--model', w.base.model, '--file', w.dir / 't', '--json')


TOKENIZE = 'tokenize --model {model} --json'.split()
for name, data in (('UTF-16', 'the dog'.encode('utf-16')), ('UTF-16', b'\xfe\xff' + 'the dog'.encode('utf-16-be')), ('UTF-32', 'the dog'.encode('utf-32'))):
    for flag, command in (('--file', TOKENIZE), ('--json-file', TOKENIZE), ('--ids', EMBED), ('--calibrate', 'compile --model {model} --out {w}/p'.split())):
        alone(f'texts: {name} {data[:2].hex()}, {flag}', 2, rf'^suf: .*/t is text in {name}; save it as UTF-8$', [*command, flag, '{w}/t'],
              lambda w, data=data: (w.dir / 't').write_bytes(data))
alone('texts: a NUL byte', 2, '1 of 2 texts could not be used; line 2: the line has a NUL byte at byte 5; save the file as text in UTF-8', TOKENIZE + ['--file', '{w}/t'],
      lambda w: (w.dir / 't').write_bytes(b'the dog\na cat\0\n'))
alone('texts: a line of 17 MB', 2, 'line 2: the line has 17000000 bytes; the limit is 16777216; write one text a line', TOKENIZE + ['--file', '{w}/t'],
      lambda w: (w.dir / 't').write_bytes(b'the dog\n' + b'a' * 17_000_000))
alone('plan: in UTF-16', 2, 'is text in UTF-16; save it as UTF-8', 'plan show {w}/p'.split(), lambda w: (w.dir / 'p').write_text(w.base.plan.read_text(), 'utf-16'))


# ---- standard input

def piped(w, text, *command):
    """Starts a process with a text or bytes as standard input."""
    (w.dir / 'stdin').write_bytes(text if isinstance(text, bytes) else text.encode())
    with open(w.dir / 'stdin') as file:
        return w.role(*command, stdin=file)


@row('- is standard input, of every file', 0, '', 60)
def _(w):
    base, plan = w.base, ('--plan', w.base.plan)
    model = ('--model', base.model)
    texts = 'the dog\na cat\n'
    as_json = ''.join(json.dumps({'text': t}) + '\n' for t in texts.splitlines())
    for expected, text, *command in (
            (texts, texts, 'tokenize', *model, '--json', '--file'), (as_json, as_json, 'tokenize', *model, '--json', '--json-file'),
            (texts, texts, 'simulate', *model, *plan, '--json', '--file'), ('2 5 3\n', '2 5 3\n', 'simulate', *model, *plan, '--json', '--ids'),
            (base.plan.read_text(), base.plan.read_text(), 'estimate', '--tokens', 5, '--json', '--plan'),
            (base.plan.read_text(), base.plan.read_text(), 'plan', 'show'), ('5\n-7\n', '5\n-7\n', 'fn', 'run', 'relu', '--values')):
        (w.dir / 'file').write_text(text)
        p = piped(w, text, *command, '-')
        assert p.finish() == 0 and re.sub(r'[\d.]+ ms', '', p.out.decode()) == re.sub(r'[\d.]+ ms', '', base.suf(*command, w.dir / 'file')), (command, p.err)
    suf = base.suf('fn', 'show', 'relu', '--n', 16, '--scale', 8, '--pass', 'text')
    p = piped(w, suf, 'fn', 'show', '-', '--pass', 'text')
    assert p.finish() == 0 and p.out.decode() == suf, p.err
    p = piped(w, texts * 3, 'compile', *model, '--calibrate', '-', '--max-tokens', 16, *ONE, *FIXED, '--set', 'softmax=0', '--out', w.dir / 'p')
    assert p.finish() == 0 and json.loads((w.dir / 'p').read_text())['calibration'] == hashlib.sha256((texts * 3).encode()).hexdigest(), p.err
    w.both()
    (w.dir / 'file').write_text(texts)
    with open(w.dir / 'file') as file:
        e = w.embed(None, file='-', process={'stdin': file})
    assert e.finish() == 0 and [r['y'] for r in e.rows()] == base.simulate(texts.splitlines()), e.err
    yield piped(w, '2 5 3\n', 'demo', *model, *plan, '--ids', '-')


TWICE = 'standard input was named as two files; name it once, and give the other file a path'


@row('standard input twice: embed', 2, TWICE)
def _(w):
    with open(w.base.plan) as plan:
        yield w.embed(None, dealer=1, connect=1, plan='-', vocab=None, ids='-', process={'stdin': plan})


@row('standard input twice: fn run', 2, TWICE)
def _(w):
    yield piped(w, '5\n', *'fn run relu --from shared --values -,-'.split())


@row('the plan is standard input and its shifts are somewhere', 2, 'the plan comes from standard input, so no file of shifts lies beside it; name one with --shifts')
def _(w):
    yield piped(w, w.base.plan.read_text(), 'simulate', '--model', w.base.model, '--plan', '-', '--file', w.base.plan)


@row('standard input is closed', 2, 'cannot read standard input; check the path')
def _(w):
    yield w.role('tokenize', '--model', w.base.model, '--file', '-', preexec_fn=lambda: os.close(0))


@row('standard input is a folder', 2, 'cannot read the plan from standard input')
def _(w):
    folder = os.open(w.dir, os.O_RDONLY)
    yield w.role('plan', 'show', '-', stdin=folder)


# ---- files of the model and the plan

COMPILE = 'compile --model {w}/m --calibrate {model}/../calibrate.txt --max-tokens 16 --out {w}/p'.split()


alone('compile: too few texts for shifts', 2, 'a fit needs 20 texts and 1000 tokens, there are 3 texts with 12 tokens; give more lines, or set softmax=0',
      'compile --model {model} --calibrate {w}/few --max-tokens 16 --set softmax=1 --out {w}/p'.split(), lambda w: (w.dir / 'few').write_text('the dog\n' * 3))


def broken_model(change):
    """Prepares m: a copy of the model with its parsed header, data and config changed."""
    def prepare(w):
        m = shutil.copytree(w.base.model, w.dir / 'm')
        header, data = read_safetensors(m / 'model.safetensors')
        config = json.loads((m / 'config.json').read_text())
        change(m, header, config)
        (m / 'config.json').write_text(json.dumps(config) if config else '<!DOCTYPE html>')
        if (m / 'model.safetensors').exists() and (m / 'model.safetensors').stat().st_size == (w.base.model / 'model.safetensors').stat().st_size:
            write_safetensors(m / 'model.safetensors', header, data)
    return prepare


def overlap(m, header, config):
    a, b = [t for name, t in sorted(header.items()) if name != '__metadata__' and t['shape'] == [32]][:2]
    a['data_offsets'] = b['data_offsets']


def beyond(m, header, config):
    t = next(t for name, t in header.items() if name != '__metadata__')
    t['data_offsets'] = [o + (1 << 40) for o in t['data_offsets']]


def cut(m, header, config):
    raw = (m / 'model.safetensors').read_bytes()
    (m / 'model.safetensors').write_bytes(raw[:-100])


def huge(m, header, config):
    raw = (m / 'model.safetensors').read_bytes()
    (m / 'model.safetensors').write_bytes(struct.pack('<Q', 1 << 62) + raw[8:-1])


def one_layer(m, header, config):
    config['num_hidden_layers'] = 1
    for name in [n for n in header if '.layer.1.' in n]:
        del header[name]


def write_packed(file, header, data):
    """Writes the tensors of a header without the data of others."""
    packed = b''
    for t in header.values():
        if 'data_offsets' in t:
            begin, end = t['data_offsets']
            t['data_offsets'] = [len(packed), len(packed) + end - begin]
            packed += data[begin:end]
    write_safetensors(file, header, packed)


def one_layer_files(m, header, config):
    one_layer(m, header, config)
    write_packed(m / 'model.safetensors', header, read_safetensors(m / 'model.safetensors')[1])


for what, sentence, change in (
        ('model: file missing', 'there is no file .*model.safetensors', lambda m, *_: (m / 'model.safetensors').unlink()),
        ('model: file cut short', 'is not a sound safetensors file', cut),
        ('model: tensors overlap', 'two tensors overlap at byte', overlap),
        ('model: tensor beyond the data', 'lies at bytes .* of .* bytes of data', beyond),
        ('model: header of huge length', 'its header claims 4611686018427387904 bytes', huge),
        ('model: another architecture', 'model_type is "t5", only bert, ', lambda m, h, config: config.update(model_type='t5')),
        ('model: no folder', 'there is no file', lambda m, *_: shutil.rmtree(m) or m.mkdir()),
        ('model: vocabulary repeats a line', 'repeats line', lambda m, *_: (m / 'vocab.txt').write_text('[PAD]\n[PAD]\n'))):
    alone(what, 2, sentence, COMPILE, broken_model(change))


INDEX, SHARDS = 'model.safetensors.index.json', [f'model-0000{i}-of-00002.safetensors' for i in (1, 2)]


def in_shards(change=lambda m, weight_map: None):
    """Prepares m: a copy of the model with its weights in two files. change may alter them and the index."""
    def split(m, header, *_):
        data, weight_map = read_safetensors(m / 'model.safetensors')[1], {}
        (m / 'model.safetensors').unlink()
        names = sorted(n for n in header if n != '__metadata__')
        for i, shard in enumerate(SHARDS):
            write_packed(m / shard, {n: header[n] for n in names[i::2]}, data)
            weight_map.update(dict.fromkeys(names[i::2], shard))
        (m / INDEX).write_text(change(m, weight_map) or json.dumps({'metadata': {}, 'weight_map': weight_map}))
    return broken_model(split)


def twice(m, weight_map):
    header, data = read_safetensors(m / SHARDS[0])
    write_packed(m / SHARDS[1], header, data)


@row('weights in shards', 0, '')
def _(w):
    in_shards()(w)
    (w.dir / 't').write_text('the dog\n')
    yield w.role('simulate', '--plan', w.base.plan, '--model', w.dir / 'm', '--file', w.dir / 't', '--json')
    assert [r['y'] for r in w.rows()] == w.base.simulate(['the dog'])


for what, sentence, change in (
        ('model: a shard is missing', f'there is no file .*{SHARDS[1]}, which {INDEX} lists; fetch it too', lambda m, _: (m / SHARDS[1]).unlink()),
        ('model: a shard outside the folder', r'the file of tensor "a" is "\.\./model/model.safetensors", it must be the plain name of a file in the same directory',
         lambda m, weight_map: weight_map.update(a='../model/model.safetensors')),
        ('model: a shard by a number', 'the file of tensor "a" is "1", it must be the plain name', lambda m, weight_map: weight_map.update(a=1)),
        ('model: a tensor in two shards', f'has a tensor ".*", which {SHARDS[0]} also has; fetch all files', twice),
        ('model: a tensor in no shard', f'lists a tensor "a" in {SHARDS[0]}, which has no such tensor', lambda m, weight_map: weight_map.update(a=SHARDS[0])),
        ('model: more shards than the limit', f'{INDEX} lists 1001 files, the limit is 1000; save the model in fewer files',
         lambda m, weight_map: json.dumps({'weight_map': {str(i): str(i) for i in range(1001)}})),
        ('model: the index is a list', f'{INDEX} is not a JSON object', lambda m, weight_map: '[]'),
        ('model: the index lists no tensor', 'weight_map is "{}", it must be an object', lambda m, weight_map: weight_map.clear()),
        ('model: the index is too long', f'{INDEX} is 16777217 bytes long, the limit is 16777216', lambda m, weight_map: ' ' * ((16 << 20) + 1)),
        ('model: the index nests 100,000 deep', 'nests deeper than 64 levels', lambda m, weight_map: '[' * 100_000)):
    alone(what, 2, sentence, COMPILE, in_shards(change))


def modules(*classes):
    return json.dumps([{'idx': i, 'name': str(i), 'path': f'{i}_{c}' if i else '', 'type': f'sentence_transformers.models.{c}'} for i, c in enumerate(classes)])


def with_file(name, text):
    def change(m, *_):
        (m / name).parent.mkdir(exist_ok=True)
        (m / name).write_text(text)
    return change


POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n'
for what, sentence, change in (
        ('model: a module that is not computed', r'\[2\].type is "sentence_transformers.models.LSTM", only Transformer, Pooling, Dense and Normalize',
         with_file('modules.json', modules('Transformer', 'Pooling', 'LSTM'))),
        ('model: a head that is not computed', 'only the rows of a model and ForSequenceClassification are supported',
         lambda m, h, config: config.update(architectures=['BertForTokenClassification'])),
        ('model: two counts of labels', 'num_labels is "3", and id2label names 1 labels; use the files of one model',
         lambda m, h, config: config.update(architectures=['BertForSequenceClassification'], id2label={'0': 'a'}, num_labels=3)),
        ('model: a head without weights', 'has no tensor "pooler.dense.weight"', lambda m, h, config: config.update(architectures=['BertForSequenceClassification'])),
        ('model: folder of Pooling is missing', 'there is no file .*1_Pooling/config.json, so how rows are pooled is not known',
         with_file('modules.json', modules('Transformer', 'Pooling', 'Normalize'))),
        ('model: another pooling', '1_Pooling/config.json: pooling_mode is "max", only "mean", "cls" and "lasttoken" are supported', with_file('1_Pooling/config.json', '{"pooling_mode": "max"}')),
        ('model: a default prompt that is not there', 'default_prompt_name is "query", and prompts has no such prompt; name one of them or remove the field',
         with_file('config_sentence_transformers.json', '{"prompts": {"passage": "passage: "}, "default_prompt_name": "query"}')),
        ('model: a prompt over 4 kB', 'the prompt "query" has 4097 bytes, the limit is 4096; shorten or remove it',
         with_file('config_sentence_transformers.json', json.dumps({'prompts': {'query': 'x' * 4097}}))),
        ('model: added tokens beside vocab.txt', 'which vocab.txt does not have; save the tokenizer again', with_file('added_tokens.json', '{"covid-19": 128}')),
        ('model: weights are a git-lfs pointer', 'model.safetensors is a git-lfs pointer, not the file itself; fetch it', with_file('model.safetensors', POINTER)),
        ('model: config.json is an HTML page', 'config.json is an HTML page, not the file itself; download', lambda m, h, config: config.clear()),
        ('model: vocab.txt is a git-lfs pointer', 'vocab.txt is a git-lfs pointer', with_file('vocab.txt', POINTER)),
        ('model: weights in a pickle', 'only pytorch_model.bin, which is not read; save the model as safetensors',
         lambda m, *_: (m / 'model.safetensors').rename(m / 'pytorch_model.bin'))):
    alone(what, 2, sentence, COMPILE, broken_model(change))
alone('vocabulary is a git-lfs pointer', 2, 'is a git-lfs pointer, not the file itself',
      [word.replace('{vocab}', '{w}/v') for word in EMBED] + ['the dog'], lambda w: (w.dir / 'v').write_text(POINTER))


@row('a tokenizer.json with added tokens is the vocabulary', 0, '', 60)
def _(w):
    """P1 needs only one file. plan show names it, and every command reads it. A plan for longer texts is reported as
    such."""
    m = shutil.copytree(w.base.model, w.dir / 'm')
    entries = (m / 'vocab.txt').read_text().split()
    flags = dict.fromkeys(('single_word', 'lstrip', 'rstrip', 'normalized', 'special'), False)
    added = [{'id': i, 'content': entries[i], **flags, 'special': True} for i in range(5)]
    word = entries.index('water')  # found inside other words unless it is matched whole
    added.append({'id': word, 'content': 'water', **flags})
    tokenizer = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': added,
                 'normalizer': {'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': None, 'lowercase': True},
                 'pre_tokenizer': {'type': 'BertPreTokenizer'},
                 'post_processor': {'type': 'BertProcessing', 'sep': ['[SEP]', 3], 'cls': ['[CLS]', 2]}, 'decoder': None,
                 'model': {'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##', 'max_input_chars_per_word': 100,
                           'vocab': {e: i for i, e in enumerate(entries)}}}
    (m / 'tokenizer.json').write_text(json.dumps(tokenizer))
    (m / 'sentence_bert_config.json').write_text('{"max_seq_length": 12, "do_lower_case": false}')
    plan, text = w.dir / 'p.json', 'the underwater dog'
    c = w.role('compile', '--model', m, '--calibrate', w.base.folder / 'calibrate.txt', '--max-tokens', LIMIT, *ONE, *FIXED, '--out', plan)
    assert c.finish(300) == 0, c.err
    assert any('sentence_bert_config.json: max_seq_length is 12, where sentence-transformers cuts texts; this plan takes up to 16 tokens; '
               'use --max-tokens 12 for the same limit' in line for line in c.err), c.err
    assert any(f'vocabulary {m}/tokenizer.json: public; data owners need it' in line for line in c.err), c.err
    digest = hashlib.sha256((m / 'tokenizer.json').read_bytes()).hexdigest()
    assert f'vocabulary SHA-256 {digest}: not a known one' in w.base.suf('plan', 'show', plan)
    ids = [2, entries.index('the'), *(entries.index(x) for x in ('u', '##n', '##d', '##er')), word, entries.index('dog'), 3]
    (w.dir / 't').write_text(text + '\n')
    assert w.base.suf('tokenize', '--model', m, '--file', w.dir / 't').split() == [str(i) for i in ids]
    y = json.loads(w.base.suf('simulate', '--plan', plan, '--model', m, '--file', w.dir / 't', '--json'))['y']
    wrong = w.embed(text, plan=plan, dealer=1, connect=1)  # vocab.txt
    assert wrong.finish() == 4 and 'is not the vocabulary that the plan was made for; ask the model owner for it' in wrong.err[-1], wrong.err
    (m / 'vocab.txt').unlink()
    w.deal(plan=plan).port()
    w.serve(plan=plan, model=m).port()
    yield w.embed(text, plan=plan, vocab=m / 'tokenizer.json')
    assert w.rows()[0]['y'] == y and w.rows()[0]['n'] == len(ids)


@row('a cased vocab.txt: compile writes the tokenizer', 0, '', 60)
def _(w):
    m, plan = shutil.copytree(w.base.model, w.dir / 'm'), w.dir / 'p.json'
    entries = (m / 'vocab.txt').read_text().split()
    entries[entries.index('dog')] = 'Dog'
    (m / 'vocab.txt').write_text('\n'.join(entries) + '\n')
    (m / 'tokenizer_config.json').write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    c = w.role('compile', '--model', m, '--calibrate', w.base.folder / 'calibrate.txt', '--max-tokens', LIMIT, *ONE, *FIXED, '--out', plan)
    assert c.finish(300) == 0, c.err
    built = w.dir / 'p.tokenizer.json'
    assert any(f'vocabulary {built}: public; data owners need it' in line for line in c.err), c.err
    text = w.dir / 't'
    text.write_text('the Dog\n')
    ids = [2, entries.index('the'), entries.index('Dog'), 3]
    assert w.base.suf('tokenize', '--model', m, '--file', text).split() == [str(i) for i in ids]
    y = json.loads(w.base.suf('simulate', '--plan', plan, '--model', m, '--file', text, '--json'))['y']
    assert w.embed('the Dog', plan=plan, vocab=m / 'vocab.txt', dealer=1, connect=1).finish() == 4
    w.deal(plan=plan).port()
    w.serve(plan=plan, model=m).port()
    yield w.embed('the Dog', plan=plan, vocab=built)
    assert w.rows()[0]['y'] == y and w.rows()[0]['n'] == len(ids)
    demo = json.loads(w.base.suf('demo', '--plan', plan, '--model', m, '--file', text, '--json'))
    assert demo['y'] == y and demo['sim_equal']


def altered_plan(change):
    def prepare(w):
        plan = json.loads(w.base.plan.read_text())
        (w.dir / 'p').write_text(change(plan) or json.dumps(plan))
    return prepare


SHOW = 'plan show {w}/p'.split()
alone('plan: another version', 4, 'the plan has version 99, this program reads', SHOW, altered_plan(lambda p: p.update(version=99)))
alone('plan: altered', 4, 'does not match its hash', SHOW, altered_plan(lambda p: p.update(calibration='0' * 64)))
alone('plan: cut short', 4, 'is not JSON', SHOW, altered_plan(lambda p: json.dumps(p)[:-100]))
alone('plan: a field is missing', 4, 'lacks the field', SHOW, altered_plan(lambda p: p.pop('tokenizer') and None))
alone('plan: missing', 2, 'cannot read the plan', SHOW)
alone('plan: a folder', 2, 'cannot read the plan', 'plan show {w}'.split())
alone('plan: nested 100000 deep', 4, 'the plan', SHOW, lambda w: (w.dir / 'p').write_text('[' * 100_000 + ']' * 100_000))
alone('plan: another kind of file', 4, 'is not JSON', 'plan show {model}/model.safetensors'.split())


def node(p, op):
    return next(n for n in p['nodes'] if n['op'] == op)


alone('plan: a text that a terminal obeys', 4, r'the plan.s field nodes\[0\]\.scope has a character that is not printable: "\\x1b7\\x1b\[4Athat of bert\\x1b8"; compile', SHOW,
      altered_plan(lambda p: p['nodes'][0].update(scope='\x1b7\x1b[4Athat of bert\x1b8')))
alone('plan: a text that is written backwards', 4, r'nodes\[1\]\.label has a character that is not printable: "a\\u\{202e\}b"', SHOW, altered_plan(lambda p: p['nodes'][1].update(label='a\u202eb')))
alone('plan: a name that a terminal obeys', 4, r'the plan.s field \\x1b\[2K\\rsuf: fine is unknown', SHOW, altered_plan(lambda p: p.update({'\x1b[2K\rsuf: fine': 1})))
for command in ('estimate --plan {w}/p --tokens 3', 'plan show {w}/p --trace 3', 'deal --plan {w}/p --certs {certs} --listen 127.0.0.1:0'):
    alone(f'plan: a map of a bias alone, {command.split()[0]}', 4, "a map's terms: there is none", command.split(), altered_plan(lambda p: node(p, 'map').update(terms=[])))
DEAL = 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0'.split()
SERVE = 'serve --plan {plan} --model {w}/m --certs {certs} --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/model'.split()
alone('plan: another shape than the model', 4, 'another shape of model', SERVE, broken_model(one_layer_files))


def eightfold(w):
    """Prepares m: a copy of the model in which every matrix of the layers is eight times as large."""
    m = shutil.copytree(w.base.model, w.dir / 'm')
    header, data = read_safetensors(m / 'model.safetensors')
    data = bytearray(data)
    for name, t in header.items():
        if 'encoder' in name and len(t['shape']) == 2:
            begin, end = t['data_offsets']
            floats = struct.unpack_from(f'<{(end - begin) // 4}f', data, begin)
            struct.pack_into(f'<{len(floats)}f', data, begin, *(8 * x for x in floats))
    write_safetensors(m / 'model.safetensors', header, bytes(data))


# The shape fits but the weights do not: hard certificates would be false.
MISFIT = r'wire 8/0/attention/z_(qk|v) can reach 2\^\d+ with these weights; the plan allows 2\^\d+; compile a plan from this model'
for name, command in (('serve', SERVE), ('simulate', 'simulate --plan {plan} --model {w}/m --json --file {w}/m/vocab.txt'.split())):
    alone(f'{name}: plan of a model with smaller weights', 4, MISFIT, command, eightfold)

alone('vocabulary of another model', 4, 'not the vocabulary that the plan was made for',
      [word.replace('{vocab}', '{w}/v') for word in EMBED] + ['the dog'], lambda w: (w.dir / 'v').write_text('[PAD]\n'))

# ---- usage

alone('no command', 2, 'a command is missing; see suf --help', [])
alone('unknown command', 2, 'dance is not a command of suf; see suf --help', ['dance'])
alone('unknown command of a command', 2, 'dance is not a command of suf plan; see suf plan --help', ['plan', 'dance'])
alone('unknown flag', 2, '--bogus.*see suf embed --help', EMBED + ['the dog', '--bogus'])
alone('audits, one by one', 2, '--one-by-one excludes --audit.*see suf embed --help', EMBED + ['the dog', '--audit', '1', '--one-by-one'])
alone('two sources of texts', 2, 'one of TEXT, --file', EMBED + ['the dog', '--file', '/dev/null'])
ADDRESS = r'; an address is host:port, as 127\.0\.0\.1:7001 or \[::1\]:7001; see suf '
for option, command in (('--connect', EMBED + ['the dog']), ('--dealer', EMBED + ['the dog']), ('--dealer', SERVE), ('--listen', SERVE), ('--listen', DEAL)):
    for given, why in (('here', 'has no port'), ('here:', 'has no port'), ('[::1]', 'has no port behind its bracket'), ('::1', 'is an IPv6 address without a port'),
                       ('here:65536', 'has a port that is no number from'), ('https://here:1', 'has several colons and is no IPv6 address'),
                       *([('[::1]:0', 'has a port that is no number from 1 to 65535')] if option != '--listen' else [])):
        at = command.index(option) + 1
        alone(f'address: {command[0]} {option} {given}', 2, f'{option}: "{re.escape(given)}" {why}.*{ADDRESS}{command[0]} --help', [*command[:at], given, *command[at + 1:]])
alone('address: fn ask --connect', 2, '--connect: "here" has no port' + ADDRESS, 'fn ask --plan p --certs c --dealer h:1 --connect here --store s'.split())
alone('address: port 0 is a free one', 2, 'cannot read the plan', ['p' if w == '{plan}' else w for w in DEAL[:-1]] + ['[::1]:0'])
alone('host unknown', 3, 'the host name of the model owner', [w.replace('127.0.0.1:1', 'a..b:1') for w in EMBED] + ['the dog'])
alone('time-out of 0 s', 2, '--timeout must be between', EMBED + ['the dog', '--timeout', '0'])
alone('nobody listens', 3, 'nobody answers as the model owner', EMBED + ['the dog'])
alone('out: no such folder', 5, 'cannot write .*/none/out', EMBED + ['the dog', '--out', '{w}/none/out'])


@row('out: no space for all rows', 5, r'cannot write .*/out of 9184 bytes \(File too large\); see to the disk')
def _(w):
    (w.dir / 't').write_text('the dog\n' * 60)  # rows of 136 bytes
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    yield w.embed(None, dealer=1, connect=1, file=w.dir / 't', out=w.dir / 'out', process={'preexec_fn': limit})  # an address without a listener
    assert not list(w.dir.glob('out*')) and not (w.dir / 'data').exists()


alone('out: a folder', 5, 'cannot write', EMBED + ['the dog', '--out', '{w}'])
alone('out: a device', 5, 'cannot write /dev/null', EMBED + ['the dog', '--out', '/dev/null'])
for role in ('deal', 'serve', 'embed'):
    alone(f'variant: unknown, {role}', 2, "no kernel variant is called 'sse9'; the names are portable, avx2 .* and avx512",
          {'deal': DEAL, 'serve': SERVE, 'embed': EMBED + ['the dog']}[role] + ['--kernels', 'sse9'])
alone('variant: unknown, demo', 2, "no kernel variant is called 'sse9'", 'demo --model {model} --file /dev/null --kernels sse9'.split())

for role in ('deal', 'serve', 'embed'):
    command = {'deal': DEAL, 'serve': SERVE, 'embed': EMBED + ['the dog']}[role]
    alone(f'backend: unknown, {role}', 2, 'there is no backend cpu9; use one of auto, packed, .*clear, rows, myl7', command + ['--backend', 'cpu9'])
    alone(f'backend: of functions alone, {role}', 2, 'the backend myl7 runs plans of functions alone; use one of auto, packed, clear, rows',
          command + ['--backend', 'myl7'])
alone('streams: too many', 2, '--streams: Value 17 not in range 1 to 16', 'demo --model {model} --file /dev/null --streams 17'.split())
for command in (DEAL, SERVE, EMBED + ['the']):
    alone(f'traces: none, {command[0]}', 2, '--traces: Value 0 not in range 1 to', command + ['--traces', '0'])
alone('key window: none', 2, '--key-window: Value 0 not in range 1 to', DEAL + ['--key-window', '0'])
alone('backend: unknown, demo', 2, 'there is no backend cpu9', 'demo --model {model} --file /dev/null --backend cpu9'.split())


alone('tokens beyond the plan', 2, 'over the plan.s limit of 16', 'estimate --plan {plan} --tokens 17'.split())
alone('a count below 1', 2, '--count', 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --tokens 4 --count 0'.split())
alone('certificates exist already', 2, 'exists already', 'certs {certs}'.split())


def nothing_left(what, old):
    @row(what, 3, 'nobody answers as the model owner')
    def _(w):
        out = w.dir / 'out'
        if old:
            out.write_text(old)
        yield w.embed(out=out, dealer=1, connect=1)
        assert [(p.name, p.read_text()) for p in w.dir.glob('out*')] == ([('out', old)] if old else [])


nothing_left('out: a run that fails leaves no file', '')
nothing_left('out: a run that fails leaves the older file', 'old')


# ---- stdout that takes no more

PRINTS = {'tokenize': 'tokenize --model {model} --file {w}/t --json', 'simulate': 'simulate --model {model} --plan {plan} --file {w}/t',
          'simulate --json': 'simulate --model {model} --plan {plan} --file {w}/t --json', 'estimate': 'estimate --plan {plan} --tokens 5', 'plan show': 'plan show {plan}',
          'demo': 'demo --model {model} --plan {plan} --file {w}/t --json', 'fn run': 'fn run relu --x 5,-7', 'help': '--help-all', 'certs --show': 'certs {certs} --show'}


def prints(w, words, stdout, **options):
    (w.dir / 't').write_text('the dog\n' * 3)
    places = {'model': w.base.model, 'plan': w.base.plan, 'certs': w.base.certs, 'w': w.dir}
    return w.role(*(word.format(**places) for word in words.split()), stdout=stdout, **options)


def refuses_output(what, words):
    @row(f'disk full behind stdout: {what}', 5, r'^suf: cannot write to stdout \(No space left on device\); see to the disk or the program behind it$', 20)
    def _(w):
        with open('/dev/full', 'w') as full:
            yield prints(w, words, full)

    @row(f'nobody reads stdout: {what}', 0, '', 20)
    def _(w):
        reading, writing = os.pipe()
        os.close(reading)
        p = prints(w, words, writing)
        os.close(writing)
        assert p.finish() == UNREAD and not any(line.startswith('suf:') or 'cannot' in line for line in p.err), (p.process.returncode, p.err)
        yield prints(w, 'fn list', subprocess.PIPE)

    @row(f'stdout is closed: {what}', 5, '^suf: cannot write to stdout, which is closed; open it, or send it to a file$', 20)
    def _(w):
        yield prints(w, words, None, preexec_fn=lambda: os.close(1))


UNREAD = 141  # as a shell reports a program that SIGPIPE ended
for what, words in PRINTS.items():
    refuses_output(what, words)


@row('disk full behind stdout: embed', 5, r'^suf: cannot write to stdout \(No space left on device\)', 60)
def _(w):
    w.both()
    (w.dir / 't').write_text('the dog\n' * 300)
    with open('/dev/full', 'w') as full:
        yield (e := w.embed(None, file=w.dir / 't', process={'stdout': full}))
    assert 0 < len(w.fates('data')) < 300 and set(w.fates('data').values()) == {'done'}, w.fates('data')
    assert any(re.search(r' info embed: stdout takes no more results; \d+ of 300 texts are done', line) for line in e.err), e.err
    w.works()




if __name__ == '__main__':
    main()
