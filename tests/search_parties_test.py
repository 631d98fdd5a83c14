#!/usr/bin/env python3
"""Searches an index between three processes, suf deal, suf serve and suf search, over TLS. The hits equal those of suf
simulate, across appends, deletions, compactions and rows by owner. Bad input gets one sentence.

  search_parties_test.py SUF [PATTERN]     from anywhere; under a minute. PATTERN picks cases
"""
import itertools
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import cases
from roles import AMPLE, PATIENT, Role

SUF = ''
WORK = pathlib.Path()
COUNT, WORDS = 40, 5
TOKENS = WORDS + 2  # with [CLS] and [SEP]
NAMES = itertools.count()


def suf(*words):
    return subprocess.run([SUF, *map(str, words)], capture_output=True, text=True, timeout=5 * AMPLE)


def good(*words):
    done = suf(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def texts(count, seed):
    draw = random.Random(seed)
    letters = [line for line in (WORK / 'model/vocab.txt').read_text().split() if line.isalpha()]
    return [' '.join(draw.choices(letters, k=WORDS)) for _ in range(count)]


def written(name, rows):
    """Writes rows of JSON; returns the file."""
    path = WORK / name
    path.write_text(''.join(json.dumps(r) + '\n' for r in rows))
    return path


def create(*flags, docs='docs.jsonl', plan='plan.json'):
    """Makes an index; returns its folder."""
    folder = WORK / f'index{next(NAMES)}'
    good('index', 'create', '--model', WORK / 'model', '--plan', WORK / plan, '--docs', WORK / docs, '--out', folder, '--k', '3', '--recall', '1', *flags)
    return folder


def append(index, rows):
    good('index', 'append', index, '--model', WORK / 'model', '--plan', WORK / 'plan.json', '--docs', written('more.jsonl', rows))


def simulated(index, file='queries.jsonl'):
    """Returns the hits of each text by the specification, as `suf search` prints them."""
    out = good('simulate', '--model', WORK / 'model', '--plan', WORK / 'plan.json', '--index', index, '--json-file', WORK / file, '--json')
    return [[{k: v for k, v in hit.items() if k != 'document'} for hit in json.loads(line)['hits']] for line in out.splitlines()]


class Parties:
    """A dealer and a model owner that serve indexes. `search` runs a data owner with its own store."""

    def __init__(self, *indexes, plans=None, deal=(), serve=()):
        self.where, self.indexes = WORK / f'parties{next(NAMES)}', indexes
        self.where.mkdir()
        self.dealer = Role([SUF, 'deal', *self.common('dealer'), '--listen', '127.0.0.1:0', '--state', self.where / 'state', *deal,
                            *(w for i in (indexes if plans is None else plans) for w in ('--index-plan', i / 'index.json'))])
        self.address = f'127.0.0.1:{self.dealer.port()}'
        self.flags, self.server = serve, None
        self.serve()

    def common(self, role, plan='plan.json'):
        return ['--plan', WORK / plan, '--certs', WORK / 'certs' / role, '--timeout', PATIENT]

    def serve(self):
        self.server = Role([SUF, 'serve', *self.common('model'), '--model', WORK / 'model', '--dealer', self.address, '--listen', '127.0.0.1:0',
                            '--store', self.where / 'p0', *(w for i in self.indexes for w in ('--index', i)), *self.flags])
        self.connect = f'127.0.0.1:{self.server.port()}'

    def party(self, command, *words, role='data', store='p1', plan='plan.json'):
        return suf(command, *self.common(role, plan), '--vocab', WORK / 'model/vocab.txt', '--dealer', self.address, '--connect', self.connect,
                   '--store', self.where / store, *words)

    def tried(self, *words, index=None, file='queries.jsonl', **more):
        return self.party('search', '--index-plan', (index or self.indexes[0]) / 'index.json', '--json-file', WORK / file, *words, **more)

    def search(self, *words, **more):
        """Returns the rows that `suf search` prints."""
        done = self.tried(*words, **more)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def hits(self, *words, **more):
        return [row['hits'] for row in self.search(*words, **more)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for role in (self.server, self.dealer):
            role.end()


def prepare(folder):
    global WORK
    WORK = folder
    good('model', 'random', '--preset', 'tiny', '--seed', '1', '--out', WORK / 'model')
    good('model', 'random', '--preset', 'tiny', '--seed', '2', '--out', WORK / 'other')
    (WORK / 'calibrate.txt').write_text('\n'.join(texts(40, 2)) + '\n')
    for plan, most in (('plan.json', '16'), ('other.json', '12')):
        good('compile', '--model', WORK / 'model', '--calibrate', WORK / 'calibrate.txt', '--max-tokens', most, '--profile', 'lan', '--out', WORK / plan)
    written('docs.jsonl', [{'id': f'd{i}', 'text': t} for i, t in enumerate(texts(COUNT, 1))])
    written('queries.jsonl', [{'id': i, 'text': t} for i, t in enumerate(texts(3, 7))])
    written('one.jsonl', [{'id': 0, 'text': texts(1, 7)[0]}])
    good('certs', WORK / 'certs')
    good('certs', WORK / 'named', '--data', 'alice', '--data', 'bob')


# ---- bad input: (case, exit code, sentence, command); {i} is an index, {p} what a data owner needs

NOWHERE = '--certs {w}/certs/data --dealer 127.0.0.1:1 --connect 127.0.0.1:1 --store {w}/nowhere --vocab {w}/model/vocab.txt --json-file {w}/queries.jsonl '
BAD = [
    ('a search without an index plan', 2, '--index-plan is required', 'search --plan {w}/plan.json ' + NOWHERE),
    ('an index plan of another plan', 4, 'the index is of the plan', 'search --plan {w}/other.json --index-plan {i}/index.json ' + NOWHERE),
    ('no index plan', 2, 'name the file index.json of an index', 'search --plan {w}/plan.json --index-plan {w}/none.json ' + NOWHERE),
    ('another file', 4, 'name the file index.json of an index', 'search --plan {w}/plan.json --index-plan {w}/plan.json ' + NOWHERE),
    ('a dealer with an index of another plan', 4, 'the index is of the plan', 'deal --plan {w}/other.json --index-plan {i}/index.json --certs {w}/certs/dealer --listen 127.0.0.1:0'),
    ('an index twice', 2, 'is there twice; name it once', 'deal --plan {w}/plan.json --index-plan {i}/index.json --index-plan {i}/index.json --certs {w}/certs/dealer --listen 127.0.0.1:0'),
    ('a folder without an index', 2, 'has no file', 'serve --plan {w}/plan.json --model {w}/model --index {w}/model --certs {w}/certs/model --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/nowhere'),
    ('an index of another plan', 4, 'the index is of the plan', 'serve --plan {w}/other.json --model {w}/model --index {i} --certs {w}/certs/model --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/nowhere'),
    ('rows without owners', 2, '--owners', 'serve --plan {w}/plan.json --model {w}/model --index {i} --rows {w}/rows.toml --certs {w}/certs/model --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/nowhere'),
    ('other weights', 4, 'the index was made with other weights', 'serve --plan {w}/plan.json --model {w}/other --index {i} --certs {w}/certs/model --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/nowhere'),
    ('a fetch without a table', 2, 'the index has no documents that can be fetched', 'search --fetch --plan {w}/plan.json --index-plan {n}/index.json ' + NOWHERE),
]
MADE = {}


def bad_input(what, code, sentence, command):
    if not MADE:
        MADE.update(i=create(), n=create('--fetch', 'none'))
    cases.refused(suf(*command.format(w=WORK, **MADE).split()), code, sentence, 400)


def test_three_processes_find_what_the_simulator_finds():
    for told in ('order', 'ids', 'scores'):
        index = create('--told', told)
        with Parties(index) as parties:
            rows = parties.search('--parallel', '3')
            assert [row['id'] for row in rows] == [0, 1, 2]
            assert [row['hits'] for row in rows] == simulated(index), told
            facts = parties.search('--json', '--one-by-one')
            assert [row['hits'] for row in facts] == simulated(index) and all(row['schema'] == 'suf.search/1' for row in facts)
            estimate = json.loads(good('estimate', '--plan', WORK / 'plan.json', '--index-plan', index / 'index.json', '--tokens', TOKENS, '--json'))
            for row in facts:
                assert row['flights'] == estimate['flights'] and row['key_bytes'] == estimate['key_bytes'], (row, estimate)
                assert not row['bytes']['setup'], 'W - B is in the store'


def test_a_fetch_brings_the_documents():
    index = create()
    documents = [json.loads(line)['text'] for line in (WORK / 'docs.jsonl').read_text().splitlines()]
    with Parties(index) as parties:
        rows = parties.search('--fetch')
        for found, due in zip((row['hits'] for row in rows), simulated(index)):
            assert found == [{**hit, 'document': documents[hit['row']]} for hit in due]
        parties.server.said('fetch of 3 documents from index 1', 1)
        kinds = [line for line in parties.server.err if 'serial' in line]
        assert sum('fetch of 3 documents' in line for line in kinds) == 3 and sum('search in index 1' in line for line in kinds) == 3
        stored = {p.name for p in (parties.where / 'p1').glob('index-*')}
        assert len(stored) == 2, 'rows and table of one segment'
        assert parties.search('--fetch') == rows and {p.name for p in (parties.where / 'p1').glob('index-*')} == stored


def test_fetched_keys_open_the_public_documents():
    index = create('--fetch', 'keys')
    documents = [json.loads(line)['text'] for line in (WORK / 'docs.jsonl').read_text().splitlines()] + texts(1, 7)
    public = WORK / 'documents.sealed'
    shutil.copy(index / 'documents.sealed', public)
    assert not any(text.encode() in public.read_bytes() for text in documents), 'they are sealed'
    with Parties(index) as parties:
        fetch = ('--fetch', '--documents', public)
        due = simulated(index)
        assert parties.hits(*fetch) == [[{**hit, 'document': documents[hit['row']]} for hit in hits] for hits in due]
        tables = [p.stat().st_size for p in (parties.where / 'p1').glob('index-*')]
        assert len(tables) == 2 and min(tables) < COUNT * 16 + 200, tables
        cases.refused(parties.tried('--fetch'), 2, 'keys of documents, which open its file documents.sealed', 300)
        append(index, [{'id': 'new', 'text': documents[-1]}])
        cases.refused(parties.tried(*fetch), 2, 'is of another list of the index than the model owner serves; get the newest file', 300)
        shutil.copy(index / 'documents.sealed', public)
        assert parties.hits(*fetch)[0][0]['document'] == documents[-1]
        good('index', 'delete', index, 'd0')
        good('index', 'compact', index)
        lines = len(parties.server.err)
        cases.refused(parties.tried(*fetch), 2, 'is of another list of the index than the model owner serves', 300)
        assert not any('serial' in line for line in parties.server.err[lines:]), 'nothing is spent'
        shutil.copy(index / 'documents.sealed', public)
        assert parties.hits(*fetch)[0][0]['document'] == documents[-1]
        public.write_bytes(public.read_bytes()[:-1])
        cases.refused(parties.tried(*fetch), 2, 'is no file of sealed documents, or is cut short', 300)


def test_hits_below_the_floor_are_fetched_alike():
    index = create('--floor', '1')  # no document is that close
    with Parties(index) as parties:
        found = parties.search('--fetch', '--json')
        assert any(not row['hits'] for row in found) and [row['hits'] for row in found] == [[{**h, 'document': d['document']} for h, d in zip(due, row['hits'])] for due, row in zip(simulated(index), found)]
        bytes_of = {json.dumps(row['bytes']) for row in found[1:]}
        assert len(bytes_of) == 1, 'the bytes depend on the hits'


def test_an_append_shows_in_the_next_session():
    index = create()
    with Parties(index) as parties:
        before = parties.hits()
        assert before == simulated(index)
        segments = {p.name for p in (parties.where / 'p1').glob('index-*')}
        append(index, [{'id': 'new', 'text': texts(1, 7)[0]}])
        after = parties.hits()
        assert after == simulated(index) and after[0][0] == {'row': COUNT, 'rank': 0} and after != before
        assert segments < {p.name for p in (parties.where / 'p1').glob('index-*')}, 'only the new segment was fetched'


def test_stored_bundles_see_their_own_list():
    index = create()
    with Parties(index, deal=('--tokens', TOKENS, '--count', '4'), serve=('--ahead', '4')) as parties:
        ahead = ('--ahead', '4')
        old = simulated(index, 'one.jsonl')
        assert parties.hits(*ahead, file='one.jsonl') == old
        append(index, [{'id': 'new', 'text': texts(1, 7)[0]}])
        new = simulated(index, 'one.jsonl')
        assert new != old
        found = [parties.hits(*ahead, file='one.jsonl') for _ in range(4)]
        assert found == [old, old, old, new], 'three stored bundles, then a fresh one'
        good('index', 'delete', index, f'd{old[0][0]["row"]}')
        gone = parties.hits(*ahead, file='one.jsonl')  # by a bundle of before the deletion
        assert gone == simulated(index, 'one.jsonl') and old[0][0]['row'] not in [hit['row'] for hit in gone[0]]


def test_a_compaction_wipes_bundles_and_parts():
    index = create()
    with Parties(index, deal=('--tokens', TOKENS, '--count', '4'), serve=('--ahead', '4')) as parties:
        ahead = ('--ahead', '4')
        assert parties.hits(*ahead, file='one.jsonl') == simulated(index, 'one.jsonl')
        append(index, [{'id': 'new', 'text': texts(1, 7)[0]}])
        good('index', 'delete', index, 'd0', 'd1')
        good('index', 'compact', index)
        parts = {p.name for p in (parties.where / 'p1').glob('index-*')}
        assert parties.hits(*ahead, file='one.jsonl') == simulated(index, 'one.jsonl')
        assert not parts & {p.name for p in (parties.where / 'p1').glob('index-*')}, 'parts of the older list are gone'
        bundles = list((parties.where / 'p1').rglob('*.bundle'))
        assert len(bundles) == 3, f'bundles of the older list are gone: {bundles}'
        assert len(list((parties.where / 'p0').rglob('*.bundle'))) == 3


def test_a_compaction_to_another_plan_stops_searches():
    index, kept = create(), WORK / 'kept'
    with Parties(index) as parties:
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        shutil.copy(index / 'index.json', kept)
        good('index', 'compact', index, '--capacity', '300', '--plan', WORK / 'plan.json')
        cases.refused(parties.tried(index=kept), 3, 'ended the session for a reason of its own', 300)
        assert parties.server.said('the index has another plan since it was compacted; start the service again')
        cases.refused(parties.tried(), 4, 'has other indexes than we name', 300)


def test_embedding_goes_on_beside_an_index():
    index = create()
    with Parties(index) as parties:
        done = parties.party('embed', '--json-file', WORK / 'queries.jsonl', '--json')
        assert done.returncode == 0, done.stderr
        due = [json.loads(line)['y'] for line in good('simulate', '--model', WORK / 'model', '--plan', WORK / 'plan.json', '--json-file', WORK / 'queries.jsonl', '--json').splitlines()]
        assert [json.loads(line)['y'] for line in done.stdout.splitlines()] == due
        assert not list((parties.where / 'p1').glob('index-*')), 'it receives nothing of the index'
        assert parties.hits() == simulated(index)


def test_two_indexes_in_one_service():
    written('others.jsonl', [{'id': i, 'text': t} for i, t in enumerate(texts(COUNT, 4))])
    first, second = create(), create('--told', 'scores', docs='others.jsonl')
    with Parties(first, second) as parties:
        assert parties.hits(index=second) == simulated(second)
        assert parties.hits() == simulated(first)
        pulled = parties.where / 'pulled'
        good('pull', '--connect', parties.connect, '--certs', WORK / 'certs/data', '--out', pulled, '--expect', json.loads((WORK / 'plan.json').read_text())['hash'])
        for name, index in (('index.json', first), ('index-2.json', second)):
            assert json.loads((pulled / name).read_text()) == json.loads((index / 'index.json').read_text())


def test_lists_of_index_plans_must_fit():
    first, second = create(), create('--told', 'ids')
    with Parties(first) as parties:
        cases.refused(parties.tried(index=second), 4, 'the model owner has other indexes than we name; get its newest index plans', 300)
    with Parties(first, plans=()) as parties:
        cases.refused(parties.tried(), 4, 'the dealer has other indexes than we name', 300)
    with Parties(first, second, plans=(second, first)) as parties:
        cases.refused(parties.tried(), 4, 'the dealer has other indexes than we name', 300)


def test_altered_parts_are_fetched_again():
    index = create()
    with Parties(index) as parties:
        due = parties.hits()
        part, = (parties.where / 'p1').glob('index-*')
        for damage in (lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b[:-8], lambda b: b''):
            part.write_bytes(damage(part.read_bytes()))
            done = parties.tried()
            assert done.returncode == 0 and 'were altered; they are fetched again' in done.stderr, done.stderr
            assert [json.loads(line)['hits'] for line in done.stdout.splitlines()] == due
        part.unlink()
        assert parties.hits() == due


def test_a_folder_that_was_put_back_is_refused():
    index, copy = create(), WORK / 'put back'
    with Parties(index) as parties:
        assert parties.hits()
        shutil.copytree(index, copy)
        good('index', 'delete', index, 'd0')
        assert parties.hits() == simulated(index)
        shutil.rmtree(index)
        copy.rename(index)
        cases.refused(parties.tried(), 3, 'ended the session', 300)
        assert parties.server.said('was copied or put back, so deleted documents may be there again')
        good('index', 'accept', index)
        good('index', 'delete', index, 'd0')
        assert parties.hits() == simulated(index)


def test_an_altered_segment_ends_the_start():
    index = create()
    segment, = index.glob('*.segment')
    segment.write_bytes(segment.read_bytes()[:-1])
    done = suf('serve', '--plan', WORK / 'plan.json', '--model', WORK / 'model', '--index', index, '--certs', WORK / 'certs/model', '--dealer', '127.0.0.1:1', '--listen', '127.0.0.1:0', '--store', WORK / 'nowhere')
    cases.refused(done, 4, 'was altered or cut short', 400)


def owned(text, rows=None):
    """Writes an owners' file for alice and bob, whose tables get `text`, and the rules of rows; returns serve's flags."""
    keys = {line.split()[1]: line.split()[0] for line in good('certs', '--show', WORK / 'named').splitlines() if len(line.split()) > 1}
    owners, rules = WORK / 'owners.toml', WORK / 'rows.toml'
    owners.write_text(''.join(f'[[owner]]\nname = "{n}"\nkeys = ["{keys[f"data-{n}"]}"]\n{text}\n' for n in ('alice', 'bob')))
    for file in (owners, rules):
        file.touch(0o600)
    rules.write_text(rows or '')
    return ['--owners', owners, *(['--rows', rules] if rows else [])]


class Named(Parties):
    """Parties with two data owners, alice and bob."""

    def common(self, role, plan='plan.json'):
        return ['--plan', WORK / plan, '--certs', WORK / 'named' / role, '--timeout', PATIENT]

    def of(self, name, *words, **more):
        return self.hits(*words, role=f'data-{name}', store=f'p1-{name}', **more)


def rows_of(found):
    return [{hit['row'] for hit in hits} for hits in found]


def test_owners_find_their_rows():
    index = create()
    rules = '[[owner]]\nname = "alice"\nrows = ["0-19"]\n[[owner]]\nname = "bob"\ndocuments = ["d30", "d31"]\n'
    with Named(index, serve=owned('', rules)) as parties:
        alice, bob = parties.of('alice'), parties.of('bob')
        assert all(rows and rows <= set(range(20)) for rows in rows_of(alice)), alice
        assert rows_of(bob) == [{30, 31}] * 3, bob
        assert parties.of('alice', '--json') and parties.server.process.poll() is None
        owned('', '[[owner]]\nname = "alice"\nall = true\n')
        lines = len(parties.server.err)
        parties.server.signal(signal.SIGHUP)
        assert parties.server.said('may use this service', since=lines)
        assert parties.of('alice') == simulated(index)
        assert rows_of(parties.of('bob')) == [set()] * 3, 'an owner without a rule finds nothing'
        (WORK / 'rows.toml').write_text('[[owner]]\nname = "carol"\nall = true\n')
        lines = len(parties.server.err)
        parties.server.signal(signal.SIGHUP)
        assert parties.server.said('the rows of data owners stay as they were: .*carol', since=lines)
        assert parties.of('alice') == simulated(index)


def test_rows_by_number_end_at_a_compaction():
    index = create()
    rules = '[[owner]]\nname = "alice"\nrows = ["0-19"]\n[[owner]]\nname = "bob"\nall = true\n'
    with Named(index, serve=owned('', rules)) as parties:
        assert rows_of(parties.of('alice')) != [set()] * 3
        good('index', 'delete', index, 'd0')
        good('index', 'compact', index)
        assert rows_of(parties.of('alice')) == [set()] * 3, 'the numbers may name other documents'
        assert parties.server.said('was compacted, and .* names rows by number')
        assert parties.of('bob') == simulated(index)
        lines = len(parties.server.err)
        parties.server.signal(signal.SIGHUP)
        assert parties.server.said('may use this service', since=lines)
        assert all(rows and rows <= set(range(20)) for rows in rows_of(parties.of('alice')))


def test_documents_by_id_survive_a_compaction():
    index = create()
    with Named(index, serve=owned('', '[[owner]]\nname = "alice"\ndocuments = ["d30", "d31"]\n')) as parties:
        assert rows_of(parties.of('alice')) == [{30, 31}] * 3
        good('index', 'delete', index, 'd0')
        good('index', 'compact', index)
        assert rows_of(parties.of('alice')) == [{29, 30}] * 3


def test_faulty_rules_end_the_start():
    index = create()
    for rules, sentence in (('[[owner]]\nname = "carol"\nall = true\n', 'carol'), ('[[owner]]\nname = "alice"\nrows = ["0-40"]\n', '40'),
                            ('[[owner]]\nname = "alice"\ndocuments = ["x"]\n', 'x'), ('[[owner]]\nname = "alice"\nindex = 2\nall = true\n', '2')):
        flags = owned('', rules)
        done = suf('serve', '--plan', WORK / 'plan.json', '--model', WORK / 'model', '--index', index, '--certs', WORK / 'named/model', '--dealer', '127.0.0.1:1',
                   '--listen', '127.0.0.1:0', '--store', WORK / 'nowhere', *flags)
        cases.refused(done, 2, f'rows.toml.*{sentence}', 400)


def test_searches_a_day_are_limited():
    index = create()
    with Named(index, serve=owned('searches = 4')) as parties:
        assert parties.of('alice', '--fetch', '--one-by-one') and parties.of('bob')
        assert parties.of('alice', '--fetch', file='one.jsonl'), 'the fourth one, and fetches are free'
        done = parties.tried(role='data-alice', store='p1-alice')
        cases.refused(done, 4, 'allows us no more texts, tokens or searches on this day', 400)
        done = parties.party('embed', '--json-file', WORK / 'queries.jsonl', role='data-alice', store='p1-alice')
        assert done.returncode == 0, done.stderr


def test_appends_run_beside_searches():
    index = create()
    with Parties(index) as parties:
        for i in range(3):
            search = Role([SUF, 'search', *parties.common('data'), '--vocab', WORK / 'model/vocab.txt', '--dealer', parties.address, '--connect', parties.connect,
                           '--store', parties.where / f'p1-{i}', '--index-plan', index / 'index.json', '--json-file', WORK / 'queries.jsonl'])
            before = simulated(index)
            append(index, [{'id': f'n{i}', 'text': t} for t in texts(1, 7)])
            assert search.finish() == 0, search.err
            assert [row['hits'] for row in search.rows()] in (before, simulated(index))
        assert parties.hits() == simulated(index)


if __name__ == '__main__':
    SUF = str(pathlib.Path(sys.argv[1]).resolve())
    cases.main(globals(), prepare)
