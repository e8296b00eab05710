#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 of a program in each state that its kernel can be in, and one that ends by a fault of its own: the others go on, and what it
# had is there for the next one. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
UNTIL=$BUILD/testsuite/e2e/until
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/until testsuite/e2e/fault
own_daemon
victim='' other='' last=''
# Whoever is told to leave is waited for, also when it should have left by what is known of its kernel.
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=60s PolicyParameters=handover_lead=0
begin() { # NAME PARTITION PROGRAM...: its output is $TMP/NAME.out, its gpusharectl's pid $NAME
	rm -f "$TMP/$1.pid"
	# shellcheck disable=SC2016
	t 60 gpusharectl run --shares 40 --mem 100M --partition "$2" -- sh -c 'echo $$ >"$0" && exec "$@"' "$TMP/$1.pid" "${@:3}" >"$TMP/$1.out" 2>&1 &
	printf -v "$1" %s $!
}
pid_of() { cat "$TMP/$1.pid"; }
connected() { grep -q " pid $(pid_of "$1"): .* on gpu " "$TMP/log"; }
killed() { # NAME: by the signal, and nothing else
	local rc=0 pid
	pid=$(pid_of "$1")
	echo "$1 is $pid"
	kill -KILL "$pid" || return 1
	wait "${!1}" || rc=$?
	cat "$TMP/$1.out"
	echo "status $rc"
	[ $rc = 137 ]
}
goes_on() { # NAME LINE: to its end, with that line
	wait "${!1}" || { cat "$TMP/$1.out"; return 1; }
	grep -x "$2" "$TMP/$1.out" || { cat "$TMP/$1.out"; return 1; }
}
# Nearly all of the GPU's memory, and a kernel that runs.
next_one() {
	until_true 5 gpu_is_free || { t 5 gpusharectl status; return 1; }
	t 30 gpusharectl run --shares 100 --mem 256M --partition low -- "$ORDER" many 1
}
at_work() { # NAME PARTITION: the newest of that partition is on the GPU
	until_true 20 connected "$1" && until_true 20 computes 30 "$3" "$2"
}

running() {
	: >"$TMP/more"
	begin victim low "$UNTIL" "$TMP/more" && at_work victim low "$last" && killed victim
}
# Its launch has never had the turn.
waiting() {
	: >"$TMP/more"
	begin other high "$UNTIL" "$TMP/more" && at_work other high "$last" || return 1
	begin victim low "$UNTIL" "$TMP/more" && until_true 20 connected victim && sleep 0.3 && killed victim || return 1
	rm "$TMP/more"
	goes_on other 'until: right'
}
# It has left the GPU in the middle of its kernel.
evicted() {
	: >"$TMP/more"
	begin victim low "$UNTIL" "$TMP/more" && at_work victim low "$last" || return 1
	last=$(newest_job high)
	begin other high "$UNTIL" "$TMP/more" && at_work other high "$last" && killed victim || return 1
	rm "$TMP/more"
	goes_on other 'until: right'
}
# So much processor time that its blocks have begun: a kernel of which none has begun leaves at once.
has_worked() { # NAME: for a second
	local fields
	read -ra fields <"/proc/$(pid_of "$1")/stat"
	[ $((fields[13] + fields[14])) -gt "$(getconf CLK_TCK)" ]
}
# It has been told to leave and does not: nobody waits for it any longer.
told_to_leave() {
	local from
	begin victim low "$ORDER" stay busy && at_work victim low "$last" && until_true 20 has_worked victim || return 1
	begin other high "$ORDER" many 1 && until_true 20 connected other && sleep 0.5 || return 1
	kill -0 "$other" || { cat "$TMP/other.out"; echo "the other one did not wait"; return 1; }
	from=${EPOCHREALTIME/./}
	killed victim && goes_on other 'many: right' || return 1
	[ $(((${EPOCHREALTIME/./} - from) / 1000000)) -lt 10 ]
}
stopped() {
	: >"$TMP/more"
	begin victim low "$UNTIL" "$TMP/more" && at_work victim low "$last" && kill -STOP "$(pid_of victim)" && sleep 0.2 && killed victim
}
# At whatever moment, beside one that always has kernels: as it begins, loads, allocates, launches, waits.
any_moment() {
	local ms rc tick n=0
	begin other low "$ORDER" many 60
	for ms in 000 020 040 060 080 100 130 170 270 420 670; do
		begin victim low "$ORDER" many 60
		# From when it is a process of its own, to the ms: a busy machine takes long until then.
		for ((tick = 0; tick < 4000; tick++)); do
			[ ! -s "$TMP/victim.pid" ] || break
			sleep 0.005
		done
		sleep "0.$ms"
		kill -KILL "$(pid_of victim)"
		rc=0
		wait "$victim" || rc=$?
		[ $rc != 137 ] || n=$((n + 1))
	done
	echo "$n of 11 were killed"
	[ $n -ge 8 ] && goes_on other 'many: right'
}
# The other one is in turns with it when its context fails.
fault() {
	begin other low "$ORDER" many 60
	until_true 20 connected other || return 1
	begin victim low "$BUILD/testsuite/e2e/fault"
	wait "$victim" || { cat "$TMP/victim.out"; return 1; }
	cat "$TMP/victim.out"
	goes_on other 'many: right'
}

check "gpushared serves" start_daemon
for state in running waiting evicted told_to_leave stopped any_moment; do
	last=$(newest_job)
	before=$failures
	check "kill -9: ${state//_/ }" $state
	# Where it went wrong, one may not have ended.
	[ "$failures" = "$before" ] || kill -KILL "$(pid_of victim)" "$(pid_of other)" 2>/dev/null || :
	check "and the next one has its memory and its time slice" next_one
done
check "a fault is its own program's" fault
check "and the next one has its memory and its time slice" next_one
check "gpushared is the same" kill -0 "$(cat "$TMP/pid")"
check "gpushared stops" stop_daemon
finish
