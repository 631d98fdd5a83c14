#!/usr/bin/env python3
"""Audits between real processes. Bundles of an honest dealer pass. Wrong bundles are refused at both ends, and the rest
is burnt. A role that is killed during audits leaves no serial that both stores would still use.

  audits_test.py SUF [PATTERN]     from anywhere; about ten seconds
"""
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import Tap
from rows import main, row


def with_fate(w, store, fate):
    return sorted(s for s, f in w.fates(store).items() if f == fate)


@row('audits of an honest dealer', 0, 'the model owner audited a bundle and found nothing wrong', 30)
def _(w):
    w.both(tokens=4, count=9)
    w.works(audit=2)
    e = w.embed(audit=3)
    yield e
    assert sum('found nothing wrong' in line for line in e.err) == 3, e.err
    assert w.rows()[0]['y'] == w.base.simulate(['the dog'])[0]
    assert sum('audited: both bundles are as they should be' in line for line in w.server.err) == 5, w.server.err
    audited = with_fate(w, 'data', 'audited')
    assert len(audited) == 5 and audited == with_fate(w, 'model', 'audited'), audited
    assert with_fate(w, 'data', 'done') == [s for s in range(1, 8) if s not in audited]
    assert w.works()['serial'] == 8


@row('audits of fresh bundles, among several texts', 0, 'found nothing wrong', 30)
def _(w):
    w.both()
    texts = ['the dog', 'a cat', w.base.text(7)]
    (w.dir / 'texts').write_text('\n'.join(texts) + '\n')
    yield w.embed(None, file=w.dir / 'texts', audit=4)
    assert [r['y'] for r in w.rows()] == w.base.simulate(texts)
    assert len(with_fate(w, 'model', 'audited')) == 4 and len(with_fate(w, 'model', 'done')) == 3, w.fates('model')


@row('audits that serve has no memory for', 5, 'the model owner allows less memory for audits than our bundles take', 30)
def _(w):
    w.deal().port()
    w.serve(**{'audit-memory': 0}).port()
    w.works()
    yield w.embed(audit=1)
    assert any('requests audits at 4 tokens, for which 2 whole bundles of keys take' in line and '0 bytes are allowed' in line for line in w.server.err), w.server.err
    assert w.fates('data') == w.fates('model') == {1: 'done'}, 'a serial was burnt'
    assert w.works()['serial'] == 2


@row('what audits take, by estimate', 0, '', 30)
def _(w):
    e = w.role('estimate', '--plan', w.base.plan, '--tokens', 4, '--audit', 3, '--json')
    yield e
    cost = e.rows()[0]
    assert cost['audit'] == {'count': 3, 'memory_bytes': [2 * k for k in cost['key_bytes']], 'key_bytes': [3 * k for k in cost['key_bytes']]}, cost['audit']


def other_keys(w):
    """Replaces the keys of the model owner's bundles, so that they do not match the bodies, and corrects the
    checksums."""
    for bundle in w.bundles('model'):
        raw = bytearray(bundle.read_bytes())
        end = 4 + int.from_bytes(raw[:4], 'little')
        raw[end - 1] ^= 1  # a byte of K_0
        raw[end:end + 32] = hashlib.sha256(raw[4:end]).digest()
        bundle.write_bytes(raw)


@row('bundles dealt for another B', 0, '', 30)
def _(w):
    w.both(tokens=4, count=5)
    w.works()
    w.server.end()
    (w.dir / 'model' / 'b.seed').write_bytes(bytes(32))
    w.serve().port()
    yield w.embed(audit=1)
    assert w.rows()[0]['y'] == w.base.simulate(['the dog'])[0] and set(w.fates('data')) == {1, 6, 7}, w.fates('data')


@row('audit of bundles of another key', 4, "the model owner's audit of bundle . finds that it was dealt wrongly; the . bundles left in this store are burnt", 30)
def _(w):
    w.both(tokens=4, count=5)
    w.works()
    w.server.end()
    other_keys(w)
    w.serve().port()
    yield w.embed(audit=1)
    assert w.server.said(r'the audit of bundle . failed: ours.* first in key section \d+ of \d+, of .*are burnt; find out'), w.server.err
    for store in ('model', 'data'):
        assert len(with_fate(w, store, 'audited')) == 1 and max(w.fates(store).items()) == (5, 'burnt') and not w.bundles(store), w.fates(store)
    assert w.works()['serial'] == 6


@row('serve --once after an audit that failed', 4, 'the audit of bundle . failed', 30)
def _(w):
    w.both(tokens=4, count=5)
    w.works()
    w.server.end()
    other_keys(w)
    server = w.serve(once=True)
    assert w.embed(audit=1).finish() == 4
    yield server


def sweep(kill):
    """Makes a case of an embed with audits. kill(w, at) kills a role at byte `at` of a connection."""
    def case(w):
        w.both()
        w.works()
        seen = set()
        for at in range(4000, 8000, 800):
            code = kill(w, at).finish()
            assert code in (3, -9), f'at byte {at}: exit code {code}'
            w.works()
            data, model = w.fates('data'), w.fates('model')
            for serial in data.keys() | model.keys():
                pair = {data.get(serial), model.get(serial)}
                seen.add(frozenset(pair))
                assert not {'audited', 'done'} <= pair and pair <= {'audited', 'done', 'burnt', None}, (at, serial, pair)
        assert frozenset({'audited'}) in seen, seen
        yield w.embed()
    return case


def killed_embed(w, at):
    e = w.embed(audit=24, connect=Tap(w.server.port(), at, lambda: e.kill()).port)
    return e


row('SIGKILL of serve among audits', 0, '', 30)(sweep(lambda w, at: w.embed(audit=24, connect=Tap(w.server.port(), at, w.server.kill).port)))
row('SIGKILL of embed among audits', 0, '', 30)(sweep(killed_embed))


if __name__ == '__main__':
    main()
