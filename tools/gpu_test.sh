#!/bin/sh
# gpu_test.sh [FOLDER]: every test of a build folder that uses a device, one after another, from the repository's root, on a machine
# that needs a driver, a device and no compiler: the programs *_cuda_test, and the tests whose roles take every backend
# that this machine has, in turn: gates, layers, whole tiny models of 3 to 40 tokens, other randomness (simulatability), audits,
# and the matrix lowering x backend x function.
# Ends with 1 if one fails, or if there is none.
set -u
folder=${1:-build}
ran=0 failed=""
for program in "$folder"/*_cuda_test "$folder"/gates_test "$folder"/nn_test "$folder"/model_test "$folder"/tests/simulatable_test; do
  [ -x "$program" ] || continue
  ran=$((ran + 1))
  if "$program"; then :; else failed="$failed ${program##*/} ($?)"; fi
done
if [ -x "$folder/suf" ]; then  # its roles take a device where there is one; the matrix has a column of it
  ran=$((ran + 2))
  python3 tests/audits_test.py "$folder/suf" || failed="$failed audits ($?)"
  python3 tests/matrix_test.py "$folder/suf" "$folder/matrix.txt" 1 || failed="$failed matrix ($?)"
fi
[ $ran -gt 0 ] || { echo "gpu_test: $folder has no tests of a device; build them where nvcc is"; exit 1; }
[ -z "$failed" ] || { echo "gpu_test: of $ran programs failed:$failed"; exit 1; }
echo "gpu_test: all $ran programs pass"
