#!/bin/sh
# run.sh BUILD LENGTH [TARGET..]: builds the libFuzzer programs and runs each over its committed corpus, two at a time.
# Each runs on one core, because handing over between a target's threads takes three times as long across cores.
# LENGTH is one of: seconds; runs:N for N executions each (the long run: fuzz/run.sh build-fuzz runs:10000000); or
# `build`. `build` runs no target, and also builds tests/trace_digest. Prints a line for each target. New inputs stay in
# BUILD/found, logs in BUILD/TARGET.log, the input of a finding in BUILD.
set -eu
cd "$(dirname "$0")/.."
build=$1 length=$2
shift 2
command -v clang++-19 > /dev/null || { echo "fuzz: there is no clang++-19, which has libFuzzer; run tools/setup.sh, which installs it" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(ls fuzz/corpus)
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DSUF_FUZZ=ON -DSUF_BENCH=OFF > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
programs=fuzzers
[ "$length" != build ] || programs="fuzzers trace_digest"
ninja -C "$build" $programs > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
[ "$length" != build ] || exit 0
export CORES="$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')"
# A process runs half a million executions at most, because AddressSanitizer keeps data of every past thread and slows
# down.
one='
  core=$(echo $CORES | awk -v slot=$SLOT "{ print \$(slot % NF + 1) }")
  mkdir -p "$0/found/$2"
  : > "$0/$2.log"
  left=${1#runs:}
  while [ "$left" -gt 0 ]; do
    part=$left limit=-max_total_time=$left
    case $1 in runs:*) [ "$part" -le 500000 ] || part=500000; limit=-runs=$part ;; esac
    left=$((left - part))
    taskset -c "$core" "$0/fuzz/fuzz_$2" "$0/found/$2" "fuzz/corpus/$2" "$limit" -max_len=2048 -timeout=25 -rss_limit_mb=2048 \
      -artifact_prefix="$0/$2-" -print_final_stats=1 >> "$0/$2.log" 2>&1 || { echo "$2: a finding"; tail -40 "$0/$2.log"; exit 255; }
  done
  awk -v target="$2" "/^Done/ { runs += \$2; seconds += \$5 } END { print target \": \" runs \" executions in \" seconds \" s\" }" "$0/$2.log"'
printf '%s\n' "$@" | xargs --process-slot-var=SLOT -P "${JOBS:-2}" -n 1 sh -euc "$one" "$build" "$length"
