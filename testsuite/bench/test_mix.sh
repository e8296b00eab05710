#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-bench mix on the emulated device: real programs, every block-task once, files that can be read.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

need_built gpushare-bench gpushared gpusharectl
PATH=$BUILD:$PATH
export TMPDIR=$TMP GPUSHARE_EMU_SMS=2 GPUSHARE_EMU_MEMORY=256M

cat >"$TMP/three.csv" <<'CSV'
name,arrival_ms,length_ms,priority,shares
long,0,80,1,10
middle,10,30,5,20
short,20,10,9,70
CSV
BENCH=(t 120 gpushare-bench mix --driver "$BUILD/src/device/emu/.libs/libcuda.so.1" --shim "$BUILD/src/device/shim/.libs" --conf PolicyParameters=leave_within=1s)

mixed() {
	"${BENCH[@]}" --workload "$TMP/three.csv" --policy piv,frs --rounds 2 --alone 3 --task 1 --output "$TMP/mix"
}
check "three programs under the driver, piv and frs" mixed
# Every row is there, and what must hold on any machine, however loaded, holds.
rows() {
	python3 - "$TMP/mix.csv" "$TMP/mix-kernels.csv" <<-'EOF'
	import csv, sys
	lines = [l for l in open(sys.argv[1]) if not l.startswith("#")]
	rows = {(r["isolation"], r["policy"]): r for r in csv.DictReader(lines)}
	assert list(rows) == [("none", "driver"), ("contexts", "piv"), ("contexts", "frs")], rows
	for r in rows.values():
	    assert r["wrong"] == "0" and float(r["antt"]) > 0.3 and float(r["makespan_ms"]) > 0, r
	assert all(float(rows["contexts", p]["sim_antt"]) >= 1 for p in ("piv", "frs")), rows
	assert rows["none", "driver"]["sim_antt"] == "" == rows["none", "driver"]["ended_us"], rows
	# Every round has a first program; who comes after whom is up to the machine.
	for p in ("piv", "frs"):
	    r = rows["contexts", p]
	    assert float(r["first_us"]) > 0 and float(r["ended_us"]) >= 0 and float(r["evicted_us"]) >= 0, r
	    # What the simulator's quanta go by is gpushared's own idea, not its file's 135 us alone: it starts there.
	    assert 135 / 4 <= float(r["taken_us"]) <= 135 * 4, r
	kernels = list(csv.DictReader(l for l in open(sys.argv[2]) if not l.startswith("#")))
	assert len(kernels) == 9 and {k["name"] for k in kernels} == {"long", "middle", "short"}, kernels
	assert all(float(k["gpu_ms"]) > 0 for k in kernels), kernels
	EOF
}
check "the CSV files have a row per policy and per kernel" rows
pictures() {
	python3 - "$TMP/mix.svg" "$TMP/mix-trace.json" <<-'EOF'
	import json, sys, xml.dom.minidom
	xml.dom.minidom.parse(sys.argv[1])
	events = json.load(open(sys.argv[2]))["traceEvents"]
	for process in (1, 2, 3):
	    seen = {e["name"] for e in events if e["pid"] == process and e["ph"] == "X"}
	    assert seen == {"long", "middle", "short"}, (process, seen)
	EOF
}
check "the picture is XML, and the trace shows every program in every panel" pictures
nothing_left() { [ -z "$(find "$TMP" -maxdepth 1 -name 'gpushare-bench.*')" ]; }
check "the private folder is gone" nothing_left

refused_with() { # PATTERN ARGUMENT...: exit status 2 and a reason
	local pattern=$1
	shift
	"${BENCH[@]}" "$@" 2>"$TMP/err"
	[ $? = 2 ] && grep -E "$pattern" "$TMP/err"
}
check "an unknown policy is refused" refused_with "'nosuch' is no policy" --workload "$TMP/three.csv" --policy piv,nosuch
check "an unknown isolation is refused" refused_with "'walls' is no isolation" --workload "$TMP/three.csv" --isolation walls
check "zero rounds are refused" refused_with "." --workload "$TMP/three.csv" --rounds 0
check "a workload must be given" refused_with "workload must be given"
no_driver() {
	t 60 gpushare-bench mix --driver "$TMP/nosuch/libcuda.so.1" --workload "$TMP/three.csv" 2>"$TMP/err"
	[ $? = 1 ] && grep nosuch "$TMP/err"
}
check "a driver that is not there is named" no_driver
interrupted() {
	local pid
	"${BENCH[@]:2}" --workload "$TMP/three.csv" --rounds 1000 --task 1 2>"$TMP/err" & pid=$!
	pids=("$pid")
	until_true 10 compgen -G "$TMP/gpushare-bench.*/page" || return 1
	kill -TERM $pid
	wait $pid
	[ $? = 1 ] && grep interrupted "$TMP/err" && nothing_left
}
check "an interrupted run leaves nothing behind" interrupted
partly() {
	local pid
	"${BENCH[@]:2}" --workload "$TMP/three.csv" --policy frs --rounds 12 --alone 2 --task 1 --output "$TMP/part" 2>"$TMP/err" & pid=$!
	pids=("$pid")
	until_true 60 grep -q 'none driver: ANTT' "$TMP/err" || { cat "$TMP/err"; return 1; }
	kill -TERM $pid
	wait $pid
	[ $? = 1 ] && grep interrupted "$TMP/err" && [ "$(grep -v '^#' "$TMP/part.csv" | cut -d, -f1,2 | tail -n +2)" = none,driver ] && nothing_left
}
check "what was measured before an interruption is written" partly
rounds_count() {
	local pid
	"${BENCH[@]:2}" --workload "$TMP/three.csv" --policy frs --isolation contexts --rounds 100000 --alone 2 --task 1 --output "$TMP/rounds" 2>"$TMP/err" >"$TMP/said" & pid=$!
	pids=("$pid")
	until_true 60 grep -q 'contexts frs: [0-9]* of 100000 rounds' "$TMP/err" || { cat "$TMP/err"; return 1; }
	kill -TERM $pid
	wait $pid
	[ $? = 1 ] && grep -E 'interrupted after [1-9][0-9]* of 100000 rounds' "$TMP/err" || { cat "$TMP/err"; return 1; }
	local counted
	counted=$(sed -n 's/.*interrupted after \([0-9]*\) of.*/\1/p' "$TMP/err")
	# The simulator ran as many.
	grep -x "contexts frs: only $counted rounds" "$TMP/said" && grep -E "^contexts,frs,$counted,3,[0-9.]+,.*,[0-9.]+$" "$TMP/rounds.csv" && nothing_left
}
check "the rounds before an interruption count" rounds_count
finish
