#!/usr/bin/env python3
"""What bad texts, broken files of the model or the plan, and bad usage get: one sentence and the right exit code.

  inputs_test.py SUF [PATTERN]     from anywhere; a few seconds. PATTERN picks rows
"""
import json
import shutil
import struct

from roles import Role, read_safetensors, write_safetensors
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
    """t: a line whose id nests 100,000 deep."""
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
    assert [r['i'] for r in rows] == list(range(6)) and [set(r) == {'i', 'error'} for r in rows] == [False, True, True, True, True, False]
    assert [rows[0]['y'], rows[5]['y']] == w.base.simulate(['the dog', 'a cat']) and w.fates('data') == {1: 'done', 2: 'done'}


# ---- files of the model and the plan

COMPILE = 'compile --model {w}/m --calibrate {model}/../calibrate.txt --max-tokens 16 --out {w}/p'.split()


alone('compile: too few texts for shifts', 2, 'a fit needs 20 texts and 1000 rows, there are 3 texts with 12 rows; give more lines, or set softmax=0',
      'compile --model {model} --calibrate {w}/few --max-tokens 16 --set softmax=1 --out {w}/p'.split(), lambda w: (w.dir / 'few').write_text('the dog\n' * 3))


def broken_model(change):
    """Prepares m: a copy of the model with its parsed header, data and config changed."""
    def prepare(w):
        m = shutil.copytree(w.base.model, w.dir / 'm')
        header, data = read_safetensors(m / 'model.safetensors')
        config = json.loads((m / 'config.json').read_text())
        change(m, header, config)
        (m / 'config.json').write_text(json.dumps(config))
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


def one_layer_files(m, header, config):
    one_layer(m, header, config)
    _, data = read_safetensors(m / 'model.safetensors')
    packed = b''
    for t in header.values():
        if 'data_offsets' in t:
            begin, end = t['data_offsets']
            t['data_offsets'] = [len(packed), len(packed) + end - begin]
            packed += data[begin:end]
    write_safetensors(m / 'model.safetensors', header, packed)


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
DEAL = 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0'.split()
SERVE = 'serve --plan {plan} --model {w}/m --certs {certs} --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/model'.split()
alone('plan: another shape than the model', 4, 'another shape of model', SERVE, broken_model(one_layer_files))


def eightfold(w):
    """Prepares m: a copy of the model, every matrix of its layers eight times as large."""
    m = shutil.copytree(w.base.model, w.dir / 'm')
    header, data = read_safetensors(m / 'model.safetensors')
    data = bytearray(data)
    for name, t in header.items():
        if 'encoder' in name and len(t['shape']) == 2:
            begin, end = t['data_offsets']
            floats = struct.unpack_from(f'<{(end - begin) // 4}f', data, begin)
            struct.pack_into(f'<{len(floats)}f', data, begin, *(8 * x for x in floats))
    write_safetensors(m / 'model.safetensors', header, bytes(data))


# a shape that fits, weights that do not: hard certificates would be false
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
alone('address without port', 2, 'an address is host:port', [w.replace('127.0.0.1:1', 'here') for w in EMBED] + ['the dog'])
alone('host unknown', 3, 'the host name of the model owner', [w.replace('127.0.0.1:1', 'a..b:1') for w in EMBED] + ['the dog'])
alone('time-out of 0 s', 2, '--timeout must be between', EMBED + ['the dog', '--timeout', '0'])
alone('nobody listens', 3, 'nobody answers as the model owner', EMBED + ['the dog'])
alone('out: no such folder', 5, 'cannot write .*/none/out', EMBED + ['the dog', '--out', '{w}/none/out'])
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


@row('disk full behind stdout', 5, 'cannot write to stdout')
def _(w):
    with open('/dev/full', 'w') as full:
        (w.dir / 't').write_text('a cat\n')
        process = Role([w.base.program, 'tokenize', '--model', w.base.model, '--file', w.dir / 't', '--json'], stdout=full)
    yield process


if __name__ == '__main__':
    main()
