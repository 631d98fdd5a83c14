#!/usr/bin/env python3
"""Checks all-MiniLM-L6-v2: its plan has no weight, its token ids, integers and embeddings are right, and 32 tokens cost
as stated.

  real_test.py SUF      SUF: build/suf; needs numpy and the fetched model (tools/fetch_model.py), no network
"""
import hashlib
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / 'tests/data'
sys.path.insert(0, str(ROOT / 'tools'))
import integers
import reference
from roles import FIXED

FAILED = []


def check(ok, sentence):
    print(('ok    ' if ok else 'FAIL  ') + sentence, flush=True)
    if not ok:
        FAILED.append(sentence)


class Suf:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *args):
        run = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True)
        if run.returncode:
            sys.exit('FAIL  suf %s: %s' % (args[0], run.stderr.strip().splitlines()[-1]))
        return run.stdout

    def rows(self, *args):
        return [json.loads(line) for line in self(*args).splitlines()]

    def compile(self, model, name, limit, *flags):
        self('compile', '--model', model, '--calibrate', DATA / 'calibrate.txt', '--max-tokens', limit, *flags, '--out', self.folder / name)
        return self.folder / name


def permute(model, to):
    """Copies the model with the hidden units of every FFN and the value dimensions of every head in another order.
    This is the same function."""
    with open(model / 'config.json', encoding='utf8') as file:
        c = json.load(file)
    w = {k: v for k, v in reference.read_safetensors(model / 'model.safetensors').items() if v.dtype == np.float32}
    rng, width = np.random.default_rng(1), c['hidden_size'] // c['num_attention_heads']
    for p in (k.removesuffix('intermediate.dense.weight') for k in list(w) if k.endswith('intermediate.dense.weight')):
        hidden = rng.permutation(c['intermediate_size'])
        value = np.concatenate([h * width + rng.permutation(width) for h in range(c['num_attention_heads'])])
        for order, into, out in ((hidden, 'intermediate.dense', 'output.dense'), (value, 'attention.self.value', 'attention.output.dense')):
            w[p + into + '.weight'], w[p + into + '.bias'] = w[p + into + '.weight'][order], w[p + into + '.bias'][order]
            w[p + out + '.weight'] = w[p + out + '.weight'][:, order]
    shutil.copytree(model, to, ignore=shutil.ignore_patterns('model.safetensors'))
    reference.write_safetensors(to / 'model.safetensors', w)
    return to


def certificates(plan):
    """-> {(length class, node, width inside it or ''): certificate}."""
    return {(c['max_n'], n['scope'] + '/' + n['label'], x['width']): x for c in plan['classes'] for n, p in zip(plan['nodes'], c['nodes']) for x in p['certificates']}


def plan_holds_no_weight(suf, model, plan):
    other = permute(model, suf.folder / 'permuted')
    moved = (other / 'model.safetensors').read_bytes() != (model / 'model.safetensors').read_bytes()
    # With given segments. The search sees only scales, rings and tables of a plan, and these are compared here. Fitted
    # shifts need texts of 32 tokens.
    one, two = (suf.compile(m, f'{m.name}.json', 32, *FIXED).read_bytes() for m in (model, other))
    check(moved and one == two, 'plan: byte-identical when hidden units and value dimensions are permuted')
    shown = json.loads(suf('plan', 'show', plan, '--json'))
    given = certificates(shown)
    exact = ['embed/z_embed', 'pool/z_pool'] + [f'{l}/{wire}' for l in range(6) for wire in ('attention/z_v', 'attention/eV*recip', 'proj/z_proj', 'ffn2/z_ffn2')]
    check(len(given) > 100 and all(given[c['max_n'], wire, '']['hard'] for c in shown['classes'] for wire in exact),
          'plan: inputs of every exact rescale and the pooled sum carry hard certificates')
    return shown


def vocabulary(suf, model, plan):
    digest = hashlib.sha256((model / 'vocab.txt').read_bytes()).hexdigest()
    line = f'vocabulary SHA-256 {digest}: that of bert-base-uncased\n'
    check('\n' + line in suf('plan', 'show', plan), 'plan show: the fetched vocabulary is a known one')
    suf('certs', suf.folder / 'certs')
    nobody = ('--dealer', '127.0.0.1:1', '--connect', '127.0.0.1:1', '--store', suf.folder / 'store')
    run = subprocess.run([suf.program, 'embed', '--plan', plan, '--vocab', model / 'vocab.txt', '--certs', suf.folder / 'certs', *nobody, 'a text'],
                         capture_output=True, text=True)
    check(run.returncode == 3 and ' info embed: ' + line in run.stderr, 'embed: says so before it calls anybody')


def tokens(suf, model, ids):
    got = suf.rows('tokenize', '--model', model, '--json-file', DATA / 'sentences.jsonl', '--json')
    check([(r['id'], r['ids']) for r in got] == [(r['id'], r['ids']) for r in ids], 'tokenize: %d rows as Hugging Face tokenizers' % len(ids))


def simulated(suf, model, plan, shown, ids):
    rows = suf.rows('simulate', '--model', model, '--plan', plan, '--json-file', DATA / 'sentences.jsonl', '--json')
    lengths = [len(r['ids']) for r in ids]
    check([r['n'] for r in rows] == lengths and max(lengths) == 128, 'simulate: %d rows of %d to %d tokens' % (len(rows), min(lengths), max(lengths)))
    # Five texts, by length, for both forms of the attention's output (it is rescaled in classes over 32).
    five = sorted(range(len(ids)), key=lambda i: lengths[i])[::len(ids) // 4 - 1]
    evaluator = integers.evaluator(reference.load(model), shown, reference.read_safetensors(plan.with_suffix('.shifts.safetensors')))
    same = [rows[i]['y'] == [int(v) for v in evaluator.run(ids[i]['ids'])] for i in five]
    check(len(five) == 5 and all(same), 'simulate == reference.py evaluate on texts of %s tokens' % ', '.join(str(lengths[i]) for i in five))
    outside = [o for r in rows for o in r['outside']]
    hard = {f'{n}/{node}' + ('.' + width if width else ''): c['bits'] for (n, node, width), c in certificates(shown).items() if c['hard']}
    broken = [o for o in outside if o['wire'] in hard and abs(o['limit']) == 1 << hard[o['wire']]]
    check(len(hard) > 100 and not broken, 'simulate: no wire outside a hard certificate (%d outside a calibrated window)' % len(outside))
    return rows


def embeddings(suf, model, rows, ids):
    golden = reference.read_safetensors(DATA / 'golden.safetensors')['embedding']
    exact = reference.load(model).forward(ids[0]['ids'])
    check(np.abs(golden[0] - exact).max() < 1e-6, 'golden: the first row is what reference.py float gives')
    y = suf.folder / 'y.jsonl'
    y.write_text(''.join(json.dumps({'id': r['id'], 'y': r['y']}) + '\n' for r in rows))
    score = json.loads(subprocess.check_output([sys.executable, ROOT / 'tools/reference.py', 'compare', DATA / 'golden.safetensors', y, '--scale', '16'], text=True))
    check(score['rows'] == 200 and score['cosine_min'] >= 0.9999, 'embeddings: cosine with the float model at least %.6f (limit 0.9999)' % score['cosine_min'])
    check(score['inversion_max'] <= 2e-3, 'embeddings: worst order inversion among the %d nearest %.2e (limit 2e-3)' % (score['near'], score['inversion_max']))


def cost(suf, plan):
    e, = suf.rows('estimate', '--plan', plan, '--tokens', 32, '--json')
    key, payload = e['key_bytes'], e['payload']
    check(e['flights'] <= 158, '32 tokens: %d flights (limit 158)' % e['flights'])
    check(max(key) <= 48e6 and max(key) <= 1.02 * min(key), '32 tokens: keys of %.2f and %.2f MB (limit 48 MB, 2 %% apart)' % (key[0] / 1e6, key[1] / 1e6))
    check(max(payload['p0'], payload['p1']) <= 10.5e6, '32 tokens: %.2f and %.2f MB sent online (limit 10.5 MB)' % (payload['p0'] / 1e6, payload['p1'] / 1e6))


def stated(suf, plans):
    """The costs of plans of the profiles lan and wan in docs/measurements.md are exact, flights to the last one."""
    page = (ROOT / 'docs/measurements.md').read_text().splitlines()
    head = next(i for i, line in enumerate(page) if line.startswith('| tokens | lan: flights |'))
    columns = {'lan': ('flights', 'key', 'p0', 'p1', 'p1_offline'), 'wan': ('flights', 'key', 'p0', 'p1')}
    for line in itertools.takewhile(lambda line: line.startswith('|'), page[head + 2:]):
        tokens, *cells = (cell.strip() for cell in line.strip('|').split('|'))
        for profile, names in columns.items():
            said, cells = cells[:len(names)], cells[len(names):]
            if not any(said):
                continue
            e, = suf.rows('estimate', '--plan', plans[profile], '--tokens', tokens, '--json')
            costs = {'flights': e['flights'], 'key': max(e['key_bytes']), **e['payload']}
            wrong = [f'{name} is {costs[name]}, not {text}' for name, text in zip(names, said) if not same(text, costs[name])]
            check(not wrong, f'measurements.md: {tokens} tokens by {profile} take {e["flights"]} flights' + ''.join('; ' + w for w in wrong))


def same(text, number):
    """Whether a number equals the printed one to the last digit: '156', '46.7 MB'."""
    digits, *unit = text.split()
    scale = {'MB': 1e6, 'GB': 1e9}[unit[0]] if unit else 1
    return abs(float(digits) - number / scale) <= (0.5 + 1e-9) * 10.0 ** -len(digits.partition('.')[2]) * bool(unit)


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        suf = Suf(sys.argv[1], pathlib.Path(folder))
        model = pathlib.Path(suf('model', 'path').strip())
        ids = reference.read_rows(DATA / 'ids.jsonl')
        plan = suf.compile(model, 'plan.json', 256, '--profile', 'lan', '--keys', 'ahead')
        shown = plan_holds_no_weight(suf, model, plan)
        vocabulary(suf, model, plan)
        tokens(suf, model, ids)
        rows = simulated(suf, model, plan, shown, ids)
        embeddings(suf, model, rows, ids)
        cost(suf, plan)
        stated(suf, {'lan': plan, 'wan': suf.compile(model, 'wan.json', 128, '--profile', 'wan', '--keys', 'ahead')})
    print('%.0f s' % (time.monotonic() - begin))
    sys.exit(len(FAILED) > 0)


if __name__ == '__main__':
    main()
