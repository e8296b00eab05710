#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# LookoutCpu: one thread, on a processor of its own, looks for all clients in place of their attendants.
# The same programs give the same results, whoever comes, goes or is killed; and who has nobody to look for sleeps.
# On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/doors
own_daemon
cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')

daemon_with() { # LOOKOUT LINE...
	rm -f "$TMP/log"
	LOOKOUT=$1 write_conf 256M "Gpu=0 Memory=256M" "${@:2}" && start_daemon
}
says() { until_true 5 grep -qE -- "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }; }
# A program's line of output when it was right.
run() { t 200 gpusharectl run --shares 10 --mem "${MEM:-16M}" "$@"; }
many() { run "${@:2}" -- "$ORDER" many "$1" >"$TMP/out.$BASHPID" 2>&1 && grep -qx 'many: right' "$TMP/out.$BASHPID" || { cat "$TMP/out.$BASHPID"; return 1; }; }
threads_on() { # PROCESSOR: threads of the daemon that may run there and nowhere else
	local n=0 status
	for status in /proc/"$(cat "$TMP/pid")"/task/*/status; do
		[ "$(sed -n 's/^Cpus_allowed_list:\t//p' "$status" 2>/dev/null)" != "$1" ] || n=$((n + 1))
	done
	echo $n
}
ticks() { awk '{ print $14 + $15 }' "/proc/$(cat "$TMP/pid")/stat"; }
clients_are() { [ "$(t 5 gpusharectl status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["clients"])')" = "$1" ]; }
evictions() { t 5 gpusharectl status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["evictions"])'; }

# --- what is no processor ---
wrong() {
	LOOKOUT=$1 write_conf 256M "Gpu=0 Memory=256M" &&
		refused 'gpushare.conf:[0-9]+: .*LookoutCpu' gpushared --config "$TMP/gpushare.conf" --check
}
for bad in x -1 1.5 1024 1,2; do
	check "LookoutCpu=$bad is refused" wrong "$bad"
done
none_there() {
	daemon_with 1023 && says 'LookoutCpu=1023: .*; clients are attended as without it' && many 3 && stop_daemon
}
check "a processor that is not there: a line in the log, and all else as without" none_there

# --- it looks out ---
check "gpushared serves" daemon_with "$cpu" Policy=rr
check "the log says where it looks out" says "looks out on processor $cpu"
check "one thread is bound there" test "$(threads_on "$cpu")" = 1
quiet() { # TICKS COMMAND...: what the daemon takes in a second, of 100
	local before
	before=$(ticks)
	sleep 1
	echo "$(($(ticks) - before)) of 100"
	[ $(($(ticks) - before)) -le "$1" ]
}
check "without clients it sleeps" quiet 5
alone() {
	local job rc=0
	: >"$TMP/more"
	MEM=64M run -- "$BUILD/testsuite/e2e/doors" compute "$TMP/more" >"$TMP/alone.out" 2>&1 & job=$!
	until_true 30 clients_are 1 && quiet 40 && clients_are 1 || rc=1
	rm "$TMP/more"
	wait $job && grep -q ', 0 words wrong' "$TMP/alone.out" && return $rc
}
check "so it does while no two share" alone
share() { # of two at once
	local other before rc=0
	before=$(evictions)
	many 25 & other=$!
	many 25 || rc=1
	wait $other || rc=1
	echo "$before, then $(evictions) evictions"
	[ "$(evictions)" -gt $((before + 3)) ] && return $rc
}
check "two share, and evict each other" share
attendants() { echo "$(threads_on "$cpu") threads"; [ "$(threads_on "$cpu")" = 1 ] && [ "$(ls /proc/"$(cat "$TMP/pid")"/task | wc -l)" -le "$threads" ]; }
threads=$(ls /proc/"$(cat "$TMP/pid")"/task | wc -l)
threads_with_clients() {
	local job rc=0
	run -- sh -c "'$ORDER' many 25" >/dev/null 2>&1 & job=$!
	until_true 30 clients_are 1 && attendants || rc=1
	wait $job
	return $rc
}
check "clients have no threads of their own" threads_with_clients

killed() {
	local other rc=0 job
	run -- sh -c "echo \$\$ >'$TMP/victim'; exec '$ORDER' many 200" >/dev/null 2>&1 & other=$!
	until_true 30 test -s "$TMP/victim" && until_true 30 clients_are 1 || rc=1
	many 10 & job=$!
	until_true 30 clients_are 2 || rc=1
	kill -9 "$(cat "$TMP/victim")" || rc=1
	wait $job || rc=1
	wait $other
	until_true 5 clients_are 0 && until_true 5 gpu_is_free && return $rc
}
check "one of two is killed: the other goes on" killed
comes_and_goes() {
	local i job=() rc=0
	for i in 1 2 3 4 5 6 7 8; do
		many 3 & job+=($!)
	done
	for i in "${job[@]}"; do wait "$i" || rc=1; done
	until_true 5 clients_are 0 && return $rc
}
check "eight come and go" comes_and_goes
check "nobody is left: it sleeps again" quiet 5

# --- the daemon comes and goes ---
restarted() { # SIGNAL LOOKOUT
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
check "it stops and comes back without a lookout: the same" restarted TERM no
check "and with one again" restarted TERM "$cpu"
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
reload() {
	sed -i 's/^LookoutCpu=.*/LookoutCpu=no/' "$TMP/gpushare.conf" && kill -HUP "$(cat "$TMP/pid")" && says reloaded &&
		says 'LookoutCpu change with a restart only' && many 3 && [ "$(threads_on "$cpu")" = 1 ]
}
check "a reload leaves it where it is, and says so" reload
check "gpushared stops" stop_daemon
finish
