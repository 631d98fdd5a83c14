#!/usr/bin/env python3
"""Draws a run's timeline: when keys were dealt and arrived, and when each party ran, side by side.

    suf demo .. --json > rows.jsonl; timeline.py rows.jsonl [--line 2] [--width 100] [--svg FILE]

Reads rows of `suf demo --json` (- is stdin) and draws one text. There is a bar for each role and phase, on one axis of
milliseconds from the first event. All roles ran on one machine, so their clocks agree. --svg writes the same bars as a
drawing.
"""
import argparse
import json
import pathlib
import sys

BARS = [('dealer', 'deal', 'dealer deals'), ('p0', 'keys', 'P0 gets keys'), ('p1', 'keys', 'P1 gets keys'), ('p0', 'ahead', 'P0 before'), ('p1', 'ahead', 'P1 before'),
        ('p0', 'online', 'P0 online'), ('p1', 'online', 'P1 online')]
COLOURS = {'deal': '#b07aa1', 'keys': '#edc948', 'ahead': '#bab0ac', 'online': '#4e79a7'}


def bars(row):
    """Returns (name, phase, begin, end) of a row, in ms from the first begin."""
    spans = [(name, phase, *row['times'][role]['spans'][phase]) for role, phase, name in BARS if phase in row['times'].get(role, {}).get('spans', {})]
    if not spans:
        sys.exit('this row has no spans; make it with suf demo --json of this version')
    first = min(begin for _, _, begin, _ in spans)
    return [(name, phase, (begin - first) * 1e3, (end - first) * 1e3) for name, phase, begin, end in spans]


def marks(length, most):
    """Returns at most `most` marks of the axis: multiples of 1, 2 or 5 times a power of ten."""
    step = next(k * 10 ** e for e in range(-3, 9) for k in (1, 2, 5) if length / (k * 10 ** e) <= most)
    return [i * step for i in range(int(length / step) + 1)]


def drawn(spans, width):
    length = max(end for *_, end in spans) or 1
    at = lambda ms: round(ms / length * width)  # noqa: E731
    margin = max(len(name) for name, *_ in spans)
    lines = []
    for name, _, begin, end in spans:
        bar = ' ' * min(at(begin), width - 1) + '#' * max(1, at(end) - at(begin))
        lines.append(f'{name:>{margin}} |{bar:<{width}}| {begin:.0f} .. {end:.0f}')
    axis, numbers = ['-'] * (width + 1), ''
    for ms in marks(length, width // 12):
        axis[at(ms)] = '+'
        numbers = f'{numbers:<{at(ms)}}{ms:g}'
    return '\n'.join(lines + [f"{'ms':>{margin}}  {''.join(axis)}", f"{'':>{margin}}  {numbers}"])


def svg(spans):
    length, margin, width, high = max(end for *_, end in spans) or 1, 110, 800, 24
    bottom = high * len(spans) + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{margin + width + 40}" height="{bottom + 24}" font-family="sans-serif" font-size="12">']
    for ms in marks(length, 10):
        x = margin + ms / length * width
        out.append(f'<path d="M{x:.1f} 4V{bottom}" stroke="#ddd"/><text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{ms:g} ms</text>')
    for i, (name, phase, begin, end) in enumerate(spans):
        y, x, w = i * high + 8, margin + begin / length * width, max(1, (end - begin) / length * width)
        out.append(f'<text x="{margin - 8}" y="{y + 12}" text-anchor="end">{name}</text>'
                   f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{high - 8}" fill="{COLOURS[phase]}"><title>{begin:.1f} .. {end:.1f} ms</title></rect>')
    return '\n'.join(out + ['</svg>']) + '\n'


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('rows')
    p.add_argument('--line', type=int, default=0, help='of which text, from 1; default: the last one')
    p.add_argument('--width', type=int, default=100, help='columns of the bars')
    p.add_argument('--svg', type=pathlib.Path)
    a = p.parse_args()
    with sys.stdin if a.rows == '-' else open(a.rows) as f:
        rows = [row for row in map(json.loads, f) if 'y' in row]
    if not 0 <= a.line <= len(rows) or not rows:
        sys.exit(f'{a.rows} has {len(rows)} texts with a result')
    row = rows[a.line - 1]
    spans = bars(row)
    print(f"{row['n']} tokens, serial {row['serial']}\n{drawn(spans, a.width)}")
    if a.svg:
        a.svg.write_text(svg(spans))


if __name__ == '__main__':
    main()
