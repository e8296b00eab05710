#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Modules that gpushare leaves alone, and stream-ordered allocation, on a real GPU: right, and how long natively and under gpushare.
#
# usage: modules_gpu.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree (make all check_PROGRAMS); DRIVER the machine's libcuda.so.1 (default: the system's)
# environment: CASES="listing small torch cupy jax alloc pair", ROUNDS=3 (turns of each, natively first), ARCH=90 (for nvcc),
#   TURNS=40 (turns of alloc each way in each round), SECONDS_EACH=0.25 (seconds that each of them measures),
#   LIMIT=120 (seconds a program may take; the two of alloc live for 2 * TURNS * SECONDS_EACH and some seconds more)
# Every turn but alloc's begins with empty caches and, under gpushare, with a gpushared of its own.  Prints a table of the medians and of what must hold
# (seconds: 0.3 s more than natively at most; alloc: 0.97 of native's steps; pair, ns of an allocation and its release: only printed);
# the range beside alloc's figure is that of its turns: how far one process differs from the next, only more ROUNDS can tell.
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
rounds=${ROUNDS:-3} limit=${LIMIT:-120} turns=${TURNS:-40}
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
# The host's speed changes from process to process and within seconds, by a third, which is far more than what is asked for here.
# So two processes live at once on the same two processors and measure in turn, a quarter of a second each, so that
# every turn but the first and the last has one of the other way on either side, with which it is compared at the end.
step_alloc() {
	local k n way go line last
	python3 -c "import torch" 2>/dev/null || { echo "alloc: no torch"; return; }
	last=$(($(nproc) - 1))
	trap : PIPE # a process that died is a wrong row
	for ((k = 0; k < rounds; k++)); do
		rm -f "$tmp"/*.go "$tmp"/*.said
		for way in native gpushare; do
			mkfifo "$tmp/$way.go" "$tmp/$way.said"
			turn $way taskset -c "$((last > 0 ? last - 1 : 0)),$last" env PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
				python3 "$here/modules_step.py" alloc "${SECONDS_EACH:-0.25}" <"$tmp/$way.go" >"$tmp/$way.said" &
		done
		exec {native_go}>"$tmp/native.go" {native}<"$tmp/native.said" {gpushare_go}>"$tmp/gpushare.go" {gpushare}<"$tmp/gpushare.said"
		for way in native gpushare; do read -r line <&"${!way}" && [ "$line" = ready ] || echo "$way,alloc,,wrong" >>"$out"; done
		for ((n = 0; n < turns; n++)); do
			for way in native gpushare; do
				go=${way}_go line=
				{ echo go >&"${!go}" && read -r line <&"${!way}"; } 2>/dev/null
				echo "$way,${line:-alloc,,wrong}" >>"$out"
			done
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
python3 - "$out" "$turns" <<'END'
import csv
import math
import random
import statistics
import sys


def beside_neighbours(of, turns):
    """gpushare's part of native's rate, once for each turn that has a turn of the other way on either side in its round.

    It is compared with the geometric mean of these two, which cancels a steady drift. Turns of both ways stand in the middle:
    where some turns are far slower than the rest, the median of single turns differs from that of means of two, and if native
    were always in the middle, this would look like a difference between the ways."""
    rates = [(r["way"], math.log(float(r["value"])) if r["value"] else math.nan) for r in of]
    ratios = []
    for begin in range(0, len(rates), 2 * turns):
        of_round = rates[begin:begin + 2 * turns]
        for (_, before), (way, rate), (_, after) in zip(of_round, of_round[1:], of_round[2:]):
            above = rate - (before + after) / 2
            ratios.append(math.exp(above if way == "gpushare" else -above))
    return [r for r in ratios if not math.isnan(r)]


def nine_of_ten(ratios, run=12):
    """How far chance alone may have moved the median of the ratios: 9 of 10 medians of samples lie between these two.

    Neighbours share turns, and a process stays slow or fast for a second or two, so a sample consists of runs of neighbours.
    Drawn one by one, the ratios would seem far more certain than they are."""
    ring = ratios + ratios[:run]
    medians = []
    for _ in range(2000):
        begins = random.choices(range(len(ratios)), k=math.ceil(len(ratios) / run))
        medians.append(statistics.median(r for begin in begins for r in ring[begin:begin + run]))
    medians.sort()
    return medians[100], medians[-100]


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
        ratios = beside_neighbours(of, int(sys.argv[2]))
        ratio = statistics.median(ratios) if ratios else float("nan")
        low, high = nine_of_ten(ratios) if ratios else (ratio, ratio)
        bar, met = f"{ratio:.3f} of native (9 of 10 samples: {low:.3f} to {high:.3f}), >= 0.97", ratio >= 0.97
    else:
        bar, met = f"{managed - native:+.3f} s, <= 0.3", managed <= native + 0.3
    bad += not right or not met
    print(f"{case:20} {native:10.4g} {managed:10.4g}  {'yes' if right else 'NO':5}  {bar}{'' if met else ': NOT MET'}")
sys.exit(bad > 0 or not rows)
END
