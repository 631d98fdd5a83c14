#!/usr/bin/env python3
"""Runs `make accept`: the 200 sentences of tests/data through three processes, by each variant of a plan for near and
far links. Then 40 of them by other models of tools/models.json, which it fetches. Every output word must equal the
simulator's. Then 200 other sentences search glosses of WordNet (tools/recall.py). Then it runs stores on file systems of
their own, whose disks go back in time. No serial may run twice. This needs root and loop mounts, and a message says if
they are not allowed.

    accept.py [--model DIR] [--variant lan wan] [--also NAME ..] [--glosses 1000] [--out bench/results/accept.jsonl]

Writes one JSON line for each sentence, without the vectors. A summary of its model and variant, with commit and machine,
precedes them. Each number of --glosses is the size of an index. Up to 10,000 glosses it is exact. A larger one has
the default recall of suf index create; 100,000 glosses take an hour. Exit code 1 if a limit is missed.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import machine
import recall

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEEP = ('i', 'id', 'n', 'serial', 'flights', 'frames', 'bytes', 'key_bytes', 'ms', 'rss_mb', 'sim_equal', 'cos')


DATA = ROOT / 'tests/data'
COSINE, INVERSION = 0.9999, 2e-3  # the least cosine with the float model, the worst inversion of two similarities
RECALL = 0.99  # the least part of the ten nearest that a search finds
MOST_EXACT = 10000
LANGUAGES = ('en', 'de', 'fr', 'es', 'it', 'pt', 'ru', 'zh', 'ja', 'ar')


def every_fifth(rows):
    return rows[::5]


def four_of_each_language(rows):
    return [r for language in LANGUAGES for r in [r for r in rows if r['id'].startswith(language + '-')][:4]]


OTHERS = {'all-mpnet-base-v2': every_fifth, 'multilingual-e5-small': four_of_each_language}


def compiled(model, variants, plan):
    subprocess.check_call([ROOT / 'build/suf', 'compile', '--model', model, '--calibrate', DATA / 'calibrate.txt', '--max-tokens', '128', '--keys', 'ahead',
                           '--profile', ','.join(variants), '--out', plan])


def embedded(name, model, plan, variant, sentences):
    """Returns a summary of one variant and the rows of the sentences."""
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.writelines(json.dumps(s) + '\n' for s in sentences)
        f.flush()
        run = subprocess.Popen([ROOT / 'build/suf', 'demo', '--model', model, '--plan', plan, '--variant', variant, '--json-file', f.name, '--json'], stdout=subprocess.PIPE, text=True)
        rows = [json.loads(line) for line in run.stdout]
        if run.wait():
            sys.exit(f'accept: suf demo ended with {run.returncode}')
    return {'schema': 'suf.accept/2', **machine.facts(), 'model': name, 'plan': rows[0]['plan'], 'variant': variant, 'sentences': len(rows), 'equal': sum(r['sim_equal'] for r in rows),
            'tokens': [min(r['n'] for r in rows), max(r['n'] for r in rows)], 'cos_min': min(r['cos'] for r in rows)}, rows


def score(rows):
    """Returns the least cosine with the committed embeddings of the float model, and the worst inversion."""
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.writelines(json.dumps({'id': r['id'], 'y': r['y']}) + '\n' for r in rows)
        f.flush()
        found = json.loads(subprocess.check_output([sys.executable, ROOT / 'tools/reference.py', 'compare', DATA / 'golden.safetensors', f.name]))
    return {'cos_min': found['cosine_min'], 'inversion': found['inversion_max']}


def report(summary, rows, sentences, out):
    """Writes the rows and prints the verdict. Returns whether all limits hold."""
    for r in [summary] + [{k: r[k] for k in KEEP} for r in rows]:
        out.write(json.dumps(r) + '\n')
    good = summary['equal'] == len(rows) == sentences and summary['cos_min'] >= COSINE and summary.get('inversion', 0) <= INVERSION
    print(f"{summary['model']}, {summary['variant']}: {summary['equal']} of {len(rows)} sentences ({summary['tokens'][0]} to {summary['tokens'][1]} tokens): "
          f"every output word equals the simulator's\ncosine with the float model at least {summary['cos_min']:.6f} (limit {COSINE})")
    if 'inversion' in summary:
        print(f"worst order inversion among the 20 nearest {summary['inversion']:.2e} (limit {INVERSION:.0e})")
    print(f"{'accepted' if good else 'NOT accepted'}; {out.name}", flush=True)
    return good


def found(name, model, plan, glosses, out):
    """Searches glosses by the first variant. Writes the recall and prints the verdict. Returns whether the limit holds."""
    line = {'schema': 'suf.accept/2', **machine.facts(), 'model': name, **recall.measure(model, plan, glosses, 1 if glosses <= MOST_EXACT else 0.995)}
    out.write(json.dumps(line) + '\n')
    share = line['recall'][str(recall.NEAREST)]
    good = share >= RECALL
    print(f"{name}: {line['sentences']} sentences search {glosses:,} glosses, {'exact' if line['exact'] else str(line['buckets']) + ' buckets'}\n"
          f"recall@{recall.NEAREST} of the float model's nearest {share:.4f} (limit {RECALL})\n{'accepted' if good else 'NOT accepted'}; {out.name}", flush=True)
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--variant', nargs='+', default=['lan', 'wan'], help='profiles, each a variant of the plan')
    p.add_argument('--also', nargs='*', default=list(OTHERS), choices=list(OTHERS), metavar='NAME', help='other models, by the first variant')
    p.add_argument('--glosses', type=int, nargs='*', default=[1000], metavar='N', help='sizes of indexes for the recall')
    p.add_argument('--out', default=str(ROOT / 'bench/results/accept.jsonl'))
    a = p.parse_args()
    model = a.model or machine.fetched()
    sentences = [json.loads(line) for line in (DATA / 'sentences.jsonl').read_text().splitlines()]
    out = pathlib.Path(a.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    good = True
    with tempfile.TemporaryDirectory() as folder, out.open('w') as f:
        plan = pathlib.Path(folder) / 'plan.json'
        compiled(model, a.variant, plan)
        for variant in a.variant:
            summary, rows = embedded(pathlib.Path(model).name, model, plan, variant, sentences)
            good = report(summary | score(rows), rows, 200, f) and good
        for glosses in a.glosses:
            good = found(pathlib.Path(model).name, model, plan, glosses, f) and good
        for name in a.also:
            subprocess.check_call([sys.executable, ROOT / 'tools/fetch_model.py', name])
            other = subprocess.check_output([ROOT / 'build/suf', 'model', 'path', name], text=True).strip()
            compiled(other, a.variant[:1], plan)
            summary, rows = embedded(name, other, plan, a.variant[0], OTHERS[name](sentences))
            good = report(summary, rows, 40, f) and good
    disks = subprocess.run([sys.executable, ROOT / 'tests/disk/rollback_test.py', ROOT / 'build/suf', '--disks'])
    sys.exit(not good or disks.returncode)


if __name__ == '__main__':
    main()
