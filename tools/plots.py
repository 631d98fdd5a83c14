#!/usr/bin/env python3
"""Draws the pictures of the documents, docs/img/*.svg: figures of the design, and plots from bench/results.

    plots.py            writes every picture
    plots.py --check    exit 1 if a committed picture differs from this script's; first it finds two planted faults

Plain Python. The same input gives the same bytes. To add a plot, write a function that returns a Picture and put it
into PICTURES; `time_rtt` shows how.
"""
import argparse
import html
import json
import math
import pathlib
import re
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'docs/img'
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]suf/(\w+)/', re.M)
INK, PALE, GRID = '#1f2328', '#57606a', '#d8dee4'
BLUE, ORANGE, GREEN, PURPLE, GREY = '#0969a2', '#c4500c', '#0b7d5e', '#8f4a8b', '#6e7781'


def rounded(value):
    return f'{value:.1f}'.removesuffix('.0')


class Picture:
    """An SVG with a white ground, readable in light and dark mode. y grows downwards, sizes are in pixels."""

    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
                      'font-family="-apple-system,Segoe UI,Helvetica,Arial,sans-serif">', f'<title>{html.escape(title)}</title>',
                      f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>']

    def text(self, x, y, words, size=14, colour=INK, anchor='start', bold=False, turned=False):
        """Writes one line; y is its baseline."""
        more = ' font-weight="600"' * bold + f' transform="rotate(-90 {rounded(x)} {rounded(y)})"' * turned
        self.parts.append(f'<text x="{rounded(x)}" y="{rounded(y)}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>')

    def line(self, points, colour=INK, width=1.5, dash=''):
        at = ' '.join(f'{rounded(x)},{rounded(y)}' for x, y in points)
        self.parts.append(f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="{width}"' + f' stroke-dasharray="{dash}"' * bool(dash) + '/>')

    def arrow(self, points, colour=INK, dash=''):
        """Draws a line with a head at its last point."""
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        self.line([*points[:-1], (x1 - 7 * ux, y1 - 7 * uy)], colour, 1.5, dash)
        head = [(x1, y1), (x1 - 10 * ux - 4.5 * uy, y1 - 10 * uy + 4.5 * ux), (x1 - 10 * ux + 4.5 * uy, y1 - 10 * uy - 4.5 * ux)]
        self.parts.append('<polygon points="' + ' '.join(f'{rounded(x)},{rounded(y)}' for x, y in head) + f'" fill="{colour}"/>')

    def box(self, x, y, width, height, title, lines, colour, dash=''):
        """Draws a box with a title and lines below it, all centred."""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{colour}" fill-opacity="0.08" stroke="{colour}" '
                          'stroke-width="1.5"' + f' stroke-dasharray="{dash}"' * bool(dash) + '/>')
        top = y + (height - 20 * len(lines) - 16) / 2 + 13
        self.text(x + width / 2, top, title, 15, colour, 'middle', bold=True)
        for i, words in enumerate(lines):
            self.text(x + width / 2, top + 21 + 20 * i, words, 14, INK, 'middle')

    def mark(self, x, y, colour, filled=True):
        self.parts.append(f'<circle cx="{rounded(x)}" cy="{rounded(y)}" r="4" fill="{colour if filled else "#ffffff"}" stroke="{colour}" stroke-width="2"/>')

    def svg(self):
        return '\n'.join([*self.parts, '</svg>']) + '\n'


class Axis:
    """A logarithmic axis: its title, its ends, and {value: label} of its marks."""

    def __init__(self, title, low, high, ticks):
        self.title, self.low, self.high, self.ticks = title, low, high, ticks

    def part(self, value):
        return math.log(value / self.low) / math.log(self.high / self.low)


class Plot:
    """A frame on a picture: two axes with their grid, series, and a legend of those series."""

    def __init__(self, picture, left, top, width, height, title, x, y):
        self.picture, self.left, self.top, self.width, self.height, self.x, self.y = picture, left, top, width, height, x, y
        self.listed, self.free = [], top
        picture.text(left, top - 12, title, 14, INK, bold=True)
        for value, label in x.ticks.items():
            self.grid([(value, y.low), (value, y.high)])
            picture.text(self.at(value, y.low)[0], top + height + 18, label, 13, PALE, 'middle')
        for value, label in y.ticks.items():
            self.grid([(x.low, value), (x.high, value)])
            picture.text(left - 8, self.at(x.low, value)[1] + 4, label, 13, PALE, 'end')
        picture.text(left + width / 2, top + height + 38, x.title, 13, PALE, 'middle')
        picture.text(left - 56, top + height / 2, y.title, 13, PALE, 'middle', turned=True)

    def at(self, x, y):
        return self.left + self.x.part(x) * self.width, self.top + (1 - self.y.part(y)) * self.height

    def grid(self, points):
        self.picture.line([self.at(*p) for p in points], GRID, 1)

    def series(self, points, label, colour, dash=''):
        """Draws [(x, y)] as a line with a mark at each point, and lists it in the legend. The marks of a dashed line
        are hollow."""
        self.picture.line([self.at(*p) for p in points], colour, 2, dash)
        for p in points:
            self.picture.mark(*self.at(*p), colour, not dash)
        self.listed.append((label, colour, dash))

    def point(self, x, y, label, colour, filled=True):
        """Draws one mark with its label to the right, at least a line below the label before."""
        px, py = self.at(x, y)
        self.picture.mark(px, py, colour, filled)
        self.free = max(self.free, py + 4.5)
        self.picture.text(px + 12, self.free, label, 13)
        self.free += 16

    def legend(self, x, y, step=22):
        """Lists the series below each other, first one at (x, y)."""
        for i, (label, colour, dash) in enumerate(self.listed):
            row = y + i * step
            self.picture.line([(x, row), (x + 30, row)], colour, 2, dash)
            self.picture.mark(x + 15, row, colour, not dash)
            self.picture.text(x + 38, row + 4.5, label, 13)


def rows(file, **fields):
    """Returns the lines of bench/results/FILE.jsonl whose fields have these values, in the order of the file."""
    lines = [json.loads(line) for line in (ROOT / f'bench/results/{file}.jsonl').read_text().splitlines()]
    found = [row for row in lines if all(row.get(name) == value for name, value in fields.items())]
    assert found, f'{file}.jsonl has no line with {fields}'
    return found


def only(file, **fields):
    found = rows(file, **fields)
    assert len(found) == 1, f'{file}.jsonl has {len(found)} lines with {fields}'
    return found[0]


SECONDS = {0.01: '10 ms', 0.1: '0.1 s', 1: '1 s', 10: '10 s'}


def time_tokens():
    p = Picture(800, 400, 'Time of one text against its number of tokens')
    y = Axis('time of one text', 0.005, 10, SECONDS)
    minilm = Plot(p, 80, 40, 370, 220, 'all-MiniLM-L6-v2', Axis('tokens', 14, 290, {n: str(n) for n in (16, 32, 64, 128, 256)}), y)
    two = [row for row in rows('inference', cores=2, verified=True) if 'online_x' in row]
    wide = rows('paired', cores=16, note='378fcea, and with keys read as they come; 16 cores')
    minilm.series([(r['tokens'], r['ms']['total'] / 1e3) for r in two], 'suf, 2 cores (Xeon)', BLUE)
    minilm.series([(r['tokens'], r['times']['sum']['after_ms'] / 1e3) for r in wide], 'suf, 16 cores (Xeon)', GREEN)
    minilm.series([(r['tokens'], r['ms']['online'] / 1e3) for r in two], 'suf, 2 cores (Xeon), online', BLUE, '6 4')
    minilm.series([(r['tokens'], r['float32_ms'] / 1e3) for r in two], 'float32 in clear, 1 thread (Xeon)', GREY)
    minilm.legend(80, 322)
    p.text(410, 326, 'suf, filled: from request to result, all three roles on', 13, PALE)
    p.text(410, 346, 'one machine and keys made for this text, over TLS.', 13, PALE)
    p.text(410, 370, 'suf, hollow: the online part (H200: keys made ahead).', 13, PALE)

    base = Plot(p, 490, 40, 290, 220, "BERT-base's shape, 128 tokens", Axis('', 1, 10, {}), Axis('', y.low, y.high, dict.fromkeys(SECONDS, '')))
    device = {'row': 'c', 'preset': 'bert-base', 'tokens': 128, 'gpu': 'NVIDIA H200, 580.159.04', 'commit': '9f2460477ea8'}
    fresh, ahead = only('gpu', keys='streamed', **device), only('gpu', keys='resident', **device)
    cores = {n: only('shapes', shape='bert-base', cores=n) for n in (2, 16)}
    for ms, what, colour, filled in ((cores[2]['ms']['total'], '2 cores (Xeon)', BLUE, True),
                                     (cores[16]['ms']['total'], '16 cores (Xeon)', GREEN, True),
                                     (cores[2]['float32_ms'], 'float32, 1 thread (Xeon)', GREY, True),
                                     (fresh['fetch_ms'] + fresh['ahead_ms'] + fresh['online_ms'], 'two H200', ORANGE, True),
                                     (ahead['online_ms'], 'two H200, online', ORANGE, False)):
        base.point(1.2, ms / 1e3, f'{what}: {ms / 1e3:.1f} s' if ms >= 1e3 else f'{what}: {ms:.0f} ms', colour, filled)
    return p


def time_rtt():
    p = Picture(800, 370, 'Time of one text of 32 tokens against the round trip, by variant')
    y = Axis('time online', 0.2, 10, {0.2: '0.2 s', 0.5: '0.5 s', 1: '1 s', 2: '2 s', 5: '5 s', 10: '10 s'})
    plot = Plot(p, 80, 40, 420, 260, 'all-MiniLM-L6-v2, 32 tokens', Axis('round trip', 0.4, 80, {0.5: '0.5 ms', 5: '5 ms', 20: '20 ms', 60: '60 ms'}), y)
    for variant, colour, dash in (('cpu', GREY, ''), ('lan', BLUE, ''), ('balanced', ORANGE, ''), ('wan', PURPLE, '6 4')):
        found = rows('link', variant=variant, asked=variant, tokens=32, mbit=1000.0, pin='parties', ahead=True, note='')
        found = [r for r in found if r.get('parallel', 1) == r.get('batch', 1) == 1]
        times = {2 * r['delay_ms']: r['online_ms'] / 1e3 for r in found}  # if a link was measured twice, the last line counts
        plot.series(sorted(times.items()), f'variant {variant}: {found[-1]["flights"]} flights', colour, dash)
    plot.legend(530, 60)
    p.text(530, 170, '1 Gb/s, one core per party,', 13, PALE)
    p.text(530, 190, 'keys made ahead.', 13, PALE)
    return p


def roles():
    p = Picture(820, 410, 'The three roles, what passes between them and what each keeps')
    p.box(280, 16, 260, 110, 'dealer', ['makes keys from seeds;', 'sees no text, no weight and', 'no message between P0 and P1'], GREEN)
    p.box(20, 216, 220, 116, 'data owner (P1)', ['keeps texts, token ids', 'and embeddings;', 'holds weights minus B'], BLUE)
    p.box(580, 216, 220, 116, 'model owner (P0)', ['keeps the weights;', 'learns when a text comes', 'and its number of tokens'], ORANGE)
    p.arrow([(280, 52), (80, 52), (80, 216)], GREEN)
    p.arrow([(150, 216), (150, 92), (280, 92)], PALE)
    p.text(94, 42, 'keys for one text')
    p.text(160, 150, 'seed, number of tokens', colour=PALE)
    p.arrow([(540, 52), (740, 52), (740, 216)], GREEN)
    p.arrow([(670, 216), (670, 92), (540, 92)], PALE)
    p.text(726, 42, 'keys for one text', anchor='end')
    p.text(660, 150, 'seed, number of tokens,', colour=PALE, anchor='end')
    p.text(660, 169, 'seed of B, id of the weights', colour=PALE, anchor='end')
    p.arrow([(580, 238), (240, 238)], ORANGE)
    p.text(410, 230, 'weights minus a random B, once', anchor='middle')
    p.arrow([(240, 274), (580, 274)], BLUE)
    p.arrow([(580, 284), (240, 284)], ORANGE)
    p.text(410, 266, 'integers, each under a fresh mask', anchor='middle')
    p.arrow([(580, 320), (240, 320)], ORANGE)
    p.text(410, 312, 'its share of the embedding, last', anchor='middle')
    p.box(20, 354, 780, 40, 'the plan is public and the same for all three: graph, ring widths, tables; no weight', [], GREY, '5 4')
    return p


def how():
    p = Picture(820, 330, 'From the model to the plan, from the plan to the trace, and the three readings of the trace')
    p.box(16, 40, 150, 66, 'model', ['config, weights'], ORANGE)
    p.box(16, 126, 150, 66, 'texts', ['for calibration'], ORANGE)
    p.box(210, 83, 140, 66, 'plan', ['public, no weight'], GREY)
    p.box(394, 83, 144, 66, 'trace', ['code without data'], GREY)
    for y in (73, 159):
        p.arrow([(166, y), (188, y), (188, 116), (210, 116)])
    p.text(280, 70, 'suf compile', colour=PALE, anchor='middle')
    p.arrow([(350, 116), (394, 116)])
    p.text(466, 51, 'each role builds it from', colour=PALE, anchor='middle')
    p.text(466, 70, 'plan and length of a text', colour=PALE, anchor='middle')
    readings = [(20, 'dealer', ['makes the keys'], GREEN), (118, 'parties', ['compute on masked integers'], BLUE),
                (216, 'lint, schedule, cost', ['check every mask, order', 'messages, predict the time'], PURPLE)]
    for top, title, lines, colour in readings:
        height = 46 + 20 * len(lines)
        p.arrow([(538, 116), (560, 116), (560, top + height / 2), (584, top + height / 2)])
        p.box(584, top, 220, height, title, lines, colour)
    p.arrow([(280, 149), (280, 226)], INK, '5 4')
    p.box(180, 226, 200, 86, 'simulator', ['the same in clear: equals', 'the result in every word'], GREY, '5 4')
    return p

COLUMNS = {'apps': 440, 'roles': 590, 'model': 240, 'nn': 180, 'gates': 180, 'compiler': 180, 'backends': 430, 'reference': 310,
           'cpu': 430, 'gpu': 550, 'grouping': 430, 'pfss': 370, 'func': 120, 'fss': 370, 'ring': 240, 'exec': 300, 'run': 620,
           'proto': 765, 'store': 690, 'net': 690, 'service': 590}  # the middle of each module in the picture; its height follows from what it includes


def modules():
    """Draws which module includes which. An include that a longer way also gives is left out."""
    order, rules = (tomllib.loads((ROOT / 'layers.toml').read_text())[table] for table in ('order', 'modules'))
    below = {m: set() for m in order if m != 'base'}
    for m in below:
        for file in (ROOT / ('apps' if m == 'apps' else f'suf/{m}')).rglob('*.[chc][pu]*'):
            if not file.stem.endswith(('_test', '_bench')):
                below[m] |= set(INCLUDE.findall(file.read_text())) & set(rules[m])
    reach = {}
    for m in below:  # in order: all below m is known
        reach[m] = below[m].union(*(reach[b] for b in below[m]))
    direct = {m: sorted(b for b in below[m] if not any(b in reach[c] for c in below[m])) for m in below}
    level = {}
    for m in below:
        level[m] = 1 + max((level[b] for b in below[m]), default=-1)
    at = {m: (COLUMNS[m], 20 + 60 * (max(level.values()) - level[m])) for m in below}
    p = Picture(820, 30 + 60 * (max(level.values()) + 1), 'The modules; an arrow leads to a module that is included')
    for m in below:
        for b in direct[m]:
            p.arrow([(at[m][0], at[m][1] + 30), (at[b][0], at[b][1])], PALE)
    for m, (x, y) in at.items():
        p.box(x - 48, y, 96, 30, m, [], BLUE)
    return p


PICTURES = {'roles.svg': roles, 'modules.svg': modules, 'how.svg': how, 'time-tokens.svg': time_tokens, 'time-rtt.svg': time_rtt}


def stale(folder, drawn):
    """Returns the names of pictures that are missing in a folder or differ from the drawn ones."""
    return [name for name, text in drawn.items() if not (folder / name).is_file() or (folder / name).read_text() != text]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true')
    check = parser.parse_args().check
    drawn = {name: draw().svg() for name, draw in PICTURES.items()}
    if not check:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in drawn.items():
            (FOLDER / name).write_text(text)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        planted = pathlib.Path(folder)
        for name in list(drawn)[1:]:
            (planted / name).write_text(drawn[name] + '\n' * (name == 'how.svg'))
        assert stale(planted, drawn) == ['roles.svg', 'how.svg'], 'two planted pictures were not found'
    found = stale(FOLDER, drawn)
    for name in found:
        print(f'docs/img/{name} is not what tools/plots.py draws; run tools/plots.py and commit the picture')
    print(f'{len(drawn)} pictures, {len(found)} differ')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
