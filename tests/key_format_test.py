#!/usr/bin/env python3
"""Makes bundles with three processes, reads them with tools/read_bundle.py, and computes the answers of docs/key-format.md.

  key_format_test.py SUF [PATTERN]     from anywhere; some seconds. PATTERN picks cases
"""
import contextlib
import hashlib
import hmac
import io
import json
import pathlib
import re
import struct
import subprocess
import sys
import textwrap
import time
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'suf/fss/testdata')]
import cases
import known_answers as ka
import read_bundle as rb
from roles import AMPLE, PATIENT, Role

SUF = ''
WORK = pathlib.Path()
COUNT, FEW = 1024, 40  # values of a call: those of the trace that suf fn show prints, and three tiles of DCF keys
DPFS, DCFS = None, None  # pairs of bundles
# The part of the trace of relu by StepDcf that makes keys. It has a mask r, both roots, and the payload (1, r).
STEP_DCF = """%0 = rand [1 0] : rnd1 Z16 (40)
%1 = stack %0 %0 : sec Z16 (2,40)
%2 = rand [0 0] : rnd0 X128 (40)
%3 = rand [1 1] : rnd1 X128 (40)
%4 = dcfgen %0 %1 %2 %3 [0 16] : sec X2624 (40)
%5 = tell %4 [3 -1] : const X2624 (40)
key P0, 13120 bytes
  %5: 40 x 2624 bits at 0
key P1, 13120 bytes
  %5: 40 x 2624 bits at 0
"""


def suf(*words):
    done = subprocess.run([SUF, *map(str, words)], capture_output=True, text=True, timeout=5 * AMPLE)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Pair:
    """A function's plan, its printed trace, and the bundles that both parties keep after one call."""

    def __init__(self, name, count, trace, function, *words):
        self.where = WORK / name
        self.where.mkdir()
        self.count, self.plan, stores = count, self.where / 'plan', [self.where / 'p0', self.where / 'p1']
        suf('fn', 'plan', function, *words, '--max-values', count, '--out', self.plan)
        (self.where / 'trace').write_text(trace)
        self.trace = rb.Trace(self.where / 'trace')
        (self.where / 'x').write_text(count * '300\n')
        common = lambda role: ['--plan', self.plan, '--certs', WORK / 'certs' / role, '--timeout', PATIENT]
        roles = [Role([SUF, 'deal', *common('dealer'), '--listen', '127.0.0.1:0', '--state', self.where / 'state', '--tokens', count, '--count', 2])]
        try:
            dealer = f'127.0.0.1:{roles[0].port()}'
            roles.append(Role([SUF, 'fn', 'serve', *common('model'), '--dealer', dealer, '--listen', '127.0.0.1:0', '--store', stores[0], '--ahead', 2]))
            suf('fn', 'ask', *common('data'), '--dealer', dealer, '--connect', f'127.0.0.1:{roles[1].port()}', '--store', stores[1], '--ahead', 2,
                '--values', self.where / 'x')
            end = time.monotonic() + AMPLE  # the second bundle may reach P0's disk after the call
            while not all(list(s.glob('**/*.bundle')) for s in stores) and time.monotonic() < end:
                time.sleep(0.01)
            self.public = roles[1].said('our key is model=([0-9a-f]{64})')[1]
        finally:
            for role in roles:
                role.end()
        self.files = [next(s.glob('**/*.bundle')) for s in stores]
        self.bundles = [rb.Bundle(f) for f in self.files]

    def secret(self, node, i):
        """Element i of a node, if PRG words of one party determine it."""
        n = self.trace.nodes[node]
        if n['op'] == 'rand':
            return self.bundles[n['attrs'][0]].word(n['attrs'][1], i, n['bits'])
        of = self.secret(n['args'][0], i) if n['op'] in ('low', 'shr', 'hot') else None
        return None if of is None else of >> n['attrs'][0] if n['op'] == 'shr' else 1 << of if n['op'] == 'hot' else of & (1 << n['bits']) - 1

    def shares(self, node, i, x):
        """{what: (P0's words, P1's words)}"""
        zero, one = (rb.shares(b, self.trace, node, i, x) for b in self.bundles)
        return {what: (zero[what], one[what]) for what in zero}


def prepare(folder):
    """Two pairs of bundles: one with DPF keys, in two chunks, and one with DCF keys."""
    global SUF, WORK, DPFS, DCFS
    SUF, WORK = pathlib.Path(sys.argv[1]).resolve(), folder
    suf('certs', WORK / 'certs')
    recip = ('recip', '--n', 17, '--scale', 8)
    DPFS = Pair('dpfs', COUNT, suf('fn', 'show', *recip, '--pass', 'trace'), *recip, '--profile', 'cpu')
    DCFS = Pair('dcfs', FEW, STEP_DCF, 'relu', '--n', 16, '--scale', 8, '--lowering', 'StepDcf')


# ---- bundles of the program

def test_headers_are_those_of_the_plan():
    for pair in (DPFS, DCFS):
        zero, one = (b.fields for b in pair.bundles)
        for p, f in enumerate((zero, one)):
            assert [f[name] for name in rb.NAMES[:9]] == [8, 1, p, 0, 0, pair.count, 0, 1, 2], f
            assert pair.files[p].name == f'{2:020}-0-0-{pair.count}-0-1.bundle'
            assert pair.files[p].parent.parent.name == f['lane'].hex()
            assert f['plan'].hex() == json.loads(pair.plan.read_text())['hash']
            assert f['public_0'].hex() == pair.public and f['list'] == bytes(32)
        assert {name for name in rb.NAMES if zero[name] != one[name]} - {'body_bytes'} == {'party', 'K_p'}
        hashes = [f[name] for f in (zero, one) for name in ('plan', 'trace', 'rho', 'seed_0', 'seed_1', 'public_0', 'public_1', 'pair', 'K_p')]
        assert len(set(hashes)) == 10, 'two fields have one value'


def test_lengths_are_those_of_the_schedule():
    for pair in (DPFS, DCFS):
        printed = re.findall(r'^key P([01]), (\d+) bytes$', (pair.where / 'trace').read_text(), re.M)
        for p, b in enumerate(pair.bundles):
            pair.trace.check(b)
            sections = pair.trace.sections[p].values()
            assert b.fields['body_bytes'] == len(b.body) == sum(s['bytes'] for s in sections) == int(printed[p][1])
            assert pair.files[p].stat().st_size == 452 + 20 * len(b.chunks) + len(b.body)
            for node, s in pair.trace.sections[p].items():
                if key := pair.trace.key(node):
                    payload = key['words'] * key['bits']
                    assert s['bits'] == (128 * (key['n'] - 8) + 256 if key['kind'] == 'DPF' else key['n'] * (130 + payload) + payload)
    assert [len(pair.bundles[0].chunks) for pair in (DPFS, DCFS)] == [2, 1]


def test_words_are_corrections_to_prg_words():
    tables = 0
    for p, b in enumerate(DPFS.bundles):
        for node, s in DPFS.trace.sections[p].items():
            difference = DPFS.trace.nodes[DPFS.trace.nodes[node]['args'][0]]
            if difference['op'] != 'sub' or DPFS.trace.nodes[difference['args'][0]]['op'] != 'hot':
                continue
            tables += 1
            string = ka.num(b.body[s['at']:s['at'] + s['bytes']])
            for i in (0, 1, 7, COUNT - 1):
                told = string >> i * s['bits'] & (1 << s['bits']) - 1
                pad = DPFS.secret(difference['args'][1], i)
                assert told ^ pad == DPFS.secret(difference['args'][0], i), f'section {node}, element {i}'
    assert tables >= 4, f'only {tables} sections hold one-hot tables'


def test_dpf_keys_share_their_point():
    sections = [node for node in DPFS.trace.sections[0] if DPFS.trace.key(node)]
    assert len(sections) >= 6
    for node, i in zip(sections, (0, 31, 32, COUNT - 1)):
        n, gen = DPFS.trace.key(node)['n'], DPFS.trace.nodes[node]['args'][0]
        alpha = DPFS.secret(DPFS.trace.nodes[gen]['args'][0], i)
        for x in (alpha, (alpha - 1) % (1 << n)):
            for what, right in (('1[x = alpha]', x == alpha), ('1[x < alpha]', x < alpha)):
                (zero,), (one,) = DPFS.shares(node, i, x)[what]
                assert zero ^ one == right, f'section {node}, element {i}: {what} at {x} for alpha {alpha}'


def test_dcf_keys_share_their_payload():
    for i in (0, 15, 16, FEW - 1):
        alpha = DCFS.secret(0, i)
        for x in (alpha, (alpha - 1) % 2**16, alpha ^ 0x8000):
            zero, one = DCFS.shares(5, i, x)['beta 1[x < alpha]']
            assert [(a + b) % 2**16 for a, b in zip(zero, one)] == ([1, alpha] if x < alpha else [0, 0]), f'element {i} at {x} for alpha {alpha}'


# ---- faults

def refused(path, sentence):
    try:
        rb.Bundle(path)
    except rb.Fault as e:
        assert re.search(sentence, str(e)), f'says {e}'
        return
    raise AssertionError(f'it takes a file that must be refused: {sentence}')


def test_one_altered_byte_is_found():
    raw, other = DCFS.files[1].read_bytes(), WORK / 'other.bundle'
    for at, sentence in [(0, 'a preamble of 417 bytes'), (4, 'version 9'), (12, 'the preamble of'), (60, 'the preamble of'), (150, 'the preamble of'), (387, 'the preamble of'),
                         (419, 'the preamble of'), (451, 'the preamble of'), (452, 'chunk 0 .* bytes by its length'), (456, 'chunk 0 .* its tag'), (471, 'its tag'),
                         (472, 'its tag'), (8000, 'its tag'), (len(raw) - 1, 'its tag')]:
        other.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1:])
        refused(other, sentence)
    for data, sentence in [(raw[:-1], 'chunk 0 .* and .* follow'), (raw[:452], 'has 0 bytes of keys'), (raw[:451], 'has 451 bytes'), (raw + b'\0', 'chunk 1')]:
        other.write_bytes(data)
        refused(other, sentence)
    other.write_bytes(raw[:150] + bytes([raw[150] ^ 1]) + raw[151:420] + hashlib.sha256(raw[4:150] + bytes([raw[150] ^ 1]) + raw[151:420]).digest() + raw[452:])
    refused(other, 'chunk 0 .* its tag')  # the SHA-256 has no key, and the tag's key is a hash of the header
    whole, (first, second) = DPFS.files[0].read_bytes(), DPFS.bundles[0].chunks
    other.write_bytes(whole[:452] + whole[second[0]:] + whole[452:second[0]])
    refused(other, 'chunk 0 .* its tag')  # the tag binds the chunk's number


def reader(*words):
    """Runs the reader in this process; returns exit code, stdout and stderr."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with unittest.mock.patch('sys.argv', ['read_bundle.py', *map(str, words)]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            rb.main()
        except SystemExit as e:
            code = e.code
    return code, out.getvalue(), err.getvalue()


def test_the_reader_prints_tables_of_80_columns():
    code, out, err = reader(DPFS.files[0], '--trace', DPFS.where / 'trace')
    assert code == 0 and not err, err
    lines = out.splitlines()
    wide = [line for line in lines[1:] if len(line) > 80]  # the first one is the path
    assert not wide, wide
    assert not any(DPFS.bundles[0].fields[name].hex() in out for name in ('pair', 'K_p')), 'a secret is printed'
    assert sum(line.endswith('right') for line in lines) == 2 and sum('DPF keys, n ' in line for line in lines) >= 6
    _, out, _ = reader(DCFS.files[1], '--trace', DCFS.where / 'trace', '--key', 5, '--element', 3, '--x', 0, '--with', DCFS.files[0])
    assert out.splitlines()[-1] == f'sum  beta 1[x < alpha]: 1 {DCFS.secret(0, 3)}', out
    code, out, _ = reader('--help')
    assert code == 0 and 'the tag key is a hash of the header' in out and 'read_bundle.py NAME.bundle --trace trace.txt --key' in out


def test_errors_are_one_sentence():
    file, trace, other = DCFS.files[1], DCFS.where / 'trace', DPFS.files[0]
    (WORK / 'zeros').write_bytes(bytes(500))
    for words, sentence in [((WORK / 'none',), 'cannot read .*none .No such file'), ((WORK,), 'Is a directory'), ((trace,), 'has [0-9]+ bytes, .* at least 452'),
                            ((WORK / 'zeros',), '0 bytes and version 0, .* takes 416 bytes and version 8'),
                            ((file, '--trace', file), '0 nodes and 0 sections, .* at least 1'),
                            ((file, '--trace', DPFS.where / 'trace'), '13120 bytes of keys in 1 chunks, .* give the trace of the same plan for 40 values'),
                            ((file, '--key', 5), 'takes 3 options, .* and 1 of them'), ((file, '--with', other), '0 of them'),
                            ((file, '--trace', trace, '--key', 4, '--x', 1), 'section 4 holds no .* 1 sections do; take one of them: 5'),
                            ((file, '--trace', trace, '--key', 5, '--x', 2**16), 'x is 65536, .* 16 bits; take 0 to 65535'),
                            ((file, '--trace', trace, '--key', 5, '--x', 1, '--element', FEW), 'element is 40, .* take 0 to 39'),
                            ((file, '--trace', trace, '--key', 5, '--x', 1, '--with', file), 'serial 2 of P1, and .* needs serial 2 of P0')]:
        code, _, err = reader(*words)
        assert code == 2 and err.count('\n') == 1 and re.search(f'^read_bundle: .*{sentence}', err), f'{sentence}: {code} {err}'


# ---- the page

def example():
    """The page's example, P1's bundle of two elements, and the numbers that it is made of: (file, {name: text})."""
    k, rho = [bytes(range(32)), bytes(range(32, 64))], bytes(range(64, 96))
    alpha = [ka.num(ka.prg(k[1], rho, 1, 0, 0, 4)[2 * i:2 * i + 2]) & 511 for i in (0, 1)]
    tree_key = hashlib.sha256(b'suf tree key' + rho).digest()[:16]
    dpf, dcf = (ka.aes(tree_key, struct.pack('<IIQ', program, kind, 0)) for program, kind in ((0, 0), (1, 1)))
    root = lambda section, p, i: ka.num(ka.prg(k[p], rho, p, section, 16 * i, 16))
    cw = [ka.gen(dpf, 9, alpha[i], root(0, 0, i), root(1, 1, i)) for i in (0, 1)]
    keys = [ka.dcf_gen(dcf, 2, 2, 5, alpha[i] & 3, [1, 9], root(1, 0, i), root(2, 1, i)) for i in (0, 1)]
    told = [(alpha[i] - (ka.prg(k[0], rho, 0, 2, 0, 2)[i] & 31)) % 32 for i in (0, 1)]
    strings = [ka.num(ka.dcf_bytes(*key, 5)) for key in keys]
    body = b''.join(ka.le(cw[i][d], 16) for d in range(3) for i in (0, 1)) + ka.le(strings[0] | strings[1] << 290, 73) + ka.le(told[0] | told[1] << 5, 2)
    header = struct.pack('<8I2Q', 8, 1, 1, 0, 0, 2, 0, 1, 1, len(body)) + bytes(16 * [0x18]) + b''.join(bytes(32 * [b]) for b in (0x10, 0x11, 0x12, 0)) + rho
    header += b''.join(bytes(32 * [b]) for b in range(0x13, 0x18))
    tag = rb.tag(rb.tag_key(header), 0, body)
    preamble = header + k[1]
    file = struct.pack('<I', len(preamble)) + preamble + hashlib.sha256(preamble).digest() + struct.pack('<I', 16 + len(body)) + tag + body
    near = [(alpha[0] + d) % 512 for d in (-1, 0, 1)]
    section = hmac.new(k[1], b'suf prg key' + ka.le(0, 4), hashlib.sha256).digest()[:16]
    answers = {'tag key': rb.tag_key(header).hex(), 'tag of chunk 0': tag.hex(), 'key of PRG section [1 0]': section.hex(),
               'nonce of PRG section [1 0]': hashlib.sha256(b'suf prg nonce' + rho + b'\1' + ka.le(0, 4)).digest()[:12].hex(),
               'block 0 of PRG section [1 0]': ka.prg(k[1], rho, 1, 0, 0, 16).hex(), 'alpha of both DPF keys': f'{alpha[0]} {alpha[1]}', 'tree key': tree_key.hex(),
               'key of DPF tile 0': dpf.hex(), 'key of DCF tile 0': dcf.hex()}
    answers |= {f'root {p} of DPF key 0': ka.le(root(p, p, 0), 16).hex() for p in (0, 1)}
    answers |= {f'word {d} of DPF key 0': ka.le(cw[0][d], 16).hex() for d in range(3)}
    for p in (0, 1):
        answers[f'P{p}, DPF key 0: 1[x = alpha] at alpha - 1, alpha, alpha + 1'] = ' '.join(str(ka.bit(dpf, 9, p, root(p, p, 0), cw[0], x)) for x in near)
        answers[f'P{p}, DPF key 0: 1[x < alpha] at alpha - 1, alpha, alpha + 1'] = ' '.join(str(ka.less(dpf, 9, p, root(p, p, 0), cw[0], x)) for x in near)
    answers |= {f'seed word {d} of DCF key 0': ka.le(keys[0][0][d], 16).hex() for d in (0, 1)}
    answers |= {'control bits of DCF key 0': ' '.join(map(str, keys[0][1])), 'values of DCF key 0': ' '.join(map(str, keys[0][2]))}
    for p in (0, 1):
        at = [ka.dcf_eval(dcf, 2, 2, 5, p, root(1 + p, p, 0), keys[0], x) for x in range(4)]
        answers[f'P{p}, DCF key 0: beta 1[x < alpha] at 0, 1, 2, 3'] = ', '.join(f'{a} {b}' for a, b in at)
    answers['words of section 14'] = f'{told[0]} {told[1]}'
    return file, answers


def test_the_page_has_these_answers():
    blocks = re.findall(r'^```\n(.*?)^```$', (ROOT / 'docs/key-format.md').read_text().partition('## Known answers')[2], re.M | re.S)
    assert len(blocks) == 3, f'the page has {len(blocks)} blocks: trace, file and answers are 3'
    (WORK / 'trace').write_text(blocks[0])
    trace = rb.Trace(WORK / 'trace')
    file, answers = example()
    right = [blocks[0], '\n'.join(textwrap.wrap(file.hex(), 64)) + '\n', ''.join(f'{name}: {value}\n' for name, value in answers.items())]
    for had, want in zip(blocks, right):
        assert had == want, f'the page has\n{had}and these are right:\n{want}'
    (WORK / 'example.bundle').write_bytes(bytes.fromhex(blocks[1]))
    bundle = rb.Bundle(WORK / 'example.bundle')  # the reader takes the page's bytes apart without knowing how they were made
    trace.check(bundle)
    words = lambda node, x: list(rb.shares(bundle, trace, node, 0, x).values())
    alpha = bundle.word(0, 0, 9)
    assert answers['P1, DPF key 0: 1[x = alpha] at alpha - 1, alpha, alpha + 1'].split()[1] == str(words(4, alpha)[0][0])
    assert answers['P1, DCF key 0: beta 1[x < alpha] at 0, 1, 2, 3'].split(', ')[2] == ' '.join(map(str, words(10, 2)[0]))
    for name, value in (('1[x = alpha]', [0, 1, 0]), ('1[x < alpha]', [1, 0, 0])):
        both = [answers[f'P{p}, DPF key 0: {name} at alpha - 1, alpha, alpha + 1'].split() for p in (0, 1)]
        assert [int(a) ^ int(b) for a, b in zip(*both)] == value


if __name__ == '__main__':
    cases.main(globals() | {'BAD': []}, prepare)
