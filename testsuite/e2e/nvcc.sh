#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-nvcc: programs built by it carry the variants, as PTX and as machine code, in every way of building them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v nvcc >/dev/null || skip_all "no nvcc"
export GPUSHARE_PTX=$BUILD/gpushare-ptx TMPDIR=$TMP
[ -x "$GPUSHARE_PTX" ] || skip_all "gpushare-ptx was not built"
NVCC=$SRC/src/device/nvcc/gpushare-nvcc
cd "$TMP" || exit 1
cat >one.cu <<'EOF'
#include <cstdio>
__global__ void twice(int *v, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		for (int k = 0; k < 4000; k++)
			v[i] = v[i] * 3 + k;
}
int main()
{
	const int n = 1 << 15;
	int *v, wrong = 0, want = 1;
	cudaMallocManaged(&v, n * 4);
	for (int i = 0; i < n; i++)
		v[i] = 1;
	twice<<<n / 64, 64>>>(v, n);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 2;
	for (int k = 0; k < 4000; k++)
		want = (int)((unsigned)want * 3 + k);
	for (int i = 0; i < n; i++)
		wrong += v[i] != want;
	printf("wrong %d\n", wrong);
	return wrong != 0;
}
EOF
cat >half_a.cu <<'EOF'
extern __device__ int half(int);
__global__ void use(int *v) { v[blockIdx.x] = half(blockIdx.x); }
int main() { use<<<4, 1>>>(0); return 0; }
EOF
echo '__device__ int half(int x) { return x / 2; } __global__ void own(int *v) { v[blockIdx.x] += 1; }' >half_b.cu

has() { readelf -sW "$1" | grep -q "FUNC .* $2\$"; } # CUBIN SYMBOL: a kernel of that name
SM="-gencode arch=compute_90,code=sm_90"
PTX="-gencode arch=compute_90,code=compute_90"

# shellcheck disable=SC2086
program() {
	"$NVCC" --gpushare-report report -cudart shared $SM $PTX -o one one.cu || return 1
	cat report
	grep '^_Z5twicePii: persistent' report || return 1
	"$GPUSHARE_PTX" info one
	[ "$("$GPUSHARE_PTX" info one | grep -c '^_Z5twicePii: persistent; PTX compute_90; machine code sm_90')" = 1 ]
}
check "a program" program
evicted() {
	timeout 60 "$BUILD/gpushare-emu" --sms 2 --blocks-per-sm 1 --evict-every-ms 1 -- ./one 2>err || { cat err; return 1; }
	cat err
	grep -E '_Z5twicePii: persistent, launches 1 \(1 evictable\), evictions [1-9]' err
}
[ -e "$BUILD/src/device/cudart/.libs/libcudart.so.13" ] && check "that is evicted on the emulated device" evicted
cubin() { "$NVCC" -arch=sm_90 -cubin -o one.cubin one.cu && has one.cubin _Z5twicePii && has one.cubin _Z5twicePii__gpushare_p; }
check "machine code: the original and the variant" cubin
forms() {
	"$NVCC" --gpushare-form=all -arch=sm_90 -cubin -o all.cubin one.cu || return 1
	for f in p g s; do has all.cubin "_Z5twicePii__gpushare_$f" || return 1; done
}
check "variants of all forms" forms
# shellcheck disable=SC2086
several() {
	"$NVCC" -cudart shared -gencode arch=compute_80,code=sm_80 $SM $PTX --keep --keep-dir "$TMP" -o several one.cu || return 1
	for arch in 80 90; do has "$(ls "$TMP"/one.compute_$arch*.cubin | head -n 1)" _Z5twicePii__gpushare_p || return 1; done
}
check "several targets, and files that are kept" several
# shellcheck disable=SC2086
judged() { # a program with the variants is as preemptible as it is
	"$NVCC" --gpushare-form=all -cudart shared -gencode arch=compute_80,code=sm_80 $PTX -o judged one.cu && "$GPUSHARE_PTX" check judged || return 1
	"$GPUSHARE_PTX" check judged | grep '1 of 1 kernels can leave' || return 1
	# Without PTX, too: the variants are in the machine code.
	"$NVCC" -cudart shared -gencode arch=compute_80,code=sm_80 -o judged one.cu && "$GPUSHARE_PTX" info judged | tee judged.out &&
		"$GPUSHARE_PTX" check --sm 80 judged && grep '^_Z5twicePii: persistent, from its own variant; machine code sm_80; ships variants: persistent$' judged.out
}
check "gpushare-ptx check takes the variants for what they are" judged
# shellcheck disable=SC2086
separate() {
	"$NVCC" -rdc=true $SM -c half_a.cu -o a.o && "$NVCC" -rdc=true $SM -c half_b.cu -o b.o || return 1
	"$NVCC" -rdc=true $SM -cudart shared a.o b.o -o halves || return 1
	"$GPUSHARE_PTX" info halves
	"$GPUSHARE_PTX" info halves | grep '^_Z3ownPi: .*machine code.*; ships variants: persistent'
}
check "separate compilation" separate
ptx() {
	"$NVCC" -arch=compute_90 -ptx -o one.ptx one.cu && grep -c 'entry _Z5twicePii__gpushare_p' one.ptx || return 1
	nvcc -arch=compute_90 -ptx -o plain.ptx one.cu && cp plain.ptx before.ptx || return 1
	"$NVCC" -arch=sm_90 -cubin -o plain.cubin plain.ptx && has plain.cubin _Z5twicePii__gpushare_p && cmp plain.ptx before.ptx
}
check "PTX as output and as input, which stays as it is" ptx
twice() { "$NVCC" -arch=sm_90 -cubin -o again.cubin one.ptx && has again.cubin _Z5twicePii__gpushare_p && ! readelf -sW again.cubin | grep __gpushare_p__gpushare; }
check "what has variants gets no more" twice
nothing_preemptible() {
	echo 'int main() { return 3; }' >host.cu
	"$NVCC" -cudart shared -o host host.cu && { ./host; [ $? = 3 ]; }
}
check "a program without kernels" nothing_preemptible

refuses() { # STATUS WORDS COMMAND...: fails so
	local status=$1 words=$2 got
	shift 2
	"$@" >out 2>&1
	got=$?
	cat out
	[ $got = "$status" ] && grep -e "$words" out
}
check "nvcc's own errors" refuses 1 'Unknown option' "$NVCC" -bogus one.cu
echo '__global__ void k() { undefined(); }' >bad.cu
"$NVCC" -c bad.cu -o bad.o >/dev/null 2>&1
bad=$?
fails() { [ $bad != 0 ] && [ ! -e bad.o ]; }
check "an error in the source" fails
check "its own options: a wrong one" refuses 2 'no such option' "$NVCC" --gpushare-frobnicate one.cu
check "a wrong form" refuses 2 'no such form' "$NVCC" --gpushare-form=odd one.cu
check "nothing to do" refuses 2 Usage "$NVCC"
check "no compiler" refuses 1 'no compiler' env GPUSHARE_NVCC="$TMP/nosuch" "$NVCC" one.cu
printf '#!/bin/sh\n[ "$1" != transform ] || { echo cannot >&2; exit 1; }\n' >no_ptx
chmod +x no_ptx
as_it_is() {
	GPUSHARE_PTX=$TMP/no_ptx "$NVCC" -arch=sm_90 -cubin -o plain2.cubin one.cu 2>err || return 1
	cat err
	grep 'compiled as it is: cannot' err && has plain2.cubin _Z5twicePii && ! has plain2.cubin _Z5twicePii__gpushare_p
}
check "PTX that cannot be transformed is compiled as it is" as_it_is
check "or is an error" refuses 1 cannot env GPUSHARE_PTX="$TMP/no_ptx" "$NVCC" --gpushare-strict -arch=sm_90 -cubin -o x.cubin one.cu
check "questions are nvcc's" refuses 0 release "$NVCC" --version
check "the version" refuses 0 gpushare-nvcc "$NVCC" --gpushare-version
nothing_left() { ls -d "$TMP"/gpushare-nvcc.*; ! ls -d "$TMP"/gpushare-nvcc.* "$TMP"/tmpxft_*; }
check "no temporary files are left" nothing_left
finish
