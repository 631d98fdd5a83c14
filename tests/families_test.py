#!/usr/bin/env python3
"""Checks every family with each of its endings, but BERT with the mean, which other tests run. The simulator's integers
are those of tools/integers.py, written by hand from the papers, and follow the float model. Three processes give the
simulator's words.

  families_test.py SUF [TOKENS]      SUF: build/suf; needs numpy, no network. TOKENS: 50 texts of each family, of up to
                                     so many tokens, in place of all lengths up to 12
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tools'))
import integers
import reference
import timeline

TIMES, TEXTS = 3, 50  # texts of each length; texts if TOKENS is given
MOST = int(sys.argv[2]) if len(sys.argv) > 2 else 0  # TOKENS
ENCODERS = ('tiny-cls', 'tiny-outliers', 'tiny-roberta', 'tiny-distilbert', 'tiny-mpnet', 'tiny-nomic', 'tiny-modernbert', 'tiny-qwen3')
CLASSIFIERS = ('tiny-reranker', 'tiny-roberta-labels', 'tiny-distilbert-labels', 'tiny-mpnet-labels')
DECODERS = ('tiny-gpt2', 'tiny-llama')
FLIGHTS = dict.fromkeys(ENCODERS + CLASSIFIERS + DECODERS, 72) | {'tiny-modernbert': 132, 'tiny-gpt2': 62, 'tiny-qwen3': 88}  # at most
COSINE = 0.99        # of tiny random models, whose logits are small compared with a step of the result
ERROR = 0.02         # of a classifier's scores, which are below 1 here


def suf(*args):
    run = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True)
    if run.returncode:
        sys.exit('FAIL  suf %s: %s' % (args[0], run.stderr.strip().splitlines()[-1]))
    return run.stdout


def least(preset):
    """Returns the tokens of the shortest text."""
    return 1 if preset in DECODERS else 2 if preset == 'tiny-qwen3' else 3


def write_ids(path, rows, words):
    """Writes ids with their types behind colons."""
    word = lambda v: str(v) if v < words else '%d:%d' % (v % words, v // words)
    path.write_text(''.join(' '.join(map(word, row)) + '\n' for row in rows))
    return path


def lengthen(path, tokens, rng):
    """Gives a tiny model positions for so many tokens; it has 64."""
    config = json.loads((path / 'config.json').read_text())
    more = max(0, tokens - 64)
    for field in {'max_position_embeddings', 'n_positions'} & set(config):
        config[field] += more
    weights = {}
    for name, w in reference.read_weights(path).items():
        more_rows = name.endswith(('position_embeddings.weight', 'wpe.weight'))
        weights[name] = np.vstack([w, rng.normal(0, 0.05, (more, w.shape[1])).astype(w.dtype)]) if more_rows else w
    (path / 'config.json').write_text(json.dumps(config))
    reference.write_safetensors(path / 'model.safetensors', weights)


def refused(work):
    try:
        work()
    except AssertionError as x:
        return str(x)
    sys.exit('FAIL  an altered plan is evaluated')


def altered_plans(model, plan, ids):
    """Checks what must be refused: a node that the family does not have, and a value over its certificate."""
    more = copy.deepcopy(plan)
    for nodes in (more['nodes'], *(c['nodes'] for c in more['classes'])):
        nodes.append(dict(nodes[-1], label='again'))
    assert 'head/again' in refused(lambda: integers.evaluator(model, more).run(ids))
    low = copy.deepcopy(plan)
    at = [n['label'] for n in plan['nodes']].index('eV*recip')
    for c in low['classes']:
        next(x for x in c['nodes'][at]['certificates'] if x['width'] == 'product')['bits'] = 4
    assert 'leaves its certificate' in refused(lambda: integers.evaluator(model, low).run(ids))


def three_processes(path, folder, rows, words):
    """Runs dealer, model owner and data owner over TLS: every word of every length is the simulator's."""
    plan = folder / (path.name + '.json')
    done = [json.loads(line) for line in suf('demo', '--model', path, '--plan', plan, '--ids', write_ids(folder / 'one', rows, words), '--json').splitlines()]
    assert [r['n'] for r in done] == [len(r) for r in rows] and all(r['sim_equal'] for r in done), done
    flights = {r['flights'] for r in done}
    assert MOST or (max(flights) <= FLIGHTS[path.name] and (least(path.name) > 1 or len(flights) == 1)), flights
    print('ok    %s: %d texts by three processes: every word, %s flights' % (path.name, len(done), flights))
    drawn = timeline.drawn(timeline.bars(done[-1]), 60).splitlines()
    assert len(drawn) == len(timeline.BARS) + 2 and all('#' in line and len(line.split('|')[1]) == 60 for line in drawn[:-2]), drawn
    assert timeline.svg(timeline.bars(done[-1])).count('<rect') == len(timeline.BARS)


def family(preset, folder):
    path, plan = folder / preset, folder / (preset + '.json')
    suf('model', 'random', '--preset', preset, '--seed', 1, '--out', path)
    rng = np.random.default_rng(1)
    if MOST:
        lengthen(path, MOST, rng)
    model = reference.load(path)
    words = len(model.w['word'])
    lengths = np.linspace(least(preset), min(MOST, model.longest), TEXTS).astype(int) if MOST else np.repeat(range(least(preset), 13), TIMES)
    texts = lambda: [[int(v) for v in rng.integers(0, words * model.types, n)] for n in lengths]
    suf('compile', '--model', path, '--ids', write_ids(folder / 'calibrate', texts(), words), '--max-tokens', lengths[-1], '--profile', 'lan', '--keys', 'ahead', '--out', plan)
    rows = texts()
    simulated = [json.loads(line) for line in suf('simulate', '--model', path, '--plan', plan, '--ids', write_ids(folder / 'ids', rows, words), '--json').splitlines()]
    assert [r['n'] for r in simulated] == [len(r) for r in rows]
    shifts = plan.with_suffix('.shifts.safetensors')
    plan = json.loads(plan.read_text())
    evaluator = integers.evaluator(model, plan, reference.read_safetensors(shifts) if shifts.exists() else None)
    cosine, error = 1.0, 0.0
    for ids, r in zip(rows, simulated):
        assert r['y'] == [int(v) for v in evaluator.run(ids)], '%s: another result than integers.py for %s' % (preset, ids)
        real, y = model.forward(ids), np.array(r['y'], np.float64)
        cosine = min(cosine, float(real @ y / np.linalg.norm(real) / np.linalg.norm(y)))
        error = max(error, float(np.abs(real - y / 2 ** r['f']).max()))
    assert model.classifier or cosine > COSINE, '%s: the cosine with the float model is %.4f, the limit is %s' % (preset, cosine, COSINE)
    assert not model.classifier or error < ERROR, '%s: the error of a score is %.4f, the limit is %s' % (preset, error, ERROR)
    if model.result == 'logits' and not MOST:
        altered_plans(model, plan, rows[0])
    three_processes(path, folder, rows if MOST else rows[::TIMES], words)
    close = 'an error of a score below %.4f' % error if model.classifier else 'cosine with the float model at least %.4f' % cosine
    print('ok    %s: %d texts of up to %d tokens: simulate == integers.py, %s' % (preset, len(rows), lengths[-1], close))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for preset in ENCODERS + CLASSIFIERS + DECODERS:
            family(preset, pathlib.Path(folder))


if __name__ == '__main__':
    main()
