"""Generated texts for tests of tokenizers, made of the parts in suf/model/testdata/kinds/parts.json.

Text i is made by SplitMix64 with the state i * 1,000,003. next() is its next number, below(n) is next() % n.

1. It has 1 + below(3 + min(i / 1000, 9)) parts.
2. A part has a kind, below(16). A code point that is a surrogate is replaced by a space.
   0, 1   1 + below(6) code points, each below a limit; the limit is that of LIMITS[below(7)]
   2..5   words[below(..)]; then below(4): 0 and 1 as it is, 2 first letter raised, 3 all letters raised (ASCII)
   6      specials[below(..)]
   7      odd[below(..)]
   8      emoji[below(..)]; then below(3) = 0 removes its last code point
   9      one character of words[below(..)], number below(its length), 1 + below(40) times; below(8) = 0: 8 times that
   10     1 + below(8) digits, each below(10)
   11     endings[below(..)]
   12     1 + below(4) blanks, each blanks[below(..)]
   13     a code point 97 + below(26), then below(5) code points 0x300 + below(112)
   14     1 + below(5) code points first + below(count), where [first, count] is scripts[below(..)]
   15     1 + below(5) code points, each of punctuation[below(..)]
3. After each part below(5): 0 and 1 nothing, otherwise a space.
"""
MASK = (1 << 64) - 1
TEXTS, BLOCK = 25 * 4096, 4096  # of a tokenizer, and of a digest
LIMITS = [0x80, 0x250, 0x800, 0x3000, 0x10000, 0x20000, 0x110000]

def hashed(ids):
    """Returns what a digest of ids takes of one text: their number, then the ids, as 32-bit little-endian numbers."""
    return b''.join(x.to_bytes(4, 'little') for x in [len(ids), *ids])


class Rng:
    """SplitMix64 (Steele, Lea and Flood, 2014)."""

    def __init__(self, state):
        self.state = state & MASK

    def below(self, n):
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return (z ^ z >> 31) % n

    def of(self, items):
        return items[self.below(len(items))]


def point(c):
    return ' ' if 0xD800 <= c < 0xE000 else chr(c)


def raised(text, count):
    return ''.join(c.upper() if 'a' <= c <= 'z' and i < count else c for i, c in enumerate(text))


def part(rng, parts):
    kind = rng.below(16)
    if kind < 2:
        n, limit = 1 + rng.below(6), LIMITS[rng.below(7)]
        return ''.join(point(rng.below(limit)) for _ in range(n))
    if kind < 6:
        w = rng.of(parts['words'])
        return raised(w, {2: 1, 3: len(w)}.get(rng.below(4), 0))
    if kind == 6:
        return rng.of(parts['specials'])
    if kind == 7:
        return rng.of(parts['odd'])
    if kind == 8:
        e = rng.of(parts['emoji'])
        return e[:-1] if rng.below(3) == 0 else e
    if kind == 9:
        w = rng.of(parts['words'])
        c, n = w[rng.below(len(w))], 1 + rng.below(40)
        return c * (8 * n if rng.below(8) == 0 else n)
    if kind == 10:
        return ''.join(chr(48 + rng.below(10)) for _ in range(1 + rng.below(8)))
    if kind == 11:
        return rng.of(parts['endings'])
    if kind == 12:
        return ''.join(rng.of(parts['blanks']) for _ in range(1 + rng.below(4)))
    if kind == 13:
        c = chr(97 + rng.below(26))
        return c + ''.join(chr(0x300 + rng.below(112)) for _ in range(rng.below(5)))
    if kind == 14:
        n, (first, count) = 1 + rng.below(5), rng.of(parts['scripts'])
        return ''.join(point(first + rng.below(count)) for _ in range(n))
    return ''.join(rng.of(parts['punctuation']) for _ in range(1 + rng.below(5)))


def text(i, parts):
    """Returns text i; parts: the lists of parts.json."""
    rng, out = Rng(i * 1000003), ''
    for _ in range(1 + rng.below(3 + min(i // 1000, 9))):
        out += part(rng, parts)
        out += '' if rng.below(5) < 2 else ' '
    return out
