#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Modules that gpushare leaves alone, and stream-ordered allocation, on a real GPU: right, and how long natively and under gpushare.
#
# usage: modules_gpu.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree (make all check_PROGRAMS); DRIVER the machine's libcuda.so.1 (default: the system's)
# environment: CASES="listing small torch cupy jax alloc pair", ROUNDS=3 (turns of each, natively first), ARCH=90 (for nvcc),
#   TURNS=10 (seconds of alloc each way in each round), LIMIT=120 (seconds a program may take)
# Every turn but alloc's begins with empty caches and, under gpushare, with a gpushared of its own.  Prints a table of the medians and of what must hold
# (seconds: 0.3 s more than natively at most; alloc: 0.97 of native's steps; pair, ns of an allocation and its release: only printed);
# OUT.csv has every turn.  Exit status 1: something is not so; 77: no driver.  What is not installed is skipped with a line.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '5,13p' "$0"; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
build=$(realpath "$1") out=$2 driver=${3:-}
for d in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/nvidia/lib64; do
	[ -n "$driver" ] || { [ -e "$d/libcuda.so.1" ] && driver=$d/libcuda.so.1; }
done
[ -e "$driver" ] || { echo "no driver"; exit 77; }
driver=$(realpath "$driver")
rounds=${ROUNDS:-3} limit=${LIMIT:-120}
tmp=$(mktemp -d)
pid=
stop_daemon() {
	[ -z "$pid" ] || { kill "$pid" && timeout 10 tail --pid="$pid" -f /dev/null; }
	pid=
}
trap 'stop_daemon; rm -rf "$tmp"' EXIT

start_daemon() {
	printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$tmp/log" ReportToSlurm=no AllowLocal=yes \
		"ShimDir=$build/src/device/shim/.libs" "Driver=$driver" "Gpu=0 Memory=16G" "Partition=main Priority=10" >"$tmp/conf"
	timeout 30 "$build/gpushared" --config "$tmp/conf" || return 1
	pid=$(cat "$tmp/pid")
}
# turn WAY COMMAND...: its output; caches are empty.
turn() {
	local way=$1 caches status
	shift
	caches=$(mktemp -d "$tmp/caches.XXXX")
	local with=(env "CUDA_CACHE_PATH=$caches/cuda" "GPUSHARE_CACHE=$caches/gpushare" "CUPY_CACHE_DIR=$caches/cupy"
		XLA_PYTHON_CLIENT_PREALLOCATE=false)
	mkdir -m 700 "$caches/cuda" "$caches/gpushare" "$caches/cupy"
	if [ "$way" = native ]; then
		timeout -k 5 "$limit" "${with[@]}" "$@"
		status=$?
	else
		start_daemon || return 1
		timeout -k 5 "$limit" "$build/gpusharectl" --socket "$tmp/sock" run --shares 90 --mem 14G --partition main -- "${with[@]}" "$@"
		status=$?
		stop_daemon
	fi
	rm -rf "$caches"
	[ $status = 0 ] || echo "modules_gpu.sh: $way: $1: exit status $status" >&2
	return $status
}
# both NAME COMMAND...: rows of "what,value,right|wrong", a turn each way in each round.
both() {
	local name=$1 way k
	shift
	for ((k = 0; k < rounds; k++)); do
		for way in native gpushare; do
			turn $way "$@" >"$tmp/rows" || echo "$name,,wrong" >>"$tmp/rows"
			sed "s/^/$way,/" "$tmp/rows" >>"$out"
		done
	done
}
# The same words natively and under gpushare.
step_listing() {
	local way k right
	for ((k = 0; k < rounds; k++)); do
		for way in native gpushare; do
			if [ $way = native ]; then lib=$driver; else lib=$build/src/device/shim/.libs/libcuda.so.1; fi
			turn $way "$build/module_functions" "$lib" >"$tmp/words"
			[ -e "$tmp/natively" ] || head -n -1 "$tmp/words" >"$tmp/natively"
			right=wrong
			! head -n -1 "$tmp/words" | diff "$tmp/natively" - >&2 || right=right
			echo "$way,listing,$(tail -n 1 "$tmp/words"),$right" >>"$out"
		done
	done
	cat "$tmp/natively"
}
step_small() {
	command -v nvcc >/dev/null || { echo "small: no nvcc"; return; }
	local arch=${ARCH:-90}
	nvcc -std=c++17 -gencode "arch=compute_$arch,code=sm_$arch" -gencode "arch=compute_$arch,code=compute_$arch" \
		-o "$tmp/many_small" "$here/many_small.cu" || { echo "small: it does not compile"; return; }
	both many_small "$tmp/many_small"
}
python_case() { # NAME MODULE ARGUMENT...
	local name=$1 module=$2
	shift 2
	python3 -c "import $module" 2>/dev/null || { echo "$name: no $module"; return; }
	both "$name" "$@"
}
step_torch() { python_case torch torch python3 "$here/modules_step.py" torch; }
step_cupy() { python_case cupy cupy python3 "$here/modules_step.py" cupy; }
step_jax() { python_case jax jax python3 "$here/modules_step.py" jax; }
# The host's speed changes from process to process and in the course of seconds, by a third, which is far more than what is asked for here.
# So two processes live at once on the same two processors and measure in turn, a second each; the first of each two takes turns, too.
step_alloc() {
	local k n way line order=(native gpushare) last
	python3 -c "import torch" 2>/dev/null || { echo "alloc: no torch"; return; }
	last=$(($(nproc) - 1))
	trap : PIPE # a process that died is a wrong row
	for ((k = 0; k < rounds; k++)); do
		rm -f "$tmp"/*.go "$tmp"/*.said
		for way in native gpushare; do
			mkfifo "$tmp/$way.go" "$tmp/$way.said"
			turn $way taskset -c "$((last > 0 ? last - 1 : 0)),$last" env PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
				python3 "$here/modules_step.py" alloc <"$tmp/$way.go" >"$tmp/$way.said" &
		done
		exec {native_go}>"$tmp/native.go" {native}<"$tmp/native.said" {gpushare_go}>"$tmp/gpushare.go" {gpushare}<"$tmp/gpushare.said"
		for way in native gpushare; do read -r line <&"${!way}" && [ "$line" = ready ] || echo "$way,alloc,,wrong" >>"$out"; done
		for ((n = 0; n < ${TURNS:-10}; n++)); do
			for way in "${order[@]}"; do
				local go=${way}_go
				line=
				{ echo go >&"${!go}" && read -r line <&"${!way}"; } 2>/dev/null
				echo "$way,${line:-alloc,,wrong}" >>"$out"
			done
			order=("${order[1]}" "${order[0]}")
		done
		exec {native_go}>&- {gpushare_go}>&- {native}<&- {gpushare}<&-
		wait
	done
}
step_pair() {
	local way k lib ns
	for ((k = 0; k < rounds; k++)); do
		for way in native gpushare; do
			if [ $way = native ]; then lib=$driver; else lib=$build/src/device/shim/.libs/libcuda.so.1; fi
			ns=$(turn $way "$build/call_cost" "$lib" 20000 async) && echo "$way,pair,$((${ns% *} + ${ns#* })),right" >>"$out"
		done
	done
}

echo "way,case,value,right" >"$out"
for c in ${CASES:-listing small torch cupy jax alloc pair}; do
	"step_$c"
done
python3 - "$out" <<'END'
import csv
import random
import statistics
import sys

rows = list(csv.DictReader(open(sys.argv[1])))
bad = 0
print(f"{'case':20} {'native':>10} {'gpushare':>10}  right  bar")
for case in dict.fromkeys(r["case"] for r in rows):
    of = [r for r in rows if r["case"] == case]
    both = [[float(r["value"]) for r in of if r["way"] == way and r["value"]] for way in ("native", "gpushare")]
    right = all(r["right"] == "right" for r in of) and all(both)
    native, managed = (statistics.median(v) if v else float("nan") for v in both)
    if case == "pair":
        bar, met = "", True
    elif case == "alloc":
        # Of turns beside each other, since the host's speed changes in the course of minutes.
        ratios = [m / n for n, m in zip(*both)]
        ratio = statistics.median(ratios)
        # How far chance alone may have moved it: medians of samples of these turns.
        again = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
        bar, met = f"{ratio:.3f} of native (9 of 10 samples: {again[100]:.3f} to {again[-100]:.3f}), >= 0.97", ratio >= 0.97
    else:
        bar, met = f"{managed - native:+.3f} s, <= 0.3", managed <= native + 0.3
    bad += not right or not met
    print(f"{case:20} {native:10.4g} {managed:10.4g}  {'yes' if right else 'NO':5}  {bar}{'' if met else ': NOT MET'}")
sys.exit(bad > 0 or not rows)
END
