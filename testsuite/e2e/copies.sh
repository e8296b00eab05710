#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copies: what is counted of them, and what becomes of them while several programs copy (CopyPolicy=). On the emulated device.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/copies
own_daemon
COPIES=$BUILD/testsuite/e2e/copies

configure() { # LINE...
	write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" "JobEnv=GPUSHARE_LOG=$TMP/shim.log" "$@"
}
run() { t 300 gpusharectl run --shares 30 --mem 128M --partition "$@"; }
# report EXPRESSION: r: of all steps, those of partition p: of(p); the newest last.
report() {
	t 5 gpusharectl report --json | tee "$TMP/report.json" | python3 -c 'import json, sys
rows = json.load(sys.stdin)
of = lambda p: [r for r in rows if r["partition"] == p]
assert eval(sys.argv[1]), rows' "$1"
}

# ---- counted ----
configure
check "gpushared serves" start_daemon
: >"$TMP/once"
rm "$TMP/once"
check "a program copies 8 MiB there and back" run low -- "$COPIES" loop "$TMP/once" pinned 8
check "its report has that, and no time: it does not wait in copies" \
	report 'of("low")[-1]["h2d_mb"] == of("low")[-1]["d2h_mb"] == 8 and of("low")[-1]["copies"] == 2 and of("low")[-1]["copying_ms"] == 0'
check "the same, synchronously" run low -- "$COPIES" loop "$TMP/once" sync 8
check "the time that it was in copies is told" report 'of("low")[-1]["h2d_mb"] == 8 and of("low")[-1]["copying_ms"] > 0'
check "nothing was held back" report 'all(r["copy_waited_ms"] == 0 for r in rows)'
check "gpushared stops" stop_daemon

# ---- in chunks ----
# Both copy all the time, so each copies in chunks as soon as the daemon has seen that.
random_pair() { # COUNT
	local a b rc=0
	run low -- "$COPIES" random 1 "$1" >"$TMP/a.out" 2>&1 & a=$!
	run "$2" -- "$COPIES" random 1000000 "$1" >"$TMP/b.out" 2>&1 & b=$!
	wait $a || rc=1
	wait $b || rc=1
	cat "$TMP/a.out" "$TMP/b.out"
	[ $rc = 0 ] && grep -q "^$1 programs" "$TMP/a.out" && grep -q "^$1 programs" "$TMP/b.out"
}
in_chunks() { [ "$(grep -c 'in chunks' "$TMP/shim.log")" -ge "$1" ]; }

configure CopyPolicy=fair CopyChunk=64K
check "fair: gpushared serves" start_daemon
check "random programs of two equals are right" random_pair "$(usual_or_long 40 500)" low
check "their copies went out in chunks" in_chunks 2
check "gpushared stops" stop_daemon
rm -f "$TMP/shim.log"

configure CopyPolicy=priority CopyChunk=64K
check "priority: gpushared serves" start_daemon
check "random programs beside urgent ones are right" random_pair "$(usual_or_long 40 500)" high
check "their copies went out in chunks" in_chunks 2
check "the less urgent one's copies were held back" report 'of("low")[-1]["copy_waited_ms"] > 0 and of("high")[-1]["copy_waited_ms"] == 0'
check "gpushared stops" stop_daemon

# ---- what ends meanwhile ----
# Engines of 500 MiB/s; high copies all the time, so low's barrier is closed nearly always.
begin() { # NAME PARTITION ARGUMENT...: its output is $TMP/NAME.out, its gpusharectl's pid $NAME
	rm -f "$TMP/$1.pid"
	# shellcheck disable=SC2016
	t 300 gpusharectl run --shares 30 --mem 128M --partition "$2" -- sh -c 'echo $$ >"$0" && exec "$@"' "$TMP/$1.pid" "$COPIES" "${@:3}" >"$TMP/$1.out" 2>&1 &
	printf -v "$1" %s $!
}
pid_of() { cat "$TMP/$1.pid"; }
goes_on() { # NAME LINE: to its end, with that line
	wait "${!1}" || { cat "$TMP/$1.out"; return 1; }
	grep -x "$2" "$TMP/$1.out" || { cat "$TMP/$1.out"; return 1; }
}
# A job of low that is newer than $last has waited with its copies.
held_back() { report "str(of('low')[-1]['job']) != '$last' and of('low')[-1]['copy_waited_ms'] > 100"; }
begin_high() {
	: >"$TMP/more.high"
	begin high high loop "$TMP/more.high" pinned 16
}
end_high() {
	rm -f "$TMP/more.high"
	goes_on high '[1-9][0-9]* copies'
}

low='' high='' last=none
configure CopyPolicy=priority CopyChunk=1M JobEnv=GPUSHARE_EMU_COPY_MIB_S=500
rm -f "$TMP/device"
check "engines of 500 MiB/s: gpushared serves" start_daemon
for kind in pinned pageable sync plane box; do
	beside() {
		begin_high
		: >"$TMP/more.low"
		last=$(newest_job low)
		begin low low loop "$TMP/more.low" $kind 32
		until_true 20 held_back || return 1
		rm "$TMP/more.low"
		goes_on low '[1-9][0-9]* copies' && end_high
	}
	check "$kind copies beside urgent ones: held back, and right" beside
done
# With one connection a stream that waits at the barrier would hold up all others.
goes_whole() {
	begin_high
	: >"$TMP/more.low"
	last=$(newest_job low)
	CUDA_DEVICE_MAX_CONNECTIONS=1 begin low low loop "$TMP/more.low" pinned 32
	until_true 20 report "str(of('low')[-1]['job']) != '$last' and of('low')[-1]['h2d_mb'] >= 512" || return 1
	report "of('low')[-1]['copy_waited_ms'] == 0" || return 1
	rm "$TMP/more.low"
	goes_on low '[1-9][0-9]* copies' && end_high
}
check "a program with one connection: its pinned copies go whole, and are not held back" goes_whole
program_of() { # ARGUMENT...: less urgent
	local rc=0
	begin_high
	begin low low "$@"
	goes_on low "$2 times" || rc=1
	end_high && [ $rc = 0 ]
}
check "memory that is freed or unregistered while it is copied" program_of freed "$(usual_or_long 60 10000)"
check "captures in a stream with a copy under way" program_of captured "$(usual_or_long 20 500)"
killed() {
	local rc=0
	begin_high
	: >"$TMP/more.low"
	last=$(newest_job low)
	begin low low loop "$TMP/more.low" pinned 64
	until_true 20 held_back || return 1
	kill -KILL "$(pid_of low)" || return 1
	wait "$low" || rc=$?
	[ $rc = 137 ] && end_high && until_true 5 gpu_is_free
}
check "kill -9 between two chunks: the other one goes on, all is back" killed
# Nobody is left who would open the barrier: the program does.  It may be open at the time, so several times.
daemon_dies() {
	local i
	for i in 1 2 3 4; do
		[ $i = 1 ] || start_daemon || return 1
		daemon_dies_once || return 1
	done
}
daemon_dies_once() {
	begin_high
	: >"$TMP/more.low"
	last=$(newest_job low)
	begin low low loop "$TMP/more.low" pinned 32
	until_true 20 held_back && kill_daemon || return 1
	rm "$TMP/more.low"
	until_true 10 has_ended "$(pid_of low)" || return 1
	goes_on low '[1-9][0-9]* copies' && end_high
}
check "the daemon dies with barriers closed: they open" daemon_dies
finish
