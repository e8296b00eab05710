#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that only the guarded form fits is evicted and goes on: by each signal, beside another program, with a million blocks, and across
# a daemon that is killed. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

GUARDED=$BUILD/testsuite/e2e/guarded
need_built gpushared gpusharectl gpushare-emu testsuite/e2e/guarded testsuite/e2e/order
own_daemon
BLOCKS=$(usual_or_long 1024 4096) # as many take 0.2 s

serve() { # LINE...
	write_conf 256M "Gpu=0 Memory=256M" Policy=rr "$@" && start_daemon
}
kernels() { t 5 gpusharectl kernels "$@" --job "$(newest_job)"; }
# run [OPTION...] -- ARGUMENT...: the program is right; then `preemptions` is how often its kernel was evicted.
run() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	t 200 gpusharectl run --shares 20 --mem 64M "${options[@]}" -- "$GUARDED" "${@:2}" >"$TMP/out" 2>&1
	local rc=$?
	cat "$TMP/out"
	preemptions=$(kernels --json | python3 -c 'import json, sys
print(sum(r["preemptions"] for r in json.load(sys.stdin)["kernels"]))')
	echo "exit status $rc, $preemptions preemptions"
	[ $rc = 0 ] && grep -qx 'guarded: right' "$TMP/out"
}
forced() { # MS LEAST ARGUMENT...
	run --force-evict-ms "$1" -- "${@:3}" && [ "$preemptions" -ge "$2" ]
}

# --- every signal ---
for signal in proxy memop dma; do
	check "$signal: gpushared serves" serve "PolicyParameters=eviction_signal=$signal"
	check "$signal: every ms" forced 1 5 "$BLOCKS" 200
	check "$signal: every 10 ms" forced 10 5 "$BLOCKS" 200
	check "$signal: no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
	check "$signal: gpushared stops" stop_daemon
done

# --- without a daemon ---
alone() { # MS ARGUMENT...
	env -u GPUSHARE_SOCKET GPUSHARE_FORCE_EVICT_MS="$1" GPUSHARE_LOG="$TMP/shim" GPUSHARE_EMU_DEVICE="$TMP/device" \
		GPUSHARE_DRIVER="$BUILD/src/device/emu/.libs/libcuda.so.1" LD_LIBRARY_PATH="$BUILD/src/device/shim/.libs" \
		timeout 100 "$GUARDED" "${@:2}" >"$TMP/out" || return 1
	cat "$TMP/out"
	grep -qx 'guarded: right' "$TMP/out" && grep -q 'guarded goes on from block-task' "$TMP/shim"
}
check "every 0.2 ms" alone 0.2 "$BLOCKS" 200
by_tasks() {
	t 100 gpushare-emu --evict-every-tasks 500 -- "$GUARDED" 4096 10 >"$TMP/out" 2>&1 || return 1
	cat "$TMP/out"
	grep -qx 'guarded: right' "$TMP/out" && grep -qE 'evictions [1-9]' "$TMP/out"
}
check "after numbers of block-tasks" by_tasks

# --- beside another program, which comes and goes ---
check "gpushared serves" serve
beside() {
	local other rc=0
	t 200 gpusharectl run --shares 20 --mem 64M -- "$BUILD/testsuite/e2e/order" many 25 >"$TMP/other" 2>&1 & other=$!
	until_true 20 clients_are 1 || rc=1
	forced "$1" "$2" "${@:3}" || rc=1
	wait $other || rc=1
	cat "$TMP/other"
	return $rc
}
check "every ms, beside another program" beside 1 5 "$BLOCKS" 200
check "every 10 ms, beside another program" beside 10 5 "$BLOCKS" 200
# A relaunch that heeded each order at once would never get past the blocks that have run.
# 32768 take some 30 ms to be got past.
many=$(usual_or_long 32768 1048576)
check "$many blocks, every ms" forced 1 2 "$many" 1 once
names_the_form() {
	kernels --json | python3 -c 'import json, sys
rows = json.load(sys.stdin)["kernels"]
assert [(r["kernel"], r["transform"], r["made_of"]) for r in rows] == [("guarded", "guarded", "PTX")] and rows[0]["since"] > 1.7e9, rows' && kernels | grep -E 'guarded.*guarded'
}
check "gpusharectl kernels names the form" names_the_form
restarted() {
	local step before
	before=$(grep -c 'goes on from' "$TMP/shim")
	GPUSHARE_LOG=$TMP/shim t 200 gpusharectl run --shares 20 --mem 64M --force-evict-ms 2 -- "$GUARDED" "$BLOCKS" 2000 >"$TMP/out" 2>&1 & step=$!
	goes_on() { [ "$(grep -c 'goes on from' "$TMP/shim")" -gt $((before + 3)) ]; }
	until_true 30 goes_on || return 1
	kill_daemon && start_daemon || return 1
	before=$(grep -c 'goes on from' "$TMP/shim")
	until_true 30 goes_on || return 1
	rm "$TMP/more"
	wait $step
	cat "$TMP/out"
	grep -qx 'guarded: right' "$TMP/out" && names_the_form # the new daemon has been told all of it again
}
check "a daemon that is killed and started again goes on with it" restarted
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
check "gpushared stops" stop_daemon
finish
