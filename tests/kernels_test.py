#!/usr/bin/env python3
"""Checks `suf kernels`. Every group compiles without a device: the data owner's for compute capability 8.0 and 9.0, the
dealer's for 9.0. Only a few use local memory. The next call uses the files in the folder. An altered file is made
again.

    kernels_test.py SUF SOURCE                        needs NVRTC, from tools/setup.sh or CUDA
    kernels_test.py SUF SOURCE PLAN.json:TOKENS ..    every role of these plans for both, and which groups have local memory (tools/gpu/plans.sh)

It takes two minutes of two cores.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SUF, SOURCE, PLANS = sys.argv[1], pathlib.Path(sys.argv[2]), [p.split(':') for p in sys.argv[3:]]
TINY = SOURCE / 'tests/data/tiny_plan.json', 3
PLACES = [SOURCE / '.cuda/nvidia/cu13/lib', pathlib.Path('/usr/local/cuda/lib64'), *[pathlib.Path(n).resolve().parent.parent / 'lib64' for n in [shutil.which('nvcc')] if n]]
NVRTC = [d for d in PLACES if list(d.glob('libnvrtc.so.1[23]'))]


def kernels(out, role, *more, plan=TINY):
    begin = time.monotonic()
    done = subprocess.run([SUF, 'kernels', '--plan', plan[0], '--tokens', str(plan[1]), '--role', role, '--out', out, *more],
                          capture_output=True, text=True, timeout=3600, env={**os.environ, 'LD_LIBRARY_PATH': str(NVRTC[0])})
    # A line of progress every ten seconds.
    assert done.returncode == 0 and all(f' info {role}: kernel ' in line for line in done.stderr.splitlines()), done
    made, of = done.stdout.split()[1:4:2]
    assert made == of and int(of) > 20, done.stdout
    return int(of), time.monotonic() - begin


# Attributes in a cubin's .nv.info: bytes of a kernel's frame in local memory, and its registers.
FRAME, REGISTERS, HEAD = 0x11, 0x2f, len(b'suf kernel 1\n') + 32


def facts(file):
    code = file.read_bytes()[HEAD:]
    assert code[:4] == b'\x7fELF', file
    at, = struct.unpack_from('<Q', code, 0x28)
    size, count, named = struct.unpack_from('<HHH', code, 0x3a)
    sections = [struct.unpack_from('<IIQQQQIIQQ', code, at + i * size) for i in range(count)]
    found = {}
    for name, _, _, _, begin, length, *_ in sections:
        start = sections[named][4] + name
        if code[start:code.index(b'\0', start)] != b'.nv.info':
            continue
        while length > 0:
            form, attribute, value = struct.unpack_from('<BBH', code, begin)
            if form == 4 and value == 8:  # a symbol and a number
                found[attribute] = max(found.get(attribute, 0), struct.unpack_from('<II', code, begin + 4)[1])
            step = 4 + (value if form == 4 else 0)
            begin, length = begin + step, length - step
    return found[FRAME], found[REGISTERS]


# Limits for each role. A group with all planes of a borrow of many digits has more live words than a thread has
# registers. Raise them here if you add such a group.
SPILLED, MOST_SPILLED = 3, 12


def in_registers(folder):
    """Returns the number of groups that use local memory."""
    of = [facts(f) for f in pathlib.Path(folder).glob('*.cubin')]
    assert of and all(0 < registers <= 255 for _, registers in of), of
    spilled = [x for x in of if x[0] > 0]
    assert len(spilled) <= SPILLED, spilled
    return len(spilled)


def whole(plan):
    """Compiles every role of a plan."""
    for architecture in ('80', '90'):
        for role in ('serve', 'embed', 'deal'):
            with tempfile.TemporaryDirectory() as out:
                many, seconds = kernels(out, role, '--arch', architecture, plan=plan)
                of = [facts(f) for f in pathlib.Path(out).glob('*.cubin')]
            frames = sorted(frame for frame, _ in of if frame)
            assert len(of) == many and max(registers for _, registers in of) <= 255 and len(frames) <= MOST_SPILLED, (plan, role, of)
            print(f'{plan[0]}, {plan[1]} tokens, {role}, sm_{architecture}: {many} kernels in {seconds:.0f} s, at most {max(r for _, r in of)} registers; '
                  f'local memory: {", ".join(map(str, frames)) or "none"}{" bytes" if frames else ""}', flush=True)


def main():
    assert NVRTC, 'no NVRTC: run make setup, or install CUDA'
    if PLANS:
        return [whole(plan) for plan in PLANS]
    with tempfile.TemporaryDirectory() as out:
        many, first = kernels(out, 'embed')
        files = sorted(pathlib.Path(out).glob('*.cubin'))
        assert len(files) == many, (len(files), many)
        spilled = in_registers(out)
        before = {f: f.read_bytes() for f in files}
        changed = bytearray(before[files[0]])
        changed[-1] ^= 1
        files[0].write_bytes(changed)
        files[1].write_bytes(before[files[1]][:100])
        again, second = kernels(out, 'embed')
        assert again == many and all(f.read_bytes()[:13] == b'suf kernel 1\n' for f in files)
        assert len(files[1].read_bytes()) > 100 and files[0].read_bytes() != changed, 'an altered file stayed'
        assert all(f.read_bytes() == before[f] for f in files[2:]), 'a good file was made again'
    with tempfile.TemporaryDirectory() as out:
        older, _ = kernels(out, 'embed', '--arch', '80')
        spilled = max(spilled, in_registers(out))
        assert older == many, (older, many)
    with tempfile.TemporaryDirectory() as out:
        dealt, third = kernels(out, 'deal')
        spilled = max(spilled, in_registers(out))
    print(f'kernels: of a role {spilled} or fewer have local memory')
    print(f'kernels: {many} of the data owner compile for sm_90 in {first:.0f} s, {dealt} of the dealer in {third:.0f} s; with them there {second:.1f} s')


if __name__ == '__main__':
    main()
