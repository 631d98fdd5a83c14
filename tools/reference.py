#!/usr/bin/env python3
"""Reference for BERT sentence encoders: float forward, timing, comparison, and an independent integer evaluation of a plan.

Needs numpy and nothing else; safetensors files are read and written by hand.  The integer evaluation shares no code with the C++ evaluator:
products are taken modulo 2^64 on 64-bit words, every certificate of the plan is asserted, every rescale is round half up.

examples:
  reference.py float    --model DIR --ids ids.jsonl --out golden.safetensors
  reference.py time     --model DIR --tokens 32
  reference.py compare  golden.safetensors ids-and-y.jsonl --scale 16
  reference.py evaluate --model DIR --plan plan.json --ids ids.jsonl > y.jsonl

ids.jsonl holds one row {"id": .., "ids": [token ids, [CLS] and [SEP] included]} a line.
"""
import os
for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')
import argparse
import json
import math
import struct
import sys
import time

import numpy as np

I = np.int64


# ---------------------------------------------------------------------------------------------------------------- files
def read_safetensors(path):
    """name -> array.  Layout: 8 bytes little-endian length of a JSON header, the header, the data."""
    kinds = {'F64': np.float64, 'F32': np.float32, 'F16': np.float16, 'I64': np.int64, 'I32': np.int32, 'I16': np.int16, 'U8': np.uint8, 'I8': np.int8}
    with open(path, 'rb') as file:
        size, = struct.unpack('<Q', file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    out = {}
    for name, entry in header.items():
        if name != '__metadata__' and entry['dtype'] in kinds:
            begin, end = entry['data_offsets']
            out[name] = np.frombuffer(data[begin:end], kinds[entry['dtype']]).reshape(entry['shape'])
    return out


def write_safetensors(path, tensors):
    """the same layout; float64, float32 and int32 arrays"""
    kinds, header, blobs, at = {'float64': 'F64', 'float32': 'F32', 'int32': 'I32'}, {}, [], 0
    for name, value in tensors.items():
        blob = np.ascontiguousarray(value).tobytes()
        header[name] = dict(dtype=kinds[str(value.dtype)], shape=list(value.shape), data_offsets=[at, at + len(blob)])
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(blobs))


def read_rows(path):
    with (sys.stdin if path == '-' else open(path, encoding='utf8')) as file:
        return [json.loads(line) for line in file if line.strip()]


class Model:
    """config and float weights of a BERT directory; weights are (inputs, outputs), x @ W"""

    def __init__(self, folder, kind=np.float64):
        with open(os.path.join(folder, 'config.json'), encoding='utf8') as file:
            c = json.load(file)
        self.d, self.heads, self.layers, self.ff = (c[k] for k in ('hidden_size', 'num_attention_heads', 'num_hidden_layers', 'intermediate_size'))
        self.eps = c['layer_norm_eps']
        raw = {k.removeprefix('bert.'): v.astype(kind) for k, v in read_safetensors(os.path.join(folder, 'model.safetensors')).items() if v.dtype.kind == 'f'}
        e, w = 'embeddings.', {}
        w['word'] = raw[e + 'word_embeddings.weight']
        w['pos'] = raw[e + 'position_embeddings.weight'] + raw[e + 'token_type_embeddings.weight'][0]
        w['g'], w['b'] = raw[e + 'LayerNorm.weight'], raw[e + 'LayerNorm.bias']
        names = dict(q='attention.self.query', k='attention.self.key', v='attention.self.value', o='attention.output.dense', **{'1': 'intermediate.dense', '2': 'output.dense'})
        for l in range(self.layers):
            p = 'encoder.layer.%d.' % l
            for short, long in names.items():
                w[l, 'W' + short], w[l, 'b' + short] = np.ascontiguousarray(raw[p + long + '.weight'].T), raw[p + long + '.bias']
            for short, long in (('a', 'attention.output.LayerNorm'), ('f', 'output.LayerNorm')):
                w[l, 'g' + short], w[l, 'b' + short] = raw[p + long + '.weight'], raw[p + long + '.bias']
        self.w = w


# ---------------------------------------------------------------------------------------------------------------- float
def erf(x):
    """erf of an array: the C library's, value by value, for float64; a rational fit (1.5e-7) for float32, where speed is measured"""
    if x.dtype == np.float64:
        return np.frompyfunc(math.erf, 1, 1)(x).astype(np.float64)
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    c = [np.float32(v) for v in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
    p = c[0]
    for v in c[1:]:
        p = p * t + v
    return np.copysign(1 - p * t * np.exp(-x * x), x)


def layer_norm(x, g, b, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(eps)) * g + b


def forward(model, ids):
    """token ids -> L2-normalised mean of the last layer, as HF BertModel in evaluation mode"""
    w, n, d, heads = model.w, len(ids), model.d, model.heads
    split = lambda t: t.reshape(n, heads, d // heads).transpose(1, 0, 2)
    half = w['g'].dtype.type(0.5)
    x = layer_norm(w['word'][ids] + w['pos'][:n], w['g'], w['b'], model.eps)                                  # (n, d)
    for l in range(model.layers):
        q, k, v = (split(x @ w[l, 'W' + c] + w[l, 'b' + c]) for c in 'qkv')                                   # (heads, n, d / heads)
        s = q @ k.transpose(0, 2, 1) / x.dtype.type(math.sqrt(d // heads))                                    # (heads, n, n)
        s = np.exp(s - s.max(-1, keepdims=True))
        o = ((s / s.sum(-1, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, d)
        x = layer_norm(x + o @ w[l, 'Wo'] + w[l, 'bo'], w[l, 'ga'], w[l, 'ba'], model.eps)
        h = x @ w[l, 'W1'] + w[l, 'b1']                                                                       # (n, ff)
        h = half * h * (1 + erf(h / h.dtype.type(math.sqrt(2))))
        x = layer_norm(x + h @ w[l, 'W2'] + w[l, 'b2'], w[l, 'gf'], w[l, 'bf'], model.eps)
    y = x.mean(0)
    return y / np.sqrt((y * y).sum())                                                                         # (d)


def run_float(a):
    """float64 embeddings of every row"""
    model, rows = Model(a.model), read_rows(a.ids)
    y = np.stack([forward(model, r['ids']) for r in rows])
    write_safetensors(a.out, dict(embedding=y.astype(np.float64 if a.f64 else np.float32), tokens=np.array([len(r['ids']) for r in rows], np.int32)))


def run_time(a):
    """median of 9 float32 forward passes after two warm-up passes, one thread"""
    model, took = Model(a.model, np.float32), []
    ids = np.concatenate([[101], np.random.default_rng(a.tokens).integers(1996, 20000, max(0, a.tokens - 2)), [102]])[:a.tokens]
    for _ in range(11):
        begin = time.perf_counter()
        forward(model, ids)
        took.append(time.perf_counter() - begin)
    took = sorted(took[2:])
    print(json.dumps(dict(tokens=a.tokens, threads=1, kind='float32', median_s=took[4], min_s=took[0], max_s=took[8])))


# -------------------------------------------------------------------------------------------------------------- compare
def load_embeddings(path):
    """safetensors with tensor "embedding", or JSON lines with "y" """
    if path.endswith('.safetensors'):
        return read_safetensors(path)['embedding'].astype(np.float64)
    return np.array([r['y'] for r in read_rows(path)], np.float64)


def run_compare(a):
    """cosine of each row with its reference; the largest reference similarity difference of a pair among the `near` nearest that the other set orders the
    other way.  A common scale of the second set does not matter: rows are normalised."""
    x, y = load_embeddings(a.reference), load_embeddings(a.other)
    if x.shape != y.shape:
        sys.exit('reference.py compare: %s has shape %s, %s has %s' % (a.reference, x.shape, a.other, y.shape))
    norm = np.linalg.norm(y, axis=1) / 2.0 ** a.scale
    x, y = (t / np.linalg.norm(t, axis=1, keepdims=True) for t in (x, y))
    cos, sx, sy, worst, at = (x * y).sum(1), x @ x.T, y @ y.T, 0.0, None
    for i in range(len(x)):
        near = [int(j) for j in np.argsort(-sx[i], kind='stable') if j != i][:a.near]
        gap = sx[i, near][:, None] - sx[i, near][None]
        wrong = gap * ((gap > 0) & (sy[i, near][:, None] < sy[i, near][None]))
        if wrong.size and wrong.max() > worst:
            p, q = np.unravel_index(wrong.argmax(), wrong.shape)
            worst, at = float(wrong.max()), [i, near[p], near[q]]
    print(json.dumps(dict(rows=len(x), cosine_min=float(cos.min()), cosine_min_row=int(cos.argmin()), one_minus_cosine_max=float(1 - cos.min()), one_minus_cosine_mean=float(1 - cos.mean()),
                          near=a.near, inversion_max=worst, inversion_at=at, norm_min=float(norm.min()), norm_max=float(norm.max()))))


# ------------------------------------------------------------------------------------------------------- integer evaluation
def total(a, axis=-1):
    """plain left-to-right sum: numpy's own sum adds pairwise and rounds differently"""
    return np.take(np.add.accumulate(a, axis=axis), -1, axis=axis)


def fold(v, w):
    """v @ w, accumulated over the inputs in order"""
    return total(v[:, None] * w, 0)


def centre(a):
    """a minus the mean of its last axis"""
    return a - (total(a) / a.shape[-1])[..., None]


def fixed(a, f):
    return np.floor(np.asarray(a, np.float64) * 2.0 ** f + 0.5).astype(I)


def shift(x, s):
    """round half up by s bits"""
    return (x + (I(1) << I(s - 1))) >> I(s) if s > 0 else x


def product(x, w):
    """integer product modulo 2^64, by limbs of 20 bits in float64: limb * weight * inputs stays below 2^53"""
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


def lookup(v, groups, tables):
    """value of the group that holds v"""
    out = np.zeros_like(v)
    for g in reversed(groups):
        values = np.array(tables[g['values']], I)
        out = np.where(v < g['hi'] << g['w'], values[np.clip((v >> g['w']) - g['lo'], 0, len(values) - 1)], out)
    return out


class Evaluator:
    """the cleartext meaning of a plan on the weights of a model (docs: suf/nn/plan.hpp names the fields)"""

    def __init__(self, model, plan):
        self.m, self.plan, self.s = model, plan, plan['scales']
        w, s, q = model.w, self.s, {}
        q['E'], q['pos'] = fixed(centre(w['word']), s['embedding']), fixed(centre(w['pos']), s['embedding'])
        mean = lambda g, room: fixed(g / model.d, s['gamma'] + min(s['mean'], room - s['f'] - s['gamma']))
        sum_o, sum_2 = s['o'] + s['w_o'], s['x'] + s['gelu'] + s['w_2']                                       # scales of the sums that a LayerNorm reads
        g, b = w['g'], w['b']
        for l in range(model.layers):
            bo = fold(fold(b, w[l, 'Wv']) + w[l, 'bv'], w[l, 'Wo']) + w[l, 'bo'] + b
            q[l, 'q'], q[l, 'k'] = fixed(g[:, None] * w[l, 'Wq'], s['w_qk']), fixed(g[:, None] * w[l, 'Wk'], s['w_qk'])
            q[l, 'bq'] = fixed(fold(b, w[l, 'Wq']) + w[l, 'bq'], s['f'] + s['w_qk'])
            q[l, 'v'], q[l, 'o'] = fixed(g[:, None] * w[l, 'Wv'], s['w_v']), fixed(centre(w[l, 'Wo']), s['w_o'])
            q[l, 'go'], q[l, 'uo'], q[l, 'bo'] = fixed(g, s['gamma']), mean(g, sum_o), fixed(centre(bo), sum_o)
            g, b = w[l, 'ga'], w[l, 'ba']
            q[l, '1'], q[l, 'b1'] = fixed(g[:, None] * w[l, 'W1'], s['w_1']), fixed(fold(b, w[l, 'W1']) + w[l, 'b1'], s['f'] + s['w_1'])
            q[l, '2'], q[l, 'b2'] = fixed(centre(w[l, 'W2']), s['w_2']), fixed(centre(w[l, 'b2'] + b), sum_2)
            q[l, 'g2'], q[l, 'u2'] = fixed(g, s['gamma']), mean(g, sum_2)
            g, b = w[l, 'gf'], w[l, 'bf']
        q['g'], q['b'] = fixed(g, s['gamma']), fixed(b, s['f'] + s['gamma'])
        self.q = q

    def inside(self, x, ring, cut, wire):
        """the certificate of a wire, |x| < 2^bits, and its ring: |x| + rounding < 2^(ring - 2)"""
        most = int(np.abs(x).max())
        assert most < 1 << self.plan['certificates'][self.at + wire]['bits'], 'wire %s leaves its certificate' % (self.at + wire)
        assert most + ((1 << cut) >> 1) < 1 << ring - 2, 'wire %s leaves its ring of %d bits' % (self.at + wire, ring)
        return x

    def table(self, index):
        return np.array(self.plan['tables'][index], I)

    def norm(self, z, o, wire):
        """x / sqrt(mean of squares), or x / |x| at the end, x = z rescaled"""
        x = shift(z, o['cut'])
        v = (x * x).sum(-1) + o['eps']
        assert int(v.max()) < 1 << o['square']
        return shift(self.inside(x * lookup(v, o['rsqrt'], self.plan['tables'])[..., None], o['product'], o['shift'], wire + '.product'), o['shift'])

    @staticmethod
    def residual(n, gamma, u, diag, mean):
        """2^diag gamma n - 2^(diag - mean) (n . u)"""
        return ((n * gamma) << I(diag)) - ((n * u).sum(-1) << I(diag - mean))[:, None]

    def attention(self, l, y, n):
        s, q, m, t = self.s, self.q, self.m, len(n)
        split = lambda a: a.reshape(t, m.heads, m.d // m.heads).transpose(1, 0, 2)
        qq = shift(self.inside(product(n, q[l, 'q']) + q[l, 'bq'], y['qk'], y['shift_qk'], '%d/z_qk' % l), y['shift_qk'])
        kk = shift(self.inside(product(n, q[l, 'k']), y['qk'], y['shift_qk'], '%d/z_qk' % l), y['shift_qk'])
        v = shift(self.inside(product(n, q[l, 'v']), y['v'], y['shift_v'], '%d/z_v' % l), y['shift_v'])
        z = split(qq) @ split(kk).transpose(0, 2, 1) + np.array(y['offset'], I)[:, None, None]
        x = shift(z, y['shift_score']) & I((1 << y['low'] + y['level']) - 1)                                  # (heads, t, t) in the window
        level, low = x >> I(y['low']), x & I((1 << y['low']) - 1)
        top = np.maximum(level.max(-1, keepdims=True), y['floor'])
        e = self.table(y['ehi'])[top - level] * self.table(y['elo'])[low]
        row = e.sum(-1)
        assert int(row.max()) < 1 << y['row_sum']
        o = self.inside(e @ split(v), y['ev'], 0, '%d/eV' % l) * lookup(row, y['recip'], self.plan['tables'])[..., None]
        o = o.transpose(1, 0, 2).reshape(t, m.d)
        return shift(self.inside(o, y['o'], y['shift_o'], '%d/o' % l), y['shift_o']) if y['shift_o'] else o

    def gelu(self, l, y, n):
        bits = y['piece_width'] + y['piece']
        x = shift(product(n, self.q[l, '1']) + self.q[l, 'b1'], y['shift_ffn1']) + (I(1) << I(bits - 1))
        x &= I((1 << bits) - 1)
        piece = x >> I(y['piece_width'])
        return self.table(y['gelu_a'])[piece] + self.table(y['gelu_b'])[piece] * (x & I((1 << y['piece_width']) - 1))

    def run(self, ids):
        q, t = self.q, len(ids)
        c = next(c for c in self.plan['classes'] if t <= c['max_n'])
        self.at = '%d/' % c['max_n']
        n = self.norm(self.inside(q['E'][ids] + q['pos'][:t], c['embedding']['kz'], 0, 'embedding'), c['embedding'], 'embedding')
        for l, y in enumerate(c['layers']):
            z = product(self.attention(l, y, n), q[l, 'o']) + self.residual(n, q[l, 'go'], q[l, 'uo'], y['diag_o'], y['mean_o']) + (q[l, 'bo'] << I(y['bias_o']))
            n = self.norm(self.inside(z, y['proj'], y['attention']['cut'], '%d/z_o' % l), y['attention'], '%d/attention' % l)
            z = product(self.gelu(l, y, n), q[l, '2']) + self.residual(n, q[l, 'g2'], q[l, 'u2'], y['diag_2'], y['mean_2']) + q[l, 'b2']
            n = self.norm(self.inside(z, y['ffn2'], y['output']['cut'], '%d/z_2' % l), y['output'], '%d/output' % l)
        z = self.inside(n.sum(0) * q['g'] + t * q['b'], c['pool'], c['result']['cut'], 'pool')
        return self.norm(z[None], c['result'], 'result')[0]


def run_evaluate(a):
    """integer embedding of every row, at the plan's result scale"""
    with open(a.plan, encoding='utf8') as file:
        plan = json.load(file)
    e = Evaluator(Model(a.model), plan)
    for r in read_rows(a.ids):
        print(json.dumps(dict(id=r['id'], y=[int(v) for v in e.run(r['ids'])])), flush=True)


def main():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = top.add_subparsers(required=True, metavar='float|time|compare|evaluate')
    p = sub.add_parser('float', help=run_float.__doc__.split('\n')[0]); p.set_defaults(run=run_float)
    p.add_argument('--model', required=True); p.add_argument('--ids', required=True); p.add_argument('--out', required=True)
    p.add_argument('--f64', action='store_true', help='write F64 instead of F32')
    p = sub.add_parser('time', help=run_time.__doc__.split('\n')[0]); p.set_defaults(run=run_time)
    p.add_argument('--model', required=True); p.add_argument('--tokens', type=int, required=True)
    p = sub.add_parser('compare', help='cosine and order inversion of two embedding sets'); p.set_defaults(run=run_compare)
    p.add_argument('reference', help='safetensors with tensor "embedding", or JSON lines with "y"'); p.add_argument('other')
    p.add_argument('--near', type=int, default=20); p.add_argument('--scale', type=int, default=0, help='binary scale of the second set (for the norm only)')
    p = sub.add_parser('evaluate', help=run_evaluate.__doc__); p.set_defaults(run=run_evaluate)
    p.add_argument('--model', required=True); p.add_argument('--plan', required=True); p.add_argument('--ids', required=True)
    a = top.parse_args()
    a.run(a)


if __name__ == '__main__':
    main()
