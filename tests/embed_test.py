#!/usr/bin/env python3
"""Runs three processes on loopback with a tiny random model, without faults, and checks what they show.

  embed_test.py SUF     from anywhere; about half a minute
"""
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import struct
import time

from roles import AMPLE, LIMIT, World, read_record, read_safetensors
from rows import each

FIRST_RUN = 0x100  # kinds of frames from here on belong to an inference


def windows(data, size, step=1):
    return {data[i:i + size] for i in range(0, len(data) - size + 1, step)}


def run_frames(frames):
    return b''.join(f[4] for f in frames if f[2] >= FIRST_RUN)


def embed_rows(w, text, **flags):
    e = w.embed(text, **flags)
    assert e.finish() == 0, e.err
    return e.rows()


def every_length(base):
    """Each length from 3 on gives the simulator's result. Rows are as documented, with the numbers of the estimate."""
    with World(base, 'every-length') as w:
        w.both()
        texts = {n: base.text(n, n) for n in range(3, LIMIT + 1)}
        lines = w.dir / 'texts.jsonl'
        lines.write_text(''.join(json.dumps({'id': f't{n}', 'text': t}) + '\n' for n, t in texts.items()))
        rows = embed_rows(w, None, **{'json-file': lines, 'out': w.dir / 'out.safetensors'})
        expected = base.simulate(texts.values())
        assert len(rows) == len(texts)
        for i, (n, row) in enumerate(zip(texts, rows)):
            assert row['y'] == expected[i], f'{n} tokens: another result than the simulator'
            estimate = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', n, '--json'))
            check_row(row, i, n, estimate)
        header, data = read_safetensors(w.dir / 'out.safetensors')
        begin, end = header['embedding']['data_offsets']
        assert header['embedding']['shape'] == [len(rows), 32] and header['embedding']['dtype'] == 'F32'
        floats = struct.unpack(f'<{(end - begin) // 4}f', data[begin:end])
        assert list(floats) == [v for r in rows for v in r['embedding']], '--out holds other numbers than the rows'


def batches(base):
    """At most K texts of one length run as one job. It has the flights of one text, and K times its keys. Each text
    has its own result, and the others run alone."""
    with World(base, 'batches') as w:
        w.deal(tokens=5, texts=3, count=2).port()
        w.serve().port()
        lengths = [5, 7, 5, 5, 7, 5, 9]
        texts = [base.text(n, i) for i, n in enumerate(lengths)]
        (w.dir / 'texts').write_text('\n'.join(texts) + '\n')
        one = {n: json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', n, '--json')) for n in set(lengths)}
        for flags in ({}, {'parallel': 2}, {'audit': 2}):
            rows = embed_rows(w, None, file=w.dir / 'texts', batch=3, **flags)
            assert [r['y'] for r in rows] == base.simulate(texts), 'another result than the simulator'
            batch = {}
            for r in rows:
                batch.setdefault(r['serial'], []).append(r)
            assert sorted((rows[0]['n'], len(rows)) for rows in batch.values()) == [(5, 1), (5, 3), (7, 2), (9, 1)]
            for serial, rows in batch.items():
                k, n = len(rows), rows[0]['n']
                whole = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', n, '--batch', k, '--json'))
                for r in rows:
                    assert r.get('texts', 1) == k and r['flights'] == one[n]['flights'] and r['frames'] == whole['frames']
                    assert r['key_bytes'] == whole['key_bytes'], r['key_bytes']
                    assert abs(sum(r['key_bytes']) / (k * sum(one[n]['key_bytes'])) - 1) < 1e-3, 'up to the bytes that packing rounds up'
                assert w.server.said(f'serial {serial}, ' + (f'{k} texts of {n} tokens' if k > 1 else f'{n} tokens'))


def check_row(row, i, n, estimate):
    assert (row['schema'], row['i'], row['id'], row['n'], row['serial'], row['f']) == ('suf.embed/1', i, f't{n}', n, i + 1, 16), row
    for field in ('plan', 'trace', 'flights', 'frames', 'key_bytes'):
        assert row[field] == estimate[field], f'{n} tokens: {field} {row[field]}, the estimate says {estimate[field]}'
    assert row['embedding'] == [v / 65536 for v in row['y']]
    sent, said = row['bytes'], estimate['payload']
    assert sent['p0'] == said['p0'] + 8 * row['frames'][0] and sent['p1'] == said['p1'] + 8 * row['frames'][1], (sent, said)
    extra = sent['p1_offline'] - said['p1_offline']
    assert extra > 0 and extra % 8 == 0, 'ahead of time P1 sent more than its frames'
    assert sent['setup'] == 0 if i else said['setup'] < sent['setup'] < said['setup'] * 1.01, sent
    a, b = row['key_bytes']
    assert abs(a - b) <= 0.02 * max(a, b), f'{n} tokens: the bundles differ by more than 2 %: {a}, {b}'
    assert all(row['ms'][k] >= 0 for k in ('fetch', 'ahead', 'online')) and row['ms']['online'] > 0
    assert len(row['rss_mb']) == 1 and 0 < estimate['memory_bytes']['p1']['total'] <= row['rss_mb'][0] * 1e6, row['rss_mb']


def recorded_frames(base):
    """One text twice, and another of the same length, give frames of equal shape. No word of one is in another.
    P0 writes a file for each session."""
    with World(base, 'recorded') as w:
        w.deal().port()
        texts = [base.text(9, 1), base.text(9, 1), base.text(9, 2)]
        s = w.serve(record=w.dir / 'p0')
        s.port()
        for k, text in enumerate(texts):
            embed_rows(w, text, record=w.dir / f'p1.{k}')
        s.end()
        assert s.process.returncode == 0, s.err
        data = [read_record(w.dir / f'p1.{k}') for k in range(3)]
        model = [read_record(w.dir / name) for name in ('p0', 'p0.2', 'p0.3')]
        for k in range(3):
            mirrored = {(1 - sent, *rest) for sent, _, *rest in model[k]}
            assert {(sent, *rest) for sent, _, *rest in data[k]} == mirrored, 'the two parties recorded different frames'
            assert len({f[2] for f in data[k] if f[2] >= FIRST_RUN}) > 10
        shape = lambda frames: [(f[0], f[1], f[2], len(f[4])) for f in frames if f[2] >= FIRST_RUN]
        assert shape(data[0]) == shape(data[1]) == shape(data[2]), 'frames differ in length between texts of equal length'
        seen = [windows(run_frames(d), 16) for d in data]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert not seen[a] & seen[b], 'two inferences share 16 bytes of their frames'


def made_ahead(base):
    """--tokens N --count M and --ahead M fill both stores as estimated. Only the first inference waits for keys."""
    with World(base, 'ahead') as w:
        w.both(tokens=5, count=4)
        rows = []
        for k in range(4):
            rows += embed_rows(w, base.text(5, k))
            if k == 0:
                estimate = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', 5, '--ahead', 4, '--json'))['ahead']
                sizes = [[b.stat().st_size for b in w.bundles(s)] for s in ('model', 'data')]
                assert estimate == {'count': 4, 'bytes': [4 * size[0] for size in sizes]} and all(len(set(size)) == 1 for size in sizes), (estimate, sizes)
                assert 'on the disk of the model owner' in base.suf('estimate', '--plan', base.plan, '--tokens', 5, '--ahead', 4)
            left = [len(w.bundles(s)) for s in ('model', 'data')]
            assert left == [3 - k] * 2, f'after {k + 1} inferences the stores hold {left} bundles'
        assert [r['serial'] for r in rows] == [1, 2, 3, 4]
        for r in rows[1:]:
            assert r['ms']['fetch'] == 0, r['ms']
        assert [r['y'] for r in rows] == base.simulate([base.text(5, k) for k in range(4)])
        assert embed_rows(w, base.text(6))[0]['serial'] == 5


def private_files(base):
    """Only their owner can read results, times and records, whatever the umask, even in files that others could read
    before."""
    open_to_all = {'preexec_fn': lambda: os.umask(0)}
    for before in ('new', 'old'):
        with World(base, f'private-{before}') as w:
            files = {name: w.dir / name for name in ('p0.times', 'dealer.times', 'out', 'p0.frames', 'p1.frames')}
            if before == 'old':
                for name in ('p0.times', 'dealer.times', 'out'):
                    files[name].write_text('old\n' * 1000)
                    files[name].chmod(0o666)
            w.deal(open_to_all, times=files['dealer.times']).port()
            w.serve(open_to_all, times=files['p0.times'], record=files['p0.frames']).port()
            embed_rows(w, base.text(5), process=open_to_all, out=files['out'], record=files['p1.frames'])
            modes = {name: oct(path.stat().st_mode & 0o777) for name, path in files.items()}
            assert set(modes.values()) == {'0o600'}, modes
            assert read_safetensors(files['out'])[0]['embedding']['shape'] == [1, 32]
            w.server.end(), w.dealer.end()
            for name, parts in (('p0.times', ['keys', 'ahead', 'online']), ('dealer.times', ['deal'])):
                row, = [json.loads(line) for line in files[name].read_text().splitlines()]
                assert row['serial'] == 1 and list(row['spans']) == parts and all(0 < begin <= end for begin, end in row['spans'].values()), row
            assert not list(w.dir.glob('*.part'))


TAG = 16  # bytes of a chunk's tag


def keys_of(path):
    """The key bytes of a bundle file, without preamble, lengths and tags."""
    raw = path.read_bytes()
    at, body = 4 + struct.unpack_from('<I', raw)[0] + 32, b''
    while at < len(raw):
        n, = struct.unpack_from('<I', raw, at)
        body += raw[at + 4 + TAG:at + 4 + n]
        at += 4 + n
    return body


def dealt_again(base):
    """A dealer that lost its state deals the same serials again, with entirely different keys."""
    keys = []
    with World(base, 'dealt-again') as w:
        for k in range(2):
            w.deal(tokens=5, count=3, state=w.dir / f'state{k}').port()
            w.serve(store=w.dir / f'model{k}').port()
            embed_rows(w, base.text(5), store=w.dir / f'data{k}')
            keys.append({(role, path.name): keys_of(path) for role in ('model', 'data') for path in w.bundles(f'{role}{k}')})
            w.server.kill(), w.dealer.kill()
        assert set(keys[0]) == set(keys[1]) and len(keys[0]) == 4
        foretold = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', 5, '--json'))['key_bytes']
        for (role, name), body in keys[0].items():
            assert len(body) == foretold[role == 'data'], f'{name} of {role}: {len(body)} key bytes read, the estimate says {foretold}'
        words = [[windows(body, 8) for body in k.values()] for k in keys]
        for a in words[0]:
            for b in words[1]:
                assert not a & b, 'a serial dealt again shares a word of its keys'


def vocabulary(base):
    """At first embed prints the vocabulary's digest from the plan, and a warning if it is unknown.
    The command plan show prints the same. real_test.py has a known one."""
    line = f'vocabulary SHA-256 {hashlib.sha256((base.model / "vocab.txt").read_bytes()).hexdigest()}: '
    unknown = line + 'not a known one; ask the model owner for its origin, and compare (docs/operations.md)'
    assert unknown in base.suf('plan', 'show', base.plan).splitlines()
    with World(base, 'vocabulary') as w:
        e = w.embed(dealer=1, connect=1)
        assert e.finish() == 3 and any(re.fullmatch(r'\S+ warn(ing)? embed: ' + re.escape(unknown), said) for said in e.err), e.err


VARIANTS = {'portable': (), 'avx2': ('avx2', 'bmi2', 'aes'), 'avx512': ('avx512f', 'avx512_vbmi2', 'vaes', 'gfni')}  # some flags of each


def in_turn(base, option, values, text, says=lambda name, value: ''):
    """Runs each role with each value of an option, in turn: all words, bytes and counts are equal.
    Each role's log has the pattern says(role, value)."""
    y, = base.simulate([text])
    seen = []
    for k in range(len(values)):
        of = [values[(k + role) % len(values)] for role in range(3)]
        with World(base, f'{option}-{k}') as w:
            w.deal(**{option: of[0]}).port()
            w.serve(**{option: of[1]}).port()
            e = w.embed(text, **{option: of[2]})
            assert e.finish() == 0, e.err
            for role, name, value in ((w.dealer, 'deal', of[0]), (w.server, 'serve', of[1]), (e, 'embed', of[2])):
                assert any(re.search(says(name, value), line) for line in role.err), role.err
            row, = e.rows()
            assert row['y'] == y, of
            seen.append([row[field] for field in ('bytes', 'key_bytes', 'flights', 'frames', 'trace')])
    assert all(s == seen[0] for s in seen), seen


def variants(base):
    """Each role runs each variant of the kernels, in different combinations: all words and byte counts are equal."""
    flags = set(re.search(r'^flags\s*:(.*)', pathlib.Path('/proc/cpuinfo').read_text(), re.M)[1].split())
    names = [v for v, needs in VARIANTS.items() if flags.issuperset(needs)]
    in_turn(base, 'kernels', names, base.text(9), lambda name, variant: rf' info {name}: the kernels are {variant}$')
    with World(base, 'variants-default') as w:
        assert (e := w.embed(dealer=1, connect=1)).finish() == 3
        assert any(line.endswith(f' info embed: the kernels are {names[-1]}') for line in e.err), e.err


BACKENDS = ('packed', 'clear', 'rows')


def backends(base):
    """Each role runs each backend, all different: words, bytes and counts are equal, and each log names the backend.
    Protocol.AnyRoleOnAnyBackend has all combinations."""
    listed = {b['name']: b for b in json.loads(base.suf('backends', '--json'))['backends']}
    assert all(listed[name]['models'] and listed[name]['runs'] for name in BACKENDS) and not listed['myl7']['models'], listed
    names = BACKENDS + (('cuda',) if listed['cuda']['runs'] else ())
    in_turn(base, 'backend', names, base.text(5), lambda name, backend: rf' info {name}: the backend is {backend}(/.*)?$')
    with World(base, 'backends-default') as w:
        assert (e := w.embed(dealer=1, connect=1)).finish() == 3
        default = 'cuda' if listed['cuda']['runs'] else r'packed/\w+ \(auto: .*\)$' if os.path.exists('/proc/driver/nvidia/version') else r'packed/\w+$'
        assert any(re.search(rf' info embed: the backend is {default}', line) for line in e.err), e.err


def streams(base):
    """Roles that allow different numbers of streams take the lowest one; all words, bytes and counts are equal."""
    in_turn(base, 'streams', (1, 2, 5), base.text(9))


LOADING = ('reading the model in ', 'quantising the weights', 'checking the certificates for these weights', "masking the weights for a data owner's set-up")


def says_what_it_loads(base):
    """serve reports each step before it listens: by a log line, or on a terminal by a progress bar."""
    with World(base, 'loads') as w:
        w.serve(dealer=1).port()
        said = [next((i for i, line in enumerate(w.server.err) if f' info serve: {what}' in line), None) for what in (*LOADING, 'listening on port')]
        assert None not in said and said == sorted(said), w.server.err
        w.server.kill()
        ours, theirs = pty.openpty()
        w.serve({'stderr': theirs}, dealer=1, store=w.dir / 'terminal')
        os.close(theirs)
        shown, end = b'', time.monotonic() + AMPLE
        while b'listening on port' not in shown and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 4096)
        assert b'listening on port' in shown, shown
        for what in (LOADING[0], LOADING[3]):  # the others may end before the bar is drawn again
            assert re.search(rb'serve \[[= ]{30}\] \d+ %  ' + re.escape(what[:30]).encode(), shown), (what, shown)  # 80 columns clip the rest
        assert not any(f'info serve: {what}'.encode() in shown for what in LOADING), shown
        os.close(ours)


UNREAD = 141  # as a shell reports a program that SIGPIPE ended


def nobody_reads(base):
    """If the reader of stdout goes away after a row, at most the bundle being claimed is used. No error is printed.
    Afterwards everything works."""
    with World(base, 'nobody-reads') as w:
        reading, writing = os.pipe()
        os.close(reading)
        e = w.embed(dealer=1, connect=1, process={'stdout': writing})  # at an address without a listener
        os.close(writing)
        assert e.finish() == UNREAD and not any(line.startswith('suf:') for line in e.err), e.err
        w.both()
        (w.dir / 'texts').write_text('the dog\n' * 200)
        for form, first in ((True, b'{'), (None, b'l')):
            reading, writing = os.pipe()
            e = w.embed(None, file=w.dir / 'texts', json=form, process={'stdout': writing})
            os.close(writing)
            assert os.read(reading, 1) == first
            e.stop()
            os.close(reading)
            before = len(w.fates('data'))
            e.go_on()
            assert e.finish() == UNREAD and not any(line.startswith('suf:') for line in e.err), e.err
            spent = w.fates('data')
            assert before <= len(spent) <= before + 1 < 200 and set(spent.values()) == {'done'}, (before, spent)
            assert e.said(r' info embed: stdout takes no more results; \d+ of 200 texts are done$', 0), e.err
            assert w.server.said('a session ended: the data owner ended the session for a reason of its own'), w.server.err
            w.works()


def ipv6(base):
    """Roles that listen at IPv6 addresses and names are reached there."""
    with World(base, 'ipv6') as w:
        both = {'plan': base.plan, 'certs': base.certs}
        dealer = w.deal(listen='[::1]:0').port()
        w.server = w.role(*w.command('serve', {**both, 'model': base.model, 'dealer': f'[::1]:{dealer}', 'listen': 'localhost:0', 'store': w.dir / 'model'}, {}))
        for at in ('[::1]', '::1'):
            embed = {**both, 'vocab': base.model / 'vocab.txt', 'json': True, 'dealer': f'{at}:{dealer}', 'connect': f'localhost:{w.server.port()}', 'store': w.dir / 'data'}
            e = w.role(*w.command('embed', embed, {}), 'the dog')
            assert e.finish() == 0 and [r['y'] for r in e.rows()] == base.simulate(['the dog']), e.err


def alone(base):
    """Commands of one party print only JSON lines on stdout."""
    with World(base, 'alone') as w:
        text = w.dir / 'texts.txt'
        text.write_text('the dog\nThe River!\n')
        ids = [json.loads(line) for line in base.suf('tokenize', '--model', base.model, '--file', text, '--json').splitlines()]
        assert [r['i'] for r in ids] == [0, 1] and all(r['ids'][0] == 2 and r['ids'][-1] == 3 for r in ids)
        rows = [json.loads(x) for x in base.suf('simulate', '--model', base.model, '--plan', base.plan, '--file', text, '--json').splitlines()]
        assert all(r['schema'] == 'suf.simulate/1' and r['ids'] == k['ids'] and len(r['y']) == 32 and 'outside' in r for r, k in zip(rows, ids))
        plan = json.loads(base.suf('plan', 'show', base.plan, '--json'))
        assert plan == json.loads(base.plan.read_text())
        assert 'certificates' in base.suf('plan', 'show', base.plan) and len(base.suf('plan', 'show', base.plan, '--trace', 5).splitlines()) > 50
        assert 'AES dealer' in base.suf('estimate', '--plan', base.plan, '--tokens', 5)
        cost = json.loads(base.suf('estimate', '--plan', base.plan, '--tokens', 5, '--json'))
        for field in ('aes_blocks', 'words'):
            parts = [sum(part) for part in zip(*(operator[field] for operator in cost['operators']))]
            assert parts == cost[field] and all(n > 0 for n in parts), (field, parts, cost[field])
        base.suf('model', 'random', '--preset', 'tiny', '--seed', 1, '--out', w.dir / 'again')
        for file in sorted(base.model.iterdir()):
            assert file.read_bytes() == (w.dir / 'again' / file.name).read_bytes(), f'{file.name} differs between two runs of one seed'


if __name__ == '__main__':
    each(every_length, batches, recorded_frames, made_ahead, private_files, dealt_again, vocabulary, variants, backends, streams, says_what_it_loads, nobody_reads, ipv6, alone)
