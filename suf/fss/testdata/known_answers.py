#!/usr/bin/env python3
"""Writes aes.txt, prg.txt and dpf.txt beside this file: known answers from an implementation that shares nothing with ours (hashlib,
hmac and the cryptography package's AES; the half-tree written out bit by bit from the conventions in dpf.hpp).
aes.txt: FIPS 197 appendix B and C.1, SP 800-38A F.1.1 (ECB-AES128), typed in from the standards and checked here."""
import hashlib
import hmac
import pathlib
import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = pathlib.Path(__file__).parent
AES = [('FIPS 197 appendix B', '2b7e151628aed2a6abf7158809cf4f3c', '3243f6a8885a308d313198a2e0370734', '3925841d02dc09fbdc118597196a0b32'),
       ('FIPS 197 appendix C.1', '000102030405060708090a0b0c0d0e0f', '00112233445566778899aabbccddeeff', '69c4e0d86a7b0430d8cdb78070b4c55a'),
       ('SP 800-38A F.1.1 block 1', '2b7e151628aed2a6abf7158809cf4f3c', '6bc1bee22e409f96e93d7e117393172a', '3ad77bb40d7a3660a89ecaf32466ef97'),
       ('SP 800-38A F.1.1 block 2', '2b7e151628aed2a6abf7158809cf4f3c', 'ae2d8a571e03ac9c9eb76fac45af8e51', 'f5d3d58503b9699de785895a96fdbaaf'),
       ('SP 800-38A F.1.1 block 3', '2b7e151628aed2a6abf7158809cf4f3c', '30c81c46a35ce411e5fbc1191a0a52ef', '43b1cd7f598ece23881b00e3ed030688'),
       ('SP 800-38A F.1.1 block 4', '2b7e151628aed2a6abf7158809cf4f3c', 'f69f2445df4f9b17ad2b417be66c3710', '7b0c785e27e8ad3f8223207104725dd4')]


def aes(key, block):
    e = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return e.update(block) + e.finalize()


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


if __name__ == '__main__':
    main()
