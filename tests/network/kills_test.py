#!/usr/bin/env python3
"""Kills each of two dealers and two processes of one model owner while a data owner with 8 sessions uses them. Each text
runs once or fails with an error. No serial and no half of a bundle runs twice.

  kills_test.py SUF [PATTERN]     from anywhere; about a minute. PATTERN picks rows
"""
import pathlib
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import results, texts
from roles import FATES, HASTY, LEDGER_HEADER, LEDGER_RECORD
from rows import main, row
from spread import DEALERS, Spread, outcomes

COUNT = 48


def used(w, store):
    """Returns [(lane, serial)] of each claim that a store's ledgers still know, and of each done one."""
    claims = []
    for lane in w.lanes(store):
        data = (lane / 'ledger').read_bytes()[LEDGER_HEADER:]
        for at in range(0, len(data) - LEDGER_RECORD + 1, LEDGER_RECORD):
            serial, fate = struct.unpack_from('<QI', data, at)
            if FATES.get(fate) == 'claimed':
                claims.append((lane.name, serial))
    return claims


def killed(what, choose, is_dealer):
    @row(f'SIGKILL of {what} under 8 sessions', '0|3', '', 120)
    def _(w):
        s = Spread(w)
        path, expected = texts(w, COUNT)
        victim = choose(s)
        e = s.embed(None, file=path, timeout=HASTY)
        # it dies with jobs before, inside and behind it
        killer = threading.Thread(target=lambda: victim.said(r': serial \d+,.*') and victim.kill())
        killer.start()
        yield e
        killer.join()
        failed = outcomes(w, e, expected)
        claims = used(w, 'data')
        assert len(set(claims)) == len(claims), 'a serial was claimed twice'
        at_p0 = [c for i in range(2) for c in used(w, f'model{i}')]
        assert len(set(at_p0)) == len(at_p0), 'a half of a bundle was used by two processes'
        assert set(at_p0) <= set(claims), 'P0 claims after P1 alone'
        assert len(claims) >= COUNT - len(failed)
        # the process comes back; the texts that failed run then
        if not failed:
            return
        if is_dealer:
            s.deal(what.split()[-1])
        else:
            s.serve(int(what[-1]) - 1)
        lines = path.read_text().splitlines()
        path.write_text('\n'.join(lines[i] for i in failed) + '\n')
        again = s.embed(None, file=path)
        assert again.finish() == 0 and results(w, again) == [expected[i] for i in failed], again.err


for name in DEALERS:
    killed(f'the dealer {name}', lambda s, name=name: s.dealers[name], True)
for i in range(2):
    killed(f'the model owner\'s process {i + 1}', lambda s, i=i: s.servers[i], False)

if __name__ == '__main__':
    main()
