#!/usr/bin/env python3
"""Runs a model owner that lists its data owners (--owners). Those that are unlisted, expired or over a limit are refused
before anything is spent. SIGHUP reads the list again.

  quotas_test.py SUF [PATTERN]     from anywhere; about 20 s. PATTERN picks rows
"""
import pathlib
import signal
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import SERVE_EARLY, begin_listed, held, results, texts, write_owners
from rows import alone, ended, main, row


def hangup(w, pattern):
    """Has serve read its list again, and waits for its message."""
    since = len(w.server.err)
    w.server.signal(signal.SIGHUP)
    assert w.server.said(pattern, since=since), w.server.err


@row('an unlisted data owner', 4, 'the model owner does not list our key; send our fingerprint to its operator|does not list our key among', 20)
def _(w):
    start, _ = begin_listed(w, {'alice': ''})
    yield start('bob')
    ended(w, 'the data owner data=[0-9a-f]{64} is not listed')
    assert not w.fates('data-bob') and not w.lanes('model'), 'something was spent or made'
    assert start('alice').finish() == 0


@row('the quota ends in the middle of a session', 4, 'allows us no more texts, tokens or searches on this day; return in [0-9]+ (h|min|s)', 30)
def _(w):
    start, _ = begin_listed(w, {'alice': 'texts = 5'})
    path, wanted = texts(w, 9)
    e = start('alice', None, file=path)
    yield e
    assert results(w, e) == wanted[:5], 'the texts of the quota have their results'
    assert set(w.fates('data-alice').values()) == {'done'} and len(w.fates('data-alice')) == 5
    ended(w, r'the quota of the data owner alice \(5 texts a day\) does not admit 1 further text of')
    again = start('alice', parallel=2)
    assert again.finish() == 4 and len(w.fates('data-alice')) == 5


@row('a quota of tokens counts each text of a batch', 4, 'allows us no more texts, tokens or searches', 30)
def _(w):
    start, _ = begin_listed(w, {'alice': 'tokens = 40\ntexts = 100'})
    text = w.base.text(5, 1)
    (w.dir / 'same').write_text(f'{text}\n' * 12)
    e = start('alice', None, file=w.dir / 'same', batch=4)
    yield e
    assert len(e.rows()) == 8, 'two batches of four texts of 5 tokens fit into 40 tokens'


@row('an audited bundle counts like a text', 0, '', 30)
def _(w):
    start, _ = begin_listed(w, {'alice': 'texts = 4', 'bob': 'texts = 3'})
    path, _ = texts(w, 2)
    assert start('bob', None, file=path, audit=2).finish() == 4
    yield start('alice', None, file=path, audit=2)


@row('a date that has passed', 4, 'the model owner serves our key no longer', 20)
def _(w):
    start, _ = begin_listed(w, {'alice': 'until = 2020-01-01', 'bob': 'until = 2120-01-01'})
    assert w.server.said('alice.*2020-01-01'), w.server.err
    assert start('bob').finish() == 0
    yield start('alice')
    assert not w.fates('data-alice')


@row('one lane of two', 4, 'serves as many lanes of ours at the same time as it allows', 30)
def _(w):
    start, _ = begin_listed(w, {'alice': 'lanes = 1'})
    first, go = held(w, start, 'alice')
    yield start('alice', store=w.dir / 'other')
    go()
    assert first.finish() == 0, first.err
    assert start('alice').finish() == 0


@row('one inference at once: the second lane waits', 0, 'others run first', 30)
def _(w):
    start, _ = begin_listed(w, {'alice': 'at_once = 1', 'bob': ''}, **{'at-once': 4})
    first, go = held(w, start, 'alice')
    second = start('alice', store=w.dir / 'other')
    assert second.said('others run first'), second.err
    assert start('bob').finish() == 0, 'a limit of one owner held up another one'
    go()
    assert first.finish() == 0, first.err
    yield second


@row('SIGHUP adds one, removes one, and keeps the list of a damaged file', 4, 'does not list our key', 30)
def _(w):
    start, of = begin_listed(w, {'alice': ''})
    first, go = held(w, start, 'alice', parallel=1)
    write_owners(w, {'bob': ([of['bob']], '')})
    hangup(w, 'serve: 1 data owner may use this service')
    go()
    assert first.finish() == 0, f'the running inference must end well: {first.err}'
    assert start('bob').finish() == 0
    (w.dir / 'owners.toml').write_text('[[owner]]\nname = "bob\n')
    hangup(w, 'the list of data owners stays as it was: .*owners.toml')
    assert start('bob').finish() == 0
    yield start('alice')


@row('the session of a removed owner ends after its running text', 4, 'does not list our key', 30)
def _(w):
    start, of = begin_listed(w, {'alice': ''})
    path, wanted = texts(w, 6)
    first, go = held(w, lambda name, *words, **flags: start(name, *(words or (None,)), **{'file': path, **flags}), 'alice')
    write_owners(w, {'bob': ([of['bob']], '')})
    hangup(w, 'serve: 1 data owner may use this service')
    go()
    yield first
    assert 1 <= len(first.rows()) < 6 and results(w, first) == wanted[:len(first.rows())]
    assert 'claimed' not in w.fates('data-alice').values()


@row('a quota holds over a restart, and a broken run counts', 4, 'allows us no more texts, tokens or searches', 40)
def _(w):
    start, _ = begin_listed(w, {'alice': 'texts = 3'})
    first, _ = held(w, start, 'alice')  # one done, one that breaks
    w.server.kill()
    assert first.finish() == 3
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml').port()
    assert start('alice').finish() == 0
    yield start('alice')
    mode = (w.dir / 'model/counts.sqlite').stat().st_mode
    assert mode & 0o777 == 0o600, oct(mode)


@row('a counter file that was put back', 4, 'allows us no more texts, tokens or searches', 40)
def _(w):
    start, _ = begin_listed(w, {'alice': 'texts = 10'})
    assert start('alice').finish() == 0
    w.server.end()
    files = {p.name: p.read_bytes() for p in (w.dir / 'model').glob('counts.sqlite*')}
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml').port()
    assert start('alice').finish() == 0
    w.server.end()
    for p in (w.dir / 'model').glob('counts.sqlite*'):
        p.unlink()
    for name, data in files.items():
        (w.dir / 'model' / name).write_bytes(data)
        (w.dir / 'model' / name).chmod(0o600)
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml').port()
    assert w.server.said('WARN.*counts.sqlite|warning.*counts.sqlite|counts.sqlite'), w.server.err
    yield start('alice')


@row('a locked counter file', 5, 'counts.sqlite', 60)
def _(w):
    start, _ = begin_listed(w, {'alice': ''})
    assert start('alice').finish() == 0
    w.server.end()
    other = sqlite3.connect(w.dir / 'model/counts.sqlite', isolation_level=None)
    other.execute('begin exclusive')
    yield w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml')
    other.close()
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml').port()
    assert start('alice').finish() == 0


@row('without a list serve warns once', 0, '', 20)
def _(w):
    w.both()
    warnings = [line for line in w.server.err if 'without limits' in line]
    assert len(warnings) == 1 and '--owners' in warnings[0], w.server.err
    yield w.embed()
    assert not (w.dir / 'model/counts.sqlite').exists()


# ---- bad input: reported before weights and keys are loaded
LISTED = [*SERVE_EARLY, '--owners', '{w}/o.toml']


def list_of(text):
    return lambda w: (w.dir / 'o.toml').write_text(text.replace('KEY', 'data=' + 'ab' * 32))


GOOD = '[[owner]]\nname = "ann"\nkeys = ["KEY"]\n'
alone('no file of owners', 2, 'o.toml', LISTED)
alone('damaged TOML', 2, 'o.toml.*line 2', LISTED, list_of('[[owner]]\nname = "ann\n'))
alone('an unknown field', 2, 'o.toml.*text_per_day', LISTED, list_of(GOOD + 'text_per_day = 3\n'))
alone('a fingerprint twice', 2, 'o.toml, line 6: the key .* is that of owner "ann" at line 3', LISTED, list_of(GOOD + GOOD.replace('ann', 'bob')))
alone('a name twice', 2, 'o.toml.*ann', LISTED, list_of(GOOD + GOOD.replace('KEY', 'data=' + 'cd' * 32)))
alone('a negative quota', 2, 'o.toml.*-1', LISTED, list_of(GOOD + 'texts = -1\n'))
alone('a huge quota', 2, 'o.toml.*9000000000000000000', LISTED, list_of(GOOD + 'tokens = 9000000000000000000\n'))
alone("the model owner's key", 2, 'o.toml.*', LISTED, list_of(GOOD.replace('KEY', 'model=' + 'ab' * 32)))

@row('SIGHUP reads the list again under nohup', 4, 'does not list our key', 30)
def _(w):
    start, of = begin_listed(w, {'alice': ''}, process={'preexec_fn': lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)})
    write_owners(w, {'bob': ([of['bob']], '')})
    hangup(w, 'serve: 1 data owner may use this service')
    assert start('bob').finish() == 0
    yield start('alice')


if __name__ == '__main__':
    main()
