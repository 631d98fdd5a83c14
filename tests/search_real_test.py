#!/usr/bin/env python3
"""Searches 10,000 rows with all-MiniLM-L6-v2 between three processes, suf deal, suf serve and suf search. The hits
equal those of suf simulate, with an append, a deletion and a compaction in between.

  search_real_test.py SUF RANDOM_INDEX     needs the fetched model (tools/fetch_model.py), no network; under two minutes

RANDOM_INDEX makes the rows at random, because embedding as many documents takes minutes. Real documents are appended.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import search
from bench import texts

SUF, RANDOM_INDEX = sys.argv[1:3]
ROWS, TOKENS, TEXTS = 10000, 12, 3


def suf(*words):
    return subprocess.run([SUF, *map(str, words)], check=True, capture_output=True, text=True).stdout


class Index:
    """An index that a service serves, and the texts that search it."""

    def __init__(self, folder, model):
        self.model, self.plan, self.at = model, folder / 'plan.json', folder / 'index'
        suf('compile', '--model', model, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--max-tokens', 32, '--profile', 'lan', '--keys', 'ahead', '--out', self.plan)
        subprocess.run([RANDOM_INDEX, self.model, self.plan, self.at, str(ROWS)], check=True)
        self.texts = texts(model, TOKENS, TEXTS)
        self.file = search.written(folder / 'texts.jsonl', self.texts)
        self.docs = search.written(folder / 'docs.jsonl', self.texts + texts(model, TOKENS + 1, 20))

    def change(self, command, *words):
        suf('index', command, self.at, *words)

    def shown(self):
        return json.loads(suf('index', 'show', self.at, '--json'))

    def checked(self, what, service, *words):
        """Searches in a new session, and compares with the simulator. Returns the rows of the texts."""
        rows = service.run(self.file, *words)[1]
        assert [search.ranks(row) for row in rows] == search.simulated(self.model, self.plan, self.at, self.file), f'{what}: the hits differ from the simulator'
        assert all(len(row['hits']) == 10 for row in rows), f'{what}: a search has fewer than ten hits'
        print(f'ok    {what}: the hits of {TEXTS} texts equal the simulator', flush=True)
        return rows


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        index = Index(folder, pathlib.Path(suf('model', 'path').strip()))
        with search.Service(folder / 'service', index.model, index.plan, TOKENS, 1, index.at) as service:
            rows = index.checked(f'{ROWS} rows', service)
            assert rows[0]['bytes']['setup'] > ROWS * 384 * 23 / 8, 'W - B of all rows was not sent'
            index.change('append', '--model', index.model, '--plan', index.plan, '--docs', index.docs)
            rows = index.checked('after an append', service)
            assert 0 < rows[0]['bytes']['setup'] < 30 * 384 * 23 / 8, 'more than the new rows was sent'
            assert [search.ranks(row)[0][0] for row in rows] == [ROWS + i for i in range(TEXTS)], 'a text does not find itself'
            index.change('delete', *map(str, range(TEXTS)), 'd0')
            rows = index.checked('after a deletion', service)
            assert not rows[0]['bytes']['setup'] and not any(hit['row'] in range(ROWS, ROWS + TEXTS) for row in rows for hit in row['hits']), 'a deleted row is found'
            rows = index.checked('with documents', service, '--fetch')
            documents = [json.loads(line)['text'] for line in index.docs.read_text().splitlines()]
            for hit in (hit for row in rows for hit in row['hits']):
                due = documents[hit['row'] - ROWS] if hit['row'] >= ROWS else f'document {hit["row"]}'
                assert hit['document'] == due, f'row {hit["row"]} has the document {hit["document"]!r}'
            index.change('compact')
            assert index.shown()['segments'] == 1 and index.shown()['rows'] == ROWS + len(documents) - TEXTS - 1
            index.checked('after a compaction', service)
    print('%.0f s' % (time.monotonic() - begin))


if __name__ == '__main__':
    main()
