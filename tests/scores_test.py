#!/usr/bin/env python3
"""Checks the logits of rerankers and classifiers against the float64 model, for 50 pairs of texts of up to 48 tokens.
Their errors are below a limit. Adjacent results keep their order, unless they are closer than two errors.

  scores_test.py SUF [CASE]      SUF: build/suf; needs numpy and all-MiniLM-L6-v2. CASE: one of `trained`,
                                 `cross-encoder` and `roberta-labels`, in place of all
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import reference

TOKENS, PAIRS, CALIBRATED = 48, 50, 200
TEXTS = [json.loads(line)['text'] for line in (ROOT / 'tests/data/sentences.jsonl').read_text().splitlines()]


def suf(*args):
    run = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True)
    if run.returncode:
        sys.exit('FAIL  suf %s: %s' % (args[0], run.stderr.strip().splitlines()[-1]))
    return run.stdout


def trained(folder):
    """Makes a reranker of the fetched encoder's layers and a random head. No published reranker can be fetched."""
    source, rng = pathlib.Path(suf('model', 'path').strip()), np.random.default_rng(3)
    folder.mkdir()
    shutil.copy(source / 'vocab.txt', folder)
    config = json.loads((source / 'config.json').read_text())
    head = {'architectures': ['BertForSequenceClassification'], 'id2label': {'0': 'LABEL_0'}}
    (folder / 'config.json').write_text(json.dumps(config | head))
    weights, d = {k: v for k, v in reference.read_weights(source).items() if v.dtype == np.float32}, config['hidden_size']
    for name, rows in (('pooler.dense', d), ('classifier', 1)):
        weights[name + '.weight'] = rng.normal(0, d ** -0.5, (rows, d)).astype(np.float32)
        weights[name + '.bias'] = rng.normal(0, 0.1, rows).astype(np.float32)
    reference.write_safetensors(folder / 'model.safetensors', weights)


def preset(folder):
    suf('model', 'random', '--preset', folder.name, '--seed', 1, '--out', folder)


CASES = {'trained': trained, 'cross-encoder': preset, 'roberta-labels': preset}
# Of logits that span 0.9 to 1.4. Layers with random weights magnify roundings more than trained ones.
ERROR = {'trained': 5e-3, 'cross-encoder': 0.025, 'roberta-labels': 0.025}


def first_tokens(folder, texts, most):
    """Returns the first words of each text. Any two make a pair of at most `most` tokens."""
    lines = folder / 'lines'
    while True:
        lines.write_text(''.join('%s\t%s\n' % (text, text) for text in texts))
        lengths = [len(json.loads(line)['ids']) for line in suf('tokenize', '--model', folder, '--file', lines, '--json').splitlines()]
        if max(lengths) <= most:
            return texts
        shorter = lambda text: ' '.join(text.split()[:-1]) if ' ' in text else text[:-1]
        texts = [shorter(text) if n > most else text for text, n in zip(texts, lengths)]


def check(name, folder):
    CASES[name](folder)
    rng = random.Random(1)
    texts = first_tokens(folder, [' '.join(t.split()) for t in TEXTS if t.isascii() and len(t.split()) >= 4], TOKENS)
    pairs = ['\t'.join(rng.sample(texts, 2)) + '\n' for _ in range(PAIRS + CALIBRATED)]
    calibrate, asked, plan = folder / 'calibrate.txt', folder / 'pairs.txt', folder / 'plan.json'
    calibrate.write_text(''.join(pairs[PAIRS:]))
    asked.write_text(''.join(pairs[:PAIRS]))
    suf('compile', '--model', folder, '--calibrate', calibrate, '--max-tokens', TOKENS, '--profile', 'lan', '--keys', 'ahead', '--out', plan)
    rows = [json.loads(line) for line in suf('simulate', '--model', folder, '--plan', plan, '--file', asked, '--json').splitlines()]
    assert len(rows) == PAIRS
    model = reference.load(str(folder))
    real = np.array([model.forward(reference.combined(r, model)) for r in rows])
    got = np.array([np.array(r['y']) / 2 ** r['f'] for r in rows])
    error = float(np.abs(got - real).max())
    assert error < ERROR[name], '%s: the worst error of a logit is %.5f, the limit is %s' % (name, error, ERROR[name])
    close = 0
    for label in range(real.shape[1]):
        order = np.argsort(real[:, label])
        apart = np.diff(real[order, label]) > 2 * error
        close += int((~apart).sum())
        assert (np.diff(got[order, label])[apart] > 0).all(), '%s: adjacent results change their order' % name
    print('ok    %s: %d pairs, %d labels, logits from %.2f to %.2f: worst error %.5f; order kept, %d of %d adjacent results are closer than two errors'
          % (name, PAIRS, real.shape[1], real.min(), real.max(), error, close, (PAIRS - 1) * real.shape[1]), flush=True)


def main():
    for name in sys.argv[2:] or CASES:
        with tempfile.TemporaryDirectory() as parent:
            check(name, pathlib.Path(parent) / name)


if __name__ == '__main__':
    main()
