#!/bin/sh
# host_test.sh BUILD tests the host code for NVIDIA devices without a device. It builds with SUF_CUDA=ON in a folder
# of its own (nvcc from the machine, or from tools/cuda.sh). Then it runs the tests double, kernels and cuda.
set -eu
cd "$(dirname "$0")/../.."
build=$1
tools/cuda.sh
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSUF_CUDA=ON -DSUF_BENCH=OFF > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
ninja -C "$build" suf suf_without_cuda trace_digest double_test > "$build.log" 2>&1 || { tail -n 40 "$build.log"; exit 1; }
ctest --test-dir "$build" --output-on-failure --no-tests=error -R '^(double|kernels|cuda)$'
