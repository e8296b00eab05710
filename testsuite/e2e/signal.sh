#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# PolicyParameters=eviction_signal: a kernel is evicted and goes on under each signal. On the emulated device.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-demo-matmul testsuite/e2e/until
own_daemon

serve() { # SIGNAL
	write_conf 256M LogLevel=debug "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" \
		Policy=piv MemoryAdmission=fcfs "PolicyParameters=eviction_signal=$1"
	start_daemon
}
run() { t 60 gpusharectl run --shares 30 --mem 64M --partition "$@"; }
# value KEY: of the GPU's status; figure KEY: of the low job's report.
value() { t 5 gpusharectl status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0][sys.argv[1]])' "$1"; }
figure() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
print([r for r in json.load(sys.stdin) if r["partition"] == "low"][-1][sys.argv[1]])' "$1"
}

evicted() {
	local low last
	last=$(newest_job low)
	: >"$TMP/more"
	run low -- "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 computes 50 "$last" low || { cat "$TMP/low.out" "$TMP/log"; return 1; }
	run high -- gpushare-demo-matmul --tiles 10 >"$TMP/high.out" 2>&1 || { cat "$TMP/high.out"; return 1; }
	rm "$TMP/more"
	wait $low || { cat "$TMP/low.out"; return 1; }
	cat "$TMP/low.out" "$TMP/high.out"
	grep -qx 'until: right' "$TMP/low.out" && grep -q ' correct: ' "$TMP/high.out" || return 1
	echo "preempted $(figure preemptions) times"
	[ "$(figure preemptions)" -ge 1 ]
}
for signal in proxy memop dma auto; do
	check "$signal: gpushared serves" serve $signal
	check "$signal: a kernel is evicted, goes on, and is right" evicted
	check "$signal: the status says so" test "$(value signal)" = ${signal/auto/proxy/memop}
	check "$signal: gpushared stops" stop_daemon
done
finish
