#!/bin/sh
# test.sh [FOLDER] runs every test of a build folder that uses a device, from the repository's root. The machine
# needs a driver and a device, but no compiler. The tests are the programs *_cuda_test and those that run every
# available backend. Their subjects are operations, gates, layers, tiny models of 3 to 40 tokens and other randomness
# (simulatability). They also are audits and the matrix lowering x backend x function.
# JOBS of them run at a time (default 1), and long ones are cut into JOBS parts. Tests that measure free device memory
# or have time limits run alone. ONLY, a pattern, picks programs by name. Output goes to FOLDER/gpu_logs/, that of
# failures also here. Exit code 1 if a test fails, or if there is none.
set -u
: "${JOBS:=1}"
folder=${1:-build}
logs=$folder/gpu_logs
[ ! -d "$folder/lib" ] || export LD_LIBRARY_PATH="$(cd "$folder" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # made by pack.sh
mkdir -p "$logs" || exit 1
rm -f "$logs"/*

# tests JOBS runs the commands on standard input, JOBS at a time.
tests() {
  xargs -P "$1" -I{} sh -c '
    logs=$1 test=$2 begin=$(date +%s)
    name=$(echo "$test" | sed "s,^env [^ ]* [^ =]*=\([0-9]*\) \(.*\),\2.\1,; s,^python3 tests/,,; s, .*,,; s,.*/,,")
    $test > "$logs/$name.log" 2>&1
    code=$? said=passes
    [ $code = 0 ] || { tail -n 60 "$logs/$name.log"; echo "$name ($code)" > "$logs/$name.failed"; said="FAILS with $code"; }
    echo "$name $said, $(($(date +%s) - begin)) s"' sh "$logs" {}
}

together="" alone=""
for program in "$folder"/*_cuda_test "$folder"/backends_test "$folder"/gates_test "$folder"/nn_test "$folder"/model_test "$folder"/tests/simulatable_test; do
  [ -x "$program" ] || continue
  echo "$program" | grep -q "${ONLY:-.}" || continue
  case $program in
  */gpu_cuda_test | */frames_cuda_test) alone="$alone$program
" ;;
  */backends_test | */gates_test | */model_test | */simulatable_test)
    for part in $(seq 0 $((JOBS - 1))); do
      together="${together}env GTEST_TOTAL_SHARDS=$JOBS GTEST_SHARD_INDEX=$part $program
"
    done ;;
  *) together="$together$program
" ;;
  esac
done
if [ -x "$folder/suf" ] && echo matrix_audits | grep -q "${ONLY:-.}"; then  # its roles use a device if there is one, and the matrix has a column for it
  together="${together}python3 tests/matrix_test.py $folder/suf $logs/matrix.txt 1
"
  alone="${alone}python3 tests/network/audits_test.py $folder/suf
"
fi
[ -n "$together$alone" ] || { echo "gpu_test: $folder has no tests of a device; build them where nvcc is"; exit 1; }
printf %s "$together" | tests "$JOBS"
printf %s "$alone" | tests 1
many=$(printf %s "$together$alone" | wc -l)
failed=$(cat "$logs"/*.failed 2>/dev/null | tr '\n' ' ' | sed 's/ $//')
[ -z "$failed" ] || { echo "gpu_test: of $many programs failed: $failed"; exit 1; }
echo "gpu_test: all $many programs pass"
