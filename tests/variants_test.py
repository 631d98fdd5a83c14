#!/usr/bin/env python3
"""Tests variants of a plan with three processes: allowed variants, measured links, preprocessed bundles, and refusals.

variants_test.py SUF [PATTERN]
"""
import json
import queue
import re
import socket
import threading
import time

from roles import FIXED, LIMIT
from rows import alone, ended, main, row


FAR, SMALL = ('--variant', 'far=wan,keys=ahead'), ('--variant', 'small=flight=1e-9,key=1e-3,keys=now')
MAKING = threading.Lock()


def compiled(base, name, *variants):
    """Makes a plan of these variants once. Its segments are given, so that only the rest is searched."""
    out = base.folder / name
    with MAKING:
        if not out.exists():
            base.suf('compile', '--model', base.model, '--calibrate', base.folder / 'calibrate.txt', '--max-tokens', LIMIT, *FIXED, *variants, '--out', out)
    return out


def plan(w):
    """Returns a plan of two variants that differ in their traces: far has few flights, small has a small key."""
    return compiled(w.base, 'far_small.json', *FAR, *SMALL)


def estimate(w, of, variant, tokens, *flags):
    return json.loads(w.base.suf('estimate', '--plan', of, '--tokens', tokens, '--variant', variant, *flags, '--json'))


def simulated(w, of, variant, text):
    return w.base.simulate([text], '--plan', of, '--variant', variant)[0]


def right(w, of, e, variant, text):
    """Asserts that embed printed the variant's simulation, at the variant's estimated cost."""
    assert e.finish() == 0, e.err
    r, = e.rows()
    cost = estimate(w, of, r['variant'], r['n'])
    assert r['variant'] == variant or variant is None, r['variant']
    assert r['y'] == simulated(w, of, r['variant'], text) and r['trace'] == cost['trace'] and r['flights'] == cost['flights']
    return r


class Slow:
    """Forwards one connection to `port` with a delay of `seconds` in both directions."""

    def __init__(self, port, seconds):
        self.to, self.seconds = port, seconds
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(('127.0.0.1', self.to))
        for a, b in ((near, far), (far, near)):
            late = queue.Queue()
            threading.Thread(target=self.read, args=(a, late), daemon=True).start()
            threading.Thread(target=self.write, args=(b, late), daemon=True).start()

    def read(self, source, late):
        data = b'-'
        while data:
            try:
                data = source.recv(1 << 20)
            except OSError:
                data = b''
            late.put((time.monotonic() + self.seconds, data))

    def write(self, sink, late):
        while True:
            due, data = late.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                if not data:
                    return sink.shutdown(socket.SHUT_WR)
                sink.sendall(data)
            except OSError:
                return


@row('a slow link takes the variant with few flights', 0, 'the link has a round trip of', 30)
def _(w):
    of, text = plan(w), w.base.text(7)
    w.deal(plan=of).port(), w.serve(plan=of).port()
    e = w.embed(text, plan=of, connect=Slow(w.server.port(), 0.05).port)
    yield e
    trip = float(next(m[1] for m in map(lambda line: re.search('round trip of ([0-9.]+) ms', line), e.err) if m))
    assert 100 <= trip < 1000, trip  # the least of eight
    right(w, of, e, 'far', text)


@row('the link changes behind the greeting', 0, 'the link has a round trip of', 40)
def _(w):
    of, texts = plan(w), [w.base.text(7, seed) for seed in range(3)]
    (w.dir / 'texts').write_text('\n'.join(texts) + '\n')
    w.deal(plan=of).port(), w.serve(plan=of).port()
    link = Slow(w.server.port(), 0.05)
    e = w.embed(None, plan=of, file=w.dir / 'texts', connect=link.port)
    assert e.said('the link has a round trip of'), e.err
    link.seconds = 0
    yield e  # the variant stays as chosen at the greeting; only time changes
    rows = e.rows()
    assert [r['variant'] for r in rows] == ['far'] * 3
    assert [r['y'] for r in rows] == w.base.simulate(texts, '--plan', of, '--variant', 'far')
    again = w.embed(texts[0], plan=of, connect=Slow(w.server.port(), link.seconds).port)  # the next session measures again
    right(w, of, again, None, texts[0])
    trips = [float(re.search('round trip of ([0-9.]+) ms', ' '.join(x.err))[1]) for x in (e, again)]
    assert trips[1] < 100 <= trips[0], trips


@row('each variant is its own simulation; one set-up serves both', 0, '', 30)
def _(w):
    of, text = plan(w), w.base.text(7)
    assert estimate(w, of, 'far', 7)['flights'] < estimate(w, of, 'small', 7)['flights']
    assert estimate(w, of, 'far', 7)['job']['variant'] == 0 and estimate(w, of, 'small', 7)['job']['variant'] == 1
    shown = w.base.suf('plan', 'show', of)
    assert 'far' in shown and 'small' in shown and 'of the variant far' in shown, shown
    assert 'of the variant small' in w.base.suf('plan', 'show', of, '--variant', 'small')
    w.deal(plan=of).port(), w.serve(plan=of).port()
    set_up = [right(w, of, w.embed(text, plan=of, variant=v), v, text)['bytes']['setup'] for v in ('far', 'small', 'far')]
    assert set_up[0] > 0 and set_up[1:] == [0, 0], set_up
    e = w.embed(text, plan=of)
    yield e
    assert any('the link has a round trip of' in line for line in e.err), e.err
    assert e.rows()[0]['y'] == simulated(w, of, e.rows()[0]['variant'], text)


@row('an estimate over a link is flights and delay, and what the variant computes', 0, '', 30)
def _(w):
    of = plan(w)
    w.deal(plan=of).port(), w.serve(plan=of).port()
    for variant in ('far', 'small'):
        slow, fast = (estimate(w, of, variant, 7, '--profile', f'rtt={rtt},rate=1G') for rtt in ('2s', '0'))
        assert slow['tiles'] == 1 and slow['predicted']['profile'] == 'rtt=2s,rate=1G'
        delay = slow['predicted']['online_ms'] - fast['predicted']['online_ms']
        assert fast['predicted']['online_ms'] > 0 and abs(delay - slow['flights'] * 1000) < 1, (delay, slow['flights'])
        assert 'predicted' not in estimate(w, of, variant, 7)
        now = estimate(w, of, variant, 7, '--profile', 'rtt=0,rate=1G,keys=now')['predicted']['online_ms']
        assert now > fast['predicted']['online_ms'], now
    said = w.base.suf('estimate', '--plan', of, '--tokens', 7, '--profile', 'wan')
    assert '7 tokens in one tile: ' in said and 'predicted for wan: ' in said and ' ms online, with keys ahead' in said, said
    yield w.embed('the dog', plan=of)


@row('bundles that were made ahead for another variant are not taken', 0, '', 30)
def _(w):
    of, text = plan(w), w.base.text(7)
    w.deal(plan=of, tokens=7, count=3, variant='small').port(), w.serve(plan=of).port()
    first = right(w, of, w.embed(text, plan=of, variant='small'), 'small', text)['serial']
    kept = w.bundles('data')
    assert len(kept) == 2, kept
    second = right(w, of, w.embed(text, plan=of, variant='small'), 'small', text)['serial']
    assert second == first + 1
    e = w.embed(text, plan=of, variant='far')
    yield e
    assert e.rows()[0]['serial'] > second + 1 and e.rows()[0]['trace'] == estimate(w, of, 'far', 7)['trace']


@row('serve allows what embed does not', 4, 'the model owner allows other variants of the plan \\(small\\) than we do \\(far\\)', 20)
def _(w):
    of = plan(w)
    w.deal(plan=of).port(), w.serve(plan=of, variants='small').port()
    yield w.embed(plan=of, variant='far')
    ended(w, "the data owner allows none of the plan's variants that we allow")
    assert not w.records('data') and not w.records('model')
    right(w, of, w.embed('the dog', plan=of), 'small', 'the dog')  # auto: the common one


@row('a plan of the same variants in another order', 4, 'holds another plan', 20)
def _(w):
    of, other = plan(w), compiled(w.base, 'small_far.json', *SMALL, *FAR)
    w.deal(plan=of).port(), w.serve(plan=of).port()
    yield w.embed(plan=other, variant='far')


COMPILE = 'compile --model {model} --calibrate /dev/null --out {w}/plan.json '
for what, code, sentence, command in (
    ('embed: no such variant', 2, "the plan has no variant 'moon'; it has lan",
     'embed --plan {plan} --vocab {vocab} --certs {certs} --dealer 127.0.0.1:1 --connect 127.0.0.1:1 --store {w}/s --variant moon dog'),
    ('serve: no such variant', 2, "the plan has no variant 'moon'; it has lan",
     'serve --plan {plan} --model {model} --certs {certs} --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/s --variants lan,moon'),
    ('deal: no such variant', 2, "the plan has no variant 'moon'; it has lan",
     'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --tokens 5 --variant moon'),
    ('deal: a variant without --tokens', 2, '--variant requires --tokens', 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --variant lan'),
    ('estimate: no such variant', 2, "the plan has no variant 'moon'", 'estimate --plan {plan} --tokens 5 --variant moon'),
    ('estimate: a price without a number', 2, "the price 'rtt=' is no number from 0 to 10", 'estimate --plan {plan} --tokens 5 --profile rtt='),
    ('estimate: no such profile', 2, "'moon' is no profile and no price", 'estimate --plan {plan} --tokens 5 --profile moon'),
    ('estimate: a price out of range', 2, "the price 'rtt=-1ms' is no number from 0 to 10", 'estimate --plan {plan} --tokens 5 --profile rtt=-1ms'),
    ('simulate: no such variant', 2, "the plan has no variant 'moon'", 'simulate --model {model} --plan {plan} --variant moon --file /dev/null'),
    ('compile: a variant without prices', 2, '--variant takes NAME=PRICES', COMPILE + '--variant near'),
    ('compile: a bad name', 2, "'Near' is no name of a variant", COMPILE + '--variant Near=wan'),
    ('compile: two of one name', 2, 'two variants are called wan', COMPILE + '--profile wan,lan,wan'),
    ('compile: two without a name', 2, 'two variants are called given', COMPILE + '--profile rtt=1ms;rtt=2ms'),
    ('compile: an empty profile', 2, 'the profile is empty; give one of cpu', COMPILE + '--profile lan,'),
    ('compile: a price out of range', 2, "the price 'rtt=11s' is no number from 0 to 10", COMPILE + '--profile rtt=11s'),
    ('compile: a price without a number', 2, "the price 'rtt=' is no number from 0 to 10", COMPILE + '--profile rtt='),
    ('compile: a negative price', 2, "the price 'rate=-1G' is no number from 1000 to 1e\\+15", COMPILE + '--profile lan,rate=-1G'),
    ('compile: a price that is no number', 2, "the price 'flight=nan' is no number", COMPILE + '--profile wan,flight=nan'),
    ('compile: keys twice', 2, 'the profile says keys=now where ahead is requested', COMPILE + '--profile wan,keys=now --keys ahead')):
    alone(what, code, sentence, command.split())


if __name__ == '__main__':
    main()
