#!/usr/bin/env python3
"""Checks suf fn and suf backends: results, output, and for bad input one sentence, an exit code and nothing written.

  fn_test.py SUF [PATTERN]     from anywhere; some seconds. PATTERN picks cases
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUF = ''
WORK = pathlib.Path()
MIXED = """# two rings, two bits
suf mixed domain 8 ring 20 outputs 2 degree 1
poly 0 : 5 3 | 7 0
poly 100 : -2 -9 | 0 1
end 256
formula lt 17
formula in 3 90
channel bit 1 1 inside
channel signed 20 0 y
channel unsigned 12 1 z
channel bit 1 0 small
"""
WIDE = """suf wide domain 64 ring 64 outputs 1 degree 1
piece 0 : 0 1
end 18446744073709551616
channel unsigned 64 0 y
"""
PIECES = ''.join(f'piece {5 * i + i % 3} : {i} {i % 7} 1\n' for i in range(17000))
FILES = {
    'many.suf': f'suf many domain 32 ring 32 outputs 1 degree 2\n{PIECES}end 4294967296\nchannel signed 32 0 y\n',
    'mixed.suf': MIXED,
    'wide.suf': WIDE,
    'noend.suf': 'suf f domain 8 ring 8 outputs 1 degree 0\npiece 0 : 1\n',
    'mute.suf': 'suf f domain 8 ring 8 outputs 1 degree 0\npiece 0 : 1\nend 256\n',
    'word.suf': 'suf f domain 8 ring 8 outputs 1 degree 0\npiece zero : 1\nend 256\n',
    'degree.suf': 'suf f domain 8 ring 8 outputs 1 degree 9\npiece 0 : 1\nend 256\n',
    'four.txt': '1\n\nfour\n',
    'none.txt': '# nothing\n',
    'ring.txt': 'mod 2^16\n4\n',
    'large.txt': '1\n4294967296\n',
    'one.txt': '1\n',
    'less.txt': '-1\n',
    'minus.txt': '1\n-1\n',
    'two.txt': '1\n2\n',
}


def run(*words):
    return subprocess.run([SUF, *(str(w).format(w=WORK) for w in words)], capture_output=True, text=True, timeout=120)


def rows(*words):
    """Returns the JSON output of a command that succeeds."""
    done = run(*words, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def other():
    """Returns the backend of another library, if this build has it and the processor runs it."""
    return [b['name'] for b in rows('backends')['backends'] if b['name'] == 'myl7' and b['runs']]


def signed(v, bits):
    return v - (1 << bits) if v >> (bits - 1) else v


def mixed(x):
    y, z = (5 + 3 * x, 7) if x < 100 else (-2 - 9 * x, x)
    return [int(3 <= x < 90), signed(y % 2**20, 20), z % 2**12, int(x < 17)]


# ---- bad input: (case, exit code, sentence, command)

FIT = ['--in', '8:4', '--result', '16:8']
BAD = [
    ('a tail without a place', 2, '--above takes C:V, C:x or C:V,S', 'fit x --in 8:4 --result 16:8 --error 1 --above 4'),
    ('a tail of three numbers', 2, '--below has 1 number before the colon and 3 after it', 'fit x --in 8:4 --result 16:8 --error 1 --below=-4:1,2,3'),
    ('a knot that is no number', 2, "--knots has 'b' where a number belongs", 'fit x --in 8:4 --result 16:8 --error 1 --knots 1,b'),
    ('a knot outside', 2, 'cut 1 of the fit of f is 8; use increasing numbers between -8 and 8', 'fit x --in 8:4 --result 16:8 --error 1 --knots 8'),
    ('a scale that is no whole number', 2, '--scales has 1.5', 'fit x --in 8:4 --result 16:8 --error 1 --degree 1 --scales 0,1.5'),
    ('scales without a degree', 2, 'the fit of f has scales of its coefficients and no degree; give the degree, too', 'fit x --in 8:4 --result 16:8 --error 1 --scales 0,1'),
    ('no fit in the widest ring', 4, r'no fit of f with 1 pieces stays in its ring of 64 bits; use a coarser scale or more pieces',
     'fit x*x --in 10:5 --result 64:10 --pieces 1'),
    ('a fit whose file cannot be written', 5, 'cannot write /none/f', 'fit x --in 8:4 --result 16:8 --error 1 --out /none/f'),
    ('no value source', 2, 'takes its values from one of --x, --values, --all and --random', 'run relu'),
    ('two value sources', 2, 'takes its values from one of', 'run relu --x 1 --all'),
    ('x over the domain', 2, r'--x is 4294967296; the function takes words of 32 bits', 'run relu --x 4294967296'),
    ('x under the domain', 2, r'--x is -129; the function takes words of 8 bits', 'run {w}/mixed.suf --x=-129'),
    ('x is no number', 2, '--x is no whole number: "a"', 'run relu --x 1,a'),
    ('--all of a large domain', 2, r'at most 2\^20 values, and the domain of relu has 2\^32; use --random', 'run relu --all'),
    ('a value is no number', 2, 'four.txt, line 3, is no whole number: "four"', 'run relu --values {w}/four.txt'),
    ('a value is too large', 2, 'large.txt, line 2, is 4294967296', 'run relu --values {w}/large.txt'),
    ('no value in the file', 2, 'none.txt holds no number; give one a line', 'run relu --values {w}/none.txt'),
    ('no file of values', 2, 'cannot read the values .*/nothing', 'run relu --values {w}/nothing'),
    ('shares of another ring', 2, r'holds numbers mod 2\^16, and the function takes them mod 2\^32', 'run relu --values {w}/ring.txt'),
    ('shares of other lengths', 2, 'one.txt holds 1 shares and .*two.txt 2', 'run relu --from shared --values {w}/one.txt,{w}/two.txt'),
    ('two files, not shared', 2, 'with --from shared two', 'run relu --values {w}/one.txt,{w}/two.txt'),
    ('more values than memory', 5, 'values need about .* of memory and .* are free; run at most [1-9][0-9]* at a time',
     'run relu --random 2147483648 --lowering StepDcf'),
    ('unknown function', 2, 'there is no library function nosuch; there are relu', 'show nosuch'),
    ('no such file', 2, 'cannot read the function .*none.suf', 'show {w}/none.suf'),
    ('a constant outside the ring', 2, 'does not fit 32 bits at scale 12', 'show min(1e9)'),
    ('another ring', 2, 'the ring of gelu has 99 bits; use 8 to 48', 'show gelu --n 99'),
    ('a text without end', 2, "noend.suf: .*lacks its end: .* after line 2", 'show {w}/noend.suf'),
    ('a text with a mistake', 2, 'word.suf: .*line 2', 'run {w}/word.suf --x 1'),
    ('a text over a limit', 2, 'degree.suf: .*degree', 'show {w}/degree.suf'),
    ('a function without channels', 2, 'has no channel, so nobody would learn', 'run {w}/mute.suf --x 1'),
    ('unknown lowering', 2, 'Nope is no lowering; for relu there are auto, StepDcf, ', 'run relu --x 1 --lowering Nope'),
    ('a lowering that does not apply', 4, 'RowLut does not apply to relu: .*octaves alone; these do: StepDcf, ',
     'run relu --x 1 --lowering RowLut'),
    ('no lowering at all', 4, 'no lowering makes this function, so give it fewer pieces', 'run {w}/many.suf --x 1'),
    ('unknown backend', 2, 'there is no backend cpu9; use one of auto, packed', 'run relu --x 1 --backend cpu9'),
    ('unknown profile', 2, "'moon' is no profile and no price; profiles and prices are cpu", 'run relu --x 1 --profile moon'),
    ('unknown price', 2, "'speed=1' is no profile and no price", 'cost relu --profile speed=1'),
    ('a price below 0', 2, "the price 'flight=-1' is no number from 0 to 5", 'cost relu --profile flight=-1'),
    ('unknown origin', 2, '--from does not know p3; use one of p0, p1, shared', 'run relu --x 1 --from p3'),
    ('unknown ending', 2, '--to does not know all; use one of p0, p1, both, shared', 'cost relu --to all'),
    ('--out without shares', 2, '--out holds the shares of --to shared', 'run relu --x 1 --out {w}/out'),
    ('a pass of a split', 2, 'exp is a split and has no pass views', 'show exp --pass views'),
    ('unknown pass', 2, '--pass: ', 'show relu --pass magic'),
    ('check of nothing', 2, 'takes a function or --all', 'check'),
    ('a formula that does not parse', 2, 'mistake at column 6', ['fit', 'x*(1+', *FIT, '--error', '0.1', '--out', '{w}/out']),
    ('a formula that is not finite', 2, 'not finite at 129 points', ['fit', 'log(x)', *FIT, '--error', '0.1', '--out', '{w}/out']),
    ('a range without a scale', 2, '--in takes bits:scale', 'fit x --in 8 --result 16:8 --error 0.1'),
    ('an error below 0', 2, '--error takes a number above 0', ['fit', 'x', *FIT, '--error=-1']),
    ('neither error nor pieces', 2, 'one of --error and --pieces is required', ['fit', 'x', *FIT]),
    ('error and pieces', 2, 'excludes', ['fit', 'x', *FIT, '--error', '1', '--pieces', '2']),
    ('an error out of reach', 4, 'out of reach', ['fit', 'exp(x)', '--in', '8:4', '--result', '24:8', '--slope', '0', '--error', '2^-20', '--out', '{w}/out']),
    ('exp of a negative number', 2, r'--x is -1; exp takes 0 to 65535, which is x from 0 to 15.9998; give one of these', 'run exp --x -1'),
    ('exp of a large number', 2, '--x is 65536; exp takes 0 to 65535', 'run exp --x 1,65536'),
    ('recip of 0', 2, '--x is 0; recip takes 1 to 4294967295, which is x from 0.000244141 to 1.04858e', 'run recip --x 4096,0'),
    ('rsqrt of a negative number', 2, '--x is -4096; rsqrt takes 1 to', 'run rsqrt --x -4096'),
    ('rsqrt of 0', 2, '--x is 0; rsqrt takes 1 to', 'run rsqrt --x 0 --n 20 --scale 8'),
    ('sqrt of a negative number', 2, '--x is -1; sqrt takes 0 to', 'run sqrt --x=-1'),
    ('log2 of 0', 2, '--x is 0; log2 takes 1 to', 'run log2 --x 0'),
    ('abs of the least number', 2, '--x is -128; abs takes -127 to 127, which is x from -31.75 to 31.75', 'run abs --x -128 --n 8 --scale 2'),
    ('its word', 2, '--x is 128; abs takes -127 to 127', 'run abs --x 128 --n 8 --scale 2'),
    ('a negative value of a file', 2, 'minus.txt, line 2, is -1; exp takes 0 to 65535', 'run exp --values {w}/minus.txt'),
    ('shares of a 0', 2, 'the sum of shares 1 is 0; recip takes 1 to', 'run recip --from shared --values {w}/one.txt,{w}/less.txt'),
    ('overflow: bits and scale, and no finer one', 4,
     r'reaches 2.09696e\+06 at x = 127.996, and a result of 32 bits at scale 16 holds -32768 to 32768; '
     r'use a result of 38 bits or more, or a scale of 10 or less \(', 'fit x^3 --in 16:8 --result 32:16 --error 2^-8 --out {w}/out'),
    ('overflow of a finer scale', 4, 'use a result of 42 bits or more, or a scale of 10 or less', 'fit x^3 --in 16:8 --result 32:20 --error 2^-8'),
    ('overflow of every scale', 4, 'use a smaller range of x, or a tail', 'fit exp(x) --in 16:8 --result 32:16 --error 2^-8'),
    ('a formula without a value in the middle', 2, r'not finite at x = 0; give it a value there \(x == 0 \? 0 : ..\), or another range \(',
     'fit 1/x --in 8:4 --result 24:8 --error 1'),
    ('a formula without values at an end', 2, 'not finite at 129 points from x = -8 to 0; give it a tail there, or another range',
     'fit log(x) --in 8:4 --result 24:8 --error 1'),
    ('an unknown name in a formula', 2, "at column 1: 'foo' is no name, number or operator of formulas", 'fit foo(x) --in 8:4 --result 24:8 --error 1'),
    ('a single =', 2, r"at column 2: '=' compares nothing; write ==", 'fit x=1 --in 8:4 --result 24:8 --error 1'),
    ('an unknown option beside a formula with a minus', 2, '--eror', 'fit -x --in 8:4 --result 24:8 --error 1 --eror 1'),
    ('another command', 2, 'frobnicate is not a command of suf fn', 'frobnicate'),
]


def bad_input(what, code, sentence, command):
    done = run('fn', *(command.split() if isinstance(command, str) else command))
    cases.refused(done, code, sentence, 700)
    assert len(done.stderr.splitlines()) == 1, f'more than a sentence: {done.stderr}'
    assert not done.stdout and not list(WORK.glob('out*')), 'something was written'


# ---- results

def test_ends():
    """All choices of who brings x and who learns F(x), on both backends, by several lowerings. Also a row's fields."""
    for number, (start, to) in enumerate((a, b) for a in ('p0', 'p1', 'shared') for b in ('p0', 'p1', 'both', 'shared')):
        lowering = ('auto', 'Index/digits, Digits', 'StepDcf', 'Blocks')[number % 4]
        r = rows('fn', 'run', '{w}/mixed.suf', '--all', '--from', start, '--to', to, '--backend', ('clear', 'packed')[number % 2],
                 '--lowering', lowering)
        assert r['x'] == list(range(256)) and r['y'] == [mixed(x) for x in r['x']] and r['equal'] is True
        assert [r[k] for k in ('schema', 'name', 'n', 'ring', 'from', 'to')] == ['suf.fn/2', 'mixed', 8, 20, start, to]
        assert r['channels'] == [{'name': n, 'kind': k, 'bits': b} for n, k, b in
                                 (('inside', 'bit', 1), ('y', 'signed', 20), ('z', 'unsigned', 12), ('small', 'bit', 1))]
        assert lowering == 'auto' or lowering in r['lowering']
        assert r['flights'] >= 1 and len(r['sent_bytes']) == len(r['key_bytes']) == 2 and len(r['aes_blocks']) == 3 and len(r['trace']) == 64


def test_chain():
    """Two functions on shares; the value between them is never revealed."""
    first = rows('fn', 'run', 'relu', '--random', '300', '--to', 'shared', '--out', '{w}/between')
    assert all((WORK / f'between.p{p}').stat().st_mode & 0o777 == 0o600 for p in (0, 1))
    second = rows('fn', 'run', 'clamp(-1,1000)', '--from', 'shared', '--values', '{w}/between.p0,{w}/between.p1')
    shares = [[int(v) for v in (WORK / f'between.p{p}').read_text().split('\n')[1:] if v] for p in (0, 1)]
    assert (WORK / 'between.p0').read_text().startswith('mod 2^32\n')
    assert first['y'] == [[max(0, signed(x, 32))] for x in first['x']]
    assert [(a + b) % 2**32 for a, b in zip(*shares)] == [y for y, in first['y']] == second['x']
    assert second['y'] == [[min(y, 1000 << 12)] for y, in first['y']] and second['equal']
    # One share does not show where the function is 0.
    assert all(len({s for s, (y,) in zip(half, first['y']) if y == 0}) > 50 for half in shares)


def test_several_channels():
    """One file of shares for each channel and party."""
    r = rows('fn', 'run', '{w}/mixed.suf', '--x', '0,3,100,255', '--to', 'shared', '--out', '{w}/many')
    for channel, (name, bits) in enumerate((('inside', 1), ('y', 20), ('z', 12), ('small', 1))):
        halves = [(WORK / f'many.p{p}.{name}').read_text().split() for p in (0, 1)]
        assert halves[0][:2] == ['mod', f'2^{bits}']
        assert [(int(a) + int(b)) % 2**bits for a, b in zip(halves[0][2:], halves[1][2:])] == [y[channel] % 2**bits for y in r['y']]


def test_compare_two_parties():
    """Each party has a number; both learn the sign of the difference and nothing else."""
    pairs = [(5, 7), (7, 5), (9, 9), (0, 2**30)]
    (WORK / 'mine').write_text(''.join(f'{a}\n' for a, b in pairs))
    (WORK / 'theirs').write_text(''.join(f'-{b}\n' for a, b in pairs))
    r = rows('fn', 'run', 'sign', '--from', 'shared', '--to', 'both', '--values', '{w}/mine,{w}/theirs')
    assert r['y'] == [[((a > b) - (a < b)) << 12] for a, b in pairs]


def test_exact_to_64_bits():
    """Numbers are exact up to 2^64, in and out."""
    x = [0, 1, 2**53 + 1, 2**63, 2**64 - 1]
    r = rows('fn', 'run', '{w}/wide.suf', '--x', ','.join(map(str, x)))
    assert r['x'] == x and r['y'] == [[v] for v in x]
    assert rows('fn', 'run', '{w}/wide.suf', '--x=-1')['x'] == [2**64 - 1]


def test_split():
    """The library's exponential is a product of two tables."""
    r = rows('fn', 'run', 'exp', '--n', '24', '--scale', '8', '--all', '--lowering', 'Product/2')
    assert r['lowering'] == 'Product/2' and r['n'] == 12 and len(r['y']) == 4096
    scale = round(math.log2(r['y'][0][0]))
    assert all(abs(y / 2**scale - math.exp(-x / 256)) < 2**-8 for x, (y,) in zip(r['x'], r['y']))


def test_cost():
    """Every lowering has a row or a reason. A run sends and deals as much as its row says."""
    c = rows('fn', 'cost', 'relu', '--count', '100', '--from', 'shared', '--to', 'both')
    assert [c[k] for k in ('schema', 'n', 'count', 'keys')] == ['suf.fn.cost/2', 32, 100, 'ahead']
    assert set(c['choice']) == {'cpu', 'gpu', 'lan', 'balanced', 'wan'} and all(r['why'] for r in c['refused'])
    by_name = {r['lowering']: r for r in c['lowerings']}
    assert len(by_name) + len(c['refused']) == 33 and len(by_name) >= 12
    for profile, name in c['choice'].items():
        assert by_name[name]['seconds'][profile] == min(r['seconds'][profile] for r in c['lowerings'] if r['safe'])
    for name, cost in by_name.items():
        r = rows('fn', 'run', 'relu', '--random', '100', '--from', 'shared', '--to', 'both', '--lowering', name)
        assert r['lowering'] == name
        assert all(r[k] == cost[k] for k in ('flights', 'sent_bytes', 'key_bytes', 'aes_blocks')), name
    far = rows('fn', 'cost', 'relu', '--profile', 'flight=5,wire=0,key=0,word=0,aes=1e15', '--keys', 'now')
    least = min(r['flights'] for r in far['lowerings'])
    (profile, name), = far['choice'].items()
    assert next(r for r in far['lowerings'] if r['lowering'] == name)['flights'] == least
    near = rows('fn', 'cost', 'relu', '--profile', 'flight=0,wire=0,key=1e-3,word=0,aes=1e15')
    (profile, other), = near['choice'].items()
    assert other != name and max(by_name[other]['key_bytes']) == min(max(r['key_bytes']) for r in by_name.values())


def test_check():
    """The matrix holds, with a reason for each hole."""
    r = rows('fn', 'check', '{w}/mixed.suf')
    assert r['wrong'] == 0 and r['covered'] + r['holes'] == len(r['cells']) and r['covered'] >= 20
    assert all(c.get('values') == 256 or c['why'] for c in r['cells'])
    assert {c['backend'] for c in r['cells']} == {'clear', 'packed', 'rows', *other()}
    assert run('fn', 'check', 'exp').returncode == 0


def test_bench():
    """Measurements are verified and printed beside the model's figures; tests their form, not their times."""
    b = rows('fn', 'bench', '--count', '64', '--functions', '2', '--kernels', 'portable')
    assert [b[k] for k in ('schema', 'variant', 'count', 'verified')] == ['suf.fn.bench/2', 'portable', 64, True]
    assert all(b[who][price] > 0 for who in ('profile', 'machine') for price in ('flight_us', 'wire_ns', 'key_ns', 'aes_per_s', 'word_ns'))
    assert [(c['function'], c['n']) for c in b['choices']] == [('relu', 32), ('gelu', 32)]
    cost = rows('fn', 'cost', 'relu', '--count', '64')
    for profile, name in cost['choice'].items():
        chosen, row = b['choices'][0][profile], next(r for r in cost['lowerings'] if r['lowering'] == name)
        assert (chosen['lowering'], chosen['flights'], chosen['key_bytes'] * 64) == (name, row['flights'], max(row['key_bytes']))
        assert math.isclose(chosen['us'] * 64, row['seconds'][profile] * 1e6)
    relu = {r['lowering']: r for r in b['rows'] if r['function'] == 'relu'}
    assert set(relu) == {r['lowering'] for r in cost['lowerings']} and len(b['rows']) >= 20
    for r in cost['lowerings']:
        row = relu[r['lowering']]
        assert all(row[k] == r[k] for k in ('flights', 'sent_bytes', 'key_bytes', 'aes_blocks', 'words'))
        assert math.isclose(row['predicted']['ahead'], r['seconds']['cpu'])
        assert row['seconds']['now'] > row['seconds']['ahead'] > 0 and row['predicted']['now'] > row['predicted']['ahead']
    for keys in ('ahead', 'now'):
        for prices in ('cpu', 'machine'):
            v = b['verdict'][keys][prices]
            assert v['lowerings'] == len(b['rows']) and 0 <= v['within_2x'] <= v['lowerings'] and 0 <= v['in_order'] <= v['pairs']
            assert 0 < v['least'] <= v['most']
    text = run('fn', 'bench', '--count', '16', '--functions', '1').stdout
    assert 'this machine: flight' in text and 'pairs that differ by more than 20 % in order' in text


def test_show():
    """Text, pieces, a curve and passes; a drawing that parses."""
    out = run('fn', 'show', 'relu', '--n', '16', '--scale', '8').stdout
    assert 'suf relu domain 16 ring 16' in out and 'piece' in out and '┤' in out and '128' in out
    for name in ('text', 'normalised', 'primitives', 'views', 'candidates', 'choice', 'emit', 'trace'):
        assert run('fn', 'show', 'relubits', '--pass', name).stdout, name
    out = run('fn', 'show', 'relubits', '--pass', 'emit').stdout
    assert '/Coeff: ' in out and '/Pred: ' in out and 'result: ' in out, out
    for name in ('candidates', 'choice', 'emit'):  # also of a split
        assert 'Product/1' in run('fn', 'show', 'exp', '--pass', name).stdout, name
    text = run('fn', 'show', 'gelu_spline', '--pass', 'text').stdout
    (WORK / 'again.suf').write_text(text)
    assert run('fn', 'show', '{w}/again.suf', '--pass', 'text').stdout == text
    assert 'w │' in run('fn', 'show', 'gelu_spline').stdout
    for function in ('gelu_spline', 'recip', 'exp', '{w}/mixed.suf'):
        assert run('fn', 'show', function, '--svg', '{w}/curve.svg').returncode == 0
        xml.etree.ElementTree.parse(WORK / 'curve.svg')
        assert run('fn', 'show', function).returncode == 0
    assert 'gelu_spline' in run('fn', 'list').stdout


def test_fit():
    """A formula becomes a file whose run is within the bound at every x."""
    done = run('fn', 'fit', 'x*0.5*(1+erf(x/sqrt(2)))', '--in', '12:8', '--result', '24:12', '--error', '2^-9', '--out', '{w}/gelu.suf')
    assert done.returncode == 0 and 'measured at every x' in done.stderr, done.stderr
    scale = int(re.search(r'channel / 2\^(\d+)', done.stderr)[1])
    r = rows('fn', 'run', '{w}/gelu.suf', '--all')
    real = [signed(x, 12) / 256 for x in r['x']]
    assert max(abs(y / 2**scale - v * 0.5 * (1 + math.erf(v / math.sqrt(2)))) for v, (y,) in zip(real, r['y'])) <= 2**-9
    few = run('fn', 'fit', 'x*x', '--in', '8:4', '--result', '24:12', '--pieces', '3', '--degree', '1')
    assert few.stdout.startswith('suf ') and few.stdout.count('\npiece ') <= 3


def fitted(formula, ins, result, error, *words):
    """Fits a formula and runs the file. Returns the number of pieces, the scale, the reported error bound, and the
    text."""
    done = run('fn', 'fit', formula, '--in', ins, '--result', result, '--error', error, *words, '--out', '{w}/fitted.suf')
    assert done.returncode == 0, (formula, done.stderr)
    text = (WORK / 'fitted.suf').read_text()
    said = re.search(r'fit: (\d+) pieces? of degree \d, y = channel / 2\^(\d+), error at most (\S+)', done.stderr)
    assert run('fn', 'cost', '{w}/fitted.suf').returncode == 0
    return int(said[1]), int(said[2]), float(said[3].rstrip(',')), text


def test_fit_slopes():
    """Rates finer than the result's units take three pieces, not 52,294, and the function runs."""
    tariff = 'x<1000 ? 0 : (x<5000 ? (x-1000)*0.2 : 800+(x-5000)*0.4)'
    pieces, scale, error, _ = fitted(tariff, '20:0:u', '32:2', '1')
    assert pieces == 3 and error <= 1
    r = rows('fn', 'run', '{w}/fitted.suf', '--x', '500,1000,3000,5000,10000,1048575')
    for x, (y,) in zip(r['x'], r['y']):
        assert abs(y / 2**scale - (0 if x < 1000 else (x - 1000) * 0.2 if x < 5000 else 800 + (x - 5000) * 0.4)) <= error * 1.0001, x


def test_fit_of_strangers():
    """Formulas of users: few pieces, the stated error at every x, and a function that runs."""
    relu6 = lambda v: min(max(v, 0), 6)
    for formula, real, most in (('min(max(x,0),6)', relu6, 3), ('x*min(max(x+3,0),6)/6', lambda v: v * relu6(v + 3) / 6, 5),
                                ('clamp(x,-1,1)', lambda v: max(-1, min(1, v)), 4), ('floor(x)', math.floor, 18), ('ceil(x)', math.ceil, 18),
                                ('round(x)', lambda v: math.copysign(math.floor(abs(v) + 0.5), v), 18), ('rint(x)', lambda v: math.floor(v + 0.5), 18),
                                ('x > 2 && x < 5', lambda v: float(2 < v < 5), 4), ('-x', lambda v: -v, 2), ('-x^2', lambda v: -v * v, 2),
                                ('-(x+1)*0.3', lambda v: -(v + 1) * 0.3, 2), ('7', lambda v: 7, 2), ('sin(x)', math.sin, 16),
                                ('x == 0 ? 1 : sin(x)/x', lambda v: math.sin(v) / v if v else 1, 16), ('x % 3', lambda v: v % 3, 8)):
        pieces, scale, error, _ = fitted(formula, '12:8', '32:12', '2^-7')
        assert pieces <= most, (formula, pieces)
        r = rows('fn', 'run', '{w}/fitted.suf', '--all')
        worst = max(abs(y / 2**scale - real(signed(x, 12) / 256)) for x, (y,) in zip(r['x'], r['y']))
        assert worst <= error * 1.0001 <= 2**-7 * 1.0001, (formula, worst, error)


def test_dashes():
    """A minus begins a formula and a value; it is not an option."""
    assert fitted('-x', '8:4', '24:8', '0.01')[0] == 2
    assert run('fn', 'fit', '--in', '8:4', '--result', '24:8', '--error', '0.01', '-abs(x)').stdout.startswith('suf ')
    assert run('fn', 'fit', '--in', '8:4', '--result', '24:8', '--error', '0.01', '--', '-abs(x)').stdout.startswith('suf ')
    assert run('fn', 'fit', 'x', '--in', '12:7', '--result', '24:8', '--error', '1', '--below', '-4:-4', '--knots', '-8,-4').stdout.startswith('suf ')
    assert rows('fn', 'run', 'relu', '--x', '-5,3')['y'] == [[0], [3]]
    assert run('fn', 'fit', '-h').returncode == 0


def test_vocabulary():
    """The help and the document list the same words of formulas. (A unit test compares them with the parser.)"""
    text = run('fn', 'fit', '--help').stdout
    words = text[text.index('A formula may hold'):]
    assert all(len(line) <= 80 for line in words.splitlines()), words
    listed = {k: v.split() for k, v in re.findall(r'  (operators|functions|constants)((?: \S+|\n {11})+)', words)}
    assert len(listed['functions']) >= 35 and {'floor', 'round', 'ceil', 'trunc', 'rint'} <= set(listed['functions'])
    page = (ROOT / 'docs/functions.md').read_text()
    page = page[page.index('## What a formula may hold'):page.index('## Values that')].replace('\\|', '|')
    code = ' '.join(re.findall('`([^`]+)`', page))
    assert set(re.findall(r'(\w+)\(', code)) - {'suf'} == set(listed['functions'])
    assert all(f' {o} ' in f' {code} ' or o == '!' and '!a' in code for o in listed['operators']), listed['operators']
    assert all(f'`{c}`' in page for c in listed['constants'])


def test_values_taken():
    """Values within a library function's range are accepted, including its ends. A file's function has the same
    range."""
    assert rows('fn', 'run', 'exp', '--x', '0,65535')['equal'] and rows('fn', 'run', 'recip', '--x', '1,4294967295')['equal']
    (WORK / 'mine.suf').write_text(run('fn', 'show', 'recip', '--pass', 'text').stdout)
    done = run('fn', 'run', '{w}/mine.suf', '--x', '0')
    assert done.returncode == 2 and '--x is 0; recip takes 1 to 4294967295, which is x from 0.000244141' in done.stderr, done.stderr
    (WORK / 'other.suf').write_text(WIDE.replace('wide', 'recip'))
    assert rows('fn', 'run', '{w}/other.suf', '--x', '0')['y'] == [[0]]


def test_fit_options():
    """Tails, given knots, a scale for each degree and two tables: each run keeps the reported error."""
    def worst(real, *words):
        done = run('fn', 'fit', *words, '--out', '{w}/fitted.suf')
        assert done.returncode == 0, done.stderr
        scale, error = int(re.search(r'channel / 2\^(\d+)', done.stderr)[1]), float(re.search(r'error at most (\S+)', done.stderr)[1])
        r = rows('fn', 'run', '{w}/fitted.suf', '--all')
        most = max(abs(y / 2**scale - real(signed(x, 12) / 128)) for x, (y,) in zip(r['x'], r['y']))
        assert most <= error * 1.0001, (words, most, error)
        return (WORK / 'fitted.suf').read_text(), scale
    ends = ['--in', '12:7', '--result', '32:14']
    worst(lambda x: 0 if x < -4 else x if x >= 4 else math.tanh(x), 'tanh(x)', *ends, '--error', '2^-7', '--below=-4:0', '--above', '4:x', '--slope', '7')
    worst(lambda x: 1 + 0.25 * (x - 3) if x >= 3 else math.cos(x), 'cos(x)', *ends, '--error', '2^-6', '--above', '3:1,0.25', '--slope', '6')
    text, _ = worst(lambda x: x * x / 4, 'x*x/4', *ends, '--pieces', '9', '--degree', '1', '--knots=-8,-4,4,8')
    assert [int(line.split()[1]) for line in text.splitlines() if line.startswith('piece ')] == [0, 512, 1024, 2048, 3072, 3584]
    _, scale = worst(lambda x: math.sin(x / 4), 'sin(x/4)', *ends, '--error', '2^-8', '--degree', '2', '--scales', '0,7,10')
    assert scale == 24
    text, _ = worst(lambda x: 1 / (1 + math.exp(-x)), 'sigmoid(x)', *ends, '--error', '2^-9', '--bipartite')
    assert text.startswith('split ')


def test_backends():
    """Every backend that is listed as available runs."""
    names = [b['name'] for b in rows('backends')['backends'] if b['runs']]
    assert {'clear', 'packed', 'packed/portable'} <= set(names) and 'clear' in run('backends').stdout
    traces = {b: rows('fn', 'run', 'gelu', '--x', '1,2,3', '--lowering', 'StepDcf', '--backend', b)['trace'] for b in names}
    ours = {trace for b, trace in traces.items() if b != 'myl7'}
    assert len(ours) == 1 and not any(traces[b] in ours for b in other()), 'the scheme of DCFs is part of the trace'


def test_other_backend():
    """A lowering that the other library lacks is no candidate, and the reason is printed. Others are chosen and
    right, at the listed cost."""
    for b in other():
        c = rows('fn', 'cost', 'relu', '--count', '100', '--backend', b)
        why = {r['lowering']: r['why'] for r in c['refused']}
        assert why['Parity+Open'] == why['Index/parity'] == 'myl7 has no DPF tree (dpfgen)'
        by_name = {r['lowering']: r for r in c['lowerings']}
        assert {'StepDcf', 'Digits+Open', 'Index/blocks', 'WindowLut/2'} <= set(by_name) and set(c['choice'].values()) <= set(by_name)
        for name in ('StepDcf', 'Digits+Open'):
            r = rows('fn', 'run', 'relu', '--random', '100', '--lowering', name, '--backend', b)
            assert r['equal'] and all(r[k] == by_name[name][k] for k in ('flights', 'sent_bytes', 'key_bytes', 'aes_blocks')), name
        assert rows('fn', 'run', 'gelu', '--random', '20', '--backend', b)['equal']
        done = run('fn', 'run', 'relu', '--x', '1', '--backend', b, '--lowering', 'Parity+Open')
        assert done.returncode == 4 and not done.stdout
        assert done.stderr.startswith('suf: Parity+Open does not apply to relu: myl7 has no DPF tree (dpfgen); these do: StepDcf, '), done.stderr


def test_help():
    """Each command's help has an example."""
    for words in (['fn'], *(['fn', c] for c in ('list', 'show', 'fit', 'cost', 'check', 'bench', 'run', 'plan', 'serve', 'ask'))):
        out = run(*words, '--help').stdout
        assert 'suf fn ' in out and re.search('Example|Start with', out), words


def prepare(folder):
    global SUF, WORK
    SUF, WORK = sys.argv[1], folder
    for name, text in FILES.items():
        (WORK / name).write_text(text)


if __name__ == '__main__':
    cases.main(globals(), prepare)
