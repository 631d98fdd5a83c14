#!/bin/sh
# sanitize.sh [BUILD] [PLAN.json [MODEL]] runs compute-sanitizer's four tools from the repository's root, on a
# machine with a device. Each tool must find the fault that is planted for it (tests/planted.cu), and nothing in a clean
# kernel. Then it must find nothing in the operations of backends_test. If a plan and a model (suf model random) are
# given, inferences of 5 tokens are also checked. All three roles use the device, by the interpreter and then by printed
# kernels.
# The environment may have TOOLS, FILTER (of tests), SECONDS_EACH, SANITIZER (the program) and PRINTED (a cache with the
# plan's kernels). JOBS is the number of concurrent parts of backends_test. racecheck takes minutes for each of 21
# tests. Reports are in BUILD/sanitize/. Exit code 1 if anything is found.
# tests. Reports are in BUILD/sanitize/. Exit code 1 if anything is found.
set -u
build=${1:-build} plan=${2:-} model=${3:-}
: "${TOOLS:=memcheck initcheck racecheck synccheck}" "${FILTER:=Backends.*:Strings.*:Trees.*}" "${SECONDS_EACH:=900}" "${SANITIZER:=compute-sanitizer}" "${JOBS:=1}"
command -v "$SANITIZER" >/dev/null || { echo "gpu_sanitize: there is no $SANITIZER; install CUDA's, or name it by SANITIZER"; exit 1; }
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH="$(cd "$build" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # made by pack.sh
reports=$build/sanitize
mkdir -p "$reports"
work=$(mktemp -d)
failed=$work/failed
touch "$failed"
trap 'rm -rf "$work"' EXIT
: "${PRINTED:=$work/printed}"

# expect CODE NAME TOOL COMMAND.. checks the exit code of a tool on a command. 0: nothing is found and the command
# succeeds; 99: a fault is found.
expect() {
  code=$1 name=$2 tool=$3 begin=$(date +%s)
  shift 3
  timeout "$SECONDS_EACH" "$SANITIZER" --tool "$tool" --error-exitcode 99 --print-limit 20 "$@" >"$reports/$name.$tool.log" 2>&1
  got=$?
  said="as it should"
  # The tests of this part do not use a device.
  if [ $got = 255 ] && grep -q 'terminated before first instrumented' "$reports/$name.$tool.log" && grep -q '\[  PASSED  \]' "$reports/$name.$tool.log"; then got=0; fi
  [ $got = "$code" ] || { said="NOT with $code, see $reports/$name.$tool.log"; echo "$name/$tool" >> "$failed"; }
  echo "$name, $tool: ends with $got, $said, $(($(date +%s) - begin)) s"
}

if [ -n "$plan" ]; then
  [ -n "$model" ] || { model=$work/model; "$build/suf" model random --preset bert-tiny --seed 1 --out "$model"; }
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  XDG_CACHE_HOME=$PRINTED "$build/suf" kernels --plan "$plan" --tokens 5 --arch "$capability"
fi
for tool in $TOOLS; do
  case $tool in
  memcheck) fault=out_of_bounds ;;
  initcheck) fault=uninitialised ;;
  racecheck) fault=race ;;
  synccheck) fault=barrier ;;
  *) echo "gpu_sanitize: there is no tool $tool; take memcheck, initcheck, racecheck or synccheck"; exit 2 ;;
  esac
  expect 99 "planted_$fault" "$tool" "$build/tests/planted" "$fault"
  expect 0 planted_none "$tool" "$build/tests/planted" none
  for way in ${plan:+interpreter printed}; do  # the interpreter's folder of kernels stays empty
    [ $way = printed ] && XDG_CACHE_HOME=$PRINTED || XDG_CACHE_HOME=$work/empty
    export XDG_CACHE_HOME
    expect 0 "inference_$way" "$tool" "$build/inference_bench" "$model" "$plan" 5 1 cuda
  done
  unset XDG_CACHE_HOME
  for part in $(seq 0 $((JOBS - 1))); do
    GTEST_TOTAL_SHARDS=$JOBS GTEST_SHARD_INDEX=$part expect 0 "backends_$part" "$tool" "$build/backends_test" "--gtest_filter=$FILTER" &
  done
  wait
done
[ ! -s "$failed" ] || { echo "gpu_sanitize: not as it should be: $(tr '\n' ' ' < "$failed" | sed 's/ $//')"; exit 1; }
echo "gpu_sanitize: clean"
