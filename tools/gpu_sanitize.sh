#!/bin/sh
# gpu_sanitize.sh [BUILD] [PLAN.json [MODEL]]: compute-sanitizer's four tools, on a machine with a device and the sanitizer, from the
# repository's root. First each tool must find the fault that is planted for it (tests/planted.cu) and nothing in a clean kernel. Then
# it must find nothing in the operations of backends_cuda_test and, for a plan and a model (suf model random), in inferences of
# 5 tokens with all three roles on the device: by the interpreter, and by printed kernels. TOOLS, FILTER (of tests), SECONDS_EACH
# and SANITIZER (the program) may be given in the environment. Reports go to BUILD/sanitize/. Ends with 1 if anything is found.
set -u
build=${1:-build} plan=${2:-} model=${3:-}
: "${TOOLS:=memcheck initcheck racecheck synccheck}" "${FILTER:=*}" "${SECONDS_EACH:=900}" "${SANITIZER:=compute-sanitizer}"
command -v "$SANITIZER" >/dev/null || { echo "gpu_sanitize: there is no $SANITIZER; install CUDA's, or name it by SANITIZER"; exit 1; }
reports=$build/sanitize
mkdir -p "$reports"
failed=""

# checked NAME TOOL COMMAND..: 0 if the tool finds nothing and the command ends well
checked() {
  name=$1 tool=$2
  shift 2
  timeout "$SECONDS_EACH" "$SANITIZER" --tool "$tool" --error-exitcode 99 --print-limit 20 "$@" >"$reports/$name.$tool.log" 2>&1
}
clean() {
  begin=$(date +%s)
  checked "$@"
  code=$?
  echo "$1, $2: $([ $code = 0 ] && echo clean || echo "ends with $code, see $reports/$1.$2.log"), $(($(date +%s) - begin)) s"
  [ $code = 0 ] || failed="$failed $1/$2"
}
planted() {
  checked "planted_$2" "$1" "$build/tests/planted" "$2"
  code=$?
  echo "planted $2, $1: $([ $code = 99 ] && echo found || echo "NOT FOUND ($code)")"
  [ $code = 99 ] || failed="$failed planted_$2/$1"
}

for tool in $TOOLS; do
  case $tool in
  memcheck) planted memcheck out_of_bounds ;;
  initcheck) planted initcheck uninitialised ;;
  racecheck) planted racecheck race ;;
  synccheck) planted synccheck barrier ;;
  esac
  clean planted_none "$tool" "$build/tests/planted" none
done
if [ -n "$plan" ]; then
  made=""
  [ -n "$model" ] || { model=$(mktemp -d)/model made=$model; "$build/suf" model random --preset bert-tiny --seed 1 --out "$model"; }
  none=$(mktemp -d) kernels=$(mktemp -d)
  major=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  XDG_CACHE_HOME=$kernels "$build/suf" kernels --plan "$plan" --tokens 5 --arch "$major"
  for tool in $TOOLS; do
    for way in interpreter printed; do
      cache=$none
      [ $way = interpreter ] || cache=$kernels
      export XDG_CACHE_HOME=$cache
      clean "inference_$way" "$tool" --target-processes all "$build/inference_bench" "$model" "$plan" 5 1 cuda
    done
  done
  unset XDG_CACHE_HOME
  rm -rf "$none" "$kernels" ${made:+"$(dirname "$made")"}
fi
for tool in $TOOLS; do
  clean backends "$tool" "$build/backends_cuda_test" "--gtest_filter=$FILTER:-TrapTest.*"
done
[ -z "$failed" ] || { echo "gpu_sanitize: found something in:$failed"; exit 1; }
echo "gpu_sanitize: clean"
