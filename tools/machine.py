"""Labels of measurements, and the paths of the model and its plan."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fetched():
    """Returns the directory of the fetched model."""
    return subprocess.check_output([ROOT / 'build/suf', 'model', 'path'], text=True).strip()


def model_and_plan(model=None, tokens=256, *options):
    """Returns a model directory (the fetched one by default) and the path of its plan for up to `tokens` tokens.
    `options` go to `suf compile`."""
    model = model or fetched()
    return model, subprocess.check_output([ROOT / 'tools/plan.sh', model, str(tokens), *options], text=True).strip()


def vocabulary(model, plan):
    """Returns the file of a model directory that data owners of the plan need."""
    named = json.loads(pathlib.Path(plan).read_text())['tokenizer']
    return next(f for f in (pathlib.Path(model) / name for name in ('vocab.txt', 'tokenizer.json')) if f.exists() and hashlib.sha256(f.read_bytes()).hexdigest() == named)


def random_model(preset):
    """Returns the directory of a preset's random model, in the cache beside the fetched one. Makes it if missing."""
    cache = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache') / 'suf'
    folder = cache / f'random-{preset}'
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as part:  # whole or not at all
            subprocess.check_call([ROOT / 'build/suf', 'model', 'random', '--preset', preset, '--seed', '1', '--out', f'{part}/model'])
            os.rename(f'{part}/model', folder)
    return str(folder)


def commit():
    """Returns the commit of this checkout, with `-dirty` if a file differs. The results being written do not count."""
    def git(*command):
        return subprocess.run(['git', '-C', ROOT, *command], capture_output=True, text=True).stdout.strip()
    changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!bench/results')
    return git('rev-parse', '--short=12', 'HEAD') + '-dirty' * bool(changed)


def facts():
    """Returns commit, processor, cores and memory."""
    name, family = '', ''
    for line in open('/proc/cpuinfo'):
        key, _, value = line.partition(':')
        name = name or (value.strip() if key.strip() == 'model name' else '')
        family = family or (value.strip() if key.strip() == 'cpu family' else '')
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {'commit': commit(), 'cpu': f'{name} family {family}', 'cores': len(os.sched_getaffinity(0)), 'memory_gb': round(memory / 1e9)}
