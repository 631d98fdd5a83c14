#!/usr/bin/env python3
"""Runs `suf embed --resume`: a batch that was killed, or lost its model owner, goes on where it stopped. No text is done
twice, and each result is that of the simulator.

  resume_test.py SUF [PATTERN]     from anywhere; about twenty seconds. PATTERN picks rows
"""
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import EMBED, begin_listed, results, texts
from roles import AMPLE
from rows import alone, main, row

HEADER = 80  # bytes of the file before its records


def grown(path, bytes, process):
    """Waits until a file has more than so many bytes; returns its size."""
    end = time.monotonic() + AMPLE
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size > bytes:
            return path.stat().st_size
        if process.process.poll() is not None:
            break
        time.sleep(0.005)
    raise AssertionError(f'{path} does not grow: {process.err}')


@row('killed four times, a batch goes on', 0, 'embed: .* texts of 40 are done already', 60)
def _(w):
    w.both()
    path, wanted = texts(w, 40)
    done, size, kills = w.dir / 'done', HEADER, 4
    for _ in range(kills):
        e = w.embed(None, file=path, resume=done, parallel=2)
        size = grown(done, grown(done, size, e), e)
        e.signal(signal.SIGKILL)
        e.finish()
    last = w.embed(None, file=path, resume=done, parallel=2)
    yield last
    rows = last.rows()
    assert results(w, last) == wanted, 'all results, in order'
    assert [r['i'] for r in rows] == list(range(40)) and 0 < len([r for r in rows if r.get('resumed')]) < 40
    ran = sum(': serial ' in line for line in w.server.err)
    assert 40 <= ran <= 40 + 2 * kills, f'{ran} runs for 40 texts: only those in flight at a kill run again'


@row('the model owner is gone for a while', 0, 'embed: 30 sentences', 60)
def _(w):
    w.both()
    port = w.server.port()
    path, wanted = texts(w, 30)
    done = w.dir / 'done'
    e = w.embed(None, file=path, resume=done, parallel=2)
    grown(done, grown(done, HEADER, e), e)
    w.server.kill()
    assert e.said(r'embed: .*; tried again in \d+\.\d s')
    w.serve(listen=f'127.0.0.1:{port}').port()
    yield e
    assert results(w, e) == wanted


@row('a retry without a file', 0, 'embed: 1 sentence', 30)
def _(w):
    w.both()
    port = w.server.port()
    w.server.kill()
    e = w.embed(connect=port, retry=100)
    assert e.said('tried again in')
    w.serve(listen=f'127.0.0.1:{port}').port()
    yield e
    assert results(w, e) == [w.expected()]


@row('a retry that ends', 3, 'the model owner', 20)
def _(w):
    w.deal().port()
    yield w.embed(connect=1, retry=1)


@row('a refusal is final', 4, 'does not list our key', 20)
def _(w):
    start, _ = begin_listed(w, {'alice': ''})
    e = start('bob', resume=w.dir / 'done')
    yield e
    assert not any('tried again' in line for line in e.err)


@row('all texts are done already', 0, 'embed: all texts are done already', 20)
def _(w):
    w.both()
    path, wanted = texts(w, 5)
    first = w.embed(None, file=path, resume=w.dir / 'done')
    assert first.finish() == 0, first.err
    again = w.embed(None, file=path, resume=w.dir / 'done', connect=1, dealer=1, out=w.dir / 'rows.safetensors')
    yield again
    assert results(w, again) == wanted
    for name in ('i', 'n', 'serial', 'variant', 'y', 'f', 'embedding', 'plan'):
        assert [r[name] for r in again.rows()] == [r[name] for r in first.rows()], name


@row('Ctrl-C ends behind the running text', 0, '', 30)
def _(w):
    w.both()
    path, wanted = texts(w, 40)
    done = w.dir / 'done'
    e = w.embed(None, file=path, resume=done)
    grown(done, HEADER, e)
    e.signal(signal.SIGINT)
    e.finish()
    assert e.process.returncode == -signal.SIGINT and 'texts have a result; run it again to go on' in e.err[-1], e.err
    rest = w.embed(None, file=path, resume=done)
    yield rest
    assert results(w, rest) == wanted


def begun(w):
    """Makes a file of one text that is done."""
    w.both()
    e = w.embed('the dog', resume=w.dir / 'done')
    assert e.finish() == 0, e.err


@row('a file of another plan', 2, r'has results of another plan; use that plan, or name another file .--resume names the file')
def _(w):
    begun(w)
    yield w.embed('the dog', resume=w.dir / 'done', plan=w.base.other_plan)


@row('a file of other texts', 2, 'has results of other texts; bring the same texts in the same order')
def _(w):
    begun(w)
    yield w.embed('the cat', resume=w.dir / 'done')


@row('a file of a model owner with other weights', 4, 'has other weights than those of the results', 20)
def _(w):
    w.both()
    path, _ = texts(w, 3)
    e = w.embed(None, file=path, resume=w.dir / 'done')
    grown(w.dir / 'done', HEADER, e)
    e.kill()
    w.server.end()
    w.serve(store=w.dir / 'another').port()
    yield w.embed(None, file=path, resume=w.dir / 'done')


def a_text(w):
    (w.dir / 'done').write_text('a text of somebody')


alone('a file that holds something else', 2, 'holds no results of suf; name another file', [*EMBED, '--resume', '{w}/done', 'the'], a_text)
alone('a record of a resumed batch', 2, '--record', [*EMBED, '--resume', '{w}/done', '--record', '{w}/frames', 'the'])
alone('audits and a retry', 2, '--audit', [*EMBED, '--retry', '5', '--audit', '1', 'the'])
alone('a retry of more than a day', 2, '--retry', [*EMBED, '--retry', '86401', 'the'])

if __name__ == '__main__':
    main()
