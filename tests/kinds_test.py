#!/usr/bin/env python3
"""Checks that ill-typed emissions do not compile. The good half of each case must compile; the bad half must fail for
the stated reason.

  kinds_test.py COMPILER     from the repository's root
"""
import re
import subprocess
import sys

PREAMBLE = '''
#include "suf/pfss/ops.hpp"
using namespace suf::pfss;
struct World {
  Trace t;
  SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12), 12, "x");
  Own<0> weight = t.input<kP0>("W", {4});
  Own<1> masked = t.input<kP1>("Wh", {4});
  Sec b = t.input<kDealer>("B", {4});
  Dealt dealt = t.deal(x.r, 12);
  Wire<kPub> defined = t.open(Sh(dealt) + x.hat, "y", Sec(x.r));
  Wire<kP0> only0 = t.open<kP0>(Sh(dealt), "z", Sec(x.r));
};
'''
CASES = [  # name, good half, bad half, the compiler's message for the bad half
    ('a public value does not meet a secret', 'x.hat + x.hat', 'defined.hat + defined.r', r'no match for .operator\+.|invalid operands'),
    ('only the dealer\'s values are dealt', 't.deal(x.r, 8)', 't.deal(x.hat, 8)', r'could not convert|cannot convert|no viable conversion|no matching'),
    ('a weight does not scale a share', 'Sh(dealt) * x.hat', 'Sh(dealt) * weight', r'no match for .operator\*.|invalid operands'),
    ('a weight does not meet the other party\'s half', 'weight * weight', 'weight * masked', r'no match for .operator\*.|invalid operands'),
    ('a weight does not meet the dealer\'s B', 'b * b', 'weight * b', r'no match for .operator\*.|invalid operands'),
    ('a share is not lifted', 'Lift(x.hat)', 'Lift(Sh(dealt))', r'no matching function'),
    ('a wire that only P0 knows does not scale a share', 'Sh(dealt) * defined.hat', 'Sh(dealt) * only0.hat', r'no match for .operator\*.|invalid operands'),
    ('a product does not read a mask that nobody shares', 'x.hat - x.s.a', 'defined.hat - defined.s.a', r'no member named .s.'),
    ('the dealer\'s table is not made at a public place', 't.deal(Hot(Low(x.r, 4)))', 't.deal(Hot(Low(x.hat, 4)))', r'could not convert|cannot convert|no viable conversion|no matching'),
    ('P0 does not reveal what only the dealer knows', 't.reveal<1>(Sh(dealt))', 't.reveal<1>(Sh{x.r, x.r})', r'could not convert|cannot convert|no viable conversion|no matching'),
    ('a party cannot send by itself', 't.open(Sh(dealt), "a")', 't.Send(x.hat.id(), 0, "a")', r'is private|private member'),
    ('the owed word is the dealer\'s', 't.open(Sh(dealt), "a", x.r)', 't.open(Sh(dealt), "a", x.hat)', r'no matching (member )?function'),
]


def compile_(compiler, body):
    run = subprocess.run([compiler, '-std=c++20', '-fsyntax-only', '-I.', '-x', 'c++', '-'], input=PREAMBLE + body, text=True, capture_output=True)
    return run.returncode == 0, run.stderr


def main():
    compiler, failed = sys.argv[1], 0
    good = 'struct Good : World {\n' + ''.join(f'void F{i}() {{ (void)({g}); }}\n' for i, (_, g, _, _) in enumerate(CASES)) + '};\n'
    ok, err = compile_(compiler, good)
    if not ok:
        sys.exit('the good halves do not compile:\n' + err)
    for name, _, bad, why in CASES:
        ok, err = compile_(compiler, f'struct Bad : World {{ void F() {{ (void)({bad}); }} }};\n')
        reason = not ok and re.search(why, err)
        failed += not reason
        print(('ok   ' if reason else 'FAIL ') + name + ('' if reason else ': ' + ('it compiles' if ok else err[:1500])))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
