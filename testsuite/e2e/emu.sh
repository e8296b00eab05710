#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-emu: programs on the emulated device, evicted without a daemon; its options, status and summary.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushare-emu gpushare-demo-triad gpushare-demo-matmul gpushare-demo-reduce testsuite/e2e/modules testsuite/e2e/order .libs/modules_library.so
PATH=$BUILD:$PATH
export TMPDIR=$TMP

emu() { timeout 60 gpushare-emu --sms 2 --blocks-per-sm 2 --memory 256M "$@"; }
# summary FILE EXPRESSION: true of the summary s and its first kernel k
summary() {
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
k = s["kernels"][0] if s["kernels"] else None
ok = eval(sys.argv[2])
print(s)
sys.exit(not ok)' "$1" "$2"
}

TRIAD=(gpushare-demo-triad --elements 65536 --passes 1500)
MATMUL=(gpushare-demo-matmul)
REDUCE=(gpushare-demo-reduce --elements 4194304)

# evicted KERNEL AT_LEAST PERIOD PROGRAM...: right, and it has left the device so many times.
evicted() {
	local kernel=$1 least=$2 period=$3 options=()
	shift 3
	[ "$period" = 0 ] || options=(--evict-every-ms "$period")
	rm -f "$TMP/json"
	emu ${options[@]+"${options[@]}"} --json "$TMP/json" -- "$@" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
	grep ' correct: ' "$TMP/out" || return 1
	[ ! -s "$TMP/err" ] || { cat "$TMP/err"; return 1; }
	summary "$TMP/json" "k['name'] == '$kernel' and k['form'] == 'persistent' and k['reason'] is None and s['launches'] == 1 and s['evictable_launches'] == 1 and s['status'] == 0" || return 1
	if [ "$least" = 0 ]; then
		summary "$TMP/json" "s['evictions'] == 0 and k['evictions'] == 0"
	else
		summary "$TMP/json" "s['evictions'] >= $least and s['evictions'] == k['evictions']"
	fi
}
for period in 0 1 5; do
	least=0
	[ $period = 0 ] || least=1
	check "triad, evictions every $period ms" evicted triad $least $period "${TRIAD[@]}"
	check "matmul, evictions every $period ms" evicted matmul $least $period "${MATMUL[@]}"
	check "reduce, evictions every $period ms" evicted reduce $least $period "${REDUCE[@]}"
done

# The stream in which evicted kernels go on has a channel that no other stream blocks, or this never ends.
crowd() { # CONNECTIONS EVICTIONS
	CUDA_DEVICE_MAX_CONNECTIONS=$1 timeout 60 gpushare-emu --memory 256M --evict-every-ms 3 --json "$TMP/json" -- "$BUILD/testsuite/e2e/order" crowd >"$TMP/out" 2>&1 ||
		{ echo "exit status $?"; cat "$TMP/out"; return 1; }
	summary "$TMP/json" "$2"
}
# On a busy machine there may be none within the few ms that a kernel takes.
evicted_crowd() {
	for _ in 1 2 3 4 5; do
		crowd 13 True || return 1
		summary "$TMP/json" "s['evictions'] >= 1" && return
	done
	return 1
}
check "more streams than channels, evictions every 3 ms" evicted_crowd
check "more of them than may be busy beside a kernel that can leave: they wait for a moment only" crowd 8 "s['launches'] == 28"
check "one channel for all streams: none is evicted, and none waits" crowd 1 "s['evictions'] == 0"

# after_tasks KERNEL NT PROGRAM...: a lone worker leaves after every K block-tasks: NT / K times, rounded up, less one.
after_tasks() {
	local kernel=$1 nt=$2 k
	shift 2
	for k in 1 2 3 7 100 $((nt - 1)) "$nt"; do
		timeout 60 gpushare-emu --sms 1 --blocks-per-sm 1 --deterministic --evict-every-tasks $k --json "$TMP/json" -- "$@" >"$TMP/out" 2>"$TMP/err" ||
			{ cat "$TMP/out" "$TMP/err"; return 1; }
		grep -c ' correct: ' "$TMP/out" >"$TMP/n" || return 1
		summary "$TMP/json" "k['name'] == '$kernel' and s['evictions'] == ($nt + $k - 1) // $k - 1" || { echo "K=$k"; return 1; }
	done
}
check "triad, evictions after block-tasks" after_tasks triad 256 gpushare-demo-triad --elements 65536 --passes 10
check "matmul, evictions after block-tasks" after_tasks matmul 256 gpushare-demo-matmul
check "reduce, evictions after block-tasks" after_tasks reduce 103 gpushare-demo-reduce --elements 419430

# points SEED PROGRAM...: where the kernels went on, the order included, to standard output
points() {
	local seed=$1
	shift
	rm -f "$TMP/log"
	GPUSHARE_LOG=$TMP/log emu --deterministic --evict-seed "$seed" --json "$TMP/json" -- "$@" >"$TMP/out" 2>"$TMP/err" ||
		{ cat "$TMP/out" "$TMP/err" >&2; return 1; }
	grep -q ' correct: ' "$TMP/out" || return 1
	grep -o '[a-z]* goes on from block-task [0-9]* of [0-9]*' "$TMP/log"
}
seeds() {
	local seed
	for seed in 0 1 12345; do
		points $seed "$@" >"$TMP/points.$seed" || return 1
		mv "$TMP/json" "$TMP/json.$seed"
		points $seed "$@" >"$TMP/again" || return 1
		diff "$TMP/points.$seed" "$TMP/again" && diff "$TMP/json.$seed" "$TMP/json" || return 1
		summary "$TMP/json" "s['evictions'] == $(wc -l <"$TMP/again") >= 8" || return 1
	done
	! cmp -s "$TMP/points.0" "$TMP/points.1" && ! cmp -s "$TMP/points.1" "$TMP/points.12345"
}
check "the same seed, the same evictions" seeds gpushare-demo-triad --elements 65536 --passes 10 --repeats 4
one_of() {
	gpushare-emu --evict-seed 1 --evict-every-tasks 2 true 2>"$TMP/err"
	[ $? = 2 ] && grep 'exclude each other' "$TMP/err"
}
check "one way of evicting at a time" one_of

many() {
	emu --evict-every-ms 1 --json "$TMP/json" -- gpushare-demo-triad --elements 65536 --passes 100 --repeats 10 >"$TMP/out" || return 1
	grep ' correct: ' "$TMP/out" && summary "$TMP/json" "s['launches'] == 10 and len(s['kernels']) == 1"
}
check "ten launches, one behind the other" many

one_wave() {
	emu --sms 256 --evict-every-ms 1 --json "$TMP/json" -- "${MATMUL[@]}" >"$TMP/out" || return 1
	grep ' correct: ' "$TMP/out" && summary "$TMP/json" "s['launches'] == 1 and s['evictable_launches'] == 0 and s['evictions'] == 0 and s['kernels'][0]['form'] == 'persistent' and s['kernels'][0]['reason'] == 'ONE_WAVE'"
}
check "a grid that fits on the device is not evictable" one_wave

two_processes() {
	emu --json "$TMP/json" -- sh -c 'gpushare-demo-matmul --tiles 4 && gpushare-demo-matmul --tiles 4' >"$TMP/out" || return 1
	[ "$(grep -c ' correct: ' "$TMP/out")" = 2 ] && summary "$TMP/json" "s['launches'] == 2 and len(s['kernels']) == 1"
}
check "a program's processes are counted together" two_processes

memory() {
	timeout 60 gpushare-emu --memory 1M gpushare-demo-triad 2>"$TMP/err"
	[ $? = 1 ] && grep -c 'cuMemAlloc' "$TMP/err"
}
check "the device has as much memory as was said" memory

# As without the shim, and each kernel has left the device before its end. On a busy machine a kernel may be over before the first order to leave,
# so that is tried again.
way_to_a_kernel() { # CASE KERNELS
	local try
	timeout 60 env GPUSHARE_EMU_DEVICE="$TMP/own" LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs" "$BUILD/testsuite/e2e/modules" "$1" >"$TMP/alone" || return 1
	for try in 1 2 3 4 5; do
		emu --evict-every-ms 1 --json "$TMP/json" -- "$BUILD/testsuite/e2e/modules" "$1" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
		diff "$TMP/alone" "$TMP/out" && summary "$TMP/json" "len(s['kernels']) == $2" || return 1
		summary "$TMP/json" "all(k['evictions'] > 0 for k in s['kernels'])" && return 0
	done
	return 1
}
check "a module lists the program's own functions" way_to_a_kernel functions 2
check "a library lists the program's own kernels" way_to_a_kernel kernels 2

# What a shared library brings, or loads, gets variants as well.
of_a_library() {
	emu --evict-every-ms 1 --json "$TMP/json" -- "$BUILD/testsuite/e2e/modules" library "$BUILD/.libs/modules_library.so" >"$TMP/out" 2>"$TMP/err" ||
		{ cat "$TMP/out" "$TMP/err"; return 1; }
	summary "$TMP/json" "s['launches'] == 2 and len(s['kernels']) == 2 and all(k['evictions'] > 0 and k['form'] == 'persistent' for k in s['kernels'])"
}
check "so do the modules of a shared library" of_a_library

text() {
	emu --evict-every-ms 1 "${MATMUL[@]}" 2>"$TMP/err" || return 1
	cat "$TMP/err"
	grep -E '^gpushare-emu: kernels 1, launches 1 \(1 evictable\), evictions [1-9][0-9]*$' "$TMP/err" &&
		grep -E '^  matmul: persistent, launches 1 \(1 evictable\), evictions [1-9][0-9]*$' "$TMP/err"
}
check "the summary in words" text

status() { # EXPECTED COMMAND...
	local expected=$1 got
	shift
	"$@"
	got=$?
	[ $got = "$expected" ] || { echo "status $got, not $expected"; return 1; }
}
check "the program's exit status" status 7 emu sh -c 'exit 7'
check "of a program that a signal ended" status 143 emu sh -c 'kill -TERM $$'
check "of a program that is not there" status 127 emu "$TMP/nosuch"
check "of a program that cannot be run" status 126 emu "$TMP"
check "the program's own arguments are left alone" status 0 emu sh -c '[ "$1" = --sms ]' sh --sms
check "a summary that cannot be written" status 125 emu --json "$TMP/nosuch/x" -- true
for bad in "" "--sms" "--sms 0 true" "--sms 257 true" "--sms x true" "--blocks-per-sm 65 true" "--memory 10 true" \
	"--memory lots true" "--evict-every-ms 0 true" "--evict-every-ms -1 true" "--evict-every-tasks 0 true" "--evict-seed x true" "--frobnicate true"; do
	# shellcheck disable=SC2086
	check "wrong: gpushare-emu $bad" status 2 gpushare-emu $bad
done

passes_signals() {
	local emu_pid rc=0
	gpushare-emu sh -c 'trap "exit 9" USR1; touch "$1"; n=0; while [ $n -lt 400 ]; do sleep 0.05; n=$((n + 1)); done' \
		sh "$TMP/ready" &
	emu_pid=$!
	pids=("$emu_pid")
	until_true 10 test -e "$TMP/ready" || return 1
	kill -USR1 "$emu_pid"
	wait "$emu_pid" || rc=$?
	pids=()
	[ $rc = 9 ]
}
check "signals reach the program" passes_signals

daemonless() {
	GPUSHARE_SOCKET=$TMP/nobody emu -- sh -c '[ -z "${GPUSHARE_SOCKET+x}" ] && [ "$GPUSHARE_FORCE_EVICT_MS" = 0 ]'
}
check "no daemon is asked, even inside a job" daemonless
daemon_first() {
	emu --evict-every-ms 1 --json "$TMP/json" -- env GPUSHARE_SOCKET="$TMP/nobody" "${MATMUL[@]}" >"$TMP/out" 2>"$TMP/err" || return 1
	cat "$TMP/err"
	grep 'gpushared is not there' "$TMP/err" && summary "$TMP/json" "s['launches'] == 1 and s['evictions'] == 0"
}
check "evictions are not forced on a process that names a daemon" daemon_first
nothing_left() {
	ls -A "$TMP"
	! ls -d "$TMP"/gpushare-emu-*
}
check "nothing is left behind" nothing_left
# NVIDIA's runtime asks the driver for tables of its own; here there are none.
asks_for_tables() { # VARIABLE=VALUE...: how often it is told what to do
	env "$@" LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs" timeout 20 "$PYTHON" -I -S -c 'import ctypes
cuda, table = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert [cuda.cuGetExportTable(ctypes.byref(table), bytes(16)) for i in range(2)] == [500, 500]' >"$TMP/tables" 2>&1 || { cat "$TMP/tables"; return 1; }
	cat "$TMP/tables"
	grep -c 'compile it with nvcc -cudart shared$' "$TMP/tables" || true
}
told_once() { [ "$(asks_for_tables A=b | tail -n 1)" = 1 ]; }
check "a program with NVIDIA's runtime in it is told once which flag to compile it with" told_once
untold() { [ "$(asks_for_tables GPUSHARE_QUIET=1)" = 0 ]; }
check "GPUSHARE_QUIET=1 keeps that silent" untold
finish
