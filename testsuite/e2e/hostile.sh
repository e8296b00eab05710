#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What programs do that demos do not: threads, forks, deaths, lies; and a daemon that dies or
# changes its policy under them. Without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order
own_daemon

configure() { # POLICY
	write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" "Policy=$1" PolicyParameters=rr_quantum=3ms
}
daemon() { kill "-$1" "$(cat "$TMP/pid")"; }
run() { t 100 gpusharectl run --shares 20 --mem 64M --partition "$@"; }

# In turns with a program that always has kernels to run.
beside_another() { # CASE
	local other rc=0
	run low -- "$ORDER" many 25 >"$TMP/other.out" 2>&1 & other=$!
	run low -- "$ORDER" "$1" || rc=1
	wait $other || { cat "$TMP/other.out"; rc=1; }
	return $rc
}

configure rr
check "gpushared serves" start_daemon
for case in streams order legacy calls fork; do
	check "evicted again and again: $case" beside_another $case
done
preempted() {
	t 5 gpusharectl report --json |
		python3 -c 'import json, sys; sys.exit(sum(r["preemptions"] for r in json.load(sys.stdin)) < 20)'
}
check "they were preempted, that is" preempted
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"

on_gpu() { grep -c 'order on gpu' "$TMP/log"; }
more_on_gpu() { [ "$(on_gpu)" -gt "$1" ]; }
# The step goes on, and so does a child with a copy of the dead program's socket, for 4 s; the next program takes less, where the
# machine lets it.
killed_with_a_child() {
	local i
	for i in 1 2 3; do
		[ $i = 1 ] || echo "again"
		next_takes_less && return
	done
	return 1
}
next_takes_less() {
	local step started took before
	before=$(on_gpu)
	run low -- sh -c "'$ORDER' orphan; sleep 4" >"$TMP/orphan.out" 2>&1 & step=$!
	until_true 10 more_on_gpu "$before" || return 1
	sleep 0.6
	started=${EPOCHREALTIME/./}
	run high -- "$ORDER" many 1 || return 1
	took=$(((${EPOCHREALTIME/./} - started) / 1000))
	wait $step
	echo "the next program took $took ms"
	[ $took -lt 2500 ]
}
check "kill -9 of a program whose child lives: the GPU is free at once" killed_with_a_child

# What its environment says is a hint: who says that it is another job's is its own job's client all the same.
check "who says that it is another job's is its own job's" run low -- env GPUSHARE_JOB_ID=12345 GPUSHARE_STEP_ID=77 "$ORDER" many 1
# A program that is no job's gets nothing, and is one line in the log.
claims_a_job() {
	local before out rc=0
	before=$(grep -c refused "$TMP/log")
	out=$(env GPUSHARE_JOB_ID=12345 GPUSHARE_DRIVER="$BUILD/src/device/emu/.libs/libcuda.so.1" GPUSHARE_EMU_DEVICE="$TMP/device" \
		LD_LIBRARY_PATH="$BUILD/src/device/shim/.libs" timeout 20 "$ORDER" many 1 2>&1) || rc=$?
	echo "exit status $rc: $out"
	[ $rc != 0 ] && [ $rc != 124 ] && grep -q 'gets nothing of the GPU' <<<"$out" &&
		[ $(($(grep -c refused "$TMP/log") - before)) = 1 ]
}
check "who is of no job and claims one gets nothing: one log line" claims_a_job

registered() { grep -c ': 20 shares of gpu' "$TMP/log"; }
three_programs() { # COMMAND: while they run; a gpusharectl whose daemon is killed before it has a step gives up
	local a b c before rc=0
	before=$(registered)
	three_more() { [ "$(registered)" -ge $((before + 3)) ]; }
	run low -- "$ORDER" many 30 >"$TMP/a.out" 2>&1 & a=$!
	run low -- "$ORDER" many 30 >"$TMP/b.out" 2>&1 & b=$!
	run high -- "$ORDER" order >"$TMP/c.out" 2>&1 & c=$!
	until_true 20 three_more && "$1" || rc=1
	wait $a || { cat "$TMP/a.out"; rc=1; }
	wait $b || { cat "$TMP/b.out"; rc=1; }
	wait $c || { cat "$TMP/c.out"; rc=1; }
	return $rc
}
kill_daemons() {
	local i
	for i in 1 2 3 4 5 6; do
		sleep 0.$((RANDOM % 3 + 1))
		daemon KILL
		[ $((i % 3)) != 0 ] || sleep 0.4
		# The killed one may take a moment to be gone.
		until_true 5 start_daemon || return 1
	done
}
check "kill -9 of gpushared six times, in the middle of everything" three_programs kill_daemons

no_steps() { [ "$(t 5 gpusharectl status --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["steps"]))')" = 0 ]; }
check "the shares of those that ended meanwhile are back" until_true 20 no_steps

change_policy() {
	local policy policies
	policies=$(sed -n 's/^POLICY(\([a-z0-9_]*\),.*/\1/p' "$SRC/src/gpushare/sched/policies.def")
	[ "$(wc -w <<<"$policies")" -ge 9 ] || { echo "found only: $policies"; return 1; }
	for policy in $policies $policies frs; do
		configure $policy
		daemon HUP
		sleep 0.06
	done
	until_true 5 grep -q 'policy frs$' "$TMP/log"
}
check "every policy in turn while kernels run" three_programs change_policy
bad_config() {
	echo Bogus=1 >>"$TMP/gpushare.conf"
	daemon HUP
	until_true 5 grep -q "not reloaded.*gpushare.conf:$(wc -l <"$TMP/gpushare.conf"): " "$TMP/log" && t 5 gpusharectl ping
}
check "a bad configuration changes nothing" bad_config
check "no kernel was waited for in vain, at the end" lacks 'have not left' "$TMP/log"

# A kernel that never reaches the end of a block-task: the others run, and it is killed if so configured.
stays=
begin_stay() {
	local last
	last=$(newest_job low)
	run low -- "$ORDER" stay >"$TMP/stay.out" 2>&1 & stays=$!
	until_true 20 computes 100 "$last" low
}
stay_pid() { sed -n 's/.* pid \([0-9]*\): order on gpu .*/\1/p' "$TMP/log" | tail -n "$1" | head -n 1; }
ended() { # STATUS
	local rc=0
	wait "$stays" || rc=$?
	echo "it ended with $rc"
	[ $rc = "$1" ]
}
configure piv
echo EvictDeadline=1s >>"$TMP/gpushare.conf"
reload
check "a kernel that stays is on the GPU" begin_stay
check "the next program runs all the same" run high -- "$ORDER" many 3
check "the log has a line about the one that stays" until_true 10 grep -E '1 kernels have not left after [0-9]{4,} ms; the next client runs beside' "$TMP/log"
kill -KILL "$(stay_pid 2)"
check "it was left alone until now" ended 137
check "and gpushared killed nobody" lacks 'is killed' "$TMP/log"
echo EvictOverdue=kill >>"$TMP/gpushare.conf"
reload
check "EvictOverdue=kill: another one that stays is on the GPU" begin_stay
check "the next program runs" run high -- "$ORDER" many 3
check "the one that stays is killed" ended 137
check "and the log says why" grep 'its job is killed: kernel lcg has not left gpu 0 for 1 s' "$TMP/log"
two_that_stay() {
	local killed step
	killed=$(grep -c 'the process is killed' "$TMP/log")
	run low -- sh -c "'$ORDER' stay; '$ORDER' stay" >"$TMP/stay.out" 2>&1 & step=$!
	for _ in {1..30}; do # each time that it has a kernel there
		kill -0 $step 2>/dev/null || break
		sleep 0.5
		run high -- "$ORDER" many 1 || return 1
		sleep 1
	done
	wait $step
	grep -c 'the process is killed' "$TMP/log"
	[ "$(grep -c 'the process is killed' "$TMP/log")" = $((killed + 2)) ]
}
check "and so is the next one of the same step" two_that_stay
check "gpushared stops" stop_daemon
finish
