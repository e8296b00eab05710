#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The shim on a real GPU: what an allocation costs and why, evictions under each signal, programs under 1 ms evictions.
#
# usage: shim_gpu.sh BUILD OUT-FOLDER [DRIVER]
#   BUILD   the build tree (make all check_PROGRAMS; for programs: testsuite/programs/bin compiled for this GPU, or nvcc)
#   DRIVER  the machine's libcuda.so.1
# environment: STEPS="price signal programs", COUNT=8000 (calls), SCALE=512, LINGER=0 (us), LIMIT=120 (seconds a program may take), JOBS=6,
#   PROGRAMS (what runs beside each other), EVICTIONS=200
# Writes price.csv, signal.txt, programs.csv and progress.csv into OUT-FOLDER and prints them; about six minutes with everything.
# Exit status 1: something was not as it must be.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '5,9p' "$0"; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1") out=$2
driver=${3:-}
for d in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/nvidia/lib64; do
	[ -n "$driver" ] || { [ -e "$d/libcuda.so.1" ] && driver=$d/libcuda.so.1; }
done
[ -e "$driver" ] || { echo "no driver"; exit 77; }
mkdir -p "$out" && out=$(realpath "$out")
tmp=$(mktemp -d)
pid=
rc=0
cleanup() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
shim=$build/src/device/shim/.libs
count=${COUNT:-8000}

start_daemon() { # LINE...
	{
		printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$tmp/log" LogLevel=debug ReportToSlurm=no AllowLocal=yes VariantMin=0 \
			"ShimDir=$shim" "Driver=$driver" "Gpu=0 Memory=8G" "Partition=main Priority=10" Policy=piv MemoryAdmission=fcfs
		[ $# = 0 ] || printf '%s\n' "$@"
	} >"$tmp/conf"
	timeout 30 "$build/gpushared" --config "$tmp/conf" || return 1
	pid=$(cat "$tmp/pid")
	export GPUSHARE_SOCKET=$tmp/sock
}
stop_daemon() {
	kill "$pid" && timeout 10 tail --pid="$pid" -f /dev/null
	pid=
	unset GPUSHARE_SOCKET
}

# What of the shim's surroundings makes the driver's own calls dearer?  Without the shim, then with it.
step_price() {
	local cost=$build/call_cost words env
	echo "with,alloc_ns,free_ns" >"$out/price.csv"
	price() { # NAME ENV WORDS
		local name=$1
		# shellcheck disable=SC2086
		for _ in 1 2 3; do
			echo "$name,$(env $2 timeout 60 "$cost" "$driver" "$count" $3 | tr ' ' ,)" >>"$out/price.csv"
		done
	}
	price nothing A=1 ""
	price eager CUDA_MODULE_LOADING=EAGER ""
	for words in streams page block thread; do price "$words" A=1 "$words"; done
	price all CUDA_MODULE_LOADING=EAGER "streams page block thread"
	price nothing-again A=1 ""
	start_daemon || return 1
	for _ in 1 2 3; do
		echo "gpushare,$(timeout 60 "$build/gpusharectl" run --shares 50 -- "$cost" "$shim/libcuda.so.1" "$count" | tr ' ' ,)" >>"$out/price.csv"
	done
	stop_daemon
	cat "$out/price.csv"
}

# Evictions under each signal.
step_signal() {
	local signal
	: >"$out/signal.txt"
	for signal in proxy memop dma auto; do
		timeout 120 "$build/gpushare-bench" eviction --driver "$driver" --shim "$shim" --task 1,10 --long 60 --short 3 --every 15 --count "${EVICTIONS:-200}" \
			--conf MemoryAdmission=fcfs --conf "PolicyParameters=eviction_signal=$signal" --output "$tmp/eviction" || rc=1
		sed "s/^/$signal: /" "$tmp/eviction.csv" | grep -v '#' >>"$out/signal.txt"
	done
	cat "$out/signal.txt"
}

# Programs with large grids, evicted every 1 ms, several beside each other: do they end, and what does each stay on the GPU achieve?
step_programs() {
	local programs=${PROGRAMS:-atomics big_grid errors monte_carlo sort stencil matmul}
	# shellcheck disable=SC2086
	programs=$(for p in $programs; do [ -e "$here/../programs/$p.cu" ] && echo "$p"; done)
	echo jobs,kernel,block_tasks,relaunches,without_progress,median_progress,least >"$out/progress.csv"
	for jobs in 1 "${JOBS:-6}"; do
		rm -f "$tmp/progress.log"
		# shellcheck disable=SC2086
		GPUSHARE_LOG=$tmp/progress.log "$here/../programs/run-all" --driver "$driver" --build "$build" --scale "${SCALE:-512}" --linger "${LINGER:-0}" --periods 1 \
			--jobs "$jobs" --timeout "${LIMIT:-120}" --csv "$tmp/programs.csv" $programs || rc=1
		sed "s/^/$jobs,/" "$tmp/programs.csv" >>"$out/programs.csv"
		[ ! -e "$tmp/progress.log" ] || python3 - "$tmp/progress.log" "$jobs" >>"$out/progress.csv" <<'P'
import collections, re, sys
seen, stays = {}, collections.defaultdict(list)
for line in open(sys.argv[1]):
    m = re.search(r"\[(\d+)\] ([\d.]+): (.*) goes on from block-task (\d+) of (\d+)", line)
    if m:
        key = (m.group(1), m.group(3), m.group(5))
        stays[key].append(int(m.group(4)) - seen.get(key, 0))
        seen[key] = int(m.group(4))
for (pid, name, nt), n in stays.items():
    print("%s,%s,%s,%d,%d,%d,%d" % (sys.argv[2], name, nt, len(n), sum(x <= 0 for x in n), sorted(n)[len(n) // 2], min(n)))
P
	done
	cat "$out/programs.csv" "$out/progress.csv"
}

rm -f "$out/programs.csv"
for step in ${STEPS:-price signal programs}; do
	echo "== $step"
	"step_$step" || rc=1
done
exit $rc
