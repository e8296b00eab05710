#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Device memory on a real GPU: entries at the limit, random operations and deaths, the price of a call, a checkpoint, Table 2.
#
# usage: memory_gpu.sh BUILD OUT-FOLDER [DRIVER]
#   BUILD   the build tree (make all check TESTS=); DRIVER the libcuda.so.1 (default: the system's)
# environment, with what it is without:
#   MEMORY=48000    MiB that may be reserved on the GPU
#   TIMES=100       of each entry at the limit, FRAMES=20 for the one that makes two contexts each time, CONTEXTS=100;
#                   ENTRIES_LIMIT=40 and CONTEXTS_LIMIT=120 seconds for each of the parts ENTRIES="limit pair frames contexts"
#   CONTEXT_COST=600  MiB that a context is charged with meanwhile
#   OPS=125000      random operations of each of eight processes, before each of which KILLS=2 are killed;
#                   RANDOM_LIMIT=90 seconds
#   PRICE=4000      accounted calls that are timed, and as many past the shim
#   KEEP=8192       MiB that are checkpointed and restored
#   STEPS="entries random price checkpoint table2"
#   SUBMIT, CONTEXT, PART, DEPTH, CYCLE, MODES, LIMIT  of table2.sh
# Writes entries.csv, random.txt, price.csv, checkpoint.csv, table2.csv into OUT-FOLDER; each step has a limit of
# its own and a line on standard output.  Exit status 1: something was not as it must be.
set -uo pipefail
build=$(realpath "$1") out=$2 driver=${3:-}
src=$(realpath "$(dirname "$0")/../..")
mkdir -p "$out" && out=$(realpath "$out")
PATH=$build:$PATH
entries=$build/testsuite/e2e/entries
memory=${MEMORY:-48000}
tmp=$(mktemp -d)
daemon=
failures=0

stop_daemon() {
	[ -n "$daemon" ] || return 0
	kill "$daemon" 2>/dev/null
	for _ in $(seq 100); do
		[ -d "/proc/$daemon" ] || break
		sleep 0.05
	done
	daemon=
}
finish() {
	stop_daemon
	rm -rf "$tmp"
}
trap finish EXIT
export GPUSHARE_SOCKET=$tmp/sock

start_daemon() { # [LINE...]
	stop_daemon
	rm -f "$tmp/log"
	{
		printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$tmp/log" ReportToSlurm=no AllowLocal=yes VariantMin=0 \
			"ShimDir=$build/src/device/shim/.libs" "Gpu=0 Memory=${memory}M" "Partition=low Priority=1" \
			"Partition=middle Priority=2" "Partition=high Priority=3" "$@"
		[ -z "$driver" ] || echo "Driver=$driver"
		[ -z "${GPUSHARE_EMU_DEVICE:-}" ] || env | sed -n 's/^GPUSHARE_EMU_/JobEnv=&/p'
	} >"$tmp/conf"
	timeout 20 gpushared --config "$tmp/conf" || return 1
	daemon=$(cat "$tmp/pid")
}
run() { timeout "$1" gpusharectl run "${@:2}"; }
native() { timeout "$1" env -u GPUSHARE_SOCKET ${driver:+LD_LIBRARY_PATH="$(dirname "$driver")"} "${@:2}"; }
say() { echo "$(date +%T) $*"; }
bad() {
	say "NOT AS IT MUST BE: $*"
	failures=$((failures + 1))
}
gpu() { timeout 5 gpusharectl memory --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$1"; }
none_left() {
	for _ in $(seq 40); do
		[ "$(gpu reserved_mb) $(gpu used_mb)" != "0.0 0.0" ] || return 0
		sleep 0.05
	done
	return 1
}

# Each entry, two processes of a step, an import, a kernel's frames; meanwhile a neighbour takes all of its own, over and over.
# While it does so without a pause, the driver takes seconds to make a context: there it rests in between.
step_entries() {
	local neighbour rc=0 times=${TIMES:-100} part limit=${ENTRIES_LIMIT:-40} pause
	: >"$out/entries.csv" # the part limit begins with the heading
	[[ " ${ENTRIES:-limit} " == *" limit "* ]] || echo "entry,times,granted,refused" >"$out/entries.csv"
	: >"$out/neighbour.txt"
	start_daemon "ContextMemory=${CONTEXT_COST:-600}M" || return 1
	for part in ${ENTRIES:-limit pair frames contexts}; do
		pause=0
		case $part in
		frames) times=${FRAMES:-20} pause=200 ;;
		contexts) times=${CONTEXTS:-100} limit=${CONTEXTS_LIMIT:-120} pause=200 ;;
		esac
		rm -f "$tmp/over"
		run $((limit + 20)) --shares 50 "$entries" neighbour "$tmp/over" $pause >>"$out/neighbour.txt" 2>&1 &
		neighbour=$!
		run "$limit" --shares 50 "$entries" $part "$times" >>"$out/entries.csv" 2>>"$out/entries.err" || rc=1
		: >"$tmp/over"
		wait $neighbour || rc=1
	done
	cat "$out/entries.csv" "$out/entries.err" "$out/neighbour.txt"
	none_left || rc=1
	return $rc
}

# Eight processes of two steps of 256 MiB, and more that are killed in the middle.
step_random() {
	local rc=0 s step=() watcher whole=$memory
	memory=512
	start_daemon || return 1
	memory=$whole
	rm -f "$tmp/over" "$tmp/seen"
	timeout 120 "$src/testsuite/e2e/watch_used" "$tmp/over" "$tmp/seen" >"$tmp/random.looks" 2>&1 &
	watcher=$!
	for s in 1 2; do
		run "${RANDOM_LIMIT:-90}" --shares 50 "$src/testsuite/e2e/random_four" "$entries" "${OPS:-125000}" "$s" \
			"$tmp/random.$s" "${KILLS:-2}" "$tmp/seen" &
		step+=($!)
	done
	for s in "${step[@]}"; do wait "$s" || rc=1; done
	: >"$tmp/over"
	wait $watcher || rc=1
	grep -H . "$tmp"/random.?.* "$tmp/random.looks" | sed "s|$tmp/||; /begun/d" | tee "$out/random.txt"
	[ "$(grep -c " operations in .* 0 failed otherwise" "$out/random.txt")" = 8 ] || rc=1
	none_left || rc=1
	return $rc
}

# What the shim adds to an allocation and to a release, beside the same calls past it in one process.
step_price() {
	stop_daemon
	timeout 60 gpushare-bench memory ${driver:+--driver "$driver"} --shim "$build/src/device/shim/.libs" --conf MemoryAdmission=fcfs \
		--count "${PRICE:-4000}" --output "$out/price" || return 1
	python3 - "$out/price.csv" <<'P'
import csv, sys
cost = [float(r["added_p50_ns"]) for r in csv.DictReader(l for l in open(sys.argv[1]) if l[0] != "#")
        if r["isolation"] == "contexts" and r["call"] in ("alloc", "free")]
sys.exit(len(cost) != 2 or max(cost) > 1000)
P
}

# What the driver takes for it when nobody else has a hand in it.
checkpoint_bare() { # MIB
	local pid t rc=0 job lib=${driver:-libcuda.so.1}
	rm -f "$tmp/ready"
	native 280 "$entries" keep "$1" "$tmp/ready" >"$tmp/keep" 2>&1 &
	job=$!
	appears "$tmp/ready" || { cat "$tmp/keep"; return 1; }
	pid=$(sed -n 's/^ready //p' "$tmp/ready")
	timeout 120 gpushare-mem checkpoint --driver "$lib" "$pid" >"$tmp/checkpoint" 2>&1 || {
		cat "$tmp/checkpoint"
		kill "$pid"
		return 1
	}
	timeout 20 gpushare-mem state --driver "$lib" "$pid"
	! command -v nvidia-smi >/dev/null || nvidia-smi --query-gpu=memory.used --format=csv,noheader
	timeout 120 gpushare-mem restore --driver "$lib" "$pid" >>"$tmp/checkpoint" 2>&1 || rc=1
	rm -f "$tmp/ready"
	wait $job || rc=1
	cat "$tmp/checkpoint" "$tmp/keep"
	grep -q " 0 words wrong" "$tmp/keep" || rc=1
	t=$(tr '\n' ' ' <"$tmp/checkpoint" | sed -n 's/locked in .* s, checkpointed in \(.*\) s restored in \(.*\) s, unlocked in .* s.*/\1 \2/p')
	checkpoint_row bare "$1" $t
	return $rc
}
checkpoint_row() { # HOW MIB TO-HOST-S TO-DEVICE-S
	[ $# = 4 ] || { bad "no times of the checkpoint: $*"; return; }
	awk -v how="$1" -v mib="$2" -v out="$3" -v back="$4" 'BEGIN {
		if (!(out > 0 && back > 0)) exit 1
		printf "%s,%.0f,%.3f,%.3f,%.3f,%.3f\n", how, mib, out, mib / 1024 / out, back, mib / 1024 / back }' >>"$out/checkpoint.csv" ||
		bad "no times of the checkpoint: $*"
}
appears() { # FILE
	for _ in $(seq 1200); do
		[ ! -s "$1" ] || return 0
		sleep 0.05
	done
	return 1
}
# A step of low priority, taken back for one of high priority by gpushared, and its return: what the report says of it.
checkpoint_step() { # RESERVED-MIB entries keep|compute...
	local reserved=$1 low high before rc=0
	shift
	before=$(grep -c "goes on with its memory" "$tmp/log")
	rm -f "$tmp/ready" "$tmp/high"
	[ "$2" = keep ] || : >"$tmp/ready" # it computes until that is gone
	run 280 --shares 10 --mem "${reserved}M" --partition low "$@" >"$tmp/low.out" 2>&1 &
	low=$!
	if [ "$2" = keep ]; then appears "$tmp/ready"; else sleep 3; fi || { cat "$tmp/low.out" "$tmp/log"; return 1; }
	run 280 --shares 10 --mem 5632M --partition high "$entries" keep 512 "$tmp/high" >"$tmp/high.out" 2>&1 &
	high=$!
	appears "$tmp/high" || rc=1
	timeout 5 gpusharectl memory
	! command -v nvidia-smi >/dev/null || nvidia-smi --query-gpu=memory.used --format=csv,noheader
	rm -f "$tmp/high"
	wait $high || rc=1
	if [ "$2" != keep ]; then # it computes on for a while
		for _ in $(seq 1200); do
			[ "$(grep -c "goes on with its memory" "$tmp/log")" = "$before" ] || break
			sleep 0.05
		done
		sleep 1
	fi
	rm -f "$tmp/ready"
	wait $low || rc=1
	cat "$tmp/low.out" "$tmp/high.out"
	grep -h "taken back\|on the host\|is back\|goes on\|keeps it" "$tmp/log"
	grep -q "[ ,]0 words wrong" "$tmp/low.out" && grep -q " 0 words wrong" "$tmp/high.out" || rc=1
	# shellcheck disable=SC2046
	checkpoint_row "step $2" $(timeout 5 gpusharectl report --json | python3 -c 'import json, sys
r = [r for r in json.load(sys.stdin) if r["partition"] == "low"][-1]
print(r["taken_mb"], r["to_host_s"], r["to_device_s"])')
	none_left || rc=1
	return $rc
}
step_checkpoint() {
	local keep=${KEEP:-8192} whole=$memory rc=0
	echo "how,mib,to_host_s,to_host_gib_s,to_device_s,to_device_gib_s" >"$out/checkpoint.csv"
	checkpoint_bare "$keep" || rc=1
	memory=$((keep + 6144))
	start_daemon MemoryPreempt=checkpoint "MemoryParameters=program=$build/gpushare-mem" "MemoryPreemptHostLimit=$((keep + 1024))M" || return 1
	memory=$whole
	checkpoint_step $((keep + 1024)) "$entries" keep "$keep" "$tmp/ready" || rc=1
	checkpoint_step $((keep + 1024)) "$entries" compute "$tmp/ready" || rc=1
	cat "$out/checkpoint.csv"
	return $rc
}

# Twenty matrix products of Table 2's sizes, first come first served and by RBDM.
step_table2() {
	stop_daemon
	timeout 150 "$src/testsuite/bench/table2.sh" "$build" "$out/table2.csv" ${driver:+"$driver"}
}

for step in ${STEPS:-entries random price checkpoint table2}; do
	say "== $step"
	"step_$step" || bad "$step"
done
exit $((failures != 0))
