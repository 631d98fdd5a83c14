#!/usr/bin/env python3
"""Checks suf index, and searches by suf simulate: hits, costs, and for bad input one sentence and nothing changed.

  index_test.py SUF [PATTERN]     from anywhere; under half a minute. PATTERN picks cases
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys

import cases

SUF = ''
WORK = pathlib.Path()
COUNT = 60


def suf(*words):
    return subprocess.run([SUF, *(str(w).format(w=WORK) for w in words)], capture_output=True, text=True, timeout=300)


def good(*words):
    done = suf(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(name, rows):
    """Writes a file of documents; returns its path."""
    path = WORK / name
    path.write_text(''.join((r if isinstance(r, str) else json.dumps(r)) + '\n' for r in rows))
    return path


def texts(count, seed=1):
    draw = random.Random(seed)
    letters = [line for line in (WORK / 'model/vocab.txt').read_text().split() if line.isalpha()]
    return [' '.join(draw.choices(letters, k=5)) for _ in range(count)]


def create(name, *flags, docs='docs.jsonl'):
    shutil.rmtree(WORK / name, ignore_errors=True)
    good('index', 'create', '--model', '{w}/model', '--plan', '{w}/plan.json', '--docs', WORK / docs, '--out', WORK / name, *flags)
    return WORK / name


def shown(index):
    return json.loads(good('index', 'show', index, '--json'))


def hits(index, file='docs.jsonl'):
    """Returns the hits of each text of a file, by the specification."""
    out = good('simulate', '--model', '{w}/model', '--plan', '{w}/plan.json', '--index', index, '--json-file', WORK / file, '--json')
    return [json.loads(line)['hits'] for line in out.splitlines()]


def append(index, *rows):
    return suf('index', 'append', index, '--model', '{w}/model', '--plan', '{w}/plan.json', '--docs', documents('more.jsonl', rows))


def prepare(folder):
    global WORK
    WORK = folder
    good('model', 'random', '--preset', 'tiny', '--seed', '1', '--out', '{w}/model')
    good('model', 'random', '--preset', 'tiny', '--seed', '2', '--out', '{w}/weights')
    (WORK / 'calibrate.txt').write_text('\n'.join(texts(40, 2)) + '\n')
    for plan, most in (('plan.json', '16'), ('other.json', '12')):
        good('compile', '--model', '{w}/model', '--calibrate', '{w}/calibrate.txt', '--max-tokens', most, '--profile', 'lan', '--out', WORK / plan)
    documents('docs.jsonl', [{'id': f'd{i}', 'text': t} for i, t in enumerate(texts(COUNT))])
    documents('few.jsonl', [{'id': 'a', 'text': 'a b'}])
    documents('empty.jsonl', [])
    documents('twice.jsonl', [{'id': 'x', 'text': f'a b {c}'} for c in 'abcdefghijkl'])
    for name, row in (('blank', {'id': 'b', 'text': ''}), ('long', {'id': 'b', 'text': 'a ' * 40}), ('heavy', {'id': 'b', 'text': ' ' * 2001 + 'a'}),
                      ('none', {'text': 'a'}), ('json', '{"id": 1'), ('huge', {'id': 'i' * 1025, 'text': 'a'})):
        documents(name + '.jsonl', [{'id': f'd{i}', 'text': t} for i, t in enumerate(texts(11))] + [row])
    (WORK / 'latin.jsonl').write_bytes(b'{"id": "a", "text": "\xe9"}\n' * 12)
    create('idx')


CREATE = 'index create --model {w}/model --plan {w}/plan.json --out {w}/new --docs {w}/'
APPEND = 'index append {w}/idx --model {w}/model --plan {w}/plan.json --docs {w}/'

# columns: case, exit code, sentence, command
BAD = [
    ('no documents', 2, 'empty.jsonl holds no text', CREATE + 'empty.jsonl'),
    ('fewer documents than hits', 2, 'the index gets 1 document, and a search gives 10 hits', CREATE + 'few.jsonl'),
    ('an empty document', 2, 'line 12: ', CREATE + 'blank.jsonl'),
    ('a floor that is no number', 2, 'nan is no number', CREATE + 'docs.jsonl --floor nan'),
    ('a recall that is no number', 2, 'nan is no number', CREATE + 'docs.jsonl --recall nan'),
    ('a document named twice', 2, '"d1" is named twice; nothing was deleted', 'index delete {w}/idx d1 d1'),
    ('other weights', 4, 'the index was made with other weights', 'index append {w}/idx --model {w}/weights --plan {w}/plan.json --docs {w}/few.jsonl'),
    ('a document over the limit of the plan', 2, 'line 12: .*16.*; split it into several', CREATE + 'long.jsonl'),
    ('a document over 2 kB', 2, 'line 12: the document has 2002 bytes, the limit is 2000', CREATE + 'heavy.jsonl'),
    ('a document without an id', 2, 'line 12: the document has no "id"', CREATE + 'none.jsonl'),
    ('an id that is too long', 2, 'line 12: the "id" has 1025 bytes, the limits are 1 and 1024', CREATE + 'huge.jsonl'),
    ('a line that is no JSON', 2, 'line 12: .*JSON', CREATE + 'json.jsonl'),
    ('a document that is not UTF-8', 2, 'line 1: the line is not JSON', CREATE + 'latin.jsonl'),
    ('an id twice', 2, 'line 2: the id "x" is that of line 1', CREATE + 'twice.jsonl'),
    ('no hits', 2, '--k', CREATE + 'docs.jsonl --k 0'),
    ('more hits than have an order', 2, '--k is 17, and at most 16 hits have an order', CREATE + 'docs.jsonl --k 17'),
    ('a recall out of range', 2, '--recall', CREATE + 'docs.jsonl --recall 1.5'),
    ('a floor out of range', 2, '--floor', CREATE + 'docs.jsonl --floor 2'),
    ('a capacity out of range', 2, '--capacity', CREATE + 'docs.jsonl --capacity 20000000'),
    ('a capacity below the documents', 2, '--capacity is 50, and there are 60 documents', CREATE + 'docs.jsonl --capacity 50'),
    ('a folder that is not empty', 2, 'is not empty', 'index create --model {w}/model --plan {w}/plan.json --out {w}/model --docs {w}/docs.jsonl'),
    ('an unknown prompt', 2, 'prompt', CREATE + 'docs.jsonl --prompt query'),
    ('another plan', 4, 'the index is of the plan', 'index append {w}/idx --model {w}/model --plan {w}/other.json --docs {w}/few.jsonl'),
    ('an id that is there', 2, '"d0" is in the index already', APPEND + 'docs.jsonl'),
    ('an unknown document', 2, 'no document "x"; nothing was deleted', 'index delete {w}/idx d1 x'),
    ('another capacity without a plan', 2, '--plan', 'index compact {w}/idx --capacity 400'),
    ('a folder without an index', 2, 'has no file', 'index show {w}/model'),
    ('another kind of file', 4, 'the index plan has [0-9]+ bytes, the limit is 65536; name the file index.json', 'estimate --plan {w}/plan.json --tokens 8 --index-plan {w}/plan.json'),
    ('an index of another plan', 4, 'the index is of the plan', 'estimate --plan {w}/other.json --tokens 8 --index-plan {w}/idx/index.json'),
]


def bad_input(what, code, sentence, command):
    before = {p.name: p.read_bytes() for p in (WORK / 'idx').iterdir()}
    shutil.rmtree(WORK / 'new', ignore_errors=True)
    cases.refused(suf(*command.split()), code, sentence, 400)
    assert {p.name: p.read_bytes() for p in (WORK / 'idx').iterdir()} == before, 'the index has changed'
    assert not (WORK / 'new').exists(), 'a folder is left over'


def test_a_document_finds_itself():
    exact = hits(create('exact', '--recall', '1'))
    assert [h[0]['document'] for h in exact] == [f'd{i}' for i in range(COUNT)]
    assert all([hit['rank'] for hit in h] == list(range(10)) and all(hit['document'] == f'd{hit["row"]}' for hit in h) for h in exact)
    scored = hits(create('scored', '--recall', '1', '--told', 'scores'))
    for by_rank, by_score in zip(exact, scored):
        scores = [hit['score'] for hit in by_score]
        assert scores == sorted(scores, reverse=True) and 0.98 < scores[0] < 1.02, scores
        assert {hit['row'] for hit in by_rank} == {hit['row'] for hit in by_score}
    told = hits(create('ids', '--recall', '1', '--told', 'ids'))
    assert all({h['row'] for h in a} == {h['row'] for h in b} and set(b[0]) == {'row', 'document'} for a, b in zip(exact, told))


def test_a_floor_tells_fewer():
    every = hits(create('scored', '--recall', '1', '--told', 'scores'))
    floor = sorted(found[5]['score'] for found in every)[COUNT // 2]
    some = hits(create('floor', '--recall', '1', '--told', 'scores', '--floor', floor))
    for a, b in zip(every, some):
        assert [h for h in a if h['score'] > floor + 1e-4] == [h for h in b if h['score'] > floor + 1e-4]
        assert all(h['score'] > floor - 1e-4 for h in b)
    assert any(len(b) < 10 for b in some) and all(some)


def test_changes_show_in_the_next_search():
    index = create('changing', '--recall', '1')
    assert append(index, {'id': 7, 'text': texts(1, 9)[0]}).returncode == 0
    documents('new.jsonl', [{'text': texts(1, 9)[0]}])
    assert hits(index, 'new.jsonl')[0][0] == {'row': COUNT, 'rank': 0, 'document': '7'}
    good('index', 'delete', index, '7', 'd3')
    assert shown(index)['deleted'] == [3, COUNT] and shown(index)['documents'] == COUNT - 1
    for found in hits(index, 'new.jsonl') + hits(index):
        assert not {3, COUNT} & {h['row'] for h in found}
    before = [[h['document'] for h in found] for found in hits(index)]
    good('index', 'compact', index)
    assert shown(index)['segments'] == 1 and shown(index)['rows'] == COUNT - 1
    assert [[h['document'] for h in found] for found in hits(index)] == before, 'compact changes numbers alone'


def test_the_capacity_grows():
    index = create('growing')
    was = shown(index)
    assert was['capacity'] >= 256
    many = [{'id': f'm{i}', 'text': t} for i, t in enumerate(texts(was['capacity'] - COUNT + 1, 3))]
    cases.refused(append(index, *many), 2, 'documents do not fit: the index has room for', 300)
    assert shown(index) == was
    good('index', 'compact', index, '--capacity', '600', '--plan', '{w}/plan.json')
    assert append(index, *many).returncode == 0
    now = shown(index)
    assert now['rows'] == was['capacity'] + 1 and now['capacity'] >= 600 and now['index'] != was['index']
    public = json.loads((index / 'index.json').read_text())
    assert public['hash'] == now['index']


def test_estimate_counts_the_search():
    cost = lambda *flags: json.loads(good('estimate', '--plan', '{w}/plan.json', '--tokens', '8', '--json', *flags))  # noqa: E731
    alone, search = cost(), cost('--index-plan', create('costs') / 'index.json')
    assert search['flights'] > alone['flights'] and search['payload']['setup'] > alone['payload']['setup']
    assert search['certificates'] == alone['certificates']


def test_a_copy_is_accepted_by_hand():
    index, copy = create('first'), WORK / 'copy'
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(index, copy)
    cases.refused(suf('index', 'show', copy), 4, 'was copied or put back', 300)
    good('index', 'accept', copy)
    assert shown(copy) == shown(index)


if __name__ == '__main__':
    SUF = str(pathlib.Path(sys.argv[1]).resolve())
    cases.main(globals(), prepare)
