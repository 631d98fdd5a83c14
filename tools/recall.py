#!/usr/bin/env python3
"""Measures how many of a text's ten nearest documents by the float model a search finds. `suf index create` embeds
glosses of WordNet (Debian's wordnet-base). `suf simulate` searches them for 200 of WordNet's example sentences; the
protocol gives the same words.

    recall.py [--model DIR] [--plan FILE] [--glosses 1000] [--recall 1]

--recall is that of suf index create: 1 is an exact search. 100,000 glosses take an hour. Prints a JSON line.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import numpy as np

import machine
import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUF = ROOT / 'build/suf'
WORDNET = pathlib.Path('/usr/share/wordnet')
KINDS = ('noun', 'verb', 'adj', 'adv')
SENTENCES, NEAREST, MOST_WORDS = 200, 10, 60
LICENCE = '  '  # the beginning of its lines


def wordnet():
    """Returns glosses "word: definition" and example sentences of six words and more, in an order drawn once."""
    if not (WORDNET / 'data.noun').exists():
        sys.exit(f'recall: {WORDNET} has no WordNet; run tools/setup.sh, which installs wordnet-base')
    glosses, sentences = [], []
    for kind in KINDS:
        for line in (WORDNET / f'data.{kind}').read_text().splitlines():
            if line.startswith(LICENCE):
                continue
            fields, gloss = line.split(' | ', 1)
            examples = re.findall('"([^"]*)"', gloss)
            definition = '; '.join(part.strip() for part in re.sub('"[^"]*"', '', gloss).split(';') if part.strip())
            if definition and len(definition.split()) <= MOST_WORDS:
                glosses.append(f'{fields.split()[4].replace("_", " ")}: {definition}')
            sentences += [e for e in examples if 6 <= len(e.split()) <= MOST_WORDS]
    draw = random.Random(1)
    draw.shuffle(glosses)
    draw.shuffle(sentences)
    return glosses, sentences[:SENTENCES]


def written(path, texts):
    path.write_text(''.join(json.dumps({'id': str(i), 'text': t}) + '\n' for i, t in enumerate(texts)))
    return path


def embedded(model, texts):
    """Returns the embeddings of a file of texts by the float model, of norm 1. It runs in float32, ten times as fast."""
    out = subprocess.check_output([SUF, 'tokenize', '--model', model, '--json-file', texts, '--json'], text=True)
    floats = reference.load(model, np.float32)
    x = np.stack([floats.forward(json.loads(line)['ids']) for line in out.splitlines()])
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def measure(model, plan, count, recall):
    """Makes an index of `count` glosses and searches it. Returns the shares of the nearest 1, 5 and 10 that were found."""
    glosses, sentences = wordnet()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        docs, texts = written(folder / 'docs.jsonl', glosses[:count]), written(folder / 'texts.jsonl', sentences)
        subprocess.check_call([SUF, 'index', 'create', '--model', model, '--plan', plan, '--docs', docs, '--out', folder / 'index', '--k', str(NEAREST), '--recall', str(recall)],
                              stdout=subprocess.DEVNULL)
        out = subprocess.check_output([SUF, 'simulate', '--model', model, '--plan', plan, '--index', folder / 'index', '--json-file', texts, '--json'], text=True)
        found = [[hit['row'] for hit in sorted(json.loads(line)['hits'], key=lambda hit: hit['rank'])] for line in out.splitlines()]
        index = json.loads((folder / 'index/index.json').read_text())
        near = np.argsort(-(embedded(model, texts) @ embedded(model, docs).T), axis=1, kind='stable')
    assert len(found) == SENTENCES and all(len(hits) == NEAREST for hits in found), 'a search has another number of hits'
    share = {str(n): float(np.mean([len(set(hits[:n]) & set(due[:n])) / n for hits, due in zip(found, near.tolist())])) for n in (1, 5, NEAREST)}
    return {'glosses': count, 'sentences': SENTENCES, 'exact': index['places'] == 1, 'buckets': index['buckets'], 'recall': share}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--plan')
    p.add_argument('--glosses', type=int, default=1000)
    p.add_argument('--recall', type=float, default=1)
    a = p.parse_args()
    model, plan = (a.model, a.plan) if a.plan else machine.model_and_plan(a.model, 256, '--profile', 'lan', '--keys', 'ahead')
    print(json.dumps(measure(model or machine.fetched(), plan, a.glosses, a.recall)))


if __name__ == '__main__':
    main()
