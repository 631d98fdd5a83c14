#!/usr/bin/env python3
"""Runs several data owners, and several sessions of one, with one model owner. Each gets its own results and waits for
its turn. Faults of one of them, or its refusal when the model owner stops, change nothing for the others.

  owners_test.py SUF [PATTERN]     from anywhere; about half a minute. PATTERN picks rows
"""
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import EMBED, SERVE, held, owners, results, starter, texts
from roles import GateWorld
from rows import alone, both_worlds, ended, main, row

NARROW = 4  # MB: a batch of two texts of 8 tokens


def begin(w, names=('alice', 'bob'), serve={}):
    """Starts dealer and model owner. Returns a function that starts the embed of an owner."""
    of = owners(w, names)
    w.deal(certs=w.dir / 'certs').port()
    w.serve(certs=w.dir / 'certs', **serve).port()
    return starter(w, of)


def beside(w, count, pattern=None, **serve):
    """Holds an inference of alice as `held` does, and starts bob with so many texts. Waits for bob's message of a
    pattern. Returns (alice's process, the function that lets it go on, bob's process, bob's results)."""
    start = begin(w, serve=serve)
    first, go = held(w, start, 'alice')
    path, wanted = texts(w, count)
    second = start('bob', None, file=path)
    assert not pattern or second.said(pattern), second.err
    return first, go, second, wanted


@row('four data owners at the same time', 0, '', 20)
def _(w):
    names = ('alice', 'bob', 'carol', 'dan')
    start = begin(w, names)
    path, wanted = texts(w, 6)
    all = [start(name, None, file=path) for name in names]
    for e in all:
        assert e.finish() == 0, e.err
        assert results(w, e) == wanted
    yield start('alice')
    assert len(w.lanes('model')) == 4 and len(w.lanes('data-alice')) == 1
    folders = {p.parent.name for p in w.lanes('model')}
    assert len(folders) == 4, 'each data owner has a folder at the model owner'


@row('eight sessions of one data owner', 0, 'embed: 20 sentences', 20)
def _(w):
    w.both()
    path, wanted = texts(w, 20)
    e = w.embed(None, file=path, parallel=8)
    yield e
    assert results(w, e) == wanted, 'the results keep the order of the texts'
    assert 2 <= len(w.lanes('data')) <= 8 and len(w.lanes('model')) == len(w.lanes('data'))


@row('two sessions by default, and serve --once ends after both', 0, '', 20)
def _(w):
    path, wanted = texts(w, 12)
    w.deal().port()
    cases = (({}, 2), ({'one-by-one': True}, 1), ({'record': w.dir / 'record'}, 1), ({'audit': 1}, 1), ({'ahead': 2}, 1))
    for i, (flags, sessions) in enumerate(cases):
        server = w.serve(once=True, store=w.dir / f'model{i}')
        e = w.embed(None, file=path, store=w.dir / f'data{i}', parallel=None, **{'ahead': 0, **flags})
        assert e.finish() == 0, e.err
        assert results(w, e) == wanted and server.finish() == 0, server.err
        assert len(w.lanes(f'data{i}')) == sessions, flags
    yield e


@row('two data owners, each with two sessions of batches', 0, 'embed: 8 sentences', 20)
def _(w):
    start = begin(w)
    lines = [w.base.text(3 + i % 2, i) for i in range(8)]
    (w.dir / 'texts').write_text('\n'.join(lines) + '\n')
    both = [start(name, None, file=w.dir / 'texts', parallel=2, batch=2) for name in ('alice', 'bob')]
    for e in both:
        assert e.finish() == 0, e.err
        assert results(w, e) == w.base.simulate(lines)
        assert {r.get('texts') for r in e.rows()} == {2}, 'a text ran alone'
    yield e


@row('eight sessions in the memory of some', 0, 'embed: 20 sentences', 20)
def _(w):
    w.both()
    path, wanted = texts(w, 20)
    e = w.embed(None, file=path, parallel=8, batch=2, memory=NARROW)
    yield e
    assert results(w, e) == wanted


@row('several sessions with keys from the disk and audits', 0, 'embed: 10 sentences', 30)
def _(w):
    w.deal(tokens=5, count=4).port()
    w.serve().port()
    text = w.base.text(5, 1)
    path = w.dir / 'same'
    path.write_text(f'{text}\n' * 10)
    for flags in ({}, {'audit': 6}):
        e = w.embed(None, file=path, parallel=3, **flags)
        assert e.finish() == 0, e.err
        assert results(w, e) == w.base.simulate([text]) * 10
        assert len([line for line in e.err if 'audited a bundle' in line]) == flags.get('audit', 0)
    yield e


@row('one place: a data owner waits while another one runs', 0, '', 20)
def _(w):
    first, go, second, wanted = beside(w, 1, 'others run first: place 1', **{'at-once': 1})
    assert len(w.fates('data-bob')) == 0, 'nothing is spent before its turn'
    go()
    assert first.finish() == 0, first.err
    yield second
    assert results(w, first) == [w.expected()] and results(w, second) == wanted


@row('a data owner stops inside a long frame while another one goes on', 0, '', 20)
def _(w):
    first, go, second, wanted = beside(w, 4)
    yield second
    assert results(w, second) == wanted
    go()
    assert first.finish() == 0, first.err


@row('SIGTERM of serve while one runs and one waits', 3, 'the model owner is stopping and takes nothing new', 20)
def _(w):
    first, go, second, _ = beside(w, 3, 'others run first: place 1', **{'at-once': 1})
    w.server.signal(signal.SIGTERM)
    yield second
    go()
    assert first.finish() == 0 and results(w, first) == [w.expected()], first.err
    assert w.server.finish() == 0, w.server.err
    ended(w, 'waited for its turn when we stopped')
    assert not w.fates('data-bob')


@row('SIGKILL of one of two data owners', 0, '', 20)
def _(w):
    first, go, second, wanted = beside(w, 4)
    first.kill()
    go()
    yield second
    assert results(w, second) == wanted
    ended(w, 'the data owner ended the connection')
    assert w.embed(certs=w.dir / 'certs/data-alice', store=w.dir / 'data-alice').finish() == 0


@row('a signal ends several sessions after their texts', -2, 'embed was stopped by a signal; [0-9]+ of 400 texts', 20)
def _(w):
    w.both()
    path, _ = texts(w, 400)
    e = w.embed(None, file=path, parallel=3)
    while not e.said('embed: .* of 400', 0.1) and e.process.poll() is None and not w.fates('data'):
        pass
    e.signal(signal.SIGINT)
    yield e
    assert len(e.rows()) == int(e.err[-1].split(' of 400 texts')[0].split()[-1]) < 400, 'each text that is done has its row'


@row('the model owner is killed under several sessions', 3, 'the model owner', 20)
def _(w):
    w.both()
    path, _ = texts(w, 200)
    e = w.embed(None, file=path, parallel=3)
    assert w.server.said('serial 3,')
    w.server.kill()
    yield e
    w.works()


@both_worlds('two sessions of a function or a composition', 0, '', 20, (('', GateWorld),))
def _(w):
    w.both()
    first = w.embed(64)
    second = w.embed(64, store=w.dir / 'data2')
    for e in (first, second):
        assert e.finish() == 0, e.err
        assert w.result(e.rows()[0]) == w.expected(64)
    yield first


@row('a record of batches', 0, '', 20)
def _(w):
    w.both()
    path, wanted = texts(w, 6)
    e = w.embed(None, file=path, batch=4, record=w.dir / 'record')
    yield e
    assert results(w, e) == wanted
    assert (w.dir / 'record').stat().st_size > 10_000


# ---- bad input

alone('no place', 2, '--at-once', [*SERVE, '--at-once', '0'])
alone('no place at the dealer', 2, '--at-once', 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --at-once 0'.split())
alone('no memory', 2, '--memory', [*SERVE, '--memory', '0'])
alone('more memory than the machine has', 2, 'allows 900000000 MB, and this machine has [0-9]+; allow less', [*SERVE, '--memory', '900000000'])
alone('no time to idle', 2, '--idle', [*SERVE, '--idle', '0'])
alone('no place, fn serve', 2, '--at-once', 'fn serve --plan {plan} --certs {certs} --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/p0 --at-once 0'.split())
alone('a place too many', 2, '--at-once: Value 257 not in range 1 to 256', [*SERVE, '--at-once', '257'])
alone('no session', 2, '--parallel', [*EMBED, '--parallel', '0', '--', 'the dog'])
alone('65 sessions', 2, '--parallel', [*EMBED, '--parallel', '65', '--', 'the dog'])
alone('no text in a batch', 2, '--batch', [*EMBED, '--batch', '0', '--', 'the dog'])
alone('65 texts in a batch', 2, '--batch', [*EMBED, '--batch', '65', '--', 'the dog'])
alone('65 texts in a bundle made ahead', 2, '--texts', 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --state {w}/d --tokens 4 --texts 65 --count 1'.split())
alone('a batch of a function at the dealer', 2, 'the batch has 2 texts; this plan takes 1 to 1 at once', 'deal --plan {w}/f.plan --certs {certs} --listen 127.0.0.1:0 --state {w}/d --tokens 4 --texts 2 --count 1'.split(),
      lambda w: (w.dir / 'f.plan').write_bytes(w.base.function.read_bytes()))
alone('a batch of a function', 2, '--batch', 'fn ask --plan p --certs {certs} --dealer h:1 --connect h:2 --store {w}/p1 --values v --batch 2'.split())
alone('no memory at the data owner', 2, '--memory', [*EMBED, '--memory', '0', '--', 'the dog'])
alone('more memory than the data owner has', 2, 'allows 900000000 MB, and this machine has [0-9]+; allow less', [*EMBED, '--memory', '900000000', '--', 'the dog'])
alone('a batch that never fits at the data owner', 2, 'running 8 texts of 8 tokens takes [0-9.]+ MB of memory, and [0-9.]+ MB are allowed; raise --memory, or lower --batch to 2',
      [*EMBED, '--memory', str(NARROW), '--batch', '8', '--file', '{w}/eight'], lambda w: (w.dir / 'eight').write_text(f'{w.base.text(8)}\n' * 8))
alone('a text that never fits at the data owner', 2, 'running 1 text of 16 tokens takes .*; raise --memory, or bring shorter texts',
      [*EMBED, '--memory', '1', '--file', '{w}/long'], lambda w: (w.dir / 'long').write_text(f'{w.base.text(16)}\n'))
alone('a record of several sessions', 2, 'leave out one of both', [*EMBED, '--parallel', '2', '--record', '{w}/record', '--', 'the dog'])


@row('a text that needs more memory than serve may use', 5, 'the model owner has too little memory for our number of tokens', 12)
def _(w):
    w.deal().port()
    w.serve(memory=1).port()
    yield w.embed(w.base.text(16, 1))
    ended(w, 'needs [0-9]+ bytes of memory, and 1048576 bytes are allowed')
    assert not w.fates('data')


@row('a batch that needs more memory than serve may use', 5, 'the model owner has too little memory for our number of tokens', 12)
def _(w):
    w.deal().port()
    w.serve(memory=8).port()
    text = w.base.text(16, 1)
    w.works(text)  # alone it takes less than 3 MB
    (w.dir / 'texts').write_text(f'{text}\n' * 16)
    yield w.embed(None, file=w.dir / 'texts', batch=16)
    ended(w, 'needs [0-9]+ bytes of memory, and 8388608 bytes are allowed')
    assert set(w.fates('data')) == {1}


if __name__ == '__main__':
    main()
