#!/bin/sh
# gpu_pack.sh BUILD OUT.tar.xz [PROGRAM ..]: programs of a build folder for a machine that has a driver and nothing else: stripped,
# with the libraries that it may lack in build/lib. Without programs named: those of bench/gpu.sh, tools/gpu_test.sh and
# tools/gpu_sanitize.sh, of which all must be built. Unpacked anywhere, its folder build is what those three take; they
# find the libraries by themselves.
set -eu
[ $# -ge 2 ] || { echo "usage: tools/gpu_pack.sh BUILD OUT.tar.xz [PROGRAM ..]"; exit 2; }
build=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- suf inference_bench flight_bench operator_bench fss_bench products_bench backends_test gates_test nn_test model_test \
  gpu_cuda_test exec_cuda_test frames_cuda_test fss_cuda_test ring_cuda_test tests/simulatable_test tests/planted
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/build/tests" "$work/build/lib"
for program in "$@"; do
  [ -x "$build/$program" ] || { echo "gpu_pack: $build has no $program; build it first, or name the programs that you want"; exit 1; }
  strip -o "$work/build/$program" "$build/$program"
  ldd "$build/$program" | awk '/=> \// && $1 !~ /^(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so/ {print $3}' |
    while read -r library; do cp -n "$library" "$work/build/lib/" 2>/dev/null || true; done
done
tar -C "$work" -cf - build | xz -T0 -6 > "$out"
echo "gpu_pack: $# programs, $(ls "$work/build/lib" | wc -l) libraries, $(($(wc -c < "$out") / 1000000)) MB in $out"
