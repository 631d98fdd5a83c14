#!/usr/bin/env python3
"""Checks every family, and BERT with the first row as its embedding. Other tests run BERT with the mean. The simulator's integers are those of tools/integers.py, written by hand from the papers, and
follow the float model. Three processes give the simulator's words.

  families_test.py SUF      SUF: build/suf; needs numpy, no network
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

MOST, TIMES = 12, 3  # tokens of the longest text; texts of each length
PRESETS = {'tiny-cls': 3, 'tiny-roberta': 3, 'tiny-distilbert': 3, 'tiny-mpnet': 3, 'tiny-gpt2': 1, 'tiny-llama': 1}  # tokens of the shortest text
FLIGHTS = {'tiny-cls': 72, 'tiny-roberta': 72, 'tiny-distilbert': 72, 'tiny-mpnet': 72, 'tiny-gpt2': 62, 'tiny-llama': 72}  # at most
COSINE = 0.99        # of tiny random models, whose logits are small compared with a step of the result


def suf(*args):
    run = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True)
    if run.returncode:
        sys.exit('FAIL  suf %s: %s' % (args[0], run.stderr.strip().splitlines()[-1]))
    return run.stdout


def write_ids(path, rows):
    path.write_text(''.join(' '.join(map(str, row)) + '\n' for row in rows))
    return path


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


def three_processes(path, folder, rows):
    """Runs dealer, model owner and data owner over TLS: every word of every length is the simulator's."""
    plan = folder / (path.name + '.json')
    done = [json.loads(line) for line in suf('demo', '--model', path, '--plan', plan, '--ids', write_ids(folder / 'one', rows), '--json').splitlines()]
    assert [r['n'] for r in done] == [len(r) for r in rows] and all(r['sim_equal'] for r in done), done
    flights = {r['flights'] for r in done}
    assert max(flights) <= FLIGHTS[path.name] and (PRESETS[path.name] > 1 or len(flights) == 1), flights
    print('ok    %s: %d texts by three processes: every word, %s flights' % (path.name, len(done), flights))
    drawn = timeline.drawn(timeline.bars(done[-1]), 60).splitlines()
    assert len(drawn) == len(timeline.BARS) + 2 and all('#' in line and len(line.split('|')[1]) == 60 for line in drawn[:-2]), drawn
    assert timeline.svg(timeline.bars(done[-1])).count('<rect') == len(timeline.BARS)


def family(preset, folder):
    path, plan = folder / preset, folder / (preset + '.json')
    suf('model', 'random', '--preset', preset, '--seed', 1, '--out', path)
    model, rng = reference.load(path), np.random.default_rng(1)
    texts = lambda: [[int(v) for v in rng.integers(0, len(model.w['word']), n)] for n in range(PRESETS[preset], MOST + 1) for _ in range(TIMES)]
    suf('compile', '--model', path, '--ids', write_ids(folder / 'calibrate', texts()), '--max-tokens', MOST, '--profile', 'lan', '--keys', 'ahead', '--out', plan)
    rows = texts()
    simulated = [json.loads(line) for line in suf('simulate', '--model', path, '--plan', plan, '--ids', write_ids(folder / 'ids', rows), '--json').splitlines()]
    assert [r['n'] for r in simulated] == [len(r) for r in rows]
    plan = json.loads(plan.read_text())
    evaluator, least = integers.evaluator(model, plan), 1.0
    for ids, r in zip(rows, simulated):
        assert r['y'] == [int(v) for v in evaluator.run(ids)], '%s: another result than integers.py for %s' % (preset, ids)
        real, y = model.forward(ids), np.array(r['y'], np.float64)
        least = min(least, float(real @ y / np.linalg.norm(real) / np.linalg.norm(y)))
    assert least > COSINE, '%s: the cosine with the float model is %.4f, the limit is %s' % (preset, least, COSINE)
    if model.result == 'logits':
        altered_plans(model, plan, rows[0])
    three_processes(path, folder, rows[::TIMES])
    print('ok    %s: %d texts of up to %d tokens: simulate == integers.py, cosine with the float model at least %.4f' % (preset, len(rows), MOST, least))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for preset in PRESETS:
            family(preset, pathlib.Path(folder))


if __name__ == '__main__':
    main()
