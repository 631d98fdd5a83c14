#!/usr/bin/env python3
"""What the backend cuda does on this machine, in one call: the room's tests, primitives, whole inferences.

  bench/gpu.sh [--build DIR] [--plans DIR] [--presets bert-tiny:32 bert-base:128] [--out FILE]

The machine needs a driver, Python's standard library and the programs of a build folder, which may come from elsewhere:
*_cuda_test, fss_bench, products_bench, inference_bench, suf. Models are made on the spot (suf model random, seed 1).
Kernels are compiled before the runs, where there is NVRTC. Plans are taken from --plans as PRESET.json, or compiled here, which takes minutes for bert-base.

Every inference is one process: dealer, then both parties as threads on one device with a queue between them, keys
resident, every word of every run equal to the simulator's. Beside it the same with packed on all cores. One JSON line a
measurement with commit and machine goes to --out (bench/results/gpu.jsonl); a table comes last.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT, **options)


def machine(commit):
    gpu = run('nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader').stdout.splitlines()
    return {'commit': commit or run('git', 'describe', '--always', '--dirty', '--abbrev=12').stdout.strip(),
            'gpu': gpu[0].strip() if gpu else 'none', 'cores': len(os.sched_getaffinity(0))}


def architecture():
    return run('nvidia-smi', '--query-gpu=compute_cap', '--format=csv,noheader').stdout.splitlines()[0].strip().replace('.', '')


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith('{')]


def tests(build):
    """Every *_cuda_test; what fails ends the call: nothing is timed that is not right."""
    for program in sorted(build.glob('*_cuda_test')):
        done = run(program)
        print(f'{program.name}: {"passes" if not done.returncode else "FAILS"}', flush=True)
        if done.returncode:
            sys.exit(done.stdout[-3000:] + done.stderr[-2000:])


def inference(build, plans, preset, tokens, runs):
    with tempfile.TemporaryDirectory() as folder:
        model, plan = pathlib.Path(folder) / 'model', plans / f'{preset}.json' if plans else None
        subprocess.run([build / 'suf', 'model', 'random', '--preset', preset, '--seed', '1', '--out', model], check=True, stdout=subprocess.DEVNULL)
        if not plan or not plan.exists():
            plan = pathlib.Path(folder) / 'plan.json'
            subprocess.run([build / 'suf', 'compile', '--model', model, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--max-tokens', str(tokens), '--out', plan], check=True)
        # kernels first: else the first runs are the interpreter's
        begin = time.monotonic()
        made = run(build / 'suf', 'kernels', '--plan', plan, '--tokens', tokens, '--arch', architecture())
        print(f'{preset}: {" ".join(made.stdout.split(chr(10))) or made.stderr.strip()}', flush=True)
        kernels = round(time.monotonic() - begin, 1)
        for backend in ('packed', 'cuda'):
            done = run(build / 'inference_bench', model, plan, tokens, runs, backend)
            if done.returncode:
                sys.exit(f'{preset} on {backend}: {done.stderr.strip()[-2000:]}')
            for line in lines(done.stdout):
                yield {'preset': preset, 'kernels_s': kernels, 'parties': 'two threads, one device' if backend == 'cuda' else 'two threads, all cores', **line}


def table(rows):
    head = ('model', 'backend', 'tokens', 'online ms', 'deal ms', 'flights', 'sent MB', 'keys MB', 'memory MB')
    out = [head]
    for r in rows:
        out.append((r['preset'], r['backend'], r['tokens'], f'{r["online_ms"]:.1f}', f'{r["deal_ms"]:.1f}', r['flights'],
                    ' / '.join(f'{b / 1e6:.1f}' for b in r['payload']), ' / '.join(f'{b / 1e6:.1f}' for b in r['key_bytes']),
                    ' / '.join(f'{b / 1e6:.0f}' for b in r['device_or_value_bytes'])))
    widths = [max(len(str(row[i])) for row in out) for i in range(len(head))]
    for row in out:
        print('  '.join(str(cell).rjust(w) for cell, w in zip(row, widths)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='folder of the programs')
    p.add_argument('--plans', type=pathlib.Path, help='folder of compiled plans, PRESET.json')
    p.add_argument('--presets', nargs='*', default=['bert-tiny:32', 'bert-base:128'], help='PRESET:TOKENS')
    p.add_argument('--runs', type=int, default=9, help='timed runs of an inference, after one that warms up')
    p.add_argument('--commit', help='of the programs, where this folder is no repository')
    p.add_argument('--out', type=pathlib.Path, default=ROOT / 'bench/results/gpu.jsonl')
    a = p.parse_args()
    a.build = a.build.resolve()
    facts, rows = machine(a.commit), []
    tests(a.build)
    with a.out.open('w') as out:
        def put(line):
            out.write(json.dumps({**line, **facts}) + '\n')
            out.flush()
        for bench in ('fss_bench', 'products_bench'):
            done = run(a.build / bench)
            if done.returncode:
                sys.exit(f'{bench}: {done.stderr.strip()[-2000:]}')
            for line in lines(done.stdout):
                put(line)
        for item in a.presets:
            preset, tokens = item.split(':')
            for row in inference(a.build, a.plans, preset, int(tokens), a.runs):
                put(row)
                rows.append(row)
    table(rows)


if __name__ == '__main__':
    main()
