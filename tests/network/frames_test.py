#!/usr/bin/env python3
"""Checks the frames between the parties. 64 inferences of one text with fresh keys must be 64 draws of uniform bits. To
the model owner a result of zero must look like any other, in its frames and in their pace. So must one whose receipt
it does not sign as it should.

  frames_test.py SUF FRAME_LAYOUT LYING_OWNER     from anywhere, needs numpy; about half a minute

Null hypothesis of the statistics: in every inference all bits of all frames are fair and independent. The padding bits
at the end of a tensor are excepted; they are zero. An honest program fails with probability below 1e-9 in all. The
bounds hold for every sample size; they use no limit theorems. Each of the four tests has a quarter of that, ALARM,
split evenly among its cases. The first three run on two variants of a plan, each with half of ALARM.

    bits     Each bit position of each frame is set in X of R = 64 runs, X ~ Bin(R, 1/2).
             Alarm if 2 P(X <= min(X, R - X)) < ALARM / positions.
    bytes    Each frame has one histogram of the N whole bytes of all runs over K = 256 values. The likelihood-ratio
             chi-square is G = 2 sum c ln(c K / N), on K - 1 degrees of freedom. For t > K - 1 and every N it obeys
             P(G/2 >= t) <= exp(-t) (e t / (K - 1))^(K - 1)
             (Agrawal, Finite-sample concentration of the multinomial in relative entropy, 2020).
             Alarm beyond the t at which this is ALARM / frames.
    repeats  The S samples of all tensors of at least 8 bytes are all different. So are all MACs and nonces between the
             parties. Two samples are equal with probability 2^-64 at most, so any pair is with S(S - 1)/2 * 2^-64.
             The test asserts that this is below ALARM.
    pace     Each of T = 300 texts has a result of zero or another by a fair coin s = +-1 of this test. w is the rank,
             among all T, of the time from P1's goodbye to its next frame, minus the mean rank. The same is done for the
             time from P0's last frame to P1's goodbye, which has P1's signature. Null hypothesis: the times do not
             depend on the coins. Then P(|sum s w| >= t) <= 2 exp(-t^2 / (2 sum w^2)) for any times, even
             on a loaded machine (Hoeffding). Alarm beyond the t at which this is ALARM / 2. That is the case if a zero's
             time is the longer one of two with probability under 0.27 or over 0.73.

The test `bits` finds equal bits in all runs (a value without mask, a mask used in all). `bytes` finds skew without a
fixed place. `repeats` finds a mask that two runs share. `pace` finds work that P1 does with a result before it goes on,
or before it signs a receipt.
Each test must find its kind of leak, planted into the recording.
"""
import copy
import fcntl
import functools
import json
import math
import os
import pathlib
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import FIXED, ONE, Role, Tap, World, read_record, read_safetensors, write_safetensors
from rows import each

RUNS, ALARM, TOKENS, PACED = 64, 1e-9 / 8, 9, 300
SLOW = 60  # seconds, because no time-out is the subject here
FIRST_RUN = 0x100  # kinds of frames from here on belong to an inference
ONLINE_END, BYE = 0x0f, 0x10
MACS, NONCES = range(0x0b, 0x11), (0x0b, 0x0c)  # CLAIM to BYE have a nonce and a MAC each; CLAIM and ACK have the nonce first


def embed_file(w, texts, **flags):
    path = w.dir / f'texts{len(list(w.dir.iterdir()))}'
    path.write_text('\n'.join(texts) + '\n')
    return w.embed(None, file=path, timeout=SLOW, **flags)


class Frame:
    """A frame of the schedule in all runs: data [RUNS, bytes], and which of its bits belong to elements."""

    def __init__(self, layout, data):
        self.kind, self.data, self.parts = layout['kind'], data, layout['parts']
        self.real = np.zeros(layout['bytes'] * 8, bool)
        for at, bits in self.parts:
            self.real[8 * at:8 * at + bits] = True
        assert data.shape == (RUNS, layout['bytes']), f'frame {self.kind} was recorded as {data.shape}'

    def bits(self):
        return np.unpackbits(self.data, axis=1, bitorder='little')

    def planted(self, change):
        """Makes a copy with a leak: change(data [RUNS, bytes])."""
        other = copy.copy(self)
        other.data = self.data.copy()
        change(other.data)
        return other


def bits_test(frames):
    positions = sum(int(f.real.sum()) for f in frames)
    tail, fair = 0, 0  # fair: the least count without an alarm
    while True:
        tail += math.comb(RUNS, fair) / 2**RUNS
        if 2 * tail >= ALARM / positions:
            break
        fair += 1
    for f in frames:
        count = f.bits().sum(axis=0)
        if count[~f.real].any():
            yield f.kind, 'a padding bit is set'
        skewed = f.real & (np.minimum(count, RUNS - count) < fair)
        if skewed.any():
            yield f.kind, f'{skewed.sum()} bits are skewed, the first at {skewed.argmax()}'


def threshold(alarm, k=256):
    """The t at which exp(-t) (e t / (k - 1))^(k - 1) is `alarm`."""
    low, high = k - 1, 1e6
    while high - low > 1e-6:
        t = (low + high) / 2
        low, high = (t, high) if (k - 1) * (1 + math.log(t / (k - 1))) - t > math.log(alarm) else (low, t)
    return high


def bytes_test(frames):
    limit = threshold(ALARM / len(frames))
    for f in frames:
        whole = f.real.reshape(-1, 8).all(axis=1)
        c = np.bincount(f.data[:, whole].ravel(), minlength=256).astype(float)
        half_g = (c[c > 0] * np.log(c[c > 0] * 256 / c.sum())).sum()
        if half_g > limit:
            yield f.kind, f'the histogram of its bytes has G/2 = {half_g:.0f}, the limit is {limit:.0f}'


def repeats_test(frames, macs=()):
    seen, samples = {}, len(macs)
    for mac in macs:
        if seen.setdefault(mac, 0):
            yield 0, 'a MAC or nonce returned'
        seen[mac] = 1
    for f in frames:
        for at, bits in f.parts:
            if bits < 64:
                continue
            size = (bits + 7) // 8
            for run in range(RUNS):
                value = f.data[run, at:at + size].tobytes()
                if value in seen:
                    yield f.kind, f'run {run} repeats {size} bytes of frame {seen[value]}'
                seen[value] = f.kind
                samples += 1
    assert samples > RUNS and samples * (samples - 1) / 2 / 2**64 < ALARM, samples


TESTS = {'bits': bits_test, 'bytes': bytes_test, 'repeats': repeats_test}


def recorded(base, layout_program, variant):
    """-> (frames of the schedule, nonces and MACs) of RUNS inferences of one text by one variant."""
    plan = base.both
    layout = json.loads(subprocess.run([layout_program, plan, str(TOKENS), variant], check=True, capture_output=True).stdout)
    with World(base, f'recorded {variant}') as w:
        w.deal(plan=plan, timeout=SLOW).port(), w.serve(plan=plan, timeout=SLOW).port()
        e = embed_file(w, [base.text(TOKENS)] * RUNS, plan=plan, variant=variant, record=w.dir / 'frames')
        assert e.finish(300) == 0, e.err
        rows = e.rows()
        assert sorted({r['serial'] for r in rows}) == list(range(1, RUNS + 1))
        assert all(r['y'] == rows[0]['y'] for r in rows) and rows[0]['y'] == base.simulate([base.text(TOKENS)], '--plan', plan, '--variant', variant)[0]
        record = read_record(w.dir / 'frames')
    by_kind = {}
    for sent, _, kind, _, payload in record:
        if kind >= FIRST_RUN:
            by_kind.setdefault((sent, kind), []).append(payload)
    assert len(by_kind) == len(layout) and all(len(v) == RUNS for v in by_kind.values())
    macs = [p[32:] for _, _, kind, _, p in record if kind in MACS] + [p[:32] for _, _, kind, _, p in record if kind in NONCES]
    assert len(macs) == (len(MACS) + 1 + len(NONCES)) * RUNS  # the MAC at the end of the offline phase is sent both ways
    frames = [Frame(f, np.array([list(p) for p in by_kind[f['sender'], f['kind']]], np.uint8)) for f in layout]
    return frames, macs


def uniform(base, layout_program, _):
    """64 inferences of one text by each variant: every frame of both parties is uniform, and none repeats.
    Planted leaks are reported."""
    counts = []
    for variant in ('lan', 'wan'):
        frames, macs = recorded(base, layout_program, variant)
        counts.append(len(frames))
        for name, test in TESTS.items():
            found = list(test(frames, macs) if name == 'repeats' else test(frames))
            assert not found, f'{variant}, {name}: {found[:5]}'
        elements = sum(int(f.real.sum()) for f in frames)
        print(f'     {variant}: {len(frames)} frames, {elements} bits, {RUNS} runs: bits, bytes, repeats hold')
    assert 30 < counts[1] < counts[0], counts
    planted_leaks(frames)


def planted_leaks(frames):
    rng = np.random.default_rng(1)
    large = max(range(len(frames)), key=lambda i: len(frames[i].data[0]))
    last = len(frames) - 1  # the result's frame

    def same_mask_always(d):
        d[:] = d[0]

    def same_mask_twice(d):
        d[40] = d[7]

    def one_value_bare(d):
        d[:, :8] = [1, 2, 3, 4, 5, 6, 7, 8]

    def stuck_bit(d):
        d[:, 3] &= 0xfe

    def skewed(d):
        d[rng.random(d.shape) < 1 / 16] = 0

    def padding(d):
        bits = np.unpackbits(d, axis=1, bitorder='little')
        bits[5, np.flatnonzero(~frames[padded].real)[0]] = 1
        d[:] = np.packbits(bits, axis=1, bitorder='little')

    padded = next(i for i, f in enumerate(frames) if not f.real.all())
    for at, change, finders in ((large, same_mask_always, TESTS), (last, same_mask_always, TESTS), (large, same_mask_twice, ['repeats']),
                                (last, same_mask_twice, ['repeats']), (large, one_value_bare, ['bits']), (last, one_value_bare, ['bits']),
                                (large, stuck_bit, ['bits']), (large, skewed, ['bytes']), (padded, padding, ['bits'])):
        leaky = frames[:at] + [frames[at].planted(change)] + frames[at + 1:]
        for name in finders:
            found = {kind for kind, _ in TESTS[name](leaky)}
            assert found == {frames[at].kind}, f'{name}: {change.__name__} in frame {frames[at].kind} is reported as {found}'


# ---- a result of zero

@functools.cache
def signs(base, folder):
    """Turns the tiny model into a counter of signs. Each token's vector is a fixed one or its negative, by its id's
    parity. Attention and FFN add nothing. So a text with equally many odd and even ids sums to zero."""
    base = copy.copy(base)
    base.model, base.plan = folder / 'signs', folder / 'signs.json'
    base.model.mkdir()
    header, data = read_safetensors(folder / 'model' / 'model.safetensors')
    data = bytearray(data)
    for name, entry in ((n, e) for n, e in header.items() if n != '__metadata__'):
        at, end = entry['data_offsets']
        a = np.frombuffer(data[at:end], '<f4').reshape(entry['shape']).copy()
        if 'word_embeddings' in name:
            a[:] = np.repeat([1, -1], a.shape[1] // 2) * np.where(np.arange(len(a)) % 2, -1, 1)[:, None]
        elif 'LayerNorm.weight' in name:
            a[:] = 1
        elif any(part in name for part in ('position_embeddings', 'token_type', 'LayerNorm.bias', 'output.dense')):
            a[:] = 0
        data[at:end] = a.tobytes()
    write_safetensors(base.model / 'model.safetensors', header, bytes(data))
    for file in ('config.json', 'vocab.txt'):
        (base.model / file).write_bytes((folder / 'model' / file).read_bytes())
    (base.model / 'texts').write_text(''.join('dog ' * n + '\n' for n in range(1, 15)))
    base.suf('compile', '--model', base.model, '--calibrate', base.model / 'texts', '--max-tokens', 16, *ONE, *FIXED[2:], '--out', base.plan)  # too few texts for shifts
    return base


def p0_view(w, server, k):
    """Returns the model owner's view of session k: exit status, log, frames without their words, ends of serials."""
    status = server.finish(SLOW)
    log = [re.sub(r'^\S+ |port \d+|pid \d+|serial \d+', '', line.replace(f'store: {w.dir}/model{k}', 'store:')) for line in server.err]
    assert 'info serve: store:' in log, log
    frames = [(sent, kind, sequence, len(p)) for sent, _, kind, sequence, p in read_record(w.dir / f'p0.{k}')]
    return status, log, frames, sorted(w.fates(f'model{k}').values())


def zero_norm(base, *_):
    """A result of zero gives the model owner the same frames, exit status, log and order of events as others.
    For the data owner they differ."""
    base = signs(base, base.folder)
    zero, other = 'dog cat', 'dog dog'  # [CLS] even, [SEP] odd, dog odd, cat even
    y = base.simulate([zero, other])
    assert not any(y[0]) and any(y[1]), y
    for receipts in (False, True):
        seen = zero_views(base, zero, other, receipts)
        assert seen[0][0] == seen[2][0] == 0 and len(seen[0][1]) >= 5, seen[0]
        assert seen[0] == seen[1], 'the model owner sees that a result is zero'
        one = [f for f in seen[2][2] if f[1] >= FIRST_RUN]
        assert [f[:2] + f[3:] for f in one] * 3 == [f[:2] + f[3:] for f in seen[0][2] if f[1] >= FIRST_RUN]
        lengths = {f[3] for f in seen[0][2] if f[1] in (ONLINE_END, BYE)}
        assert lengths == {64 + 80 * receipts}, lengths


def zero_views(base, zero, other, receipts):
    """Returns the model owner's views of three sessions: no result of zero, one of three, a single one."""
    seen = []
    with World(base, f'zero {receipts}') as w:
        w.deal(timeout=SLOW).port()
        for k, texts in enumerate(([other] * 3, [other, zero, other], [zero])):
            server = w.serve(store=w.dir / f'model{k}', record=w.dir / f'p0.{k}', once=True, timeout=SLOW)
            e = embed_file(w, texts, store=w.dir / f'data{k}', connect=server.port(), receipts=w.dir / f'r{k}' if receipts else None)
            code, rows = e.finish(SLOW), e.rows()
            assert code == (2 if zero in texts else 0), e.err
            for text, row in zip(texts, rows):
                assert ('y' in row) == (text == other)
                assert text == other or 'the pooled vector of this text is zero' in row['error'], row
            if zero in texts:
                assert e.err[-1].startswith('suf: ') and 'the pooled vector of this text is zero' in e.err[-1], e.err
            assert not receipts or len((w.dir / f'r{k}').read_text().splitlines()) == len(texts)
            seen.append(p0_view(w, server, k))
    return seen


def zero_in_a_batch(base, *_):
    """A result of zero among the texts of a batch concerns that text alone. The model owner sees none, one or three in
    the same way."""
    base = signs(base, base.folder)
    zero, other = 'dog cat', 'dog dog'
    seen = []
    with World(base, 'zero in a batch') as w:
        w.deal(timeout=SLOW).port()
        for k, texts in enumerate(([other] * 3, [zero, other, other], [other, zero, other], [other, other, zero], [zero] * 3)):
            server = w.serve(store=w.dir / f'model{k}', record=w.dir / f'p0.{k}', once=True, timeout=SLOW)
            e = embed_file(w, texts, batch=len(texts), store=w.dir / f'data{k}', connect=server.port(), receipts=w.dir / f'r{k}')
            code, rows = e.finish(SLOW), e.rows()
            assert code == (2 if zero in texts else 0), e.err
            wanted = base.simulate([other])[0]
            for text, row in zip(texts, rows, strict=True):
                assert row.get('y') == (wanted if text == other else None), row
                assert text == other or 'the pooled vector of this text is zero' in row['error'], row
            seen.append(p0_view(w, server, k))
    assert seen[0][0] == 0 and any('3 texts of 4 tokens' in line for line in seen[0][1]), seen[0]
    assert all(view == seen[0] for view in seen), 'the model owner sees that a result of a batch is zero'


# ---- a model owner that does not sign a receipt as it should

LIES = {'text': (4, 'part of the receipt of serial .* has a wrong signature; compare both clocks'), 'key': (4, 'has a wrong signature; compare both clocks'),
        'missing': (3, 'with 64 bytes where 144 were due'), 'late': (3, 'with 64 bytes where 144 were due'), 'never': (3, 'was silent for 5 s')}


def liar(base, _, lying_owner):
    """A receipt that the model owner signs wrongly, late or never fails the text alike for every result. Nothing is
    written, neither a result nor a receipt."""
    base = signs(base, base.folder)
    with World(base, 'liar') as w:
        dealer = w.deal(timeout=SLOW).port()

        def embed(how, text, own):
            own.mkdir()
            w.roles.append(Role([lying_owner, how, base.plan, base.model, base.certs, f'127.0.0.1:{dealer}', own / 'model']))
            return w.embed(text, connect=w.roles[-1].port(), store=own / 'data', record=own / 'frames', receipts=own / 'receipts', out=own / 'out',
                           timeout=5 if how == 'never' else SLOW)

        own = w.dir / 'not'
        assert embed('not', 'dog dog', own).finish() == 0 and len((own / 'receipts').read_text().splitlines()) == 1
        for how, (code, sentence) in LIES.items():
            seen = []
            for k, text in enumerate(('dog dog', 'dog cat')):  # the second one has a result of zero
                own = w.dir / f'{how}{k}'
                e = embed(how, text, own)
                assert e.finish() == code and re.search(sentence, e.err[-1]), (how, text, e.err)
                assert w.roles[-2].finish() == 0
                assert not [row for row in e.rows() if 'y' in row] and not (own / 'out').exists(), (how, e.out)
                assert not (own / 'receipts').read_text(), how
                frames = [(sent, kind, sequence, len(p)) for sent, _, kind, sequence, p in read_record(own / 'frames')]
                assert BYE not in [kind for _, kind, _, _ in frames], f'{how}: a goodbye is sent'
                seen.append((re.sub(r'serial \d+', '', e.err[-1]), e.out, frames, w.roles[-2].out))
            assert seen[0] == seen[1], f'{how}: the model owner sees that a result is zero'


# ---- the pace after a result

class Clock(Tap):
    """A Tap that alters nothing. It notes the bytes of both ways over one connection, and their times."""

    def __init__(self, port):
        super().__init__(port, at=0, way=None)
        self.came = {'up': [], 'down': []}  # (seconds, bytes); up: from the data owner

    def pump(self, way, source, sink):
        while data := source.recv(1 << 16):
            self.came[way].append((time.monotonic(), data))
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def times(self, way, sizes):
        """Returns the time of the last byte of each frame of a way, given the sizes of all. A TLS record is 5 bytes and
        a body. The body of a frame's bytes is 17 bytes longer than they are. An alert, which ends the connection, has 19
        bytes. Before the frames there are records of the handshake."""
        raw = b''.join(data for _, data in self.came[way])
        came = np.repeat([at for at, _ in self.came[way]], [len(data) for _, data in self.came[way]])
        plain, when, at = [], [], 0
        while at < len(raw):
            kind, size = raw[at], int.from_bytes(raw[at + 3:at + 5], 'big')
            at += 5 + size
            if kind == 23 and size != 19:
                plain.append(size - 17), when.append(came[at - 1])
        ends = np.cumsum(sizes) + sum(plain) - sum(sizes)  # records of the handshake are first
        assert ends[0] > sizes[0] and ends[-1] == sum(plain)
        return np.array(when)[np.searchsorted(np.cumsum(plain), ends)]


def slowly(pipe, into):
    """Reads 4096 bytes at a time, each after 5 ms. A row is longer than that, and the line of an error is not."""
    while True:
        select.select([pipe], [], [])
        time.sleep(0.005)
        data = os.read(pipe, 4096)
        if not data:
            break
        into.append(data)


def paced(base, zero, other, coins):
    """Returns the seconds before and after each text's goodbye: since the model owner's last frame, and until the next
    one. The data owner keeps receipts, and its stdout has a slow reader. Bundles are requested one by one, so the next
    frame waits for no other role."""
    with World(base, 'pace') as w:
        w.deal(timeout=SLOW).port()
        clock = Clock(w.serve(timeout=SLOW).port())
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        said = []
        reader = threading.Thread(target=slowly, args=(reading, said))
        reader.start()
        long = 'x' * 3000  # makes a row longer than 4096 bytes, but not the row of an error
        (w.dir / 'texts').write_text(''.join(json.dumps({'id': long, 'text': zero if c else other}) + '\n' for c in coins))
        e = w.embed(None, connect=clock.port, record=w.dir / 'frames', process={'stdout': writing}, timeout=SLOW,
                    **{'one-by-one': True, 'json-file': w.dir / 'texts', 'receipts': w.dir / 'receipts'})
        os.close(writing)
        assert e.finish(300) == 2, e.err[-3:]
        reader.join()
        os.close(reading)
        lines = b''.join(said).splitlines()
        assert ['error' in json.loads(line) for line in lines] == coins
        assert all((len(line) < 4096) == c for line, c in zip(lines, coins))
        assert len((w.dir / 'receipts').read_text().splitlines()) == len(coins)
        frames = {way: [(kind, 8 + len(payload)) for ours, _, kind, _, payload in read_record(w.dir / 'frames') if ours == (way == 'up')]
                  for way in ('up', 'down')}
    at = {way: clock.times(way, [size for _, size in of]) for way, of in frames.items()}
    byes, ends = ([i for i, (kind, _) in enumerate(frames[way]) if kind == last] for way, last in (('up', BYE), ('down', ONLINE_END)))
    assert len(byes) == len(ends) == len(coins)
    return at['up'][byes] - at['down'][ends], at['up'][np.array(byes) + 1] - at['up'][byes]


def pace_test(gaps, coins):
    """Returns how the times reveal the coins, or nothing. There are two such tests, so each has half of ALARM."""
    w = np.argsort(np.argsort(gaps, kind='stable')) - (len(gaps) - 1) / 2
    seen, limit = abs((w * np.where(coins, 1, -1)).sum()), math.sqrt(2 * math.log(4 / ALARM) * (w * w).sum())
    return f'the sum of ranks is {seen:.0f}, the limit is {limit:.0f}' if seen >= limit else ''


def pace(base, *_):
    """The pace of goodbye and next frame does not show that a result is zero, whatever reads stdout. Planted delays are
    reported, such as a signature after the result is read."""
    base = signs(base, base.folder)
    coin = random.SystemRandom()
    coins = [coin.random() < 0.5 for _ in range(PACED)]
    for what, gaps in zip(('to the goodbye', 'to the next frame'), paced(base, 'dog cat', 'dog dog', coins)):
        median = lambda which: 1e3 * np.median(gaps[np.array(coins) == which])
        print(f'     {PACED} texts, {what}: median {median(True):.2f} ms with a result of zero, {median(False):.2f} ms with another')
        assert not (found := pace_test(gaps, coins)), f'{what}: {found}'
        spread = np.subtract(*np.quantile(gaps, (0.75, 0.25)))  # on an idle machine 5 ms stands out from it
        for delay in (max(5e-3, 2 * spread), min(-5e-3, -2 * spread)):  # after a zero, after another
            late = gaps + np.where(np.array(coins) == (delay > 0), abs(delay), 0)
            assert pace_test(late, coins), f'{what}: {delay} s are not reported'


def unread(base, *_):
    """If stdout is not read and its pipe is full, the session goes on to its end. Its results can be read later."""
    texts = [base.text(5, k) for k in range(12)]
    with World(base, 'unread') as w:
        w.deal(timeout=SLOW).port()
        w.serve(timeout=SLOW, once=True).port()
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        e = embed_file(w, texts, process={'stdout': writing})
        os.close(writing)
        assert e.said(f'{len(texts)} sentences in'), e.err
        assert w.server.finish() == 0, w.server.err
        assert e.process.poll() is None
        with open(reading, 'rb') as pipe:
            rows = [json.loads(line) for line in pipe.read().splitlines()]
        assert e.finish() == 0 and [r['y'] for r in rows] == base.simulate(texts)


if __name__ == '__main__':
    each(uniform, zero_norm, zero_in_a_batch, liar, pace, unread)
