#!/usr/bin/env python3
"""Checks classifiers, rerankers, prompts, embeddings without a norm, and public tables, by commands. Three processes give
the simulator's words.

  endings_test.py SUF [PATTERN]      SUF: build/suf; needs numpy, no network
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tools'))
import numpy as np

import reference
from cases import main, refused

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALIBRATE = [json.loads(line)['text'] for line in (ROOT / 'tests/data/sentences.jsonl').read_text().splitlines()[:12]]
PAIRS = [('the dog', 'the cat was good'), ('water is for all', 'the river'), ('what is this', 'it is not for you'), ('a', 'b')]
QUICK = ('--max-tokens', 24, '--profile', 'lan', '--keys', 'ahead', '--set', 'softmax=0')
F = None  # the folder


def run(*args, **more):
    return subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True, **more)


def suf(*args):
    done = run(*args)
    assert done.returncode == 0, f'suf {args[0]}: {done.stderr.strip()}'
    return done.stdout


def rows(*args):
    return [json.loads(line) for line in suf(*args, '--json').splitlines()]


def write(name, lines):
    (F / name).write_text(''.join(line + '\n' for line in lines), encoding='utf8')
    return F / name


def model(preset, files=None, name=None):
    """Returns a random model with further files beside it."""
    folder = F / (name or preset)
    if not folder.exists():
        suf('model', 'random', '--preset', preset, '--seed', 3, '--out', folder)
        for path, content in (files or {}).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(json.dumps(content))
    return folder


def compiled(folder, texts, *flags, name=None):
    plan = F / ((name or folder.name) + '.json')
    if not plan.exists():
        suf('compile', '--model', folder, '--calibrate', write(plan.stem + '.calibrate', texts), *QUICK, *flags, '--out', plan)
    return plan


def reranker():
    folder = model('tiny-reranker')
    return folder, compiled(folder, ['\t'.join(pair) for pair in PAIRS] * 3)


def prepare(folder):
    global F
    F = folder
    suf('certs', F / 'certs')


def embed(plan, vocabulary, *args):
    """Runs a data owner whose texts cannot be used, so that it reaches no other role."""
    return run('embed', '--plan', plan, '--vocab', vocabulary / 'vocab.txt', '--certs', F / 'certs/data', '--dealer', '127.0.0.1:9', '--connect', '127.0.0.1:9',
               '--store', F / 'store', *args)


# ---- rerankers ------------------------------------------------------------------------------------------------------

def expected(folder, pairs):
    """Returns the scores by the float model. Ids are joined here: [CLS] a [SEP] b [SEP], where b is of type 1."""
    m, words = reference.load(folder), len((folder / 'vocab.txt').read_text().splitlines())
    texts = write('single.jsonl', [json.dumps({'text': text}) for pair in pairs for text in pair])
    ids = [r['ids'] for r in rows('tokenize', '--model', model('tiny'), '--json-file', texts)]  # it has the same vocabulary
    return [m.forward(a + [words + i for i in b[1:]])[0] for a, b in zip(ids[::2], ids[1::2])]


def test_pairs_in_both_kinds_of_files():
    folder, plan = reranker()
    tabs = write('pairs.txt', ['\t'.join(pair) for pair in PAIRS])
    lines = write('pairs.jsonl', [json.dumps({'id': i, 'text': a, 'second': b}) for i, (a, b) in enumerate(PAIRS)])
    by_tab = rows('demo', '--model', folder, '--plan', plan, '--file', tabs)
    by_json = rows('demo', '--model', folder, '--plan', plan, '--json-file', lines, '--batch', 2)
    assert [r['id'] for r in by_json] == [0, 1, 2, 3]
    for a, b, want in zip(by_tab, by_json, expected(folder, PAIRS)):
        assert a['sim_equal'] and b['sim_equal'] and a['y'] == b['y'] and len(a['scores']) == 1 and 'label' not in a
        assert abs(a['scores'][0] - want) < 0.02 and a['score_error'] < 0.02, (a['scores'], want)
    assert 'score' in suf('demo', '--model', folder, '--plan', plan, '--file', tabs)


def test_the_order_of_a_pair_counts():
    folder, plan = reranker()
    both = write('order.txt', ['the dog\twater', 'water\tthe dog', 'the dog water\ta', 'the dog\twater a'])
    y = [r['y'] for r in rows('simulate', '--model', folder, '--plan', plan, '--file', both)]
    assert len({tuple(v) for v in y}) == 4, y


def test_one_text_is_refused_by_a_reranker():
    folder, plan = reranker()
    refused(embed(plan, folder, 'the dog'), 2, 'compares two texts, and this is one; add the second one with --second', 200)
    refused(embed(plan, folder, '--json-file', write('one.jsonl', ['{"text": "the dog"}'])), 2, 'add the second one to the line, as "second"', 200)
    refused(embed(plan, folder, 'the dog', '--second', ' '), 2, 'the second text has no token besides', 200)


def test_a_pair_over_the_limit_has_both_counts():
    folder, plan = reranker()
    long = embed(plan, folder, 'the dog ' * 10, '--second', 'water ' * 9)
    refused(long, 2, r'the pair has 32 tokens, 20 of the first text and 9 of the second; the limit is 24', 200)
    assert '--truncate cuts it' in long.stderr
    cut = rows('simulate', '--model', folder, '--plan', plan, '--file', write('long.txt', ['the dog ' * 10 + '\t' + 'water ' * 9]), '--truncate')
    assert cut[0]['n'] == 24


def test_a_pair_is_refused_by_an_encoder():
    folder = model('tiny')
    plan = compiled(folder, CALIBRATE)
    refused(embed(plan, folder, 'the dog', '--second', 'water'), 2, 'the model reads one text, and these are two; leave out the second', 200)
    two = run('simulate', '--model', folder, '--plan', plan, '--file', write('tab.txt', ['the dog\twater', 'the dog water']), '--json')
    y = [json.loads(line)['y'] for line in two.stdout.splitlines()]
    assert y[0] == y[1] and 'line 1 has a tab, which counts as a space' in two.stderr, two.stderr


def test_ids_are_those_of_the_command_tokenize():
    folder, plan = reranker()
    texts = write('tokenized.txt', ['the dog\twater', 'a river\tis water, not a house'])
    ids = write('tokenized.ids', suf('tokenize', '--model', folder, '--file', texts).splitlines())
    the, dog, water = map((folder / 'vocab.txt').read_text().splitlines().index, ('the', 'dog', 'water'))
    assert ids.read_text().startswith(f'2 {the} {dog} 3 {water}:1 3:1\n')
    results = [[r['y'] for r in rows('simulate', '--model', folder, '--plan', plan, flag, file)] for flag, file in (('--file', texts), ('--ids', ids))]
    assert results[0] == results[1]
    refused(run('tokenize', '--model', folder, '--file', write('one.txt', ['the dog'])), 2, 'the model compares two texts, and this is one; add the second one behind a tab in the line', 200)
    refused(run('tokenize', '--model', folder, '--file', write('three.txt', ['1\tthe dog\twater'])), 2, 'the line has 2 tabs, and one separates the two texts', 200)


def test_ids_with_types():
    folder, plan = reranker()
    good = write('types.ids', ['2 100 3 101:1 3:1'])
    a, = rows('simulate', '--model', folder, '--plan', plan, '--ids', good)
    assert a['ids'] == [2, 100, 3, 101, 3] and a['types'] == [0, 0, 0, 1, 1]
    for line, says in (('2 100:2 3', 'word 2 of the line has no token type behind its colon; the model has the types 0 to 1'), ('2 128:1 3', 'has the id 128'),
                       ('2 5: 3', 'no token type'), ('2 :1 3', 'no token id')):
        refused(run('simulate', '--model', folder, '--plan', plan, '--ids', write('bad.ids', [line])), 2, says, 200)


# ---- classifiers ----------------------------------------------------------------------------------------------------

def test_labels():
    folder = model('tiny-roberta-labels')
    plan = compiled(folder, CALIBRATE + ['\t'.join(pair) for pair in PAIRS])
    texts = write('labels.txt', CALIBRATE[:3] + ['the dog\twater'])
    m = reference.load(folder)
    for r, s in zip(rows('demo', '--model', folder, '--plan', plan, '--file', texts, '--truncate'), rows('simulate', '--model', folder, '--plan', plan, '--file', texts, '--truncate')):
        want = m.forward(reference.combined(s, m))
        assert r['sim_equal'] and np.abs(want - r['scores']).max() < 0.02
        assert r['label'] == ['negative', 'neutral', 'positive'][int(np.argmax(r['scores']))]
    shown = suf('plan', 'show', plan)
    assert 'the logits of a classifier, for a text or a pair' in shown and 'labels: negative, neutral, positive' in shown


# ---- prompts --------------------------------------------------------------------------------------------------------

def prompted():
    prompts = {'prompts': {'query': 'what is ', 'passage': 'this is\t'}, 'default_prompt_name': 'query', 'similarity_fn_name': 'dot'}
    folder = model('tiny', {'config_sentence_transformers.json': prompts}, 'prompted')
    return folder, compiled(folder, CALIBRATE)


def test_prompts_stand_before_every_text():
    folder, plan = prompted()
    texts = write('texts.txt', ['the dog', 'water'])
    ids = lambda *flags: [r['ids'] for r in rows('simulate', '--model', folder, '--plan', plan, '--file', texts, *flags)]
    bare = [r['ids'] for r in rows('tokenize', '--model', folder, '--file', texts)]
    what = [r['ids'] for r in rows('tokenize', '--model', folder, '--file', write('query.txt', ['what is the dog', 'what is water']))]
    assert ids('--no-prompt') == bare and ids() == what and ids('--prompt', 'query') == what and ids('--prompt', 'passage') != what
    assert all(r['sim_equal'] for r in rows('demo', '--model', folder, '--plan', plan, '--file', texts, '--prompt', 'passage'))
    shown = suf('plan', 'show', plan)
    assert 'prompt query (the default): "what is "' in shown and 'prompt passage: "this is\\t"' in shown and 'compared by dot' in shown
    refused(embed(plan, folder, 'the dog', '--prompt', 'title'), 2, 'the model has no prompt "title"; choose one of passage, query', 200)


def test_a_long_prompt_leaves_no_room():
    folder = model('tiny', {'config_sentence_transformers.json': {'prompts': {'long': 'the dog ' * 20}}}, 'long-prompt')
    plan = compiled(folder, CALIBRATE)
    refused(embed(plan, folder, 'the dog', '--prompt', 'long'), 2, 'the prompt has 42 tokens, and a text may have 24 with it', 200)
    options = ['--ids', write('few.ids', ['2 5 3']), '--max-tokens', 24, '--out', F / 'refused.json']
    assert 'the prompt "long" has 42 tokens, and a text may have 24 with it; raise --max-tokens' in run('compile', '--model', folder, *options).stderr
    folder = model('tiny', {'config_sentence_transformers.json': {'prompts': {'long': 'the dog ' * 20}, 'default_prompt_name': 'long'}}, 'long-default')
    refused(run('compile', '--model', folder, *options), 2, 'raise --max-tokens, or remove default_prompt_name', 250)


def test_a_prompt_is_no_text():
    folder, plan = prompted()
    refused(run('simulate', '--model', folder, '--plan', plan, '--file', write('blank.txt', [' '])), 2, 'the text has no token besides', 250)
    refused(run('simulate', '--model', folder, '--plan', plan, '--file', write('long-text.txt', ['the dog ' * 12])), 2, 'the limit is 24; .*; the prompt counts', 250)
    refused(embed(plan, folder, '--ids', write('given.ids', ['2 5 3']), '--prompt', 'query'), 2, '--ids excludes --prompt', 250)
    folder = model('tiny-reranker', {'config_sentence_transformers.json': {'prompts': {'q': 'the '}, 'default_prompt_name': 'q'}}, 'prompted-reranker')
    refused(run('compile', '--model', folder, '--ids', write('given.ids', ['2 5 3']), '--out', F / 'refused.json'), 2, 'the texts of a classifier get no prompt', 300)


# ---- embeddings -----------------------------------------------------------------------------------------------------

def test_an_embedding_without_a_norm():
    kind = lambda name: {'type': 'sentence_transformers.models.' + name}
    listed = [{'idx': i, 'name': str(i), 'path': path, **kind(name)} for i, (path, name) in enumerate((('', 'Transformer'), ('1_Pooling', 'Pooling')))]
    for mode in ('mean', 'cls'):
        folder = model('tiny', {'modules.json': listed, '1_Pooling/config.json': {'pooling_mode': mode}}, 'plain-' + mode)
        plan = compiled(folder, CALIBRATE)
        unit = model('tiny', {'1_Pooling/config.json': {'pooling_mode': mode}}, 'unit-' + mode)
        m = reference.load(unit)
        for r in rows('demo', '--model', folder, '--plan', plan, '--file', write('few.txt', CALIBRATE[:3]), '--truncate'):
            e = np.array(r['embedding'])
            assert r['sim_equal'] and r['cos'] > 0.999 and not 0.99 < np.linalg.norm(e) < 1.01
        texts = rows('simulate', '--model', folder, '--plan', plan, '--file', F / 'few.txt', '--truncate')
        want = m.forward(texts[-1]['ids'])
        assert want @ e / np.linalg.norm(e) > 0.999
        gamma = np.abs(e).max()  # of the order of the rows, whatever the number of tokens
        assert gamma < 5, gamma
        assert 'an embedding that is not normalised' in suf('plan', 'show', plan)


def test_a_public_table_gives_the_same_words_for_fewer_bytes():
    for preset, texts in (('tiny', CALIBRATE), ('tiny-reranker', ['\t'.join(pair) for pair in PAIRS] * 3)):
        folder = model(preset)
        private = compiled(folder, texts)
        public = compiled(folder, texts, '--public-table', name=preset + '-public')
        file = write('public.txt', texts[:4])
        a, b = (rows('demo', '--model', folder, '--plan', p, '--file', file, '--truncate') for p in (private, public))
        for x, y in zip(a, b):
            assert x['sim_equal'] and y['sim_equal'] and x['y'] == y['y'] and y['flights'] < x['flights']
            assert y['bytes']['p1'] + y['bytes']['p1_offline'] < x['bytes']['p1'] + x['bytes']['p1_offline']
        assert 'the table of embeddings is public' in suf('plan', 'show', public)
        table = F / (preset + '-public.table.safetensors')
        refused(embed(public, folder, 'the dog', '--table', F / 'none'), 2, 'none', 250)
        other = write('other.table', [])
        data = bytearray(table.read_bytes())
        data[-1] ^= 1
        other.write_bytes(data)
        refused(embed(public, folder, 'the dog', '--table', other), 4, 'has another table than the plan; take the file written beside this plan', 250)
        refused(embed(private, folder, 'the dog', '--table', table), 2, "the plan's is private; leave out the option", 250)


BAD = []

if __name__ == '__main__':
    main(globals(), prepare)
