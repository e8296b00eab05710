#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that calls the driver's functions (assert, printf, malloc) on a real GPU, evicted every 1 and 5 ms: each block's line must be
# there once, and a check that fails must end the program as it does natively.
#
# usage: calls_gpu.sh BUILD OUT-FOLDER   (nvcc needed, and an H100 or H200)
#   BUILD   the build tree (make all)
# Writes kernels-*.json (gpusharectl kernels) into OUT-FOLDER, which must say that the kernel was launched guarded; takes a minute.
# Exit status 1: something differs, or the kernel was launched as it is written.
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") out=$2
mkdir -p "$out" && out=$(realpath "$out")
tmp=$(mktemp -d)
driver=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
PATH=$build:$PATH:/usr/local/cuda/bin
daemon=
trap '[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null; rm -rf "$tmp"' EXIT
bad=0

nvcc -gencode arch=compute_90,code=sm_90 -o "$tmp/calls" "$here/calls.cu" || exit 1
printf '%s\n' Socket="$tmp/sock" PidFile="$tmp/pid" LogFile="$out/gpushared.log" ReportToSlurm=no AllowLocal=yes MountShim=no \
	"ShimDir=$build/src/device/shim/.libs" "Driver=$driver" "Gpu=0 Memory=75G" >"$tmp/conf"
gpushared --foreground --config "$tmp/conf" &
daemon=$!
for ((i = 0; i < 100; i++)); do
	[ -e "$tmp/pid" ] && break
	sleep 0.1
done
# What it prints, sorted: lines of blocks that run together come in any order.  Where a check fails, what the others print is left to chance.
lines() { grep '^run \|^end:\|Assertion' | sort; }
native() { "$tmp/calls" "$@" 2>&1 | lines; }
under() { # MS ARGUMENT...
	GPUSHARE_SOCKET=$tmp/sock timeout 120 gpusharectl run --mem 70G --shares 90 --force-evict-ms "$1" -- "$tmp/calls" "${@:2}" 2>&1 | lines
}
compare() { # LABEL WANT GOT
	if cmp -s "$2" "$3"; then
		echo "ok: $1"
	else
		echo "FAIL: $1: it prints something else" && diff "$2" "$3" | head -20
		bad=1
	fi
}
native 20 >"$tmp/native"
grep -q 'end: cudaSuccess' "$tmp/native" || { echo "FAIL: natively: $(tail -1 "$tmp/native")" && exit 1; }
for ms in 1 5; do
	under "$ms" 20 "$out/kernels-$ms.json" >"$tmp/$ms"
	compare "each block prints once, evicted every $ms ms" "$tmp/native" "$tmp/$ms"
	grep -q '"guarded"' "$out/kernels-$ms.json" || { echo "FAIL: it was not launched guarded" && bad=1; }
done
# Which threads of the block say so before the context ends is left to chance, too.
failed() { grep -v '^run ' | sed 's/thread: \[[0-9,]*\]/thread/' | sort -u; }
native 20 /dev/null fail | failed >"$tmp/native-fails"
under 1 20 "$out/kernels-fail.json" fail | failed >"$tmp/fails"
grep -q 'end: cudaErrorAssert' "$tmp/native-fails" || { echo "FAIL: natively nothing fails" && bad=1; }
compare "a check that fails" "$tmp/native-fails" "$tmp/fails"
exit $bad
