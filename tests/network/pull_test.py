#!/usr/bin/env python3
"""Runs `suf pull`: a data owner without plan and tokenizer gets both from the model owner, and embeds with them. Files
that it must not trust are refused.

  pull_test.py SUF [PATTERN]     from anywhere; about ten seconds. PATTERN picks rows
"""
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import begin_listed
from roles import FunctionWorld, GateWorld, Tap
from rows import main, row


def plan_hash(w, plan):
    return w.base.suf('plan', 'show', plan).split('plan ', 1)[1].split()[0]


def pull(w, name='pulled', expect=None, certs=None, **flags):
    """Starts `suf pull` into a folder of the case."""
    defaults = {'connect': f'127.0.0.1:{w.server.port()}' if w.server else None, 'certs': certs or w.base.certs, 'out': w.dir / name,
                'expect': expect}
    return w.role(*w.command('pull', defaults, flags))


@row('a data owner pulls, and embeds with the files', 0, '', 20)
def _(w):
    w.both()
    p = pull(w, expect=plan_hash(w, w.base.plan))
    assert p.finish() == 0, p.err
    plan, vocab = w.dir / 'pulled' / 'plan.json', w.dir / 'pulled' / 'vocab.txt'
    assert p.out.decode().splitlines() == [
        f'plan      {plan_hash(w, w.base.plan)}  {plan}',
        f'tokenizer {hashlib.sha256(vocab.read_bytes()).hexdigest()}  {vocab}']
    assert vocab.read_bytes() == (w.base.model / 'vocab.txt').read_bytes()
    assert w.server.said(r'serve: data=[0-9a-f]{64} pulled the plan and the tokenizer')
    assert not w.lanes('model'), 'a pull made a lane'
    e = w.embed(plan=plan, vocab=vocab)
    yield e
    assert [w.result(r) for r in e.rows()] == [w.expected()]


@row('a tokenizer that nobody published', 4, r'is none of the published ones, its SHA-256 is [0-9a-f]{64}.*expect the plan [0-9a-f]{64} .--expect HASH accepts')
def _(w):
    w.both()
    yield pull(w)
    assert not (w.dir / 'pulled').exists()


@row('another plan than the expected one', 4, 'offers the plan .*, and the plan .* is expected; compare the hash with its operator')
def _(w):
    w.both()
    yield pull(w, expect=plan_hash(w, w.base.other_plan))
    assert not (w.dir / 'pulled').exists()


@row('a plan that was replaced, with its new hash', 0, '', 20)
def _(w):
    w.both()
    assert pull(w, expect=plan_hash(w, w.base.plan)).finish() == 0
    w.server.end()
    w.serve(plan=w.base.other_plan).port()
    refused = pull(w, expect=plan_hash(w, w.base.plan))
    assert refused.finish() == 4
    assert plan_hash(w, w.dir / 'pulled' / 'plan.json') == plan_hash(w, w.base.plan)
    yield pull(w, expect=plan_hash(w, w.base.other_plan))
    assert plan_hash(w, w.dir / 'pulled' / 'plan.json') == plan_hash(w, w.base.other_plan)


@row('a hash of another length', 2, '--expect must be 64 lower-case hex digits; got 3 characters')
def _(w):
    w.both()
    yield pull(w, expect='abc')


@row('a data owner that is not listed gets nothing', 4, 'does not list our key among its data owners')
def _(w):
    _, of = begin_listed(w, {'alice': ''})
    e = pull(w, certs=of['alice'], expect=plan_hash(w, w.base.plan))
    assert e.finish() == 0, e.err
    yield pull(w, 'other', certs=of['bob'], expect=plan_hash(w, w.base.plan))
    assert not (w.dir / 'other').exists()


for world in (FunctionWorld, GateWorld):
    @row(f'the model owner of {world.COMMAND} serve has no files', 4, 'offers no files to pull; get the plan and the tokenizer', world=world)
    def _(w):
        w.deal().port()
        w.serve().port()
        yield pull(w)


@row('a folder that cannot be made', 5, 'pulled')
def _(w):
    w.both()
    (w.dir / 'pulled').write_text('a file')
    yield pull(w, expect=plan_hash(w, w.base.plan))


@row('a model owner that is gone', 3, 'the model owner')
def _(w):
    yield pull(w, connect='127.0.0.1:1', timeout=1)


@row('sixteen pulls beside an inference', 0, '', 20)
def _(w):
    w.both()
    expect = plan_hash(w, w.base.plan)
    e = w.embed()
    for p in [pull(w, f'pulled{i}', expect) for i in range(16)]:
        assert p.finish() == 0, p.err
    yield e
    assert [w.result(r) for r in e.rows()] == [w.expected()]


@row('a pull that breaks off or is altered at each of six places', 0, '', 20)
def _(w):
    w.both()
    expect = plan_hash(w, w.base.plan)
    whole = Tap(w.server.port(), 1 << 40)
    assert pull(w, 'whole', expect, connect=f'127.0.0.1:{whole.port}').finish() == 0
    for kind in ('killed', 'altered', 'cut'):
        for place in range(6):
            name, pulls = f'{kind}{place}', []
            tap = Tap(w.server.port(), int(whole.passed['down'] * (place + 0.5) / 6), flip=kind == 'altered', cut=kind == 'cut',
                      then=(lambda: pulls[0].signal(9)) if kind == 'killed' else (lambda: None))
            pulls.append(pull(w, name, expect, connect=f'127.0.0.1:{tap.port}'))
            assert pulls[0].finish() == (-9 if kind == 'killed' else 3), (name, pulls[0].err)
            assert not (w.dir / name).exists(), f'{name}: a part of the files was kept'
    yield pull(w, expect=expect)
    assert w.server.process.poll() is None


if __name__ == '__main__':
    main()
