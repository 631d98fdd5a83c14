#!/usr/bin/env python3
"""Runs `make accept`: the 200 sentences of tests/data through three processes, by each variant of a plan for near and
far links. Every output word must equal the simulator's. Then it runs stores on file systems of their own, whose disks
go back in time. No serial may run twice. This needs root and loop mounts, and a message says if they are not allowed.

    accept.py [--model DIR] [--variant lan wan] [--out bench/results/accept.jsonl]

Writes one JSON line for each sentence, without the vectors. A summary of its variant, with commit and machine, precedes
them. Exit code 1 if a limit is missed.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEEP = ('i', 'id', 'n', 'serial', 'flights', 'frames', 'bytes', 'key_bytes', 'ms', 'rss_mb', 'sim_equal', 'cos')


def accept(model, plan, variant):
    """Returns the summary and the sentences of one variant."""
    data = ROOT / 'tests/data'
    run = subprocess.Popen([ROOT / 'build/suf', 'demo', '--model', model, '--plan', plan, '--variant', variant, '--json-file', data / 'sentences.jsonl', '--json'],
                           stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in run.stdout]
    if run.wait():
        sys.exit(f'accept: suf demo ended with {run.returncode}')
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.writelines(json.dumps({'id': r['id'], 'y': r['y']}) + '\n' for r in rows)
        f.flush()
        score = json.loads(subprocess.check_output([sys.executable, ROOT / 'tools/reference.py', 'compare', data / 'golden.safetensors', f.name]))
    return {'schema': 'suf.accept/1', **machine.facts(), 'plan': rows[0]['plan'], 'variant': variant, 'sentences': len(rows), 'equal': sum(r['sim_equal'] for r in rows),
            'tokens': [min(r['n'] for r in rows), max(r['n'] for r in rows)], 'cos_min': score['cosine_min'], 'inversion': score['inversion_max']}, rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--variant', nargs='+', default=['lan', 'wan'], help='profiles, each a variant of the plan')
    p.add_argument('--out', default=str(ROOT / 'bench/results/accept.jsonl'))
    a = p.parse_args()
    model = a.model or machine.fetched()
    out = pathlib.Path(a.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    ok = True
    with tempfile.TemporaryDirectory() as folder, out.open('w') as f:
        plan = pathlib.Path(folder) / 'plan.json'
        subprocess.check_call([ROOT / 'build/suf', 'compile', '--model', model, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--max-tokens', '128', '--keys', 'ahead',
                               '--profile', ','.join(a.variant), '--out', plan])
        for variant in a.variant:
            summary, rows = accept(model, plan, variant)
            for r in [summary] + [{k: r[k] for k in KEEP} for r in rows]:
                f.write(json.dumps(r) + '\n')
            good = summary['equal'] == len(rows) == 200 and summary['cos_min'] >= 0.9999 and summary['inversion'] <= 2e-3
            ok = ok and good
            print(f"{variant}: {summary['equal']} of {len(rows)} sentences ({summary['tokens'][0]} to {summary['tokens'][1]} tokens): every output word equals the simulator's\n"
                  f"cosine with the float model at least {summary['cos_min']:.6f} (limit 0.9999); worst order inversion among the 20 nearest {summary['inversion']:.2e} (limit 2e-3)\n"
                  f"{'accepted' if good else 'NOT accepted'}; {out}")
    disks = subprocess.run([sys.executable, ROOT / 'tests/disk/rollback_test.py', ROOT / 'build/suf', '--disks'])
    sys.exit(not ok or disks.returncode)


if __name__ == '__main__':
    main()
