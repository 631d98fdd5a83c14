#!/usr/bin/env python3
"""`suf kernels`: every group of a role compiles without a device; what is in the folder serves the next call; a file that was altered is made again.

  kernels_test.py SUF SOURCE     needs NVRTC, which set-up installs beside nvcc or which is CUDA's own; about a minute of two cores
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SUF, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
PLACES = [SOURCE / '.cuda/nvidia/cu13/lib', pathlib.Path('/usr/local/cuda/lib64'), *[pathlib.Path(n).resolve().parent.parent / 'lib64' for n in [shutil.which('nvcc')] if n]]
NVRTC = [d for d in PLACES if list(d.glob('libnvrtc.so.1[23]'))]


def kernels(out, *more):
    begin = time.monotonic()
    done = subprocess.run([SUF, 'kernels', '--plan', SOURCE / 'tests/data/tiny_plan.json', '--tokens', '3', '--role', 'embed', '--out', out, *more],
                          capture_output=True, text=True, timeout=600, env={**os.environ, 'LD_LIBRARY_PATH': str(NVRTC[0])})
    assert (done.returncode, done.stderr) == (0, ''), done
    made, of = done.stdout.split()[1:4:2]
    assert made == of and int(of) > 20, done.stdout
    return int(of), time.monotonic() - begin


def main():
    assert NVRTC, 'no NVRTC: run make setup, or install CUDA'
    with tempfile.TemporaryDirectory() as out:
        many, first = kernels(out)
        files = sorted(pathlib.Path(out).glob('*.cubin'))
        assert len(files) == many, (len(files), many)
        before = {f: f.read_bytes() for f in files}
        changed = bytearray(before[files[0]])
        changed[-1] ^= 1
        files[0].write_bytes(changed)
        files[1].write_bytes(before[files[1]][:100])
        again, second = kernels(out)
        assert again == many and all(f.read_bytes()[:13] == b'suf kernel 1\n' for f in files)
        assert len(files[1].read_bytes()) > 100 and files[0].read_bytes() != changed, 'an altered file stayed'
        assert all(f.read_bytes() == before[f] for f in files[2:]), 'a good file was made again'
    print(f'kernels: {many} of the data owner compile for sm_90 in {first:.0f} s; with them there {second:.1f} s')


if __name__ == '__main__':
    main()
