#!/usr/bin/env python3
"""Runs sessions that are spread over two dealers (--dealer A,B) and two processes of one model owner (--connect A,B).

  dealers_test.py SUF [PATTERN]     from anywhere; about 12 s. PATTERN picks rows
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import EMBED, results, texts
from roles import HASTY
from rows import alone, main, row
from spread import Spread, outcomes


# 26 texts all draw the same dealer once in 33 million runs
MANY = 26


@row('two dealers and two processes of the model owner', 0, '26 sentences in', 60)
def _(w):
    s = Spread(w)
    path, expected = texts(w, MANY)
    e = s.embed(None, file=path)
    yield e
    assert results(w, e) == expected
    assert min(s.jobs(s.dealers.values(), MANY)) > 0, 'all texts drew one dealer'
    assert min(s.jobs(s.servers.values(), MANY)) > 0, 'one process had all texts'
    assert len(list((w.dir / 'data').glob('*.w_hat'))) == 1, 'both processes have one weights id'
    assert not list(w.dir.glob('*/dealer.pin')), 'with a list no dealer is pinned at first sight'
    e = s.embed()  # a start leaves settled draws out
    assert e.finish() == 0 and (w.dir / 'data/draws').stat().st_size == 2 * 65, e.err


@row('preprocessed keys of spread sessions are used up', 0, '8 sentences in', 60)
def _(w):
    w.ahead = 4
    s = Spread(w)
    path, expected = texts(w, 8)
    for turn in range(3):
        e = s.embed(None, file=path, parallel=4)
        if turn == 2:
            yield e
        assert e.finish() == 0 and results(w, e) == expected, e.err


@row('a dealer that the model owner does not list', 4, 'texts failed; line .*: the model owner does not use the dealer that our session names', 60)
def _(w):
    s = Spread(w)
    for i in range(2):
        s.servers[i].kill()
        s.servers[i].finish()
        s.serve(i, dealer=s.ports['north'], pin=s.pins[0])
    path, expected = texts(w, MANY)
    e = s.embed(None, file=path)
    yield e
    failed = outcomes(w, e, expected)
    assert 0 < len(failed) < MANY, 'texts of the other dealer are done'
    s.jobs([s.dealers['north']], MANY - len(failed))
    s.jobs([s.dealers['south']], 0)


@row('a dealer that cannot be reached', 3, 'texts failed; line ', 60)
def _(w):
    s = Spread(w)
    s.dealers['south'].kill()
    path, expected = texts(w, MANY)
    e = s.embed(None, file=path, timeout=HASTY, parallel=24)
    yield e
    # on a loaded machine, texts of the other dealer may reach the short time-out as well
    failed = [line for line, error in outcomes(w, e, expected).items() if 'nobody answers as the dealer' in error]
    assert failed and e.seconds >= HASTY, 'a text waits for its dealer until the time-out'
    other = w.base.suf('certs', w.base.strangers / 'dealer', '--show').split()[0]
    dropped = s.embed(None, file=path, pin=[s.pins[0], other])
    assert dropped.finish() == 2 and re.search('which is not listed now; list that dealer again. Remove .*/draws only', dropped.err[-1]), dropped.err
    s.deal('south')
    lines = path.read_text().splitlines()
    path.write_text('\n'.join(lines[i] for i in failed) + '\n')
    again = s.embed(None, file=path)
    assert again.finish() == 0 and results(w, again) == [expected[i] for i in failed], again.err
    s.jobs([s.dealers['south']], len(failed))  # no text draws again


@row('a data owner that uses one of the listed dealers', 0, '1 sentence in', 60)
def _(w):
    s = Spread(w)
    e = s.embed(dealer=s.ports['south'], pin=s.pins[1], parallel=1)
    yield e
    assert results(w, e) == [w.expected()] 
    s.jobs([s.dealers['south']], 1)
    e = s.embed(dealer=s.ports['south'], pin=None, store=w.dir / 'unpinned', parallel=1)
    assert e.finish() == 4 and any('does not use the dealer' in line for line in e.err), e.err


@row('pins in another order than addresses', 0, '6 sentences in', 60)
def _(w):
    s = Spread(w)
    path, expected = texts(w, 6)
    e = s.embed(None, file=path, pin=s.pins[::-1])
    yield e
    assert results(w, e) == expected


@row('a listed dealer with another key than its pin', 4, 'texts failed; line .*: the key of the dealer at .* another one than our pin names', 60)
def _(w):
    other = w.base.suf('certs', w.base.strangers / 'dealer', '--show').split()[0]
    s = Spread(w, lambda pins: [pins[0], other])
    path, expected = texts(w, MANY)
    e = s.embed(None, file=path, pin=[s.pins[0], other])
    yield e
    assert 0 < len(outcomes(w, e, expected)) < MANY


# ---- bad input: reported before any peer is contacted
TWO = [word if word != '127.0.0.1:1' else '127.0.0.1:1,127.0.0.1:3' for word in EMBED] + ['the dog']
PIN = ['--pin', 'dealer=' + '5' * 64]
alone('two dealers without pins', 2, '2 dealers are listed and 0 keys of dealers are pinned; pin the key of each', TWO)
alone('two dealers and one pin', 2, '2 dealers are listed and 1 key of a dealer is pinned', [*TWO, *PIN])
alone('two dealers and one pin twice', 2, '2 dealers are listed and 1 key of a dealer is pinned', [*TWO, *PIN, *PIN])
PINS = [*PIN, '--pin', 'dealer=' + '6' * 64]
alone('one session for two dealers', 2, '1 session is allowed and 2 dealers are listed', [*TWO, *PINS, '--parallel', '1'])
alone('a record of spread sessions', 2, '--record writes the frames of one session, and --dealer lists 2', [*TWO, *PINS, '--record', '{w}/r'])
alone('the same dealer twice', 2, 'the address 127.0.0.1:1 is listed twice',
      [word if word != '127.0.0.1:1' else '127.0.0.1:1,127.0.0.1:1' for word in EMBED])
alone('a process twice', 2, 'the address 127.0.0.1:2 is listed twice',
      [word if word != '127.0.0.1:2' else '127.0.0.1:2,127.0.0.1:2' for word in EMBED])
alone('a list that ends with a comma', 2, 'has no port; an address is host:port', [word if word != '127.0.0.1:1' else '127.0.0.1:1,' for word in EMBED])

if __name__ == '__main__':
    main()
