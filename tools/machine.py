"""What measurements are labelled with, and where the model and its plan are."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fetched():
    """The directory of the fetched model."""
    return subprocess.check_output([ROOT / 'build/suf', 'model', 'path'], text=True).strip()


def model_and_plan(model=None):
    """The model directory (the fetched one by default) and the path of its plan."""
    model = model or fetched()
    return model, subprocess.check_output([ROOT / 'tools/plan.sh', model], text=True).strip()


def facts():
    """commit, processor, cores, memory."""
    commit = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty', '--abbrev=12'], capture_output=True, text=True).stdout.strip()
    name, family = '', ''
    for line in open('/proc/cpuinfo'):
        key, _, value = line.partition(':')
        name = name or (value.strip() if key.strip() == 'model name' else '')
        family = family or (value.strip() if key.strip() == 'cpu family' else '')
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {'commit': commit, 'cpu': f'{name} family {family}', 'cores': len(os.sched_getaffinity(0)), 'memory_gb': round(memory / 1e9)}
