#!/bin/sh
# pack.sh BUILD OUT.tar.xz [PROGRAM ..] packs programs of a build folder for a machine with nothing but a driver.
# They are stripped, and build/lib has the libraries that the machine may lack. The default is all programs of
# bench/gpu.sh, tools/gpu/test.sh and tools/gpu/sanitize.sh, which must be built. Those scripts take the unpacked folder
# build and find the libraries themselves.
set -eu
[ $# -ge 2 ] || { echo "usage: tools/gpu/pack.sh BUILD OUT.tar.xz [PROGRAM ..]"; exit 2; }
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
