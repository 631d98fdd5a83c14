#!/bin/sh
# plan.sh MODEL [TOKENS] prints the path of the plan for a model directory and texts of up to TOKENS tokens (256). It
# compiles the plan if the cache has none for these weights, texts and this program, $SUF (build/suf).
set -eu
cd "$(dirname "$0")/.."
model=$1 tokens=${2:-256} suf=${SUF:-build/suf}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/suf
mkdir -p "$cache"
key=$(echo "$tokens" | cat - "$model/config.json" "$model/vocab.txt" tests/data/calibrate.txt "$suf" "$model/model.safetensors" | sha256sum | cut -c1-16)
plan=$cache/plan-$key.json
[ -f "$plan" ] || "$suf" compile --model "$model" --calibrate tests/data/calibrate.txt --max-tokens "$tokens" --out "$plan" >&2
echo "$plan"
