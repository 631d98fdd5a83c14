#!/usr/bin/env python3
"""Writes myl7.txt beside this file: keys and shares of the backend myl7 from an implementation that shares nothing with the library or with our adapter
(hashlib and the cryptography package's AES): ePrint 2020/1392, figure 1, over seeds of 127 bits, whose last bit (bit 96 of the string, as the library's words
stand) is the control bit; G(s) = four blocks AES(k_j, s) ^ s: left seed, left value, right seed, right value."""
import hashlib
import pathlib
import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

LSB = 1 << 96  # the lowest bit of a block's last 32-bit word
M = 2**64


def le(x, n):
    return x.to_bytes(n, 'little')


def block(key, s):
    e = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return int.from_bytes(e.update(le(s, 16)) + e.finalize(), 'little') ^ s


def keys(serial, program):
    return [hashlib.sha256(b'suf myl7 aes key' + serial + bytes([j]) + le(program, 4)).digest()[:16] for j in range(4)]


def expand(ks, s):
    """(seed, control bit, value) of the left and the right child."""
    out = [block(k, s) for k in ks]
    return [(out[2 * c] & ~LSB, int(out[2 * c] & LSB != 0), out[2 * c + 1] % M) for c in (0, 1)]


def gen(ks, n, alpha, beta, roots):
    s, t, v, words = [r & ~LSB for r in roots], [0, 1], 0, []
    for i in range(n):
        a = alpha >> (n - 1 - i) & 1
        (keep, lose), child, sign = (a, 1 - a), [expand(ks, x) for x in s], -1 if t[1] else 1
        seed = child[0][lose][0] ^ child[1][lose][0]
        value = sign * (child[1][lose][2] - child[0][lose][2] - v + (beta if a else 0)) % M
        v = (v - child[1][keep][2] + child[0][keep][2] + sign * value) % M
        control = [child[0][c][1] ^ child[1][c][1] ^ (a ^ 1 if c == 0 else a) for c in (0, 1)]
        s = [child[p][keep][0] ^ (seed if t[p] else 0) for p in (0, 1)]
        t = [child[p][keep][1] ^ (t[p] & control[keep]) for p in (0, 1)]
        words.append((seed, value, control))
    return words, (-1 if t[1] else 1) * (s[1] - s[0] - v) % M


def evaluate(ks, n, party, root, words, last, x):
    s, t, v = root & ~LSB, party, 0
    for i, (seed, value, control) in enumerate(words):
        a = x >> (n - 1 - i) & 1
        own, bit, add = expand(ks, s)[a]
        v += add + (value if t else 0)
        s, t = own ^ (seed if t else 0), bit ^ (t & control[a])
    return (-1) ** party * (v + s % M + (last if t else 0)) % M


def main():
    rng = random.Random(11)
    out = ['# myl7: a key and both parties\' shares at x, words of 8 bytes; made by known_answers.py\n']
    for n, many in ((1, 1), (5, 2), (8, 1), (31, 3), (64, 1), (64, 2)):
        serial, program, alpha, x = rng.randbytes(16), rng.getrandbits(32), rng.getrandbits(n), rng.getrandbits(n)
        beta, roots = [rng.getrandbits(64) for _ in range(many)], [rng.randbytes(16 * many) for _ in (0, 1)]
        ks, fixed, bits, shares = keys(serial, program), b'', 0, [b'', b'']
        for k in range(many):
            seeds = [int.from_bytes(r[16 * k:16 * k + 16], 'little') for r in roots]
            words, last = gen(ks, n, alpha, beta[k], seeds)
            fixed += b''.join(le(s | (LSB if c[0] else 0), 16) for s, v, c in words) + b''.join(le(v, 8) for s, v, c in words) + le(last, 8)
            bits |= sum(c[1] << k * n + i for i, (s, v, c) in enumerate(words))
            for p in (0, 1):
                shares[p] += le(evaluate(ks, n, p, seeds[p], words, last, x), 8)
        key = fixed + le(bits, (n * many + 63) // 64 * 8)
        names = ('serial', 'program', 'n', 'words', 'alpha', 'beta', 'root0', 'root1', 'key', 'x', 'share0', 'share1')
        rows = (serial.hex(), program, n, many, alpha, b''.join(le(b, 8) for b in beta).hex(), roots[0].hex(), roots[1].hex(), key.hex(), x, shares[0].hex(), shares[1].hex())
        out.append(''.join(f'{a} {b}\n' for a, b in zip(names, rows)) + '\n')
    (pathlib.Path(__file__).parent / 'myl7.txt').write_text(''.join(out))


if __name__ == '__main__':
    main()
