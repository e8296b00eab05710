#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare.h: a program says what of its work is urgent, gpushared decides; on the emulated device.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/api
own_daemon
# Who is not root must reach the shim, too.
[ "$(id -u)" != 0 ] || stage_build || skip_all "cannot copy the build tree to $TMP"
API=$BUILD/testsuite/e2e/api

write_conf 256M LogLevel=debug "Gpu=0 Memory=256M" "Partition=main Priority=10" Policy=piv MemoryAdmission=fcfs
as=() # another user for the short kernel
run() { t 60 gpusharectl run --shares 30 --mem 64M --partition main -- "$API" "$@"; }
prints() { # PATTERN... -- WORD...: a line of the program's matches each
	local patterns=() pattern out
	while [ "$1" != -- ]; do patterns+=("$1"); shift; done
	shift
	out=$(run "$@" 2>&1) || { echo "$out"; return 1; }
	echo "$out"
	for pattern in "${patterns[@]}"; do grep -qE -- "$pattern" <<<"$out" || return 1; done
}

check "gpushared serves" start_daemon
check "the figures of a step" prints '^report: done' 'priority=10 job_priority=10 shares=30 launches=[1-9][0-9]* .*memory_reserved=67108864 active_ns=[1-9]' -- run=20 report
check "a lower priority is in force" prints '^set=3: done' '^priority=3 job_priority=10' -- set=3 report
check "and taken back" prints '^reset: done' '^priority=10 ' -- set=3 reset report
check "a critical region has the job's priority" prints '^priority=10 ' -- set=3 begin begin end report
check "which ends" prints '^priority=3 ' -- set=3 begin begin end end report
check "an end without a beginning, and no such priority, are invalid" prints '^end: invalid' '^set=1001: invalid' '^set=-1: invalid' '^priority=10 ' -- end set=1001 set=-1 report
outside() { t 10 env -u GPUSHARE_SOCKET LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs" "$API" set=3 report | tee /dev/stderr | grep -c 'not managed' | grep -qx 2; }
check "outside of a job nothing is managed" outside
check "the priority of a thread and of a stream is not the process's" prints '^thread=2: done' '^stream=3: done' '^priority=10 job_priority=10' -- thread=2 stream=3 run=20 report
check "and is taken back" prints '^treset: done' '^sreset: done' -- thread=2 stream=3 run=20 treset sreset run=20
check "no such priority of either" prints '^thread=1001: invalid' '^stream=1001: invalid' -- thread=1001 stream=1001

# Who is not root cannot raise it: the job's priority is in force, and it is told why.
raise() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && t 60 setpriv --reuid=nobody --regid=nogroup --clear-groups env GPUSHARE_CACHE= "$BUILD/gpusharectl" run --shares 30 --mem 64M --partition main -- \
			"$API" set=3 set=11 report) >"$TMP/raise" 2>&1
	else
		run set=3 set=11 report >"$TMP/raise" 2>&1
	fi
	cat "$TMP/raise"
	grep -q "^set=11: only root may raise" "$TMP/raise" && grep -q "priority 11 is above this job's, which is 10: only root" "$TMP/raise" &&
		grep -q '^priority=10 ' "$TMP/raise" && grep "priority 11 refused: its step has 10" "$TMP/log"
}
check "raising it above the job's is refused with a message" raise
[ "$(id -u)" != 0 ] || check "root may raise it" prints '^set=11: done' '^priority=11 job_priority=10' -- set=11 report

# overtaken_once WORD...: a long kernel after these words (shorter than the two seconds after which no policy keeps an equal waiting), a short one of another job meanwhile, after the words in $urgent; 0
# if the short one ended first; 3 if it began after the long one.
urgent=()
overtaken_once() {
	local long rc
	rm -f "$TMP/long" "$TMP/short"
	run "$@" run=900 report >"$TMP/long" 2>&1 & long=$!
	until_true 20 grep -q begun "$TMP/long" || { cat "$TMP/long"; return 2; }
	(cd / && t 60 ${as[@]+"${as[@]}"} "$BUILD/gpusharectl" run --shares 30 --mem 64M --partition main -- "$API" ${urgent[@]+"${urgent[@]}"} run=20) >"$TMP/short" 2>&1 || { cat "$TMP/short"; return 2; }
	wait $long || return 2
	cat "$TMP/long" "$TMP/short"
	awk '/^begun/ { begun = $2 } /^ended/ && FILENAME == ARGV[1] { ended = $2 } END { exit !(begun < ended) }' "$TMP/long" "$TMP/short" || return 3
	awk '/^ended/ { at[FILENAME] = $2 } END { exit !(at[ARGV[2]] < at[ARGV[1]]) }' "$TMP/long" "$TMP/short"
	rc=$?
	[ $rc = 0 ] || return $rc
	grep -q 'preemptions=[1-9]' "$TMP/long"
}
# Begun after the long one: perhaps the machine was busy, and another try tells.
overtaken() {
	local i rc
	for i in 1 2 3 4 5; do
		rc=0
		overtaken_once "$@" || rc=$?
		[ $rc = 3 ] || return $rc
	done
	return 2
}
kept() { overtaken_once "$@"; [[ $? = [13] ]]; }
check "piv: a kernel keeps the GPU from one of equal priority" kept
check "a program that lowers its priority is overtaken" overtaken set=1
check "not in a critical region" kept set=1 begin
check "launches of a thread that lowers its priority are overtaken" overtaken thread=1
check "not once it has taken that back" kept thread=1 treset
check "nor in a critical region" kept thread=1 begin
check "launches into a stream of low priority are overtaken, whatever the thread's is" overtaken thread=10 stream=1
urgent=(set=1)
check "a process of low priority waits for one of higher priority" kept set=5
urgent=(stream=8 set=1)
check "its urgent stream does not" overtaken set=5
# 1000 of one who is not root is the job's 10, as is the other program's.
not_above() {
	local as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups env GPUSHARE_CACHE=)
	kept set=10
}
urgent=(stream=1000 set=1)
check "nor has it more than the job's priority" not_above
[ "$(id -u)" != 0 ] || check "but for root" overtaken set=10
urgent=()

# A priority request outlives the daemon.
restarted() {
	local program
	run set=4 wait="$TMP/go" report >"$TMP/again" 2>&1 & program=$!
	until_true 10 grep -q 'set=4: done' "$TMP/again" || return 1
	kill_daemon && start_daemon && until_true 10 grep -q 'with the page it had' "$TMP/log" || return 1
	touch "$TMP/go"
	wait $program
	cat "$TMP/again"
	grep -q '^priority=4 job_priority=10' "$TMP/again"
}
check "the next daemon is told of it" restarted

# The manual's example compiles, as C and as C++, and runs where nothing is managed.
example() {
	local language
	sed -n '/^\.EX/,/^\.EE/p' "$SRC/doc/gpushare.3" | sed '/^\.E[XE]/d; s/\\e/\\/g' >"$TMP/example.c" && [ -s "$TMP/example.c" ] || return 1
	cp "$TMP/example.c" "$TMP/example.cc"
	cc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I "$SRC/src/gpushare/api" -o "$TMP/example" "$TMP/example.c" -ldl || return 1
	! command -v c++ >/dev/null || c++ -Wall -Wextra -Werror -I "$SRC/src/gpushare/api" -o "$TMP/example++" "$TMP/example.cc" -ldl || return 1
	t 10 env -u GPUSHARE_SOCKET "$TMP/example" 2>&1 | grep -x 'priority: not managed by gpushare'
}
if command -v cc >/dev/null; then
	check "the manual's example compiles and runs" example
else
	note "the manual's example was not compiled: no cc"
fi
finish
