#!/bin/sh
# run.sh BUILD SECONDS [TARGET..]: builds the libFuzzer programs, runs each for SECONDS over its committed corpus and
# prints its executions; new inputs stay in BUILD/found, a finding ends the run with its input in BUILD.
set -eu
cd "$(dirname "$0")/.."
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(ls fuzz/corpus)
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DSUF_FUZZ=ON -DSUF_BENCH=OFF > "$build.log" || { cat "$build.log"; exit 1; }
ninja -C "$build" fuzzers > "$build.log" || { cat "$build.log"; exit 1; }
for target in "$@"; do
  mkdir -p "$build/found/$target"
  "$build/fuzz/fuzz_$target" "$build/found/$target" "fuzz/corpus/$target" -max_total_time="$seconds" -max_len=8192 -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$build/" -print_final_stats=1 > "$build/$target.log" 2>&1 || { tail -40 "$build/$target.log"; exit 1; }
  sed -n "s/^stat::number_of_executed_units: */$target: executions /p" "$build/$target.log"
done
