"""Evaluates the plan of an encoder, GPT-2, Llama or Qwen 3 model in integers, and searches an index. It is written by hand for
each family, to check the C++ evaluator.

It shares no code with that one and reads no graph. The inputs of every node are written here, and so are the weights.
The plan gives only numbers, by the name of a node (scope/label): scales, rings, shifts, tables, certificates. Products
are taken modulo 2^64. Every hard certificate is asserted, and every rescale rounds half up. A plan with a node that is
not read here is refused.
"""
import math

import numpy as np

I = np.int64


def total(a, axis=-1):
    """Sums from left to right; numpy's own sum adds pairwise and rounds differently."""
    return np.take(np.add.accumulate(a, axis=axis), -1, axis=axis)


def fold(v, w):
    """v @ w, accumulated over the inputs in order."""
    return total(v[:, None] * w, 0)


def centre(a):
    """a minus the mean of its last axis."""
    return a - (total(a) / a.shape[-1])[..., None]


def fixed(a, f):
    return np.floor(np.asarray(a, np.float64) * 2.0 ** f + 0.5).astype(I)


def shift(x, s):
    """Rounds half up by s bits."""
    return (x + (I(1) << I(s - 1))) >> I(s) if s > 0 else x


def product(x, w):
    """Integer product modulo 2^64, by limbs of 20 bits in float64: limb * weight * inputs stays below 2^53."""
    assert np.abs(w).max(initial=0) < 1 << 18 and w.shape[0] <= 1 << 14
    w, out = w.astype(np.float64), np.zeros(x.shape[:-1] + (w.shape[1],), np.uint64)
    high = int(np.abs(x).max(initial=0)).bit_length()
    at = 0
    while True:
        last = high - at <= 20
        limb = x >> I(at) if last else (x >> I(at)) & I((1 << 20) - 1)
        out += (limb.astype(np.float64) @ w).astype(I).astype(np.uint64) << np.uint64(at)
        if last:
            return out.astype(I)
        at += 20


class Function:
    """A piecewise polynomial of a plan, from its text (grammar: suf/func/text.hpp)."""

    def __init__(self, text):
        begins, values = [], []
        for line in text.splitlines():
            head, _, body = line.partition(' :')
            word, *numbers = head.split()
            if word in ('piece', 'run'):
                pieces = body.split(',')
                step = 1 << int(numbers[1]) if word == 'run' else 0
                begins += [int(numbers[0]) + i * step for i in range(len(pieces))]
                values += [[int(c) for c in p.split()] for p in pieces]
            elif word == 'end':
                self.end = int(numbers[0])
            else:
                assert word in ('suf', 'channel'), 'a function of a plan has a line ' + line
        self.begins, self.values = np.array(begins, I), np.array(values, I)
        assert self.begins[0] == 0 and (np.diff(self.begins) > 0).all() and self.begins[-1] < self.end

    def __call__(self, x):
        assert x.size == 0 or (0 <= int(x.min()) and int(x.max()) < self.end), 'a function is asked outside its domain'
        i = np.searchsorted(self.begins, x, 'right') - 1
        y = self.values[i, -1]
        for c in reversed(range(self.values.shape[1] - 1)):
            y = y * (x - self.begins[i]) + self.values[i, c]
        return y


def bits_to_count(n):
    """Returns the bits that number n things from 0 on."""
    return (n - 1).bit_length()


def first(numbers, count):
    """Returns the places of the `count` largest numbers in order, the earlier one first if two are equal."""
    return sorted(range(len(numbers)), key=lambda i: (-numbers[i], i))[:count]


class Search:
    """The search of an index plan (docs/mathematics.md#index-search). Scores are whole numbers here, and are sorted. Rings
    and pairs, in which the C++ evaluator computes, do not occur."""

    def __init__(self, index, rows, deleted=()):
        assert (index['kind'], index['version']) == ('index', 1), 'this is no index plan of version 1'
        self.index, self.told, self.k, self.floor = index, index['told'], index['k'], index['floor']
        self.f, self.unit = index['f'], 1 << index['f'] + index['g']
        self.buckets, self.capacity = index['buckets'], index['buckets'] * index['places']
        self.rows = np.zeros((self.capacity, index['columns']), I)
        self.rows[:len(rows)] = rows
        self.live = np.arange(self.capacity) < len(rows)
        self.live[list(deleted)] = False

    def scores(self, x):
        """Returns the scores of all rows; |score| < 2^(f+g) for live rows, and the others are below."""
        z = self.rows @ np.asarray(x, I)
        assert (np.abs(z) < self.unit).all(), 'a score leaves its range'
        return z - np.where(self.live, 0, 2 * self.unit)

    def champions(self, z):
        """Returns (score, row, place) of each bucket's best row, and the bits of a place."""
        left, rounds, best = self.index['places'], 0, []
        while left > self.index['stop']:                                                                      # a round halves the places, rounded up
            left, rounds = -(-left // 2), rounds + 1
        for m in range(self.buckets):
            s, = first(z[m::self.buckets], 1)
            best.append((z[m + s * self.buckets], m + s * self.buckets, s))
        return best, rounds + bits_to_count(left)

    def entries(self, x):
        """Returns (score, row, place) of each entry that the last ranks compare, and the bits of a place."""
        best, bits = self.champions([int(v) for v in self.scores(x)])
        for count in self.index['groups']:
            size, kept = len(best) // count, []
            for g in range(count):
                group = best[g * size:(g + 1) * size]
                for i in first([score for score, _, _ in group], self.k):
                    score, row, place = group[i]
                    kept.append((score, row, place | i << bits))
            best, bits = kept, bits + bits_to_count(size)
        return best, bits

    def __call__(self, x):
        """Returns the words of the result, and the hits {row, and rank or score} in the order of their ranks."""
        best, bits = self.entries(x)
        ring = bits + {'ids': 1, 'order': 1 + bits_to_count(min(len(best), 16)), 'scores': (8 * self.unit).bit_length() - 1}[self.told]
        words, hits = [0] * len(best), []
        for rank, e in enumerate(first([score for score, _, _ in best], self.k)):
            score, row, place = best[e]
            if score < self.floor:
                continue
            told = {'ids': {}, 'order': {'rank': rank}, 'scores': {'score': score}}[self.told]
            above = {'ids': 1, 'order': 2 * rank + 1, 'scores': score + 4 * self.unit}[self.told]
            word = above << bits | place
            words[e] = word - (word >> ring - 1 << ring)                                                      # a word of the ring, with a sign
            hits.append(dict(row=row, **told))
        return words, hits


class Evaluator:
    """The numbers of a plan, by name, and the steps that families share. A family adds its weights and its steps."""

    def __init__(self, model, plan, shifts, variant):
        assert plan['version'] == 6, 'the plan has version %s, this program reads version 6' % plan['version']
        plan = dict(plan, classes=[c for c in plan['classes'] if c['variant'] == variant])
        self.m, self.plan, self.shifts, self.q, self.read = model, plan, shifts, {}, set()
        self.names = [n['scope'] + '/' + n['label'] for n in plan['nodes']]
        assert len(set(self.names)) == len(self.names), 'two nodes of the plan have one name'
        self.functions = [Function(text) for text in plan['functions']]
        self.classes = [dict(zip(self.names, c['nodes'])) for c in plan['classes']]
        self.c, self.at = self.classes[0], ''
        self.weights()
        for l in range(model.layers):
            if '%d/attention/shift' % l in self.names:
                w = 'shift.%d.attention' % l
                self.linear('%d/attention/shift' % l, shifts[w].astype(np.float64), shifts[w + '.bias'].astype(np.float64))

    # -- numbers
    def number(self, name, *fields):
        self.read.add(name)
        return tuple(self.c[name][f] for f in fields) if len(fields) > 1 else self.c[name][fields[0]]

    def function(self, name, field):
        return self.functions[self.number(name, field)]

    def wire(self, name, x, cut=0, width=''):
        """Asserts the hard certificate of a wire, |x| < 2^bits, and its ring: |x| + rounding < 2^(ring - 2)."""
        what = self.at + name + ('.' if width else '') + width
        hard, = (c for c in self.number(name, 'certificates') if c['width'] == width)
        assert hard['hard'], 'wire %s has no hard certificate' % what
        most, ring = int(np.abs(x).max()), self.number(name, width or 'ring')
        assert most < 1 << hard['bits'], 'wire %s leaves its certificate' % what
        gap = width not in ('square', 'row_sum')                                                              # these are never negative
        assert most + ((1 << cut) >> 1) < 1 << (ring - 2 if gap else ring), 'wire %s leaves its ring of %d bits' % (what, ring)
        return x

    # -- weights
    def embedding(self, table, positions=None):
        s = self.number('embed/z_embed', 'scale')
        self.q['table'] = fixed(table, s)
        self.q['positions'] = fixed(positions, s) if positions is not None else np.zeros((1, 1), I)

    def linear(self, name, full=None, bias=None, gamma=None, centred=True):
        """Keeps weights of x full + 2^diag gamma n - 2^(diag - mean) (n . gamma / d) + bias; the mean only if `centred`.
        Only `full` has one scale in all length classes."""
        self.q[name] = q = dict(bias=bias, gamma=gamma, centred=centred)
        if full is not None:
            q['full'] = fixed(full, self.number(name, 'full'))

    def query_key(self, a, q, k, bias=None, key_bias=None):
        """Quantises the maps of queries and keys: one, or two if fewer queries are wanted. Only turned keys have a bias;
        that of others adds a constant to a row of scores."""
        if a + 'z_qk' in self.names:
            zeros = np.zeros(k.shape[1]) if key_bias is None else key_bias
            self.linear(a + 'z_qk', np.hstack([q, k]), None if bias is None else np.concatenate([bias, zeros]))
        else:
            self.linear(a + 'z_q', q, bias)
            self.linear(a + 'z_k', k, key_bias)

    # -- steps
    def embed(self, ids):
        n, p, t = len(ids), self.q['positions'], self.q['table']
        words = len(t) - (self.m.types if self.m.types > 1 else 0)                                            # the rows of types lie below
        type, entry = np.divmod(ids, words)
        return self.wire('embed/z_embed', t[entry] + (t[words + type] if self.m.types > 1 else 0) + (p[:n] if len(p) > 1 else 0))

    def map(self, name, x, n=None, times=1):
        q, (scale, up, turn) = self.q[name], self.number(name, 'scale', 'up', 'turn')
        z = product(x, q['full']) if 'full' in q else 0
        if n is not None:
            g, (of, diag, mean) = q['gamma'], self.number(name, 'gamma', 'diag', 'mean')
            z = z + ((n * fixed(g, of)) << I(diag))
            if q['centred']:
                z = z - ((n * fixed(g / len(g), of + mean)).sum(-1) << I(diag - mean))[:, None]
        return z if q['bias'] is None else z + (fixed(q['bias'], scale - turn - up) << I(up)) * times

    def rescaled(self, name, z, of):
        """Rescales the wire `of` exactly, unless its shift is 0."""
        s = self.number(name, 'shift')
        if s == 0:
            self.number(of, 'ring')
            return z
        return shift(self.wire(of, z, s), s)

    def norm(self, name, z, parts=1):
        """x / sqrt(mean of squares), or x / |x| at the end; x is z rescaled. Each of the `parts` of a row has its own
        norm."""
        whole, z = z.shape, z.reshape(-1, z.shape[-1] // parts)
        cut, by, kz, epsilon = self.number(name, 'cut', 'shift', 'kz', 'epsilon')
        assert int(np.abs(z).max()) + ((1 << cut) >> 1) < 1 << kz - 2, 'wire %s%s.input leaves its ring of %d bits' % (self.at, name, kz)
        x = shift(z, cut)
        of = z if self.number(name, 'square_of') == 'z' else x                                                # its squares may need 128 bits
        v = np.array([sum(int(a) * int(a) for a in row) >> self.number(name, 'under') for row in of], I)
        v = self.wire(name, v + epsilon, 0, 'square')
        y = self.wire(name, x * self.function(name, 'rsqrt')(v)[..., None], by, 'product')
        return self.wire(name, shift(y, by).reshape(whole))

    def bias(self, at, n):
        """Returns what is added to the scores of n tokens, at their scale."""
        return 0

    def by_maximum(self, at, s, there):
        """exp relative to the row's maximum, from the scores (heads, n, n)."""
        by, low, level, floor, offset = self.number(at + 'e', 'shift', 'low', 'level', 'floor', 'offset')
        x = shift(s + np.array(offset, I)[:, None, None], by) & I((1 << low + level) - 1)                      # within the window
        levels = np.where(there, x >> I(low), 0)
        top = np.maximum(levels.max(-1, keepdims=True), floor)
        return self.function(at + 'e', 'high_table')(top - levels) * self.function(at + 'e', 'low_table')(x & I((1 << low) - 1))

    def by_shift(self, at, s, n):
        """exp relative to the predicted shift. The shift is a map of n, plus sixteenths of a row's scores with
        itself and the previous row."""
        by, index, end, offset, up, shift_up = self.number(at + 'e', 'shift', 'index', 'end', 'offset', 'score_up', 'shift_up')
        own = self.plan['nodes'][self.names.index(at + 'e')]['own']
        c, i = self.map(at + 'shift', n).T << I(shift_up), np.arange(s.shape[-1])                               # (heads, n)
        if own:
            own = np.array(own, I).reshape(-1, 2)
            c = c + (own[:, :1] * s[:, i, i] + own[:, 1:] * s[:, i, np.maximum(i - 1, 0)] << I(up - 4))
        z = (s << I(up)) - c[..., None] + np.array(offset, I)[:, None, None] & I((1 << by + index) - 1)
        table, place = self.function(at + 'e', 'table'), z >> I(by)
        return np.where(place < end, table(np.minimum(place, table.end - 1)), 0)

    def attention(self, at, q, k, v, n_row, causal):
        """Attention of q (n, heads, dim), k and v (n, serving, dim) -> (n, heads dim). Each k and v serves heads /
        serving heads; q is a map of n_row."""
        n, heads = q.shape[:2]
        q, k, v = (np.repeat(a.transpose(1, 0, 2), heads // a.shape[1], 0) for a in (q, k, v))
        self.number(at + 'scores', 'ring')
        s = q @ k.transpose(0, 2, 1) + self.bias(at, n)
        there = np.tri(n, dtype=bool) if causal else np.ones((n, n), bool)
        if at + 'shift' in self.names:
            self.number(at + 'shift', 'ring')
        e = self.by_shift(at, s, n_row) if self.number(at + 'e', 'form') == 'shift' else self.by_maximum(at, s, there)
        e = self.wire(at + 'e', np.where(there, e, 0))
        row = self.wire(at + 'eV*recip', e.sum(-1), 0, 'row_sum')
        o = self.wire(at + 'eV*recip', e @ v, 0, 'product') * self.function(at + 'eV*recip', 'recip')(row)[..., None]
        o = o.transpose(1, 0, 2).reshape(n, -1)
        by = self.number(at + 'o', 'shift')
        return self.wire(at + 'o', shift(self.wire(at + 'eV*recip', o, by), by))

    def queries_keys(self, a, n, columns):
        """Returns queries, of `columns`, and keys of the rows n."""
        one = lambda name, of: self.rescaled(a + name, self.turned(of, self.map(of, n)), of)
        if a + 'z_qk' in self.names:
            both = one('q,k', a + 'z_qk')
            return both[:, :columns], both[:, columns:]
        return one('q', a + 'z_q'), one('k', a + 'z_k')

    def attended(self, at, n, causal):
        """Attention of a layer, from the rows n to its output map."""
        a, heads, serving = at + 'attention/', self.m.heads, self.m.serving
        q, k = self.queries_keys(a, n, heads * self.m.dim)
        v = self.wire(a + 'v', self.rescaled(a + 'v', self.map(a + 'z_v', n), a + 'z_v'))
        return self.attention(a, self.split(q, heads), self.split(k, serving), self.split(v, serving), n, causal)

    def turned(self, name, z):
        """Turns the pairs (j, j + half) of every head by the angles of their row, if the map has angles."""
        if self.number(name, 'turn') == 0:
            return z
        n, half = len(z), self.m.dim // 2
        c, s = (self.function(name, f).values[:n * half, 0].reshape(n, 1, half) for f in ('cosines', 'sines'))
        z = z.reshape(n, -1, 2 * half)
        a, b = z[..., :half], z[..., half:]
        return np.concatenate([a * c - b * s, b * c + a * s], -1).reshape(n, -1)

    def gated(self, at, f, n):
        """The product of an activation f of a map of n and another map."""
        gate = self.activation(at + f, self.map(at + 'z_gate', n))
        up = self.wire(at + 'linear', self.rescaled(at + 'linear', self.map(at + 'z_up', n), at + 'z_up'))
        return self.wire(at + 'product', gate * up)

    def activation(self, name, z):
        by, f = self.number(name, 'shift'), self.function(name, 'lines')
        x = shift(z, by) + I(f.end // 2) & I(f.end - 1)                                                       # its ring, from the least value on
        return self.wire(name, f(x))

    def split(self, x, heads):
        return x.reshape(len(x), heads, -1)

    def pool(self, n):
        """The mean, the first or the last one of the last norm's rows n, over its length."""
        mean = self.m.pooling == 'mean'
        s = self.wire('pool/pooled', n.sum(0, keepdims=True) if mean else n[-1:] if self.m.pooling == 'lasttoken' else n[:1])
        return self.norm('pool/unit', self.wire('pool/z_pool', self.map('pool/z_pool', None, s, len(n) if mean else 1)))[0]

    def embed_for(self, search):
        """Lets the last norm cut its result to the scale of a search."""
        for c in self.classes:
            unit = c['pool/unit']
            more = unit['scale'] - search.f
            assert more >= 0, 'the embedding has fewer fractional bits than the search'
            certificates = [dict(x, bits=x['bits'] if x['width'] else max(1, x['bits'] - more)) for x in unit['certificates']]
            c['pool/unit'] = dict(unit, scale=search.f, shift=unit['shift'] + more, certificates=certificates)

    def run(self, ids):
        n = len(ids)
        assert n >= self.plan['min_tokens'], 'a text of %d tokens is below the limit' % n
        i = next(i for i, c in enumerate(self.plan['classes']) if n <= c['max_n'])
        self.c, self.at = self.classes[i], '%d/' % self.plan['classes'][i]['max_n']
        y = self.forward(ids)
        assert self.read == set(self.names), 'nodes of the plan that are not read: %s' % ', '.join(sorted(set(self.names) - self.read))
        return y


class Bert(Evaluator):
    def bias(self, at, n):
        real = self.m.bias(n)
        return fixed(real * math.sqrt(self.m.d // self.m.heads), self.number(at + 'scores', 'scale')) if np.ndim(real) else 0

    def weights(self):
        m, w = self.m, self.m.w
        self.embedding(centre(np.vstack([w['word'], w['type']]) if m.types > 1 else w['word']), centre(w['pos']))
        g, b = w['g'], w['b']
        for l in range(m.layers):
            at, W = '%d/' % l, lambda c: w[l, 'W' + c]
            self.query_key(at + 'attention/', g[:, None] * W('q'), g[:, None] * W('k'), fold(b, W('q')) + w[l, 'bq'])
            self.linear(at + 'attention/z_v', g[:, None] * W('v'))
            o = centre(W('o'))
            self.linear(at + 'proj/z_proj', o, fold(fold(b, W('v')) + w[l, 'bv'], o) + (centre(b) + centre(w[l, 'bo'])), g)
            g, b = w[l, 'ga'], w[l, 'ba']
            self.linear(at + 'gelu/z_ffn1', g[:, None] * W('1'), fold(b, W('1')) + w[l, 'b1'])
            self.linear(at + 'ffn2/z_ffn2', centre(W('2')), centre(b) + centre(w[l, 'b2']), g)
            g, b = w[l, 'gf'], w[l, 'bf']
        if m.classifier:
            self.linear('head/z_dense', g[:, None] * w['WH'], fold(b, w['WH']) + w['bH'])
            self.linear('head/z_head', w['WL'], w['bL'])
        else:
            self.linear('pool/z_pool', None, b, g, centred=False)

    def forward(self, ids):
        m = self.m
        n = self.norm('embed/normalised', self.embed(ids))
        for l in range(m.layers):
            at = '%d/' % l
            o = self.attended(at, n, False)
            n = self.norm(at + 'norm1/normalised', self.wire(at + 'proj/z_proj', self.map(at + 'proj/z_proj', o, n)))
            h = self.map(at + 'ffn2/z_ffn2', self.ffn(at, n), n)
            n = self.norm(at + 'norm2/normalised', self.wire(at + 'ffn2/z_ffn2', h))
        if m.classifier:
            f, = (label for label in ('tanh', 'relu') if 'head/' + label in self.names)
            h = self.activation('head/' + f, self.map('head/z_dense', self.wire('head/pooled', n[:1])))
            return self.wire('head/logits', self.rescaled('head/logits', self.map('head/z_head', h), 'head/z_head'))[0]
        return self.pool(n)

    def ffn(self, at, n):
        return self.activation(at + 'gelu/gelu', self.map(at + 'gelu/z_ffn1', n))


class NomicBert(Bert):
    def bias(self, at, n):
        return 0

    def weights(self):
        m, w = self.m, self.m.w
        self.embedding(centre(w['word']))
        g, b = w['g'], w['b']
        for l in range(m.layers):
            at, W = '%d/' % l, lambda c: w[l, 'W' + c]
            self.query_key(at + 'attention/', g[:, None] * W('q'), g[:, None] * W('k'), fold(b, W('q')), fold(b, W('k')))
            self.linear(at + 'attention/z_v', g[:, None] * W('v'))
            o = centre(W('o'))
            self.linear(at + 'proj/z_proj', o, fold(fold(b, W('v')), o) + centre(b), g)
            g, b = w[l, 'ga'], w[l, 'ba']
            self.linear(at + 'silu/z_gate', g[:, None] * W('g'), fold(b, W('g')))
            self.linear(at + 'silu/z_up', g[:, None] * W('u'), fold(b, W('u')))
            self.linear(at + 'ffn2/z_ffn2', centre(W('d')), centre(b), g)
            g, b = w[l, 'gf'], w[l, 'bf']
        self.linear('pool/z_pool', None, b, g, centred=False)

    def ffn(self, at, n):
        return self.gated(at + 'silu/', 'silu', n)


class Decoder(Evaluator):
    """Pre-LN: the steps that GPT-2, Llama and Qwen 3 share. Each has its own `ffn`."""

    def forward(self, ids):
        x = self.wire('head/pooled', self.clamped('%d/ffn2/' % (self.m.layers - 1), self.rows(ids))[-1:])
        z = self.map('head/z_head', self.norm('head/normalised', x))
        return self.wire('head/logits', self.rescaled('head/logits', z, 'head/z_head'))[0]

    def rows(self, ids):
        """The stream behind the last layer."""
        m = self.m
        x = self.wire('embed/stream', self.embed(ids))
        for l in range(m.layers):
            at = '%d/' % l
            n = self.norm(at + 'norm1/normalised', self.clamped('%d/ffn2/' % (l - 1), x) if l else x)
            x = self.stream(at + 'proj/', 'z_proj', x, self.map(at + 'proj/z_proj', self.attended(at, n, True)))
            n = self.norm(at + 'norm2/normalised', self.clamped(at + 'proj/', x))
            x = self.stream(at + 'ffn2/', 'z_ffn2', x, self.map(at + 'ffn2/z_ffn2', self.ffn(at, n)))
        return x

    def wraps(self, at):
        """Whether a stream may wrap: every reader of it, and of the streams made from it, is a window."""
        places = [p for l in range(self.m.layers) for part in ('proj', 'ffn2') if (p := '%d/%s/' % (l, part)) + 'clamp' in self.names]
        return all(self.number(p + 'clamp', 'window') for p in places[places.index(at):])

    def stream(self, at, label, x, z):
        """Adds z to the residual stream x."""
        up, other = self.number(at + 'stream', 'up', 'up_other')
        y = (x << I(up)) + (z << I(other))
        if not self.wraps(at):
            self.wire(at + label, z)
            self.wire(at + 'stream', y)
        return y

    def clamped(self, at, x):
        """A stream as a norm reads it: rescaled, and wrapped if its clamp has a window."""
        by, window = self.number(at + 'clamp', 'shift', 'window')
        x = shift(x, by)
        if window:
            x = (x + I(1 << window - 1) & I((1 << window) - 1)) - I(1 << window - 1)
        return self.wire(at + 'clamp', x)


class ModernBert(Decoder):
    """Pre-LN, but each token attends to all, and the first layer reads the embeddings' norm."""

    def weights(self):
        m, w = self.m, self.m.w
        self.embedding(centre(w['word']))
        for l in range(m.layers):
            at, g = '%d/' % l, w[l, 'ga'] if l else w['g']
            self.query_key(at + 'attention/', g[:, None] * w[l, 'Wq'], g[:, None] * w[l, 'Wk'])
            self.linear(at + 'attention/z_v', g[:, None] * w[l, 'Wv'])
            self.linear(at + 'proj/z_proj', centre(w[l, 'Wo']), None, None if l else g)
            g = w[l, 'gf'][:, None]
            self.linear(at + 'gelu/z_gate', g * w[l, 'Wg'])
            self.linear(at + 'gelu/z_up', g * w[l, 'Wu'])
            self.linear(at + 'ffn2/z_ffn2', centre(w[l, 'Wd']))
        self.linear('pool/z_pool', None, None, w['gl'], centred=False)

    def forward(self, ids):
        m = self.m
        n = self.norm('embed/normalised', self.embed(ids))
        for l in range(m.layers):
            at = '%d/' % l
            if l:
                n = self.norm(at + 'norm1/normalised', self.clamped('%d/ffn2/' % (l - 1), x))
            o = self.attended(at, n, False)
            if l:
                x = self.stream(at + 'proj/', 'z_proj', x, self.map(at + 'proj/z_proj', o))
                n = self.norm(at + 'norm2/normalised', self.clamped(at + 'proj/', x))
            else:                                                                                             # the residual is a term of the map
                x = self.wire(at + 'proj/z_proj', self.map(at + 'proj/z_proj', o, n))
                n = self.norm(at + 'norm2/normalised', x)
            x = self.stream(at + 'ffn2/', 'z_ffn2', x, self.map(at + 'ffn2/z_ffn2', self.gated(at + 'gelu/', 'gelu', n)))
        return self.pool(self.norm('last/normalised', self.clamped('%d/ffn2/' % (m.layers - 1), x)))


class Gpt2(Decoder):
    def weights(self):
        m, w = self.m, self.m.w
        self.embedding(centre(w['word']), centre(w['pos']))
        for l in range(m.layers):
            at, g, b = '%d/' % l, w[l, 'g1'], w[l, 'b1']
            W, bias = np.split(w[l, 'Wqkv'], 3, 1), np.split(w[l, 'bqkv'], 3)
            self.query_key(at + 'attention/', g[:, None] * W[0], g[:, None] * W[1], fold(b, W[0]) + bias[0])
            self.linear(at + 'attention/z_v', g[:, None] * W[2])
            o = centre(w[l, 'Wo'])
            self.linear(at + 'proj/z_proj', o, fold(fold(b, W[2]) + bias[2], o) + centre(w[l, 'bo']))
            g, b = w[l, 'g2'], w[l, 'b2']
            self.linear(at + 'gelu/z_ffn1', g[:, None] * w[l, 'Wf'], fold(b, w[l, 'Wf']) + w[l, 'bf'])
            self.linear(at + 'ffn2/z_ffn2', centre(w[l, 'Wp']), centre(w[l, 'bp']))
        head = w['word'].T
        self.linear('head/z_head', w['g'][:, None] * head, fold(w['b'], head))

    def ffn(self, at, n):
        return self.activation(at + 'gelu/gelu_new', self.map(at + 'gelu/z_ffn1', n))


class Llama(Decoder):
    def weights(self):
        m, w = self.m, self.m.w
        self.embedding(w['word'])
        for l in range(m.layers):
            at, g = '%d/' % l, w[l, 'g1'][:, None]
            self.scored(l, at + 'attention/', g * w[l, 'Wq'], g * w[l, 'Wk'])
            self.linear(at + 'attention/z_v', g * w[l, 'Wv'])
            self.linear(at + 'proj/z_proj', w[l, 'Wo'])
            g = w[l, 'g2'][:, None]
            self.linear(at + 'silu/z_gate', g * w[l, 'Wg'])
            self.linear(at + 'silu/z_up', g * w[l, 'Wu'])
            self.linear(at + 'ffn2/z_ffn2', w[l, 'Wd'])
        self.ending()

    def ending(self):
        self.linear('head/z_head', self.m.w['g'][:, None] * self.m.w['head'])

    def scored(self, l, a, q, k):
        self.query_key(a, q, k)

    def ffn(self, at, n):
        return self.gated(at + 'silu/', 'silu', n)


class Qwen3(Llama):
    """Llama with a norm of each head of queries and keys; the ending is an encoder's."""

    def ending(self):
        self.linear('pool/z_pool', None, None, self.m.w['g'], centred=False)

    def scored(self, l, a, q, k):
        for c, W in (('q', q), ('k', k)):
            self.linear(a + c + '_proj', W)
            self.linear(a + 'z_' + c, None, None, np.tile(self.m.w[l, 'g' + c], W.shape[1] // self.m.dim), centred=False)

    def queries_keys(self, a, n, columns):
        def one(c):
            x = self.wire(a + c + '_proj', self.map(a + c + '_proj', n))
            x = self.norm(a + c + '_norm', x, x.shape[1] // self.m.dim)
            z = self.turned(a + 'z_' + c, self.map(a + 'z_' + c, None, x))
            return self.rescaled(a + c, z, a + 'z_' + c)
        return one('q'), one('k')

    def forward(self, ids):
        return self.pool(self.norm('norm/normalised', self.clamped('%d/ffn2/' % (self.m.layers - 1), self.rows(ids))))


def evaluator(model, plan, shifts=None, variant=0):
    """Makes the evaluator of a family; shifts: tensors by name, from the file beside a plan whose softmaxes have
    shifts."""
    return {'bert': Bert, 'roberta': Bert, 'distilbert': Bert, 'mpnet': Bert, 'nomic_bert': NomicBert, 'modernbert': ModernBert, 'gpt2': Gpt2, 'llama': Llama, 'qwen3': Qwen3}[model.kind](model, plan, shifts, variant)
