#!/bin/sh
# ct.sh [BUILD] checks constant time, and the release programs, under valgrind (which hides AVX-512). It builds with g++
# in BUILD (build) and with clang++-19 in build-clang/. Planted leaks must be reported, anything else must not. Then it
# times the kernels of every variant, including AVX-512; use an idle machine. The builds and the times take minutes
# each, the checks about one minute.
set -eu
cd "$(dirname "$0")/.."
main=${1:-build}
launcher=""
if command -v ccache > /dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
cmake -S . -B "$main" -G Ninja $launcher > /dev/null
ninja -C "$main" ct_test ct_timing suf inference_bench
cmake -S . -B build-clang -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 $launcher > /dev/null
ninja -C build-clang ct_test
for build in "$main" build-clang; do
  echo "== $build: secrets undefined"
  tests/ct/check.sh $build/tests/ct/ct_test
  for leak in branch index blind; do
    tests/ct/check.sh $build/tests/ct/ct_test --planted $leak > /dev/null
    echo "planted $leak: reported"
  done
done
echo "== the release programs"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$main"/suf model random --preset tiny --seed 1 --out "$dir/model" > /dev/null
"$main"/suf compile --model "$dir/model" --calibrate tests/data/calibrate.txt --max-tokens 16 --out "$dir/plan" > /dev/null
echo "the words of it" > "$dir/text"
memcheck="valgrind -q --error-exitcode=9"
$memcheck "$main"/suf simulate --model "$dir/model" --plan "$dir/plan" --file "$dir/text" --json > "$dir/clear"
$memcheck "$main"/inference_bench "$dir/model" "$dir/plan" 4 1 > /dev/null
echo "suf simulate, inference_bench: no reports"
printf 'three processes: '
python3 tests/machine/memcheck_test.py "$main"/suf
echo "== times: Welch's t of a fixed secret against random ones"
"$main"/tests/ct/ct_timing
