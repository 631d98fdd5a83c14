#!/bin/sh
# plan.sh MODEL [TOKENS [OPTION ..]] prints the path of a model's plan for texts of up to TOKENS tokens (256). OPTION
# goes to `suf compile`. The plan is compiled if the cache has none for these files, texts and options. A plan belongs
# to one program, $SUF (build/suf).
set -eu
cd "$(dirname "$0")/.."
model=$1 tokens=${2:-256} suf=${SUF:-build/suf}
shift $(($# < 2 ? $# : 2))
cache=${XDG_CACHE_HOME:-$HOME/.cache}/suf
mkdir -p "$cache"
key=$({ echo "$tokens $*"; find -L "$model" tests/data/calibrate.txt "$suf" -type f -exec sha256sum {} + | cut -c1-64 | sort; } | sha256sum | cut -c1-16)
plan=$cache/plan-$key.json
[ -f "$plan" ] || "$suf" compile --model "$model" --calibrate tests/data/calibrate.txt --max-tokens "$tokens" "$@" --out "$plan" >&2
echo "$plan"
