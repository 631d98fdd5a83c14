"""What measurements are labelled with, and where the model and its plan are."""
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fetched():
    """The directory of the fetched model."""
    return subprocess.check_output([ROOT / 'build/suf', 'model', 'path'], text=True).strip()


def model_and_plan(model=None, tokens=256):
    """The model directory (the fetched one by default) and the path of its plan for texts of up to that many tokens."""
    model = model or fetched()
    return model, subprocess.check_output([ROOT / 'tools/plan.sh', model, str(tokens)], text=True).strip()


def random_model(preset):
    """The directory of a preset's random model, in the cache beside the fetched one; made where it is not there."""
    cache = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache') / 'suf'
    folder = cache / f'random-{preset}'
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as part:  # whole or not at all
            subprocess.check_call([ROOT / 'build/suf', 'model', 'random', '--preset', preset, '--seed', '1', '--out', f'{part}/model'])
            os.rename(f'{part}/model', folder)
    return str(folder)


def commit():
    """The commit of this checkout; `-dirty` follows if a file differs, other than the results that are being written."""
    def git(*command):
        return subprocess.run(['git', '-C', ROOT, *command], capture_output=True, text=True).stdout.strip()
    changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!bench/results')
    return git('rev-parse', '--short=12', 'HEAD') + '-dirty' * bool(changed)


def facts():
    """commit, processor, cores, memory."""
    name, family = '', ''
    for line in open('/proc/cpuinfo'):
        key, _, value = line.partition(':')
        name = name or (value.strip() if key.strip() == 'model name' else '')
        family = family or (value.strip() if key.strip() == 'cpu family' else '')
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {'commit': commit(), 'cpu': f'{name} family {family}', 'cores': len(os.sched_getaffinity(0)), 'memory_gb': round(memory / 1e9)}
