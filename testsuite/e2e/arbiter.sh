#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Arbiter, ArbiterCpu: the GPU's thread polls on a processor of its own while clients share the GPU.
# The same programs give the same results as with one that sleeps, whoever comes, goes or is killed; and it sleeps with nobody to poll for.
# On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/entries
own_daemon
cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')

# RealTime=no: a thread that polls at nice -20 leaves what else is on its processor a hundredth of it, the other tests' programs too, and
# a request then takes seconds.
daemon_with() { # PROCESSOR LINE...
	rm -f "$TMP/log"
	ARBITER=${ARBITER:-poll} ARBITER_CPU=$1 write_conf 256M "Gpu=0 Memory=256M" RealTime=no "${@:2}" && start_daemon
}
says() { until_true 20 grep -qE -- "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }; }
# A program's line of output when it was right.
run() { t 200 gpusharectl run --shares 10 --mem "${MEM:-16M}" "$@"; }
# begin_computing NAME: a program that has kernels on the GPU, or waits for it, as long as the file $TMP/NAME is there; `computing` is
# its gpusharectl. ended_right NAME: it has ended, and its results are right.
begin_computing() {
	: >"$TMP/$1"
	MEM=64M run -- sh -c 'echo $$ >"$0.pid"; exec "$@"' "$TMP/$1" "$BUILD/testsuite/e2e/entries" compute "$TMP/$1" >"$TMP/$1.out" 2>&1 & computing=$!
}
ended_right() {
	rm -f "$TMP/$1"
	wait "$2" && grep -q ', 0 words wrong' "$TMP/$1.out" || { cat "$TMP/$1.out"; return 1; }
}
many() { run "${@:2}" -- "$ORDER" many "$1" >"$TMP/out.$BASHPID" 2>&1 && grep -qx 'many: right' "$TMP/out.$BASHPID" || { cat "$TMP/out.$BASHPID"; return 1; }; }
threads_on() { # PROCESSOR: threads of the daemon that may run there and nowhere else
	local n=0 status
	for status in /proc/"$(cat "$TMP/pid")"/task/*/status; do
		[ "$(sed -n 's/^Cpus_allowed_list:\t//p' "$status" 2>/dev/null)" != "$1" ] || n=$((n + 1))
	done
	echo $n
}
ticks() { awk '{ print $14 + $15 }' "/proc/$(cat "$TMP/pid")/stat"; }
evictions() { t 5 gpusharectl status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["evictions"])'; }

# --- what is no processor ---
wrong() {
	ARBITER_CPU=$1 write_conf 256M "Gpu=0 Memory=256M" &&
		refused 'gpushare.conf:[0-9]+: .*ArbiterCpu' gpushared --config "$TMP/gpushare.conf" --check
}
for bad in x -1 1.5 1024 1,2; do
	check "ArbiterCpu=$bad is refused" wrong "$bad"
done
none_there() {
	daemon_with 1023 && says 'ArbiterCpu: processor 1023: .*; its arbiter runs anywhere' && many 3 && stop_daemon
}
check "a processor that is not there: a line in the log, and all else as without" none_there

old() { # every key of an earlier version
	local key keys
	keys=$(sed -n 's/^GONE(\([A-Za-z]*\),.*/\1/p' "$SRC/src/gpushare/config/gone.def")
	[ "$(wc -l <<<"$keys")" -ge 20 ] || return 1
	for key in $keys; do
		write_conf 256M "Gpu=0 Memory=256M" "$key=1" &&
			refused "the key $key is gone; write instead: " gpushared --config "$TMP/gpushare.conf" --check || return 1
	done
}
check "a key that is gone is refused with what to write instead" old

warns() { # LINE FINDING: what `check` says of it
	write_conf 256M "Gpu=0 Memory=256M" && sed -i -E "s/^${1%%=*}=.*/$1/" "$TMP/gpushare.conf" &&
		gpusharectl check --config "$TMP/gpushare.conf" >"$TMP/checked"
	grep -qE "$2" "$TMP/checked" || { cat "$TMP/checked"; return 1; }
}
check "check: a processor that is not there is wrong" warns ArbiterCpu=1000 'arbiter .*ArbiterCpu=1000: with 1 GPUs processor 1000 is needed'
check "check: one that polls among the jobs is doubtful" warns Arbiter=poll 'arbiter .*Arbiter=poll '
check "check: auto is good" warns Arbiter=auto 'arbiter .*runs anywhere'

# --- it polls ---
check "gpushared serves" daemon_with "$cpu" Policy=rr
check "the log says where it runs" says "its arbiter runs on processor $cpu"
check "one thread is bound there" test "$(threads_on "$cpu")" = 1
quiet() { # TICKS: what the daemon takes in a second, of 100; for once, as what others take of a virtual processor counts as its own
	local before took i
	for i in 1 2 3 4; do
		before=$(ticks)
		sleep 1
		took=$(($(ticks) - before))
		echo "$took of 100"
		[ $took -gt "$1" ] || return 0
	done
	return 1
}
check "without clients it sleeps" quiet 5
alone() {
	local rc=0
	begin_computing alone
	until_true 30 clients_are 1 && quiet 40 && until_true 30 clients_are 1 || rc=1
	ended_right alone $computing && return $rc
}
check "so it does while no two share" alone
share() { # of two at once, until each other's kernels have been evicted
	local one before rc=0
	before=$(evictions)
	more_evictions() { [ "$(evictions)" -gt $((before + 3)) ]; }
	begin_computing one
	one=$computing
	begin_computing other
	until_true 60 more_evictions || rc=1
	echo "$before, then $(evictions) evictions"
	ended_right one $one || rc=1
	ended_right other $computing && return $rc
}
check "two share, and evict each other" share
only_the_arbiter() { echo "$(threads_on "$cpu") threads"; [ "$(threads_on "$cpu")" = 1 ] && [ "$(ls /proc/"$(cat "$TMP/pid")"/task | wc -l)" -le "$threads" ]; }
threads=$(ls /proc/"$(cat "$TMP/pid")"/task | wc -l)
threads_with_clients() {
	local rc=0
	begin_computing one
	until_true 30 clients_are 1 && only_the_arbiter || rc=1
	ended_right one $computing && return $rc
}
check "clients have no threads of their own" threads_with_clients

killed() {
	local victim rc=0
	begin_computing victim
	victim=$computing
	until_true 30 clients_are 1 || rc=1
	begin_computing other
	until_true 30 clients_are 2 || rc=1
	kill -9 "$(cat "$TMP/victim.pid")" || rc=1
	until_true 20 clients_are 1 || rc=1
	ended_right other $computing || rc=1
	wait $victim
	until_true 20 clients_are 0 && until_true 20 gpu_is_free && return $rc
}
check "one of two is killed: the other goes on" killed
comes_and_goes() {
	local i job=() rc=0
	for i in 1 2 3 4 5 6 7 8; do
		many 3 & job+=($!)
	done
	for i in "${job[@]}"; do wait "$i" || rc=1; done
	until_true 20 clients_are 0 && return $rc
}
check "eight come and go" comes_and_goes
check "nobody is left: it sleeps again" quiet 5

# --- the daemon comes and goes ---
restarted() { # SIGNAL PROCESSOR
	local job other pid rc=0
	many 60 & job=$!
	many 60 & other=$!
	until_true 30 clients_are 2 || rc=1
	pid=$(cat "$TMP/pid")
	kill -"$1" "$pid" && until_true 5 has_ended "$pid" || rc=1
	sleep 0.3
	daemon_with "$2" Policy=rr || rc=1
	wait $job || rc=1
	wait $other || rc=1
	return $rc
}
check "gpushared is killed and comes back: its clients go on" restarted KILL "$cpu"
export ARBITER=sleep
check "it stops and comes back with one that sleeps: the same" restarted TERM no
unset ARBITER
check "and with one that polls again" restarted TERM "$cpu"
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
reloads() {
	sed -i 's/^ArbiterCpu=.*/ArbiterCpu=no/' "$TMP/gpushare.conf" && reload &&
		says 'ArbiterCpu change with a restart only' && many 3 && [ "$(threads_on "$cpu")" = 1 ]
}
check "a reload leaves it where it is, and says so" reloads
check "gpushared stops" stop_daemon
finish
