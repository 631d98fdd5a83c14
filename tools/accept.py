#!/usr/bin/env python3
"""`make accept`: the 200 sentences of tests/data through three processes; every output word must equal the simulator's. Then stores on
file systems of their own (root and loop mounts; where they are not allowed, that is said): disks that go back, and no serial runs twice.

  accept.py [--model DIR] [--out bench/results/accept.jsonl]

Writes one JSON line a sentence (without the vectors) and a summary with commit and machine; exit 1 when a limit is missed.
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


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--out', default=str(ROOT / 'bench/results/accept.jsonl'))
    a = p.parse_args()
    model, plan = machine.model_and_plan(a.model)
    data = ROOT / 'tests/data'
    run = subprocess.Popen([ROOT / 'build/suf', 'demo', '--model', model, '--plan', plan, '--json-file', data / 'sentences.jsonl', '--json'], stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in run.stdout]
    if run.wait():
        sys.exit(f'accept: suf demo ended with {run.returncode}')
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.writelines(json.dumps({'id': r['id'], 'y': r['y']}) + '\n' for r in rows)
        f.flush()
        score = json.loads(subprocess.check_output([sys.executable, ROOT / 'tools/reference.py', 'compare', data / 'golden.safetensors', f.name]))
    summary = {'schema': 'suf.accept/1', **machine.facts(), 'plan': rows[0]['plan'], 'sentences': len(rows), 'equal': sum(r['sim_equal'] for r in rows),
               'tokens': [min(r['n'] for r in rows), max(r['n'] for r in rows)], 'cos_min': score['cosine_min'], 'inversion': score['inversion_max']}
    out = pathlib.Path(a.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open('w') as f:
        for r in [summary] + [{k: r[k] for k in KEEP} for r in rows]:
            f.write(json.dumps(r) + '\n')
    ok = summary['equal'] == len(rows) == 200 and summary['cos_min'] >= 0.9999 and summary['inversion'] <= 2e-3
    print(f"{summary['equal']} of {len(rows)} sentences ({summary['tokens'][0]} to {summary['tokens'][1]} tokens): every output word equals the simulator's\n"
          f"cosine with the float model at least {summary['cos_min']:.6f} (limit 0.9999); worst order inversion among the 20 nearest {summary['inversion']:.2e} (limit 2e-3)\n"
          f"{'accepted' if ok else 'NOT accepted'}; {out}")
    disks = subprocess.run([sys.executable, ROOT / 'tests/rollback_test.py', ROOT / 'build/suf', '--disks'])
    sys.exit(not ok or disks.returncode)


if __name__ == '__main__':
    main()
