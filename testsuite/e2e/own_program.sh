#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A newcomer's own .cu: the three commands with which quickstart --keep ends work as printed, and a program with NVIDIA's runtime is told what to do.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
PATH=$PATH:/usr/local/cuda/bin
[ -e "$BUILD/src/device/cudart/.libs/libcudart.so.13" ] || skip_all "the emulated libcudart was not built"
need_cluster

# quickstart as it is, in a source tree in which there is nothing to install and a build tree in which there is nothing to build.
D=$TMP/kept
clusters+=("$D")
mkdir -p "$TMP/tree/contrib" "$TMP/quick"
cp "$SRC"/contrib/{quickstart,quickstart-table} "$TMP/tree/contrib/"
# Its jobs are not what is looked at here: a long one that is only just long enough for the other to come.
sed -i 's/for passes in 24000 /for passes in 9000 24000 /' "$TMP/tree/contrib/quickstart"
ln -s "$CLUSTER" "$TMP/tree/contrib/private-cluster"
ln -s "$SRC/src" "$TMP/tree/src"
for script in configure contrib/install-deps contrib/fetch-slurm-source; do printf '#!/bin/sh\n' >"$TMP/tree/$script" && chmod 755 "$TMP/tree/$script"; done
ln -s "$BUILD"/* "$TMP/quick/"
rm -f "$TMP/quick/Makefile" "$TMP/quick/config.status"
echo 'all:' >"$TMP/quick/Makefile" && : >"$TMP/quick/config.status"
kept() { timeout 300 "$TMP/tree/contrib/quickstart" --keep --dir "$D" --build "$TMP/quick" >"$TMP/quickstart.out" 2>&1; local rc=$?; cat "$TMP/quickstart.out"; return $rc; }
check "quickstart --keep runs its two jobs and leaves the cluster" kept
eval "$("$CLUSTER" "$D" env)"

mkdir "$TMP/work" && chmod 1777 "$TMP/work" && cd "$TMP/work" || exit 1
cat >prog.cu <<'END'
#include <cstdio>
__global__ void twice(int *v) { v[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main()
{
	int *v, h[64];
	for (int i = 0; i < 64; i++)
		h[i] = i;
	cudaMalloc(&v, sizeof(h));
	cudaMemcpy(v, h, sizeof(h), cudaMemcpyHostToDevice);
	twice<<<2, 32>>>(v);
	cudaMemcpy(h, v, sizeof(h), cudaMemcpyDeviceToHost);
	printf("%s, %d\n", cudaGetErrorString(cudaGetLastError()), h[63]);
	return h[63] != 126;
}
END
grep -v 'there is no nvcc here' "$TMP/quickstart.out" | tail -n 3 >"$TMP/example"
ends_so() { "$CLUSTER" "$D" example 2>/dev/null | diff - "$TMP/example" && grep -E 'nvcc .*prog\.cu$' "$TMP/example"; }
check "its last three lines are those that private-cluster prints again" ends_so
if ! command -v nvcc >/dev/null; then
	note "there is no nvcc: the three commands were not run, and no program of one's own"
	finish
fi
# A login shell of somebody who has only the README: nothing of this test's environment.
as_printed() { env -i PATH=/usr/bin:/bin HOME=/ timeout 120 bash -e "$TMP/example" 2>&1 | tee "$TMP/printed"; grep -x 'no error, 126' "$TMP/printed"; }
check "they compile prog.cu and run it as a job, as they are printed" as_printed
counted() { t 5 gpusharectl report | tee /dev/stderr | grep -q . && t 5 gpusharectl report --json | python3 -c 'import json, sys; sys.exit(not any(r["active_ms"] > 0 for r in json.load(sys.stdin)))'; }
check "the program had the GPU from gpushared" counted

nvcc -o static prog.cu && nvcc -cudart shared -o shared prog.cu || exit 1
told() { # PATTERN COMMAND...: the words come once, whatever the program's status is
	local pattern=$1
	shift
	timeout 60 "$@" >"$TMP/out" 2>&1
	cat "$TMP/out"
	[ "$(grep -cE "$pattern" "$TMP/out")" = 1 ]
}
check "a job with the runtime linked into it is told which flag to use" told 'compile it with nvcc -cudart shared$' srun --gres=gpushare:25 ./static
check "so is one under gpushare-emu" told 'compile it with nvcc -cudart shared$' "$BUILD/gpushare-emu" -- ./static
vendors=$(LD_LIBRARY_PATH='' ldd ./shared | awk '/libcudart/ && $3 ~ "^/" { print $3 }')
[ -n "$vendors" ] || for vendors in "$(dirname "$(readlink -f "$(command -v nvcc)")")"/../{lib64,targets/*/lib}/libcudart.so.13; do [ ! -e "$vendors" ] || break; done
if [ -e "$vendors" ]; then
	check "one with NVIDIA's shared runtime is told of ours" told 'LD_LIBRARY_PATH must lead to' env LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs:$(dirname "$vendors")" ./shared
else
	note "NVIDIA's shared runtime is not installed, so what a program with it is told was not looked at"
fi
silent() { ! told 'nvcc -cudart shared' env GPUSHARE_QUIET=1 "$BUILD/gpushare-emu" -- ./static; }
check "GPUSHARE_QUIET=1 keeps it silent" silent
right() { told '^no error, 126$' "$BUILD/gpushare-emu" -- ./shared && lacks 'nvcc' "$TMP/out"; }
check "and one with ours is told nothing" right
finish
