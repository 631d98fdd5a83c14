#!/bin/sh
# gpu_test.sh [FOLDER]: every *_cuda_test program of a folder (build), one after another, from the repository's root, on
# a machine that needs a driver, a device and no compiler. Ends with 1 if one fails, or if there is none.
set -u
folder=${1:-build}
ran=0 failed=""
for program in "$folder"/*_cuda_test; do
  [ -x "$program" ] || continue
  ran=$((ran + 1))
  if "$program"; then :; else failed="$failed ${program##*/} ($?)"; fi
done
[ $ran -gt 0 ] || { echo "gpu_test: $folder has no *_cuda_test; build them where nvcc is"; exit 1; }
[ -z "$failed" ] || { echo "gpu_test: of $ran programs failed:$failed"; exit 1; }
echo "gpu_test: all $ran programs pass"
