#!/bin/sh
# gpu_test.sh [FOLDER]: every test of a build folder that uses a device, from the repository's root, on a machine that needs a
# driver, a device and no compiler: the programs *_cuda_test, and the tests that take every backend that this machine has: operations,
# gates, layers, whole tiny models of 3 to 40 tokens, other randomness (simulatability), audits, and the matrix
# lowering x backend x function. JOBS of them run at a time (1), the long ones in as many parts; but those that look at
# the device's free memory or give a peer seconds run alone. ONLY, a pattern, picks programs by their names. What a test prints goes to
# FOLDER/gpu_test/, and of one that fails here. Ends with 1 if one fails, or if there is none.
set -u
: "${JOBS:=1}"
folder=${1:-build}
logs=$folder/gpu_test
[ ! -d "$folder/lib" ] || export LD_LIBRARY_PATH="$(cd "$folder" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # of gpu_pack.sh
mkdir -p "$logs"
rm -f "$logs"/*

# tests JOBS: those whose commands come on standard input
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
if [ -x "$folder/suf" ] && echo matrix_audits | grep -q "${ONLY:-.}"; then  # its roles take a device where there is one; the matrix has a column of it
  together="${together}python3 tests/matrix_test.py $folder/suf $logs/matrix.txt 1
"
  alone="${alone}python3 tests/audits_test.py $folder/suf
"
fi
[ -n "$together$alone" ] || { echo "gpu_test: $folder has no tests of a device; build them where nvcc is"; exit 1; }
printf %s "$together" | tests "$JOBS"
printf %s "$alone" | tests 1
many=$(printf %s "$together$alone" | wc -l)
failed=$(cat "$logs"/*.failed 2>/dev/null | tr '\n' ' ' | sed 's/ $//')
[ -z "$failed" ] || { echo "gpu_test: of $many programs failed: $failed"; exit 1; }
echo "gpu_test: all $many programs pass"
