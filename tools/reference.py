#!/usr/bin/env python3
"""Reference for sentence encoders (BERT, Qwen 3), GPT-2 and Llama: float forward, timing, comparison, and an integer
evaluation of a plan. The evaluation is independent of the C++ one (integers.py).

Needs only numpy; safetensors files are read and written by hand.

examples:
    reference.py float    --model DIR --ids ids.jsonl --out golden.safetensors
    reference.py time     --model DIR --tokens 32
    reference.py compare  golden.safetensors ids-and-y.jsonl --scale 16
    reference.py evaluate --model DIR --plan plan.json --ids ids.jsonl > y.jsonl

ids.jsonl has one row {"id": .., "ids": [token ids, BERT's [CLS] and [SEP] included]} per line.
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

import integers


# ---------------------------------------------------------------------------------------------------------------- files
def read_safetensors(path):
    """-> {name: array}. Layout: 8 bytes little-endian length of a JSON header, the header, the data."""
    kinds = {'F64': np.float64, 'F32': np.float32, 'F16': np.float16, 'BF16': np.uint16, 'I64': np.int64, 'I32': np.int32, 'I16': np.int16, 'U8': np.uint8, 'I8': np.int8}
    with open(path, 'rb') as file:
        size, = struct.unpack('<Q', file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    out = {}
    for name, entry in header.items():
        if name != '__metadata__' and entry['dtype'] in kinds:
            begin, end = entry['data_offsets']
            out[name] = np.frombuffer(data[begin:end], kinds[entry['dtype']]).reshape(entry['shape'])
            if entry['dtype'] == 'BF16':  # the upper half of a float32
                out[name] = (out[name].astype(np.uint32) << 16).view(np.float32)
    return out


def read_weights(folder):
    """Reads model.safetensors, or the files that model.safetensors.index.json lists."""
    one = os.path.join(folder, 'model.safetensors')
    if os.path.exists(one):
        return read_safetensors(one)
    with open(one + '.index.json', encoding='utf8') as file:
        files = sorted(set(json.load(file)['weight_map'].values()))
    return {name: value for f in files for name, value in read_safetensors(os.path.join(folder, f)).items()}


def write_safetensors(path, tensors):
    """Writes the same layout; float64, float32 and int32 arrays."""
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


class Checkpoint:
    """The config and float weights of a directory; weights are (inputs, outputs), x @ W."""
    types, classifier = 1, False  # types: of tokens, among which a text chooses
    longest = 1 << 16             # tokens of a text that a plan may have

    def __init__(self, folder, kind, prefix):
        self.config, self.w = read_config(folder), {}
        now = lambda name: name.removeprefix(prefix).replace('LayerNorm.gamma', 'LayerNorm.weight').replace('LayerNorm.beta', 'LayerNorm.bias')
        self.raw = {now(k): v.astype(kind) for k, v in read_weights(folder).items() if v.dtype.kind == 'f'}

    def activation(self, h):
        """Applies the function that the configuration names; the decoders have defaults."""
        name = self.config.get({'gpt2': 'activation_function', 'distilbert': 'activation', 'modernbert': 'hidden_activation'}.get(self.kind, 'hidden_act'), {'gpt2': 'gelu_new', 'llama': 'silu', 'qwen3': 'silu'}.get(self.kind))
        one, root = h.dtype.type(1), h.dtype.type(math.sqrt(2))
        return {
            'gelu': lambda: h / 2 * (one + erf(h / root)),
            'gelu_new': lambda: h / 2 * (one + np.tanh(h.dtype.type(math.sqrt(2 / math.pi)) * (h + h.dtype.type(0.044715) * h ** 3))),
            'relu': lambda: np.maximum(h, 0),
            'silu': lambda: silu(h),
            'tanh': lambda: np.tanh(h),
        }[name]()

    def sizes(self, *names):
        return (self.config[k] for k in names)

    def turned(self, name):
        return np.ascontiguousarray(self.raw[name + '.weight'].T)


class Bert(Checkpoint):
    """BERT: L2-normalised mean of the last layer, or its first row; of a classifier the logits. An id may have its
    token's type inside: type vocabulary + entry."""
    kind, prefix, first = 'bert', 'bert.', 0  # first: the position of the first token
    head = ('pooler.dense', np.tanh, 'classifier')
    sizes_of = ('hidden_size', 'num_attention_heads', 'num_hidden_layers', 'intermediate_size')
    layer = 'encoder.layer.%d.'
    maps = dict(q='attention.self.query', k='attention.self.key', v='attention.self.value', o='attention.output.dense', **{'1': 'intermediate.dense', '2': 'output.dense'})
    norms = dict(a='attention.output.LayerNorm', f='output.LayerNorm')

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind, self.prefix)
        self.d, self.heads, self.layers, self.ff = self.sizes(*self.sizes_of)
        self.eps, self.serving, self.dim = self.config.get('layer_norm_eps', 1e-12), self.heads, self.d // self.heads
        self.classifier = (self.config.get('architectures') or [''])[0].endswith('ForSequenceClassification')
        self.pooling = 'cls' if self.classifier else read_pooling(folder)
        self.result = 'logits' if self.classifier else 'embedding'
        raw, w, e = self.raw, self.w, 'embeddings.'
        types = raw.get(e + 'token_type_embeddings.weight', np.zeros((1, self.d), kind))
        self.types = len(types) if self.classifier else 1
        w['word'] = raw[e + 'word_embeddings.weight']
        w['pos'], w['type'] = raw[e + 'position_embeddings.weight'][self.first:] + (types[0] if self.types == 1 else 0), types
        if self.classifier:
            for short, long in zip('HL', self.head[::2]):
                w['W' + short], w['b' + short] = self.turned(long), raw[long + '.bias']
        w['g'], w['b'] = raw[e + 'LayerNorm.weight'], raw[e + 'LayerNorm.bias']
        for l in range(self.layers):
            p = self.layer % l
            for short, long in self.maps.items():
                w[l, 'W' + short], w[l, 'b' + short] = self.turned(p + long), raw[p + long + '.bias']
            for short, long in self.norms.items():
                w[l, 'g' + short], w[l, 'b' + short] = raw[p + long + '.weight'], raw[p + long + '.bias']

    def bias(self, n):
        """Returns what is added to the scores of n tokens."""
        return 0

    def forward(self, ids):
        """Computes as HF BertModel in evaluation mode."""
        w, split = self.w, lambda t: t.reshape(len(ids), self.heads, -1)
        type, entry = np.divmod(ids, len(w['word']))
        x = w['word'][entry] + w['pos'][:len(ids)] + (w['type'][type] if self.types > 1 else 0)
        x = layer_norm(x, w['g'], w['b'], self.eps)                                                           # (n, d)
        for l in range(self.layers):
            o = attention(*(split(x @ w[l, 'W' + c] + w[l, 'b' + c]) for c in 'qkv'), bias=self.bias(len(ids)))
            x = layer_norm(x + o @ w[l, 'Wo'] + w[l, 'bo'], w[l, 'ga'], w[l, 'ba'], self.eps)
            h = x @ w[l, 'W1'] + w[l, 'b1']                                                                   # (n, ff)
            h = self.activation(h)
            x = layer_norm(x + h @ w[l, 'W2'] + w[l, 'b2'], w[l, 'gf'], w[l, 'bf'], self.eps)
        y = pooled(x, self.pooling)
        if self.classifier:
            return self.head[1](y @ w['WH'] + w['bH']) @ w['WL'] + w['bL']                                    # (labels)
        return unit(y)                                                                                        # (d)


class Roberta(Bert):
    """BERT's layers, whose first token has position 2."""
    kind, prefix, first = 'roberta', 'roberta.', 2
    head = ('classifier.dense', np.tanh, 'classifier.out_proj')


class DistilBert(Bert):
    """BERT's layers without token types."""
    kind, prefix = 'distilbert', 'distilbert.'
    head = ('pre_classifier', lambda x: np.maximum(x, 0), 'classifier')
    sizes_of, layer = ('dim', 'n_heads', 'n_layers', 'hidden_dim'), 'transformer.layer.%d.'
    maps = dict(q='attention.q_lin', k='attention.k_lin', v='attention.v_lin', o='attention.out_lin', **{'1': 'ffn.lin1', '2': 'ffn.lin2'})
    norms = dict(a='sa_layer_norm', f='output_layer_norm')


class Mpnet(Bert):
    """BERT's layers without token types, whose first token has position 2, with a bias by distance."""
    kind, prefix, first = 'mpnet', 'mpnet.', 2
    head = ('classifier.dense', np.tanh, 'classifier.out_proj')
    maps = dict(q='attention.attn.q', k='attention.attn.k', v='attention.attn.v', o='attention.attn.o', **{'1': 'intermediate.dense', '2': 'output.dense'})
    norms = dict(a='attention.LayerNorm', f='output.LayerNorm')

    def bias(self, n):
        """Returns (heads, n, n): a column of the table by bucket, with transformers' float32 logarithms."""
        i = np.arange(n)
        ahead, d = i[None] > i[:, None], np.abs(i[None] - i[:, None])
        far = 8 + (np.log(np.maximum(d, 8).astype(np.float32) / 8) / np.float32(math.log(16)) * 8).astype(int)
        bucket = 16 * ahead + np.where(d < 8, d, np.minimum(far, 15))
        return self.raw['encoder.relative_attention_bias.weight'][bucket].transpose(2, 0, 1)


class NomicBert(Checkpoint):
    """NomicBERT: L2-normalised mean of the last layer, or its first row."""
    kind, result = 'nomic_bert', 'embedding'

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind, 'bert.')
        self.d, self.heads, self.layers = self.sizes('n_embd', 'n_head', 'n_layer')
        self.eps, self.theta = self.config['layer_norm_epsilon'], self.config['rotary_emb_base']
        self.serving, self.dim, self.pooling = self.heads, self.d // self.heads, read_pooling(folder)
        raw, w = self.raw, self.w
        w['word'] = raw['embeddings.word_embeddings.weight'] + raw['embeddings.token_type_embeddings.weight'][0]
        w['g'], w['b'] = raw['emb_ln.weight'], raw['emb_ln.bias']
        for l in range(self.layers):
            p = 'encoder.layers.%d.' % l
            w[l, 'Wq'], w[l, 'Wk'], w[l, 'Wv'] = np.split(self.turned(p + 'attn.Wqkv'), 3, 1)
            for short, long in dict(o='attn.out_proj', u='mlp.fc11', g='mlp.fc12', d='mlp.fc2').items():
                w[l, 'W' + short] = self.turned(p + long)
            for short, long in dict(a='norm1', f='norm2').items():
                w[l, 'g' + short], w[l, 'b' + short] = raw[p + long + '.weight'], raw[p + long + '.bias']

    def forward(self, ids):
        """Computes as nomic-ai's NomicBertModel in evaluation mode."""
        w = self.w
        x = layer_norm(w['word'][ids], w['g'], w['b'], self.eps)                                              # (n, d)
        for l in range(self.layers):
            q, k, v = ((x @ w[l, 'W' + c]).reshape(len(ids), self.heads, self.dim) for c in 'qkv')
            o = attention(turned(q, self.theta), turned(k, self.theta), v)
            x = layer_norm(x + o @ w[l, 'Wo'], w[l, 'ga'], w[l, 'ba'], self.eps)
            h = (x @ w[l, 'Wu']) * silu(x @ w[l, 'Wg'])                                                       # (n, ff)
            x = layer_norm(x + h @ w[l, 'Wd'], w[l, 'gf'], w[l, 'bf'], self.eps)
        return unit(pooled(x, self.pooling))                                                                  # (d)


class ModernBert(Checkpoint):
    """ModernBERT: L2-normalised mean of the last norm's rows, or its first row."""
    kind, result = 'modernbert', 'embedding'

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind, 'model.')
        self.d, self.heads, self.layers, self.ff = self.sizes('hidden_size', 'num_attention_heads', 'num_hidden_layers', 'intermediate_size')
        self.eps, self.serving, self.dim = self.config['norm_eps'], self.heads, self.d // self.heads
        self.pooling = read_pooling(folder)
        self.far = self.config['local_attention'] // 2                                                        # the distance that local layers reach
        self.longest = self.far + 1
        raw, w = self.raw, self.w
        w['word'], w['g'], w['gl'] = raw['embeddings.tok_embeddings.weight'], raw['embeddings.norm.weight'], raw['final_norm.weight']
        for l in range(self.layers):
            p = 'layers.%d.' % l
            w[l, 'Wq'], w[l, 'Wk'], w[l, 'Wv'] = np.split(self.turned(p + 'attn.Wqkv'), 3, 1)
            w[l, 'Wg'], w[l, 'Wu'] = np.split(self.turned(p + 'mlp.Wi'), 2, 1)
            w[l, 'Wo'], w[l, 'Wd'] = self.turned(p + 'attn.Wo'), self.turned(p + 'mlp.Wo')
            w[l, 'ga'], w[l, 'gf'] = raw.get(p + 'attn_norm.weight'), raw[p + 'mlp_norm.weight']              # layer 0 has one norm

    def is_global(self, l):
        return l % self.config['global_attn_every_n_layers'] == 0

    def forward(self, ids):
        """Computes as HF ModernBertModel in evaluation mode."""
        w, n, norm = self.w, len(ids), lambda x, g: layer_norm(x, g, 0, self.eps)
        i = np.arange(n)
        near = np.where(np.abs(i - i[:, None]) <= self.far, 0, -np.inf)                                       # (n, n)
        x = norm(w['word'][ids], w['g'])                                                                      # (n, d)
        for l in range(self.layers):
            y = norm(x, w[l, 'ga']) if l else x
            q, k, v = ((y @ w[l, 'W' + c]).reshape(n, self.heads, self.dim) for c in 'qkv')
            theta = self.config['global_rope_theta' if self.is_global(l) else 'local_rope_theta']
            o = attention(turned(q, theta), turned(k, theta), v, bias=0 if self.is_global(l) else near)
            x = x + o @ w[l, 'Wo']
            y = norm(x, w[l, 'gf'])
            x = x + (self.activation(y @ w[l, 'Wg']) * (y @ w[l, 'Wu'])) @ w[l, 'Wd']
        x = norm(x, w['gl'])
        return unit(pooled(x, self.pooling))                                                                  # (d)


class Gpt2(Checkpoint):
    """GPT-2: logits of the last token."""
    kind, result = 'gpt2', 'logits'

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind, 'transformer.')
        self.d, self.heads, self.layers = self.sizes('n_embd', 'n_head', 'n_layer')
        self.eps, self.serving, self.dim = self.config['layer_norm_epsilon'], self.heads, self.d // self.heads
        raw, w = self.raw, self.w
        w['word'], w['pos'], w['g'], w['b'] = raw['wte.weight'], raw['wpe.weight'], raw['ln_f.weight'], raw['ln_f.bias']
        names = dict(qkv='attn.c_attn', o='attn.c_proj', f='mlp.c_fc', p='mlp.c_proj')
        for l in range(self.layers):
            p = 'h.%d.' % l
            for short, long in names.items():                                                                 # stored as they are applied
                w[l, 'W' + short], w[l, 'b' + short] = raw[p + long + '.weight'], raw[p + long + '.bias']
            for short, long in (('1', 'ln_1'), ('2', 'ln_2')):
                w[l, 'g' + short], w[l, 'b' + short] = raw[p + long + '.weight'], raw[p + long + '.bias']

    def forward(self, ids):
        """Computes as HF GPT2LMHeadModel in evaluation mode."""
        w, split = self.w, lambda t: t.reshape(len(ids), self.heads, self.dim)
        x = w['word'][ids] + w['pos'][:len(ids)]                                                              # (n, d)
        for l in range(self.layers):
            n = layer_norm(x, w[l, 'g1'], w[l, 'b1'], self.eps)
            o = attention(*map(split, np.split(n @ w[l, 'Wqkv'] + w[l, 'bqkv'], 3, 1)), causal=True)
            x = x + o @ w[l, 'Wo'] + w[l, 'bo']
            h = layer_norm(x, w[l, 'g2'], w[l, 'b2'], self.eps) @ w[l, 'Wf'] + w[l, 'bf']                     # (n, ff)
            x = x + self.activation(h) @ w[l, 'Wp'] + w[l, 'bp']
        return layer_norm(x[-1], w['g'], w['b'], self.eps) @ w['word'].T                                      # (vocabulary)


class Llama(Checkpoint):
    """Llama: logits of the last token."""
    kind, result, begin = 'llama', 'logits', 'model.'  # begin: of tensor names
    maps = dict(q='self_attn.q_proj', k='self_attn.k_proj', v='self_attn.v_proj', o='self_attn.o_proj', g='mlp.gate_proj', u='mlp.up_proj', d='mlp.down_proj')

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind, 'model.' if self.begin == '' else '')
        self.d, self.heads, self.layers = self.sizes('hidden_size', 'num_attention_heads', 'num_hidden_layers')
        self.eps = self.config['rms_norm_eps']
        self.theta = (self.config.get('rope_parameters') or self.config).get('rope_theta', 10000.0)
        self.serving = self.config.get('num_key_value_heads') or self.heads
        self.dim = self.config.get('head_dim') or self.d // self.heads
        raw, w = self.raw, self.w
        w['word'], w['g'] = raw[self.begin + 'embed_tokens.weight'], raw[self.begin + 'norm.weight']
        if self.result == 'logits':
            w['head'] = w['word'].T if self.config.get('tie_word_embeddings') else self.turned('lm_head')
        for l in range(self.layers):
            p = self.begin + 'layers.%d.' % l
            for short, long in self.maps.items():
                w[l, 'W' + short] = self.turned(p + long)
            w[l, 'g1'], w[l, 'g2'] = raw[p + 'input_layernorm.weight'], raw[p + 'post_attention_layernorm.weight']

    def of_heads(self, l, name, t):
        """Returns heads of queries or keys (n, heads, dim) as they are rotated."""
        return t

    def rows(self, ids):
        """Returns the rows behind the last layer."""
        w, n = self.w, len(ids)
        x = w['word'][ids]                                                                                    # (n, d)
        for l in range(self.layers):
            y = rms_norm(x, w[l, 'g1'], self.eps)
            q, k, v = ((y @ w[l, 'W' + c]).reshape(n, -1, self.dim) for c in 'qkv')
            q, k = (turned(self.of_heads(l, c, t), self.theta) for c, t in (('q', q), ('k', k)))
            x = x + attention(q, k, v, causal=True) @ w[l, 'Wo']
            y = rms_norm(x, w[l, 'g2'], self.eps)
            h = self.activation(y @ w[l, 'Wg'])                                                               # (n, ff)
            x = x + (h * (y @ w[l, 'Wu'])) @ w[l, 'Wd']
        return x                                                                                              # (n, d)

    def forward(self, ids):
        """Computes as HF LlamaForCausalLM in evaluation mode."""
        return rms_norm(self.rows(ids)[-1], self.w['g'], self.eps) @ self.w['head']                           # (vocabulary)


class Qwen3(Llama):
    """Llama's layers with a norm of each head of queries and keys: L2-normalised last row."""
    kind, result, begin = 'qwen3', 'embedding', ''

    def __init__(self, folder, kind=np.float64):
        super().__init__(folder, kind)
        self.pooling = read_pooling(folder)
        for l in range(self.layers):
            for c in 'qk':
                self.w[l, 'g' + c] = self.raw['layers.%d.self_attn.%s_norm.weight' % (l, c)]

    def of_heads(self, l, name, t):
        return rms_norm(t, self.w[l, 'g' + name], self.eps)

    def forward(self, ids):
        """Computes as HF Qwen3Model in evaluation mode, then pools."""
        return unit(pooled(rms_norm(self.rows(ids), self.w['g'], self.eps), self.pooling))                    # (d)


def read_config(folder):
    with open(os.path.join(folder, 'config.json'), encoding='utf8') as file:
        return json.load(file)


def read_pooling(folder):
    """Returns 'mean', 'cls' or 'lasttoken', as the folder of sentence-transformers says, if there is one."""
    try:
        with open(os.path.join(folder, '1_Pooling', 'config.json'), encoding='utf8') as file:
            config = json.load(file)
    except FileNotFoundError:
        return 'mean'
    modes = [mode for mode, flag in dict(mean='mean_tokens', cls='cls_token', lasttoken='lasttoken').items() if config.get('pooling_mode') == mode or config.get('pooling_mode_' + flag)]
    assert len(modes) == 1, 'the pooling of %s is %s' % (folder, config)
    return modes[0]


def pooled(x, mode):
    return x[0] if mode == 'cls' else x[-1] if mode == 'lasttoken' else x.mean(0)


def load(folder, kind=np.float64):
    """Loads the model in a directory, by its config's model_type."""
    families = {c.kind: c for c in (Bert, Roberta, DistilBert, Mpnet, NomicBert, ModernBert, Gpt2, Llama, Qwen3)} | {'xlm-roberta': Roberta}
    name = read_config(folder)['model_type']
    if name not in families:
        sys.exit('reference.py: %s is a %s, it knows %s' % (folder, name, ', '.join(families)))
    return families[name](folder, kind)


# ---------------------------------------------------------------------------------------------------------------- float
def erf(x):
    """erf of an array: the C library's, value by value, for float64; a fast rational fit (1.5e-7) for float32."""
    if x.dtype == np.float64:
        return np.frompyfunc(math.erf, 1, 1)(x).astype(np.float64)
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    c = [np.float32(v) for v in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
    p = c[0]
    for v in c[1:]:
        p = p * t + v
    return np.copysign(1 - p * t * np.exp(-x * x), x)


def silu(x):
    return x / (x.dtype.type(1) + np.exp(-x))


def unit(x):
    return x / np.sqrt((x * x).sum())


def layer_norm(x, g, b, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(eps)) * g + b


def rms_norm(x, g, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(eps)) * g


def combined(row, model):
    """Returns the ids of a row as a model takes them: t vocabularies are added to those of type t."""
    return [i + t * len(model.w['word']) for i, t in zip(row['ids'], row.get('types', [0] * row['n']))]


def turned(x, theta):
    """Turns the pairs (j, j + half) of every head (n, heads, dim) by the angles of their row."""
    half = x.shape[-1] // 2
    angle = (np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half))[:, None]                        # (n, 1, half)
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attention(q, k, v, causal=False, bias=0):
    """Attention of q (n, heads, dim), k and v (n, serving, dim) -> (n, heads dim). Each k and v serves heads /
    serving heads in a row."""
    n, heads, dim = q.shape
    q, k, v = (t.transpose(1, 0, 2) for t in (q, k, v))
    if len(k) != heads:
        k, v = (np.repeat(t, heads // len(t), 0) for t in (k, v))
    s = q @ k.transpose(0, 2, 1) / q.dtype.type(math.sqrt(dim)) + bias                                        # (heads, n, n)
    if causal:
        s = np.where(np.tri(n, dtype=bool), s, -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    return ((s / s.sum(-1, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, heads * dim)


def run_float(a):
    """float64 result of every row, tensor "embedding" or "logits" """
    model, rows = load(a.model), read_rows(a.ids)
    y = np.stack([model.forward(r['ids']) for r in rows])
    write_safetensors(a.out, {model.result: y.astype(np.float64 if a.f64 else np.float32), 'tokens': np.array([len(r['ids']) for r in rows], np.int32)})


def run_time(a):
    """median of 9 float32 forward passes after two warm-up passes, one thread"""
    model, took = load(a.model, np.float32), []
    ids = np.concatenate([[101], np.random.default_rng(a.tokens).integers(1996, 20000, max(0, a.tokens - 2)), [102]])[:a.tokens]
    for _ in range(11):
        begin = time.perf_counter()
        model.forward(ids)
        took.append(time.perf_counter() - begin)
    took = sorted(took[2:])
    print(json.dumps(dict(tokens=a.tokens, threads=1, kind='float32', median_s=took[4], min_s=took[0], max_s=took[8])))


# -------------------------------------------------------------------------------------------------------------- compare
def load_embeddings(path):
    """Loads safetensors with tensor "embedding" or "logits", or JSON lines with "y"."""
    if path.endswith('.safetensors'):
        tensors = read_safetensors(path)
        return tensors['embedding' if 'embedding' in tensors else 'logits'].astype(np.float64)
    return np.array([r['y'] for r in read_rows(path)], np.float64)


def run_compare(a):
    """Prints the cosine of each row with its reference, and the worst inversion among the `near` nearest neighbours.
    An inversion is a pair that the other set orders the other way. Its size is the difference of the reference
    similarities. A common scale of the second set does not matter, because rows are normalised."""
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


def run_evaluate(a):
    """integer result of every row, at the plan's result scale"""
    with open(a.plan, encoding='utf8') as file:
        plan = json.load(file)
    shifts = os.path.splitext(a.plan)[0] + '.shifts.safetensors'
    e = integers.evaluator(load(a.model), plan, read_safetensors(shifts) if os.path.exists(shifts) else None)
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
    p.add_argument('reference', help='safetensors with tensor "embedding" or "logits", or JSON lines with "y"'); p.add_argument('other')
    p.add_argument('--near', type=int, default=20); p.add_argument('--scale', type=int, default=0, help='binary scale of the second set (for the norm only)')
    p = sub.add_parser('evaluate', help=run_evaluate.__doc__); p.set_defaults(run=run_evaluate)
    p.add_argument('--model', required=True); p.add_argument('--plan', required=True); p.add_argument('--ids', required=True)
    a = top.parse_args()
    a.run(a)


if __name__ == '__main__':
    main()
