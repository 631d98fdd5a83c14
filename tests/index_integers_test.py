#!/usr/bin/env python3
"""Checks every word of random searches behind tiny models. suf simulate gives the words and hits of tools/integers.py,
which is written from the definition.

  index_integers_test.py SUF INDEX_ROWS [SEARCHES]     INDEX_ROWS: a build of tests/index_rows.cpp; needs numpy. SEARCHES:
                                                       so many behind each of three models; a few behind one otherwise
"""
import hashlib
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tools'))
import integers
import reference

SEARCHES = int(sys.argv[3]) if len(sys.argv) > 3 else 12
PRESETS = {'tiny': 3, 'tiny-cls': 3, 'tiny-qwen3': 2} if len(sys.argv) > 3 else {'tiny': 3}  # tokens of the shortest text
TEXTS = 4  # of a search
TOLD = ('ids', 'order', 'scores')


def run(*words, given=None):
    done = subprocess.run([str(w) for w in words], input=given, capture_output=True, text=True)
    assert done.returncode == 0, f'{words[1]}: {done.stderr.strip()}'
    return done.stdout


def lines_of(rows):
    return ''.join(' '.join(map(str, row)) + '\n' for row in rows)


def shape(draw):
    """Returns places, buckets, stop, groups and k of a search, at random."""
    k = draw.randint(1, 5)
    groups, n, levels = [], draw.randint(k + 1, 9), draw.choice((0, 0, 1, 1, 2))
    for level in range(levels):  # from the last one to the first
        groups.insert(0, n // k if groups else draw.randint(2, 4))
        n = groups[0] * (2 * k if level + 1 < levels else k + draw.randint(1, 4))
    return dict(places=draw.choice((1, 1, 2, 3, 5, 8, 11)), buckets=n, stop=draw.choice((1, 1, 2, 3, 5)), groups=groups, k=k)


def index_plan(draw, model_hash, columns, most_f, told):
    """Returns an index plan of a random shape, without its hash."""
    f, g = draw.randint(6, min(10, most_f)), draw.randint(5, 12)
    unit = 1 << f + g
    s = shape(draw)
    steps = {name: draw.choice(('parity', 'digits', 'blocks')) for name in ('early', 'late', 'pairs')}
    return dict(kind='index', version=1, id='00' * 32, model=model_hash, text='', document='', columns=columns, places=s['places'], buckets=s['buckets'],
                block=draw.choice((7, 64, 4096)), stop=s['stop'], groups=s['groups'], k=s['k'],
                floor=draw.choice((1 - unit, 1 - unit, 0, unit // 8)), told=told, f=f, g=g, **steps, late_from=draw.choice((0, 20)), table=0)


def sealed(plan):
    """Returns the text of an index plan with its hash."""
    return json.dumps(plan | dict(hash=hashlib.sha256(json.dumps(plan, separators=(',', ':')).encode()).hexdigest()))


def rows_of(draw, plan):
    """Returns rows and the numbers of deleted ones. Some rows are alike, so that scores are equal."""
    capacity, columns = plan['places'] * plan['buckets'], plan['columns']
    rng = np.random.default_rng(draw.randrange(1 << 30))
    directions = rng.normal(size=(draw.choice((2, 5, capacity)), columns))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    count = draw.choice((capacity, capacity, max(1, capacity - 3)))
    longest = 0.9 * 2 ** plan['g'] - math.sqrt(columns)
    rows = np.rint(directions[rng.integers(0, len(directions), count)] * longest).astype(int)
    return rows, sorted(draw.sample(range(count), draw.choice((0, count // 4, count))))


class Case:
    """A random model with its plan."""

    def __init__(self, suf, folder, preset):
        self.suf, self.folder, self.preset = suf, folder, preset
        self.path, self.plan_file, self.texts = folder / preset, folder / f'{preset}.json', folder / 'ids'
        run(suf, 'model', 'random', '--preset', preset, '--seed', 1, '--out', self.path)
        self.model, self.draw = reference.load(self.path), random.Random(preset)
        self.ids = [[self.draw.randrange(len(self.model.w['word'])) for _ in range(n)] for n in range(PRESETS[preset], 9)]
        self.texts.write_text(lines_of(self.ids))
        run(suf, 'compile', '--model', self.path, '--ids', self.texts, '--max-tokens', 8, '--profile', 'lan', '--out', self.plan_file)
        self.plan = json.loads(self.plan_file.read_text())
        shifts = self.plan_file.with_suffix('.shifts.safetensors')
        self.shifts = reference.read_safetensors(shifts) if shifts.exists() else None
        self.ids = self.ids[-TEXTS:]
        self.texts.write_text(lines_of(self.ids))

    def evaluator(self, search):
        evaluator = integers.evaluator(self.model, self.plan, self.shifts)
        evaluator.embed_for(search)
        return evaluator

    def compare(self, dir, search, evaluator, *source):
        """Compares words and hits of the texts of a source; returns their numbers, and that of texts without a hit."""
        words = hits = empty = 0
        out = run(self.suf, 'simulate', '--model', self.path, '--plan', self.plan_file, '--index', dir, *source, '--json')
        by_row = lambda all: sorted(({k: hit[k] for k in ('row', 'rank') if k in hit} for hit in all), key=lambda hit: hit['row'])
        for r in map(json.loads, out.splitlines()):
            want, found = search(evaluator.run(r['ids']))
            assert r['y'] == want, f'{search.index}: other words than integers.py for {r["ids"]}'
            assert by_row(r['hits']) == by_row(found), f'{search.index}: other hits than integers.py for {r["ids"]}'
            words, hits, empty = words + len(want), hits + len(found), empty + (not found)
        return words, hits, empty

    def random_search(self, i):
        scale = next(c['nodes'][-1]['scale'] for c in self.plan['classes'])
        index = index_plan(self.draw, self.plan['hash'], self.model.d, scale, TOLD[i % 3])
        rows, deleted = rows_of(self.draw, index)
        search = integers.Search(index, rows, deleted)
        evaluator = self.evaluator(search)
        if self.draw.randrange(2):  # some row's score is the floor
            search.floor = index['floor'] = int(self.draw.choice(np.abs(search.rows[:len(rows)] @ evaluator.run(self.ids[0]))))
        (self.folder / 'index.json').write_text(sealed(index))
        dir = self.folder / f'{self.preset}-{i}'
        run(sys.argv[2], 'make', dir, self.folder / 'index.json', *deleted, given=lines_of(rows))
        return self.compare(dir, search, evaluator, '--ids', self.texts)

    def index_of_texts(self):
        """An index that suf made, with an appended segment and deleted rows."""
        letters = [word for word in (self.path / 'vocab.txt').read_text().split() if word.isalpha()]
        def documents(begin, end):
            lines = [json.dumps({'id': str(i), 'text': ' '.join(self.draw.choices(letters, k=4))}) for i in range(begin, end)]
            path = self.folder / 'docs.jsonl'
            path.write_text('\n'.join(lines) + '\n')
            return path
        dir, model = self.folder / 'index', ('--model', self.path, '--plan', self.plan_file)
        run(self.suf, 'index', 'create', *model, '--docs', documents(0, 40), '--out', dir, '--k', 6)
        run(self.suf, 'index', 'append', dir, *model, '--docs', documents(40, 50))
        run(self.suf, 'index', 'delete', dir, 3, 44)
        table = np.array([line.split() for line in run(sys.argv[2], 'print', dir).splitlines()], int)
        assert [int(i) for i in np.flatnonzero(table[:, 0] == 0)] == [3, 44]
        search = integers.Search(json.loads((dir / 'index.json').read_text()), table[:, 1:], [3, 44])
        done = self.compare(dir, search, self.evaluator(search), '--json-file', self.folder / 'docs.jsonl')
        print(f'ok    {self.preset}: an index of texts, {done[0]} words, {done[1]} hits')


def main():
    suf = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for preset in PRESETS:
            case = Case(suf, pathlib.Path(folder), preset)
            words, hits, empty = map(sum, zip(*(case.random_search(i) for i in range(SEARCHES))))
            assert hits > words // 20 and empty > 0, 'the searches are all alike'
            print(f'ok    {preset}: {SEARCHES} searches of {TEXTS} texts, {words} words, {hits} hits', flush=True)
            if preset == 'tiny' and len(PRESETS) > 1:
                case.index_of_texts()


if __name__ == '__main__':
    main()
