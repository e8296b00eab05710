#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CoRun=smk: equals under MPS get parts of the GPU, and give them back where that does not gain, as on the emulated device,
# which one program computes on at a time. Results are right throughout, also where one is killed, or a more urgent one comes.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ENTRIES=$BUILD/testsuite/e2e/entries
ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/entries
own_daemon
PATH=$(realpath "$SRC/testsuite/stubs"):$PATH
mkdir "$TMP/mps"
# gpushared has no MPS for a driver with the emulated device's name.
sed 's/gpushare emulated device/an emulated one with MPS/g' "$BUILD/src/device/emu/.libs/libcuda.so.1" >"$TMP/mps/libcuda.so.1"

configure() { # LINE...
	write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Isolation=mps "MpsDir=$TMP/mps" \
		"Driver=$TMP/mps/libcuda.so.1" "$@"
	sed -i '0,/^Driver=/{/^Driver=/d}' "$TMP/gpushare.conf"
}
says() { until_true 60 grep -q -- "$1" "$TMP/log" || { tail -n 20 "$TMP/log"; return 1; }; }
# A program that has kernels on the GPU, or waits for it, as long as the file $TMP/NAME is there.
begin_computing() { # NAME [OPTION...]
	: >"$TMP/$1"
	t 300 gpusharectl run "${@:2}" --shares 40 --mem 64M --partition low -- sh -c 'echo $$ >"$0.pid"; exec "$@"' "$TMP/$1" "$ENTRIES" compute "$TMP/$1" >"$TMP/$1.out" 2>&1 &
	computing=$!
}
ended_right() { # NAME PID
	rm -f "$TMP/$1"
	wait "$2" && grep -q ', 0 words wrong' "$TMP/$1.out" || { cat "$TMP/$1.out"; return 1; }
}
two() {
	begin_computing a; a=$computing
	begin_computing b "$@"; b=$computing
}
trial() {
	two
	says "$1"
	local rc=$?
	ended_right a "$a" && ended_right b "$b" && return $rc
}
reported() {
	t 20 gpusharectl report --json >"$TMP/report.json" && python3 - "$TMP/report.json" <<-'EOF'
	import json, sys
	steps = [r for r in json.load(open(sys.argv[1])) if r["kernels"]]
	print([(r["job"], r["corun_ms"], r["corun_progress"]) for r in steps])
	sys.exit(len(steps) != 2 or any(not (r["corun_ms"] > 0 and 0 <= r["corun_progress"] < 4) for r in steps))
	EOF
}
killed() {
	two
	says 'are tried on parts'
	local rc=$?
	kill -KILL "$(cat "$TMP/a.pid")"
	wait "$a"
	sleep 0.5
	ended_right b "$b" && return $rc
}
urgent() {
	two
	says 'are tried on parts'
	local rc=$?
	t 100 gpusharectl run --shares 20 --mem 64M --partition high -- "$ORDER" many 3 >"$TMP/order.out" 2>&1 && grep -qx 'many: right' "$TMP/order.out" || rc=1
	ended_right a "$a" && ended_right b "$b" && return $rc
}
start() { # LINE...
	rm -f "$TMP/log"
	configure "$@"
	start_daemon
}

check "gpushared serves a GPU" start CoRun=smk PolicyParameters=corun_epoch=200ms
check "two equals are tried on parts of the GPU, and take turns again since nothing is gained" trial 'take turns, since they gain too little'
check "the report has how long they were tried" reported
check "gpushared stops" stop_daemon
# So that any sum of at least 1 is kept.
check "gpushared serves a GPU" start CoRun=smk PolicyParameters=corun_epoch=100ms,corun_gain=0
check "one is killed" killed
check "gpushared is still there" gpusharectl status
check "gpushared stops" stop_daemon
check "gpushared serves a GPU" start CoRun=smk PolicyParameters=corun_epoch=100ms,corun_gain=0
check "a more urgent one comes" urgent
check "gpushared stops" stop_daemon
# Have the two that run now had the GPU for a second each?
both_computed() { t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["state"] != "over"]
sys.exit(not (len(rows) == 2 and all(r["active_ms"] > 1000 and r["corun_ms"] == 0 for r in rows)))'; }
none() { # [OPTION...]
	two "$@"
	until_true 60 both_computed
	local rc=$?
	ended_right a "$a" && ended_right b "$b" && [ $rc = 0 ] && ! grep -q 'parts of the GPU' "$TMP/log"
}
wrong_word() {
	t 20 gpusharectl run --corun perhaps -- true 2>"$TMP/err" && return 1
	grep -q -- "--corun: 'perhaps' is neither yes nor no" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
check "gpushared serves a GPU" start CoRun=smk PolicyParameters=corun_epoch=100ms,corun_gain=0
check "one wants to run beside nobody (--corun no): they take turns" none --corun no
check "--corun takes yes or no" wrong_word
check "gpushared stops" stop_daemon
check "gpushared serves a GPU" start
check "without CoRun they take turns" none
check "gpushared stops" stop_daemon
finish
