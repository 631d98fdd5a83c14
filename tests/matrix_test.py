#!/usr/bin/env python3
"""Checks the matrix lowering x backend x function of `suf fn check --all`. It has the backends packed, clear, rows and
myl7, and cuda if there is a device. It has no myl7 if the build leaves it out (-DSUF_MYL7=OFF). Nothing in it may be
wrong. Writes one line of counts, which `make test-all` prints at the end.

  matrix_test.py SUF OUT BUILT      BUILT: 1 if the build has myl7, 0 if not
"""
import json
import pathlib
import subprocess
import sys


def summary(cells, built, device=False):
    """Returns one line, or raises an assertion that names the missing part."""
    count = {b: sum('values' in c for c in cells if c['backend'] == b) for b in ('packed', 'clear', 'rows', 'myl7', 'cuda')}
    there = [b for b in count if count[b]]
    want = [b for b in count if (b != 'myl7' or built) and (b != 'cuda' or device)]
    assert there == want, f'the matrix has the backends {there}, not {want}; myl7 needs a processor with AES instructions, and -DSUF_MYL7=OFF leaves it out'
    holes, values = sum('why' in c for c in cells), sum(c.get('values', 0) for c in cells)
    wrong = [(c['function'], c['lowering'], c['backend']) for c in cells if c.get('wrong')]
    assert not wrong, f'wrong: {wrong}'
    assert all(c['why'] for c in cells if 'why' in c), 'a hole has no reason'
    out = f'matrix: {sum(count.values())} of {len(cells)} cells ({", ".join(f"{b} {count[b]}" for b in there)}), {holes} holes with reasons, {values} values, 0 wrong'
    return out + ('' if built else '; myl7 was not built (SUF_MYL7=OFF)')


def main():
    suf, out, built = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] == '1'
    out.unlink(missing_ok=True)
    done = subprocess.run([suf, 'fn', 'check', '--all', '--json'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    backends = json.loads(subprocess.run([suf, 'backends', '--json'], capture_output=True, text=True, check=True).stdout)['backends']
    device = any(b['name'] == 'cuda' and b['runs'] for b in backends)
    line = summary(json.loads(done.stdout)['cells'], built, device)
    out.write_text(line + '\n')
    print(line)


if __name__ == '__main__':
    main()
