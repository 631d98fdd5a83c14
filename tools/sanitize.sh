#!/bin/sh
# Finds memory errors, undefined behaviour and data races with clang++-19's sanitizers. They run over the unit tests of
# all modules and over real processes (embed_test.py, audits_test.py, inputs_test.py). Rows of owners_test.py and
# search_parties_test.py have sessions side by side. Tests of time limits are left out.
#
#    build-asan   AddressSanitizer and UndefinedBehaviorSanitizer
#    build-tsan   ThreadSanitizer
#
# Nothing is suppressed. tools/sanitize.sh [asan|tsan] [PART]; JOBS is the number of compilers. Prints one line per
# test; exit code 1 if one failed. PART is `build`, which runs nothing. Or it is a module or
# `processes`, which compile nothing.
set -u
cd "$(dirname "$0")/.."
JOBS=${JOBS:-2}
MODULES=$(find suf -name "*_test.cpp" ! -path "*/cuda/*" | cut -d/ -f2 | sort -u)
failed=0

# build DIR FLAGS TARGET..
build() {
  dir=$1 flags=$2; shift 2
  ccache=; command -v ccache > /dev/null && ccache=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  { cmake -S . -B "$dir" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release \
      -DSUF_BENCH=OFF -DCMAKE_CXX_FLAGS="-fno-omit-frame-pointer $flags" $ccache && nice ninja -C "$dir" -j "$JOBS" "$@"; } > "$dir.log" 2>&1 \
    || { tail -n 40 "$dir.log"; echo "$dir did not build; see $dir.log"; exit 1; }
}

# check DIR NAME COMMAND.. runs a command; its output is in DIR/NAME.txt.
check() {
  out=$1/$2.txt name="$1 $2"; shift 2
  begun=$(date +%s)
  if nice "$@" > "$out" 2>&1 && ! grep -qE 'runtime error:|ERROR: .*Sanitizer|WARNING: ThreadSanitizer' "$out"; then verdict=ok
  else verdict="FAILED, see $out" failed=1
  fi
  passed=$(awk '/^\[  PASSED  \]/ { n += $4 } /^ok  / { ++n } END { print n + 0 }' "$out")
  total=$((total + passed))
  printf '%-20s %4d passed %4d s  %s\n' "$name" "$passed" $(($(date +%s) - begun)) "$verdict"
}

# suite DIR FLAGS
suite() {
  dir=$1 total=0 start=$(date +%s)
  case "$only" in
    "" | build) build "$dir" "$2" suf $(for module in $MODULES; do echo "${module}_test"; done) ;;
  esac
  built=$(date +%s)
  [ "$only" = build ] && return
  for module in $MODULES; do
    case "$only" in "" | "$module") check "$dir" "$module" "$dir/${module}_test" --gtest_brief=1 ;; esac
  done
  case "$only" in "" | processes) processes ;; esac
  echo "$dir: $total passed; $((built - start)) s to build, $(($(date +%s) - built)) s to run"
}

# Sessions of real processes.
processes() {
  # The roles forbid tracing, which the search for leaks needs, so memcheck_test.py searches for leaks. The report of a
  # role that the test kills at the end is in a file.
  rm -f "$dir"/report.*
  log=log_path=$PWD/$dir/report
  # Of owners: four data owners, eight sessions of one, two owners with two sessions of batches, sessions with audits.
  # Of searches: parallel sessions, fetches, preprocessed keys.
  for test in embed network/audits inputs "network/owners ^(four|eight|two|several)" "search_parties ^(three|a_fetch|own|stored)"; do
    set -- $test
    check "$dir" "$(basename $1)" env ASAN_OPTIONS=detect_leaks=0:$log TSAN_OPTIONS=$log python3 tests/$1_test.py "$dir/suf" ${2:+"$2"}
  done
  for report in "$dir"/report.*; do
    [ -e "$report" ] && { echo "$report: a role's report"; failed=1; }
  done
}

asan() {
  export UBSAN_OPTIONS=print_stacktrace=1
  suite build-asan "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
}

tsan() { suite build-tsan "-fsanitize=thread -DSUF_CLONES="; }

only=${2:-}
case " build processes "$(echo $MODULES)" " in
  *" $only "*) ;;
  *) [ -z "$only" ] || { echo "usage: tools/sanitize.sh [asan|tsan] [build|processes|MODULE]" >&2; exit 2; } ;;
esac
case "${1:-all}" in
  asan) asan ;;
  tsan) tsan ;;
  all) asan; tsan ;;
  *) echo "usage: tools/sanitize.sh [asan|tsan] [build|processes|MODULE]" >&2; exit 2 ;;
esac
[ "$only" = build ] && exit
[ $failed -eq 0 ] && echo "all clean"
exit $failed
