#!/usr/bin/env python3
"""Checks the first three layers of all-mpnet-base-v2, with real weights. Three processes give the simulator's words, which
are the integers of tools/integers.py. The embeddings follow the float model.

  real_layers_test.py SUF      SUF: build/suf; needs numpy. Fetches the model if it is not in the cache (405 MB)
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import integers
import reference
from families_test import suf

NAME, LAYERS, TOKENS, COSINE = 'all-mpnet-base-v2', 3, 32, 0.9999
TEXTS = [json.loads(line)['text'] for line in (ROOT / 'tests/data/sentences.jsonl').read_text().splitlines()[:20]]


def cut(model, folder):
    """Copies the model with its first layers alone."""
    for file in model.rglob('*.json'):
        (folder / file.relative_to(model)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / file.relative_to(model))
    shutil.copy(model / 'vocab.txt', folder)
    config = json.loads((model / 'config.json').read_text())
    (folder / 'config.json').write_text(json.dumps(config | {'num_hidden_layers': LAYERS}))
    left = ['encoder.layer.%d.' % l for l in range(LAYERS, config['num_hidden_layers'])]
    weights = {k: v for k, v in reference.read_weights(model).items() if v.dtype == np.float32 and not k.startswith(tuple(left))}
    reference.write_safetensors(folder / 'model.safetensors', weights)


def main():
    subprocess.check_call([sys.executable, ROOT / 'tools/fetch_model.py', NAME])
    with tempfile.TemporaryDirectory() as parent:
        folder, plan = pathlib.Path(parent) / NAME, pathlib.Path(parent) / 'plan.json'
        cut(pathlib.Path(suf('model', 'path', NAME).strip()), folder)
        suf('compile', '--model', folder, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--max-tokens', TOKENS, '--profile', 'lan', '--keys', 'ahead', '--out', plan)
        texts = pathlib.Path(parent) / 'texts'
        texts.write_text(''.join(text + '\n' for text in TEXTS))
        rows = [json.loads(line) for line in suf('demo', '--model', folder, '--plan', plan, '--file', texts, '--truncate', '--json').splitlines()]
        ids = [json.loads(line)['ids'] for line in suf('tokenize', '--model', folder, '--file', texts, '--json').splitlines()]
        model, stored = reference.load(str(folder)), json.loads(plan.read_text())
        shifts = plan.with_suffix('.shifts.safetensors')
        evaluator = integers.evaluator(model, stored, reference.read_safetensors(shifts) if shifts.exists() else None)
        assert len(rows) == len(TEXTS) and all(r['sim_equal'] for r in rows), rows
        least, same = 1.0, 0
        for r, text in zip(rows, ids):
            if len(text) > TOKENS:
                continue
            y = np.array(r['y'], np.float64)
            least = min(least, float(model.forward(text) @ y / np.linalg.norm(y)))
            assert r['y'] == [int(v) for v in evaluator.run(text)], 'another result than integers.py for %s' % text
            same += 1
        assert same >= 10 and least >= COSINE, (same, least)
        print('ok    %s, %d layers: %d texts by three processes: every word; %d equal integers.py; cosine with the float model at least %.6f' % (NAME, LAYERS, len(rows), same, least))


if __name__ == '__main__':
    main()
