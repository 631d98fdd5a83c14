#!/bin/sh
# Installs CUDA's compiler into .cuda if there is no nvcc 12.4 or newer. It downloads 200 MB and takes 490 MB;
# tools/cuda.txt has the hashes. Tests use it to compile and link device code and to count its launches. `make run`
# never needs it.
set -eu
cd "$(dirname "$0")/.."
for nvcc in /usr/local/cuda/bin/nvcc "$(command -v nvcc || true)"; do
  version=$("$nvcc" --version 2> /dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p') || true
  if [ -n "$version" ] && [ "$(printf '12.4\n%s\n' "$version" | sort -V | head -n 1)" = 12.4 ]; then exit 0; fi
done
if ! cmp -s tools/cuda.txt .cuda/ready; then
  echo "setup: installing CUDA's compiler into .cuda" >&2
  rm -rf .cuda
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --target .cuda -r tools/cuda.txt
  # The names that nvcc and CMake expect.
  ln -s lib .cuda/nvidia/cu13/lib64
  ln -s libcudart.so.13 .cuda/nvidia/cu13/lib/libcudart.so
  cp tools/cuda.txt .cuda/ready
fi
