#!/usr/bin/env python3
"""Checks the backend cuda where it cannot run, in a build without CUDA and in this one. The subjects are the messages
of --version, suf backends, the roles and a configuration, and the choice of auto. No device is used even if there is
one.

  cuda_test.py SUF SUF_WITHOUT CMAKE SOURCE     SUF_WITHOUT: the program as -DSUF_CUDA=OFF builds it; needs some seconds
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

SUF, WITHOUT, CMAKE, SOURCE = sys.argv[1:5]
# The source of a driver for the CUDA version in DRIVER, without a device.
DRIVER = """#include <cstdlib>
#include <cstring>
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) { return *v = std::atoi(std::getenv("DRIVER")), 0; }
int cuDeviceGetCount(int* n) { return *n = 0; }
int none() { return 100; }
int cuGetProcAddress_v2(const char* name, void** f, int, unsigned long long, int* status) {
  *f = !std::strcmp(name, "cuInit") ? (void*)cuInit : !std::strcmp(name, "cuDriverGetVersion") ? (void*)cuDriverGetVersion
     : !std::strcmp(name, "cuDeviceGetCount") ? (void*)cuDeviceGetCount
     : !std::strcmp(name, "cuGetProcAddress") ? (void*)cuGetProcAddress_v2 : (void*)none;
  if (status) *status = 0;
  return 0;
}
}
"""
NOT_BUILT = 'this suf was built without CUDA; build it where nvcc is'
PLAN = f'{SOURCE}/tests/data/tiny_plan.json'


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **options)


def backend(program):
    return next(b for b in json.loads(run(program, 'backends', '--json').stdout)['backends'] if b['name'] == 'cuda')


def commands(folder):
    """Returns every command that has --backend; without a peer it ends early."""
    peers = f'--certs {folder}/certs --dealer 127.0.0.1:1 --store {folder}/store'
    return {'fn run': 'fn run relu --x 1', 'fn cost': 'fn cost relu',
            'deal': f'deal --plan {PLAN} --certs {folder}/certs --listen 127.0.0.1:0',
            'serve': f'serve --plan {PLAN} --model /nowhere {peers} --listen 127.0.0.1:0',
            'embed': f'embed --plan {PLAN} --vocab /nowhere {peers} --connect 127.0.0.1:1 --ids {folder}/ids',
            'fn serve': f'fn serve --plan {folder}/relu.plan {peers} --listen 127.0.0.1:0',
            'fn ask': f'fn ask --plan {folder}/relu.plan {peers} --connect 127.0.0.1:1 --values {folder}/ids',
            'demo': f'demo --model /nowhere --file {folder}/ids'}


def says(program, command, code, sentence, *options):
    done = run(program, *command.split(), *options)
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout, last) == (code, '', f'suf: {sentence}'), (command, options, done)


def roles(folder):
    """Checks that --backend cuda ends with one sentence and code 5, and that --device is only for it."""
    found = backend(SUF)
    for name, command in commands(folder).items():
        says(WITHOUT, command, 5, f'{NOT_BUILT}, or use --backend packed', '--backend', 'cuda')
        says(WITHOUT, command, 2, '--device numbers NVIDIA devices, and the backend clear has none; leave it out, or use --backend cuda',
             '--backend', 'clear', '--device', '1')
        assert run(WITHOUT, *command.split(), '--device', '-1').returncode == 2, name
        if not found['runs']:
            says(SUF, command, 5, found['why_not'].replace('or use packed', 'or use --backend packed'), '--backend', 'cuda')
        elif name != 'deal':
            done = run(SUF, *command.split(), '--backend', 'cuda', '--device', '4096')
            assert done.returncode == 5 and re.search('needs device 4096, and the driver shows [1-9]', done.stderr), done


def auto(folder):
    """Checks that auto falls back to packed and says why in one line if a device was requested. Log and results name
    the backend."""
    for program, options in (WITHOUT, ('--device', '0')), (SUF, ('--device', '4096')):
        done = run(program, *commands(folder)['embed'].split(), '--backend', 'auto', *options)
        why = NOT_BUILT if program == WITHOUT else '(this suf was built without CUDA|the backend cuda needs ).*'
        lines = [line for line in done.stderr.splitlines() if re.search(rf' embed: the backend is packed/\w+ \(auto: {why}\)$', line)]
        assert done.returncode == 3 and len(lines) == 1, done
        row = json.loads(run(program, 'fn', 'run', 'relu', '--x', '3', '--backend', 'auto', *options, '--json').stdout)
        assert row['backend'] == 'packed' and row['equal'], row


def drivers(folder):
    """Checks the messages of a driver that is too old, and of one without a device."""
    (folder / 'driver.cpp').write_text(DRIVER)
    made = run('g++', '-shared', '-fPIC', '-w', folder / 'driver.cpp', '-o', folder / 'libcuda.so.1')
    assert made.returncode == 0, made
    for version, sentence in ((11080, r'needs a driver for CUDA 1[2-9]\.\d or newer, and this machine\'s is for 11\.8; update the driver'),
                              (99000, r'needs an NVIDIA device, and the driver shows none \(.+\); see what nvidia-smi says')):
        done = run(SUF, 'fn', 'run', 'relu', '--x', '1', '--backend', 'cuda', env={**os.environ, 'LD_LIBRARY_PATH': str(folder), 'DRIVER': str(version)})
        assert done.returncode == 5 and re.fullmatch(f'suf: the backend cuda {sentence}, or use --backend packed\n', done.stderr), done


def builds():
    """Checks that --version and the list say what was built, and why it does not run."""
    form = r'suf \d+\.\d+\.\d+, plan version \d+, wire version \d+, OpenSSL [0-9.]+, '
    assert re.fullmatch(form + 'without cuda\n', run(WITHOUT, '--version').stdout)
    lacks, has = backend(WITHOUT), backend(SUF)
    assert not lacks['built'] and not lacks['runs'] and lacks['why_not'] == f'{NOT_BUILT}, or use packed' and NOT_BUILT in run(WITHOUT, 'backends').stdout
    version = run(SUF, '--version').stdout
    if has['built']:
        assert re.fullmatch(form + r'cuda with nvcc \d+\.\d+ for (sm|compute)_\d+(, (sm|compute)_\d+)*\n', version), version
        assert has['runs'] or has['why_not'].startswith('the backend cuda needs ')
    else:
        assert version == run(WITHOUT, '--version').stdout and has == lacks
    assert has['runs'] or has['why_not'] in run(SUF, 'backends').stdout


def estimates():
    """Checks that suf estimate with --device gives a role's use of a device without one. A build without CUDA says
    that it cannot."""
    command = ['estimate', '--plan', PLAN, '--tokens', 7]
    done = run(WITHOUT, *command, '--device')
    assert done.returncode == 5 and done.stderr == f'suf: {NOT_BUILT}\n', done
    plain = json.loads(run(SUF, *command, '--json').stdout)
    assert 'device' not in plain
    if not backend(SUF)['built']:
        return
    cost = json.loads(run(SUF, *command, '--device', '--json').stdout)
    device = cost.pop('device')
    assert cost == plain and list(device) == ['dealer', 'p0', 'p1'], device
    for name, of in device.items():
        assert of['total_bytes'] == sum(of[part] for part in ('values', 'codes', 'weights', 'inputs')) > 0, (name, of)
        assert of['launches'] > 100 and (of['weights'] > 0 or name == 'dealer'), (name, of)
    text = run(SUF, *command, '--device').stdout
    for name, of in zip(('dealer', 'model owner', 'data owner'), device.values()):
        assert re.search(rf'on a device the {name} has .* and runs at least {of["launches"]} kernels\n', text), text


def configurations(folder):
    """Checks configurations: ON fails without nvcc; OFF and an old nvcc leave cuda out, and the summary says so."""
    old = folder / 'nvcc'
    old.write_text('#!/bin/sh\necho "Cuda compilation tools, release 11.8, V11.8.89"\n')
    old.chmod(0o755)

    def configure(*options):
        with tempfile.TemporaryDirectory() as build:
            done = run(CMAKE, '-S', SOURCE, '-B', build, '-DSUF_MYL7=OFF', f'-DSUF_CUDA_FOLDER={folder}', *options)
        return done.returncode, ' '.join((done.stdout + done.stderr).split())

    code, text = configure('-DSUF_CUDA=ON', f'-DSUF_NVCC={folder}/none')
    assert code and 'SUF_CUDA is ON and needs nvcc 12.4 or newer, but found none; install' in text, text
    code, text = configure('-DSUF_CUDA_DRIVER=/none')
    assert code == 0 and 'backend cuda: not built (SUF_CUDA is AUTO and this machine has no NVIDIA driver)' in text, text
    code, text = configure(f'-DSUF_NVCC={old}', f'-DSUF_CUDA_DRIVER={old}')
    assert code == 0 and 'backend cuda: not built (SUF_CUDA is AUTO and needs nvcc 12.4 or newer; found 11.8)' in text, text
    code, text = configure('-DSUF_CUDA=OFF')
    assert code == 0 and 'backend cuda: not built (SUF_CUDA is OFF)' in text, text


def gpu_test(folder):
    """Checks that tools/gpu/test.sh runs every program of a folder, and ends with 1 if one fails or none is there."""
    def tested():
        done = run(f'{SOURCE}/tools/gpu/test.sh', folder / 'programs')
        return done.returncode, re.sub(r', \d+ s$', '', done.stdout, flags=re.M).splitlines()

    (folder / 'programs').mkdir()
    assert tested() == (1, [f'gpu_test: {folder}/programs has no tests of a device; build them where nvcc is'])
    for name, code in ('a', 0), ('b', 3), ('c', 0), ('d', 1):
        program = folder / f'programs/{name}_cuda_test'
        program.write_text(f'#!/bin/sh\necho {name} ran\nexit {code}\n')
        program.chmod(0o755)
    assert tested() == (1, ['a_cuda_test passes', 'b ran', 'b_cuda_test FAILS with 3', 'c_cuda_test passes', 'd ran', 'd_cuda_test FAILS with 1',
                            'gpu_test: of 4 programs failed: b_cuda_test (3) d_cuda_test (1)'])
    for name in 'bd':
        (folder / f'programs/{name}_cuda_test').unlink()
    assert tested() == (0, ['a_cuda_test passes', 'c_cuda_test passes', 'gpu_test: all 2 programs pass'])


def gpu_pack(folder):
    """Checks that tools/gpu/pack.sh packs programs with their libraries, and names missing ones."""
    def packed(program):
        done = run(f'{SOURCE}/tools/gpu/pack.sh', pathlib.Path(SUF).parent, folder / 'pack.tar.xz', program)
        return done.returncode, done.stdout
    code, said = packed('none')
    assert code == 1 and 'has no none; build it first' in said, said
    code, said = packed('tests/trace_digest')
    assert code == 0 and said.startswith('gpu_pack: 1 programs, '), said
    with tarfile.open(folder / 'pack.tar.xz') as tar:
        names = tar.getnames()
    assert {'build/tests/trace_digest', 'build/lib/libstdc++.so.6'} <= set(names) and not any('libc.so' in n for n in names), names


def main():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        (folder / 'ids').write_text('1 2 3\n')
        assert run(SUF, 'certs', folder / 'certs').returncode == 0
        assert run(SUF, 'fn', 'plan', 'relu', '--from', 'p0', '--to', 'both', '--out', folder / 'relu.plan').returncode == 0
        builds()
        roles(folder)
        auto(folder)
        estimates()
        if backend(SUF)['built']:
            drivers(folder)
        gpu_test(folder)
        gpu_pack(folder)
        configurations(folder)
    print('all hold')


if __name__ == '__main__':
    main()
