#!/usr/bin/env python3
"""Writes aes.txt, prg.txt, dpf.txt, reads.txt and dcf.txt beside this file. The known answers are from an implementation
that shares nothing with ours: hashlib, hmac, and AES written out from FIPS 197. Trees are written out bit by bit from
the conventions in dpf.hpp, docs/mathematics.md#half-tree and #dcf. tools/read_bundle.py imports the primitives.
aes.txt: FIPS 197 appendix B and C.1, SP 800-38A F.1.1 (ECB-AES128), typed in from the standards and checked here."""
import functools
import hashlib
import hmac
import pathlib
import random

HERE = pathlib.Path(__file__).parent
AES = [('FIPS 197 appendix B', '2b7e151628aed2a6abf7158809cf4f3c', '3243f6a8885a308d313198a2e0370734', '3925841d02dc09fbdc118597196a0b32'),
       ('FIPS 197 appendix C.1', '000102030405060708090a0b0c0d0e0f', '00112233445566778899aabbccddeeff', '69c4e0d86a7b0430d8cdb78070b4c55a'),
       ('SP 800-38A F.1.1 block 1', '2b7e151628aed2a6abf7158809cf4f3c', '6bc1bee22e409f96e93d7e117393172a', '3ad77bb40d7a3660a89ecaf32466ef97'),
       ('SP 800-38A F.1.1 block 2', '2b7e151628aed2a6abf7158809cf4f3c', 'ae2d8a571e03ac9c9eb76fac45af8e51', 'f5d3d58503b9699de785895a96fdbaaf'),
       ('SP 800-38A F.1.1 block 3', '2b7e151628aed2a6abf7158809cf4f3c', '30c81c46a35ce411e5fbc1191a0a52ef', '43b1cd7f598ece23881b00e3ed030688'),
       ('SP 800-38A F.1.1 block 4', '2b7e151628aed2a6abf7158809cf4f3c', 'f69f2445df4f9b17ad2b417be66c3710', '7b0c785e27e8ad3f8223207104725dd4')]


def twice(x):
    """x times 2 in the field of AES."""
    return x << 1 ^ (0x11b if x & 0x80 else 0)


def aes_tables():
    """The S-box of FIPS 197, and the four tables of its bytes times (2, 1, 1, 3), which do a round's byte work."""
    p, q, box = 1, 1, [0x63] * 256
    for _ in range(255):  # p runs through all powers of 3, and q is 1 / p
        p ^= twice(p)
        for s in (1, 2, 4):
            q = q ^ q << s & 255
        q ^= 0x09 if q & 0x80 else 0
        box[p] = 0x63 ^ functools.reduce(lambda x, s: x ^ (q << s | q >> 8 - s) & 255, range(5), 0)
    first = [twice(x) << 24 | x << 16 | x << 8 | twice(x) ^ x for x in box]
    return box, [[x >> 8 * i | x << 32 - 8 * i & 2**32 - 1 for x in first] for i in range(4)]


BOX, TABLES = aes_tables()


@functools.lru_cache(maxsize=4096)
def round_keys(key):
    w, constant = [int.from_bytes(key[i:i + 4], 'big') for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        x = w[-1]
        if i % 4 == 0:
            x = int.from_bytes(bytes(BOX[x >> s & 255] for s in (16, 8, 0, 24)), 'big') ^ constant << 24
            constant = twice(constant)
        w.append(w[-4] ^ x)
    return w


def aes(key, block):
    w, (a, b, c, d) = round_keys(key), TABLES
    s = [int.from_bytes(block[4 * i:4 * i + 4], 'big') ^ w[i] for i in range(4)]
    for r in range(4, 40, 4):
        s = [a[s[i] >> 24] ^ b[s[i - 3] >> 16 & 255] ^ c[s[i - 2] >> 8 & 255] ^ d[s[i - 1] & 255] ^ w[r + i] for i in range(4)]
    last = [bytes((BOX[s[i] >> 24], BOX[s[i - 3] >> 16 & 255], BOX[s[i - 2] >> 8 & 255], BOX[s[i - 1] & 255])) for i in range(4)]
    return b''.join((int.from_bytes(x, 'big') ^ k).to_bytes(4, 'big') for x, k in zip(last, w[40:]))


def le(x, n):
    return x.to_bytes(n, 'little')


def num(b):
    return int.from_bytes(b, 'little')


def prg(key, rho, party, section, offset, n):
    k = hmac.new(key, b'suf prg key' + le(section, 4), hashlib.sha256).digest()[:16]
    nonce = hashlib.sha256(b'suf prg nonce' + rho + le(party, 1) + le(section, 4)).digest()[:12]
    return b''.join(aes(k, nonce + le(c, 4)) for c in range(offset // 16, (offset + n + 15) // 16))[:n]


def h(key, s):
    lo, hi = s % 2**64, s >> 64
    g = (lo ^ hi) << 64 | hi
    return num(aes(key, le(g, 16))) ^ g


def gen(key, n, alpha, r0, r1):
    s, cw = [r0 & ~1, r1 | 1], []
    for d in range(n - 8):
        bit = alpha >> (n - 1 - d) & 1
        c = h(key, s[0]) ^ h(key, s[1]) ^ (0 if bit else s[0] ^ s[1])
        s = [h(key, x) ^ (x if bit else 0) ^ (c if x & 1 else 0) for x in s]
        cw.append(c)
    for j in range(2):
        cw.append(h(key, s[0] ^ 2 * j) ^ h(key, s[1] ^ 2 * j) ^ (1 << (alpha % 128) if alpha >> 7 & 1 == j else 0))
    return cw


def bit(key, n, party, root, cw, x):
    s = root & ~1 | party
    for d in range(n - 8):
        s = h(key, s) ^ (s if x >> (n - 1 - d) & 1 else 0) ^ (cw[d] if s & 1 else 0)
    j = x >> 7 & 1
    return (h(key, s ^ 2 * j) ^ (cw[n - 8 + j] if s & 1 else 0)) >> (x % 128) & 1


def control(key, n, party, root, cw, w, v):
    """The share of 1[v = alpha >> w]: a control bit, or the parity of a group of leaf bits."""
    if w < 8:
        return sum(bit(key, n, party, root, cw, (v << w) + j) for j in range(1 << w)) & 1
    s = root & ~1 | party
    for d in range(n - w):
        s = h(key, s) ^ (s if v >> (n - w - 1 - d) & 1 else 0) ^ (cw[d] if s & 1 else 0)
    return s & 1


def less(key, n, party, root, cw, x):
    """The share of 1[x < alpha]: the nodes that cover what lies above x."""
    share = 0
    for w in range(n):
        if not x >> w & 1:
            v = x >> w | 1
            if w >= 8 or w < 7:
                share ^= control(key, n, party, root, cw, w, v)
            else:  # the upper half of 256 leaf bits: the node's control bit less the lower half
                share ^= control(key, n, party, root, cw, 8, v >> 1) ^ control(key, n, party, root, cw, 7, v ^ 1)
    return share


def dcf_value(key, s, words, bits, right):
    """The words of a child's value."""
    slot = 32 if bits <= 32 else 64
    slots = 128 // slot
    blocks = -(-words // slots)
    if 2 * words <= slots:
        string = h(key, s ^ 2) >> (64 if right else 0)
    else:
        string = sum(h(key, s ^ (2 + q + (blocks if right else 0))) << (128 * q) for q in range(blocks))
    return [string >> (slot * k) & (1 << bits) - 1 for k in range(words)]


def dcf_gen(key, n, words, bits, alpha, beta, r0, r1):
    m = 1 << bits
    s, t, va = [r0 & ~1, r1 & ~1], [0, 1], [0] * words
    seeds, controls, values = [], [], []
    for d in range(n):
        a = alpha >> (n - 1 - d) & 1
        raw = [[h(key, s[p] ^ c) for c in (0, 1)] for p in (0, 1)]
        child = [[x & ~1 for x in r] for r in raw]
        tee = [[x & 1 for x in r] for r in raw]
        v = [[dcf_value(key, s[p], words, bits, c) for c in (0, 1)] for p in (0, 1)]
        keep, lose = a, 1 - a
        scw = child[0][lose] ^ child[1][lose]
        tcw = [tee[0][0] ^ tee[1][0] ^ a ^ 1, tee[0][1] ^ tee[1][1] ^ a]
        sign = -1 if t[1] else 1
        vcw = [sign * (v[1][lose][k] - v[0][lose][k] - va[k] + (beta[k] if lose == 0 else 0)) % m for k in range(words)]
        va = [(va[k] - v[1][keep][k] + v[0][keep][k] + sign * vcw[k]) % m for k in range(words)]
        seeds.append(scw), controls.extend(tcw), values.extend(vcw)
        s, t = [child[p][keep] ^ (scw if t[p] else 0) for p in (0, 1)], [tee[p][keep] ^ (t[p] & tcw[keep]) for p in (0, 1)]
    last = [dcf_value(key, s[p], words, bits, 0) for p in (0, 1)]
    sign = -1 if t[1] else 1
    values.extend(sign * (last[1][k] - last[0][k] - va[k]) % m for k in range(words))
    return seeds, controls, values


def dcf_bytes(seeds, controls, values, bits):
    string, at = 0, 0
    for x, width in [(x, 128) for x in seeds] + [(x, 1) for x in controls] + [(x, bits) for x in values]:
        string, at = string | x << at, at + width
    return le(string, (at + 63) // 64 * 8)


def dcf_eval(key, n, words, bits, party, root, cw, x):
    seeds, controls, values = cw
    s, t, v = root & ~1, party, [0] * words
    for d in range(n):
        a = x >> (n - 1 - d) & 1
        own = dcf_value(key, s, words, bits, a)
        v = [v[k] + own[k] + (values[d * words + k] if t else 0) for k in range(words)]
        raw = h(key, s ^ a)
        s, t = raw & ~1 ^ (seeds[d] if t else 0), raw & 1 ^ (t & controls[2 * d + a])
    own = dcf_value(key, s, words, bits, 0)
    return [(-1) ** party * (v[k] + own[k] + (values[n * words + k] if t else 0)) % (1 << bits) for k in range(words)]


def main():
    rng = random.Random(2021)
    for _, k, p, c in AES:
        assert aes(bytes.fromhex(k), bytes.fromhex(p)).hex() == c
    (HERE / 'aes.txt').write_text(''.join(f'# {s}\nkey {k}\nplain {p}\ncipher {c}\n\n' for s, k, p, c in AES))
    out = ['# PRG of prg.hpp, aes128-ctr-sha256; made by known_answers.py\n']
    for section, offset, n in [(0, 0, 16), (1, 0, 100), (7, 32, 33), (0xffffffff, 2**36 - 48, 48), (70000, 2**32, 600)]:
        for party in (0, 1):
            key, rho = rng.randbytes(32), rng.randbytes(32)
            out.append(f'key {key.hex()}\nrho {rho.hex()}\nparty {party}\nsection {section}\noffset {offset}\n'
                       f'out {prg(key, rho, party, section, offset, n).hex()}\n\n')
    (HERE / 'prg.txt').write_text(''.join(out))
    out = ['# DPF of dpf.hpp: one key of a tile and both parties\' window from lo, bits in hex, low first; made by known_answers.py\n']
    for n, m in [(8, 1), (8, 256), (9, 130), (16, 64), (33, 70), (64, 129), (64, 1)]:
        serial, r = rng.randbytes(16), [rng.randbytes(16), rng.randbytes(16)]
        program, tile, alpha = rng.getrandbits(32), rng.getrandbits(40), rng.getrandbits(n)
        lo = (alpha - m // 2) % 2**n
        key = aes(serial, le(program, 4) + bytes(4) + le(tile, 8))
        cw = gen(key, n, alpha, num(r[0]), num(r[1]))
        w = [[bit(key, n, p, num(r[p]), cw, (lo + j) % 2**n) for j in range(m)] for p in (0, 1)]
        assert [a ^ b for a, b in zip(*w)] == [int((lo + j) % 2**n == alpha) for j in range(m)]
        words = [le(sum(b << j for j, b in enumerate(v)), (m + 63) // 64 * 8).hex() for v in w]
        out.append(f'n {n}\nm {m}\nserial {serial.hex()}\nprogram {program}\ntile {tile}\nalpha {alpha}\nroot0 {r[0].hex()}\n'
                   f'root1 {r[1].hex()}\nlo {lo}\ncw {b"".join(le(c, 16) for c in cw).hex()}\nshare0 {words[0]}\nshare1 {words[1]}\n\n')
    (HERE / 'dpf.txt').write_text(''.join(out))
    out = ['# Reads of a DPF of dpf.hpp: shares of 1[v = alpha >> level] and of 1[x < alpha], of both parties; made by known_answers.py\n']
    for n, level in [(8, 0), (8, 7), (8, 8), (9, 3), (16, 8), (16, 7), (16, 16), (33, 11), (64, 5), (64, 7), (64, 8), (64, 40)]:
        serial, r = rng.randbytes(16), [rng.randbytes(16), rng.randbytes(16)]
        program, tile, alpha = rng.getrandbits(32), rng.getrandbits(40), rng.getrandbits(n)
        key = aes(serial, le(program, 4) + bytes(4) + le(tile, 8))
        cw = gen(key, n, alpha, num(r[0]), num(r[1]))
        v = [(alpha >> level) + k & (1 << n - level) - 1 for k in (-1, 0, 1)]
        x = [(alpha + k) % 2**n for k in (-1, 0, 1)] + [rng.getrandbits(n)]
        at = [[control(key, n, p, num(r[p]), cw, level, y) for y in v] for p in (0, 1)]
        lt = [[less(key, n, p, num(r[p]), cw, y) for y in x] for p in (0, 1)]
        assert [a ^ b for a, b in zip(*at)] == [int(y == alpha >> level) for y in v]
        assert [a ^ b for a, b in zip(*lt)] == [int(y < alpha) for y in x]
        out.append(f'n {n}\nlevel {level}\nserial {serial.hex()}\nprogram {program}\ntile {tile}\nroot0 {r[0].hex()}\nroot1 {r[1].hex()}\n'
                   f'cw {b"".join(le(c, 16) for c in cw).hex()}\nv {b"".join(le(y, 8) for y in v).hex()}\n'
                   f'x {b"".join(le(y, 8) for y in x).hex()}\n')
        out.extend(f'at{p} {bytes(at[p]).hex()}\nless{p} {bytes(lt[p]).hex()}\n' for p in (0, 1))
        out.append('\n')
    (HERE / 'reads.txt').write_text(''.join(out))
    out = ['# DCF of dcf.hpp: one key of a tile and both parties\' shares at x, words of 8 bytes; made by known_answers.py\n']
    for n, words, bits, off in [(1, 1, 1, 0), (5, 2, 32, -1), (8, 1, 64, -1), (8, 3, 31, 0), (31, 5, 20, 1), (33, 2, 64, -1), (64, 1, 64, -1),
                                (64, 3, 40, 0), (64, 4, 32, -1)]:
        serial, r = rng.randbytes(16), [rng.randbytes(16), rng.randbytes(16)]
        program, tile, alpha = rng.getrandbits(32), rng.getrandbits(40), rng.getrandbits(n)
        beta, x = [rng.getrandbits(bits) for _ in range(words)], (alpha + off) % 2**n
        key = aes(serial, le(program, 4) + le(1, 4) + le(tile, 8))
        cw = dcf_gen(key, n, words, bits, alpha, beta, num(r[0]), num(r[1]))
        share = [dcf_eval(key, n, words, bits, p, num(r[p]), cw, x) for p in (0, 1)]
        assert [(a + b) % (1 << bits) for a, b in zip(*share)] == (beta if x < alpha else [0] * words)
        eights = [b''.join(le(y, 8) for y in v).hex() for v in (beta, *share)]
        out.append(f'n {n}\nwords {words}\nbits {bits}\nserial {serial.hex()}\nprogram {program}\ntile {tile}\nalpha {alpha}\nbeta {eights[0]}\n'
                   f'root0 {r[0].hex()}\nroot1 {r[1].hex()}\nkey {dcf_bytes(*cw, bits).hex()}\nx {x}\nshare0 {eights[1]}\nshare1 {eights[2]}\n\n')
    (HERE / 'dcf.txt').write_text(''.join(out))


if __name__ == '__main__':
    main()
