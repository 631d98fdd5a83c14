"""Commands of the program as functions. Each runs in a process of its own, so that its memory is free afterwards."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from suf import _errors

CLASSES = {2: _errors.InputError, 3: _errors.PeerError, 4: _errors.RefusedError, 5: _errors.ResourceError}


def _words(options):
    """Returns the words of options: True gives a flag alone, a list repeats it, None leaves it out."""
    for name, value in options.items():
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is None or v is False:
                continue
            yield '--' + name.replace('_', '-')
            if v is not True:
                yield os.fspath(v) if isinstance(v, os.PathLike) else str(v)


def _run(command, *positional, progress=False, **options):
    """Runs a command; returns its stdout. Raises its error."""
    words = [sys.executable, '-m', 'suf', *command.split(), *map(os.fspath, positional), *_words(options)]
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1]), *filter(None, [os.environ.get('PYTHONPATH')])])
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=None if progress else subprocess.PIPE, text=True, errors='replace',
                           env={**os.environ, 'PYTHONPATH': path})
    if ended.returncode:
        lines = [line for line in (ended.stderr or '').splitlines() if line.startswith('suf: ')]
        message = lines[-1][5:] if lines else f'suf {command} ended with {ended.returncode}'
        raise CLASSES.get(ended.returncode, _errors.Bug)(message)
    return ended.stdout


def compile(model, out, calibrate, *, progress=False, **options):
    """Compiles the plan of a model's folder into the file `out`. `calibrate` is a file of texts, or a list of them; a tab stands between the texts of a pair.
    `options` are those of `suf compile`, such as max_tokens=128 or profile="lan". Returns the path."""
    if isinstance(calibrate, (str, os.PathLike)):
        _run('compile', progress=progress, model=model, out=out, calibrate=calibrate, **options)
        return os.fspath(out)
    with tempfile.NamedTemporaryFile('w', encoding='utf-8', suffix='.txt') as texts:
        texts.writelines(t.replace('\r', ' ').replace('\n', ' ') + '\n' for t in calibrate)
        texts.flush()
        return compile(model, out, texts.name, progress=progress, **options)


def estimate(plan, tokens=32, **options):
    """Returns the cost of a text of so many tokens as a dict (schema suf.estimate/2)."""
    return json.loads(_run('estimate', plan=plan, tokens=tokens, json=True, **options))


def simulate(model, plan, texts, **options):
    """Computes in clear what the protocol computes. Returns {"values": (n, d) float32, "integers": (n, d) int64,
    "scale"}. With index="folder" it has "hits" in place of values and scale, a list of dicts for each text. Only for
    someone who has the model, the texts and the index."""
    with tempfile.NamedTemporaryFile('w', encoding='utf-8', suffix='.jsonl') as file:
        file.writelines(json.dumps({'text': t}) + '\n' for t in ([texts] if isinstance(texts, str) else texts))
        file.flush()
        rows = [json.loads(line) for line in _run('simulate', model=model, plan=plan, json=True, json_file=file.name, **options).splitlines()]
    integers = np.array([r['y'] for r in rows], np.int64)
    if options.get('index') is not None:
        return {'integers': integers, 'hits': [r['hits'] for r in rows]}
    return {'integers': integers, 'scale': rows[0]['f'] if rows else 0,
            'values': np.array([r.get('embedding', r.get('scores')) for r in rows], np.float32)}


def certs(folder, data=(), dealer=()):
    """Makes certificates for the three roles in a new folder. `data` and `dealer` are names, for several of them."""
    _run('certs', folder, data=list(data), dealer=list(dealer))


def pull(connect, certs, out, expect=None, **options):
    """Gets plan, tokenizer and index plans from a model owner into a folder. Returns {"plan": hash, "tokenizer": hash,
    "indexes": {file: hash}}."""
    lines = [line.split(None, 2) for line in _run('pull', connect=connect, certs=certs, out=out, expect=expect, **options).splitlines()]
    found = {name: digest for name, digest, _ in lines if name != 'index'}
    return {**found, 'indexes': {file: digest for name, digest, file in lines if name == 'index'}}
