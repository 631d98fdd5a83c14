#!/bin/sh
# search.sh [FOLDER [PRESET [DOCUMENTS]]] searches an index with all three roles on a device, from the repository's
# root. FOLDER is a build folder, or one that pack.sh packed. The model has random weights. suf demo compares each hit
# with the simulator, which runs on the CPU, and prints times. BACKEND=packed runs the same without a device. Exit code
# 1 if a hit differs.
set -eu
folder=${1:-build} preset=${2:-minilm} documents=${3:-2000}
suf=$folder/suf
[ ! -d "$folder/lib" ] || export LD_LIBRARY_PATH="$(cd "$folder" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # made by pack.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# texts COUNT SEED prints texts of four words of the calibration texts.
texts() {
  tr -cs 'a-z' '\n' < tests/data/calibrate.txt | awk -v count="$1" -v seed="$2" '
    length > 2 { w[n++] = $0 }
    END { srand(seed); while (count--) print w[int(rand() * n)], w[int(rand() * n)], w[int(rand() * n)], w[int(rand() * n)] }'
}

"$suf" model random --preset "$preset" --seed 1 --out "$work/model" > "$work/log"
"$suf" compile --model "$work/model" --calibrate tests/data/calibrate.txt --max-tokens 32 --out "$work/plan.json" \
  > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
texts "$documents" 1 | awk '{ printf "{\"id\": \"%d\", \"text\": \"%s\"}\n", NR, $0 }' > "$work/docs.jsonl"
texts 8 2 > "$work/texts.txt"
set -- --model "$work/model" --plan "$work/plan.json"
"$suf" index create "$@" --docs "$work/docs.jsonl" --out "$work/index"
"$suf" demo "$@" --index "$work/index" --file "$work/texts.txt" --backend "${BACKEND:-cuda}"
