#!/usr/bin/env python3
"""Reads a bundle of a store, checks it, and evaluates its DPF and DCF keys. The format: docs/key-format.md.

    read_bundle.py STORE/lanes/LANE/bundles/NAME.bundle            header, chunks, tags
    suf fn show recip --n 16 --scale 8 --pass trace > trace.txt
    read_bundle.py NAME.bundle --trace trace.txt                   also the sections, and which of them hold keys
    read_bundle.py NAME.bundle --trace trace.txt --key 69 --element 5 --x 300
    read_bundle.py P0.bundle --trace trace.txt --key 69 --x 300 --with P1.bundle

* The file alone is enough to verify the tags, because the tag key is a hash of the header.
* Sections need the trace of the bundle's plan and job. For a model, suf plan show --trace prints that of a length. For
  a function, suf fn show --pass trace prints that of 1024 values of P1 and of the profile cpu.
* --key takes the number of a section that holds keys. It prints this party's shares at x, with --with also the sum.
* A bundle and its shares are secret. A store wipes a bundle that was copied and put back.

It needs no other package and takes about half a second a megabyte. A fault ends it with exit code 2.
"""
import argparse
import hashlib
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'suf/fss/testdata'))
sys.dont_write_bytecode = True
import known_answers as ka  # noqa: E402

VERSION, CHUNK, DPF_TILE, DCF_TILE = 8, 1 << 20, 32, 16
NAMES = ('version prg party entry variant tokens past texts serial body_bytes lane plan trace weights list rho seed_0 seed_1 public_0 public_1 pair K_p').split()
FIELDS = '<8I2Q16s' + 11 * '32s'  # the preamble: the header's fields and K_p
PREAMBLE = struct.calcsize(FIELDS)
PLACES = [4 * i for i in range(1, 9)] + [36, 44, 52] + [68 + 32 * i for i in range(11)]  # of the fields in the file


class Fault(Exception):
    """A sentence for the terminal: quantity, limit, remedy."""


# ---- the file

def tag_key(header):
    return hashlib.sha256(b'suf bundle' + header).digest()[:16]


def tag(key, number, data):
    """GMAC (SP 800-38D) of a chunk's data, with its number as the nonce."""
    power, steps = int.from_bytes(ka.aes(key, bytes(16)), 'big'), []
    for _ in range(128):  # the hash key times 1, x, x^2, ..; the highest bit is that of 1
        steps.append(power)
        power = power >> 1 ^ (0xe1 << 120 if power & 1 else 0)
    tables, y = [[0] * 256 for _ in range(16)], 0
    for i, table in enumerate(tables):  # of the products of byte i
        for b in range(1, 256):
            table[b] = table[b & b - 1] ^ steps[8 * i + 8 - (b & -b).bit_length()]
    padded = data + bytes(-len(data) % 16) + struct.pack('>QQ', 8 * len(data), 0)
    for at in range(0, len(padded), 16):
        block, y = y ^ int.from_bytes(padded[at:at + 16], 'big'), 0
        for table, byte in zip(tables, block.to_bytes(16, 'big')):
            y ^= table[byte]
    return (y ^ int.from_bytes(ka.aes(key, struct.pack('<Q4x', number) + b'\0\0\0\1'), 'big')).to_bytes(16, 'big')


class Bundle:
    """A bundle's header, K_p and body; all is checked but the borders of sections."""

    def __init__(self, path):
        raw, at = pathlib.Path(path).read_bytes(), 4 + PREAMBLE + 32
        if len(raw) < at:
            raise Fault(f'{path} has {len(raw)} bytes, and a bundle has at least {at}; name a .bundle file of a store')
        length, version = struct.unpack_from('<II', raw)
        if (length, version) != (PREAMBLE, VERSION):
            raise Fault(f'{path} has a preamble of {length} bytes and version {version}, and this reader takes {PREAMBLE} bytes and version {VERSION}; '
                        'take the reader of the suf that received the bundle')
        preamble = raw[4:4 + PREAMBLE]
        if hashlib.sha256(preamble).digest() != raw[4 + PREAMBLE:at]:
            raise Fault(f'the preamble of {path}, bytes 4 to {4 + PREAMBLE}, does not match the 32 bytes of SHA-256 behind it; deal the bundle again')
        self.path, self.header = path, preamble[:-32]
        self.fields = dict(zip(NAMES, struct.unpack(FIELDS, preamble)))
        self.party, self.chunks, pieces = self.fields['party'], [], []
        if self.party > 1:
            raise Fault(f'{path} is for party {self.party}, and there are parties 0 and 1; deal the bundle again')
        while at < len(raw):
            size, = struct.unpack_from('<I', raw.ljust(at + 4, b'\0'), at)
            if not 16 < size <= len(raw) - at - 4:
                raise Fault(f'chunk {len(pieces)} of {path} has {size} bytes by its length, and {max(0, len(raw) - at - 4)} follow; deal the bundle again')
            data = raw[at + 20:at + 4 + size]
            if tag(tag_key(self.header), len(pieces), data) != raw[at + 4:at + 20]:
                raise Fault(f'chunk {len(pieces)} of {path}, bytes {at + 4} to {at + 4 + size}, does not match its tag; deal the bundle again')
            self.chunks.append((at, len(data)))
            pieces.append(data)
            at += 4 + size
        self.body = b''.join(pieces)
        if len(self.body) != self.fields['body_bytes']:
            raise Fault(f'{path} has {len(self.body)} bytes of keys, and its header says {self.fields["body_bytes"]}; deal the bundle again')

    def tree_key(self):
        return hashlib.sha256(b'suf tree key' + self.fields['rho']).digest()[:16]

    def word(self, section, element, bits):
        """An element of a section of this party's PRG, of `bits` bits."""
        size = (bits + 63) // 64 * 8 if bits > 64 else next(s for s in (1, 2, 4, 8) if bits <= 8 * s)
        skip = element * size % 16
        block = ka.prg(self.fields['K_p'], self.fields['rho'], self.party, section, element * size - skip, skip + size)
        return ka.num(block[skip:]) & (1 << bits) - 1


# ---- the sections

class Trace:
    """The nodes of a printed trace, and each party's sections as its schedule lists them."""
    NODE = re.compile(r'%(\d+) = (\w+)((?: %\d+)*)(?: \[([^\]]*)\])?.* : \w+ [ZX](\d+) \(([\d,]*)\)$')
    PART = re.compile(r'  %(\d+)(?: "[^"]*")?: (\d+) x (\d+) bits at (\d+)$')

    def __init__(self, path):
        self.path, self.nodes, self.sections, party = path, {}, ({}, {}), None
        for line in pathlib.Path(path).read_text(errors='replace').splitlines():
            if m := self.NODE.match(line):
                args, attrs, shape = ([int(n) for n in re.findall(r'-?\d+', words or '')] for words in (m[3], m[4], m[6]))
                self.nodes[int(m[1])] = {'op': m[2], 'args': args, 'attrs': attrs, 'bits': int(m[5]), 'shape': shape}
            elif not line.startswith(' '):
                party = int(line[5]) if re.match(r'key P[01], \d+ bytes$', line) else None
            elif party is not None and (m := self.PART.match(line)):
                node, count, bits, at = map(int, m.groups())
                self.sections[party][node] = {'at': at, 'bytes': (count * bits + 7) // 8, 'count': count, 'bits': bits}
        if not any(self.sections):
            raise Fault(f'{path} has {len(self.nodes)} nodes and 0 sections, and a bundle has at least 1; make it as --help shows')

    def check(self, bundle):
        """Refuses a bundle whose chunks are not those of the sections: whole ones of CHUNK bytes, or a longer one."""
        want, have = [], [size for _, size in bundle.chunks]
        for size in (s['bytes'] for s in self.sections[bundle.party].values() if s['bytes']):
            if not want or want[-1] + size > CHUNK:
                want.append(0)
            want[-1] += size
        if want != have:
            raise Fault(f'{bundle.path} has {sum(have)} bytes of keys in {len(have)} chunks, and the sections of {self.path} are {sum(want)} bytes in {len(want)}; '
                        f'give the trace of the same plan for {bundle.fields["tokens"]} values or tokens')

    def key(self, node):
        """The parameters of the keys in a section, or None if it holds words."""
        tell = self.nodes.get(node)
        gen = tell and tell['op'] == 'tell' and self.nodes[tell['args'][0]]
        if not gen or gen['op'] not in ('dpfgen', 'dcfgen'):
            return None
        alpha, beta = self.nodes[gen['args'][0]], self.nodes[gen['args'][1]]
        key = {'kind': 'DPF', 'n': alpha['bits'], 'program': gen['attrs'][0], 'roots': [self.nodes[a]['attrs'][1] for a in gen['args'][-2:]], 'words': 1, 'bits': 1}
        if gen['op'] == 'dcfgen':
            halves = len(alpha['shape']) == len(beta['shape'])
            key.update(kind='myl7 DCF' if gen['attrs'][1] >> 8 else 'DCF', n=alpha['bits'] << halves, words=beta['shape'][0], bits=gen['attrs'][1] & 255)
        return key


def shares(bundle, trace, node, i, x):
    """One party's shares at x of key i of a section: {what: words}."""
    sections, key = trace.sections[bundle.party], trace.key(node)
    if node not in sections or not key or key['kind'] == 'myl7 DCF':
        keys = [k for k in sections if trace.key(k) and trace.key(k)['kind'] != 'myl7 DCF']
        raise Fault(f'section {node} holds no DPF or DCF key of suf, and {len(keys)} sections do; take one of them: {", ".join(map(str, keys)) or "none"}')
    section, n = sections[node], key['n']
    for what, value, limit in (('element', i, section['count']), ('x', x, 1 << n)):
        if not 0 <= value < limit:
            raise Fault(f'{what} is {value}, and section {node} has {section["count"]} keys for numbers of {n} bits; take 0 to {limit - 1}')
    data, root = bundle.body[section['at']:section['at'] + section['bytes']], bundle.word(key['roots'][bundle.party], i, 128)
    if key['kind'] == 'DPF':
        tile, lane = divmod(i, DPF_TILE)
        size, keys = section['bits'] // 8, min(DPF_TILE, section['count'] - tile * DPF_TILE)
        aes = ka.aes(bundle.tree_key(), struct.pack('<IIQ', key['program'], 0, tile))
        places = [tile * DPF_TILE * size + 16 * (d * keys + lane) for d in range(size // 16)]
        cw = [ka.num(data[at:at + 16]) for at in places]
        return {'1[x = alpha]': [ka.bit(aes, n, bundle.party, root, cw, x)], '1[x < alpha]': [ka.less(aes, n, bundle.party, root, cw, x)]}
    aes = ka.aes(bundle.tree_key(), struct.pack('<IIQ', key['program'], 1, i // DCF_TILE))
    string, parts = ka.num(data) >> i * section['bits'], []
    for width, count in ((128, n), (1, 2 * n), (key['bits'], (n + 1) * key['words'])):
        parts.append([string >> width * k & (1 << width) - 1 for k in range(count)])
        string >>= width * count
    return {'beta 1[x < alpha]': ka.dcf_eval(aes, n, key['words'], key['bits'], bundle.party, root, parts, x)}


# ---- the program

def show(bundle, trace):
    print(f'{bundle.path}\n\n{"field":10}{"at":>4}  value')
    for at, (name, value) in zip(PLACES, bundle.fields.items()):
        print(f'{name:10}{at:>4}  {"32 bytes, secret" if name in ("pair", "K_p") else value.hex() if isinstance(value, bytes) else value}')
    print(f'\n{"chunk":>7}{"at":>12}{"bytes":>10}  tag')
    for i, (at, size) in enumerate(bundle.chunks):
        print(f'{i:>7}{at:>12}{size:>10}  right')
    if trace:
        print(f'\n{"section":>7}{"in body":>12}{"bytes":>10}{"elements":>10}{"bits":>6}  holds')
    for node, s in (trace.sections[bundle.party] if trace else {}).items():
        key = trace.key(node)
        holds = f'{key["kind"]} keys, n {key["n"]}, {key["words"]} x {key["bits"]}' if key else 'words'
        print(f'{node:>7}{s["at"]:>12}{s["bytes"]:>10}{s["count"]:>10}{s["bits"]:>6}  {holds}')


def evaluate(a, bundle, trace):
    key, sums = trace.key(a.key), {}
    for b in [bundle] + ([Bundle(a.other)] if a.other else []):
        if b is not bundle and (b.fields['rho'], b.party) != (bundle.fields['rho'], 1 - bundle.party):
            raise Fault(f'{b.path} is serial {b.fields["serial"]} of P{b.party}, and {a.bundle} needs serial {bundle.fields["serial"]} of P{1 - bundle.party}; '
                        'name the other bundle of its pair')
        trace.check(b)
        for what, words in shares(b, trace, a.key, a.element, a.x).items():
            print(f'P{b.party}   {what}: {" ".join(map(str, words))}')
            sums.setdefault(what, []).append(words)
    for what, both in sums.items() if a.other else ():
        print(f'sum  {what}: {" ".join(str((one + two) % (1 << key["bits"])) for one, two in zip(*both))}')


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('bundle', help='a .bundle file in the folder bundles of a lane of a store')
    p.add_argument('--trace', metavar='FILE', help='the printed trace of the bundle\'s plan and job')
    p.add_argument('--key', type=int, metavar='SECTION', help='evaluate a key of this section; needs --trace and --x')
    p.add_argument('--element', type=int, default=0, metavar='I', help='number of the key in its section (default: 0)')
    p.add_argument('--x', type=int, help='the point')
    p.add_argument('--with', dest='other', metavar='BUNDLE', help='the bundle of the other party, to add both shares')
    a = p.parse_args()
    try:
        given = [name for name in ('trace', 'key', 'x') if getattr(a, name) is not None]
        if len(given) < 3 and (a.other or given not in ([], ['trace'])):
            raise Fault(f'an evaluation takes 3 options, --trace, --key and --x, and {len(given)} of them are given; give all')
        bundle, trace = Bundle(a.bundle), a.trace and Trace(a.trace)
        if a.trace:
            trace.check(bundle)
        evaluate(a, bundle, trace) if len(given) == 3 else show(bundle, trace)
    except (Fault, OSError) as e:
        print(f'read_bundle: {e}' if isinstance(e, Fault) else f'read_bundle: cannot read {e.filename} ({e.strerror}); name another file', file=sys.stderr)
        sys.exit(2)


if __name__ == '__main__':
    main()
