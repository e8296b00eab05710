#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# DaemonAbsent: gpushared is killed inside a step; what becomes of the program that runs and of the
# one that starts then. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-demo-matmul testsuite/e2e/order testsuite/e2e/until testsuite/e2e/entries
own_daemon

configure() {
	write_conf 512M "Gpu=0 Memory=512M" "DaemonAbsent=$1" Policy=piv "Partition=low Priority=1" "Partition=high Priority=10"
}
running() { kill -0 "$step" 2>/dev/null; }
fails() { ! "$@"; }

# A step whose program starts once $TMP/go is there: `step` is its gpusharectl.
begin_step() {
	rm -f "$TMP/begun" "$TMP/go"
	# shellcheck disable=SC2016
	t 100 gpusharectl run --shares 40 --mem 128M -- sh -c 'touch "$1/begun"; until [ -e "$1/go" ]; do sleep 0.05; done; exec gpushare-demo-matmul --tiles 20' \
		sh "$TMP" >"$TMP/step.out" 2>"$TMP/step.err" &
	step=$!
	until_true 60 test -e "$TMP/begun"
}
end_step() { # its exit status
	wait "$step"
	local rc=$?
	echo "exit status $rc"
	cat "$TMP/step.out" "$TMP/step.err"
	return $rc
}
result() { grep -qE ' correct: |^many: right|, 0 words wrong' "$TMP/step.out"; }
says() { grep -q -- "$1" "$TMP/step.err"; }

starts_under_run() {
	begin_step && kill_daemon || return 1
	touch "$TMP/go"
	end_step && result && [ "$(grep -c 'runs unmanaged until it answers' "$TMP/step.err")" = 1 ]
}
starts_under_fail() {
	begin_step && kill_daemon || return 1
	touch "$TMP/go"
	end_step && return 1
	fails result && says 'gpushared is not there: .* (DaemonAbsent=fail)'
}
starts_under_wait() {
	begin_step && kill_daemon || return 1
	touch "$TMP/go"
	until_true 60 says 'gpushared is not there: this program waits' || return 1
	sleep 2
	running && fails result || return 1
	start_daemon && end_step && result && grep 'job .*matmul' "$TMP/log"
}

# The one that runs has the turn, and nobody to tell it that it is over.
begin_long() { # COMMAND...: of testsuite/e2e
	local last
	last=$(newest_job)
	t 100 gpusharectl run --shares 40 --mem 128M -- "$BUILD/testsuite/e2e/$1" "${@:2}" >"$TMP/step.out" 2>"$TMP/step.err" &
	step=$!
	until_true 60 computes 100 "$last"
}
runs_under_fail() {
	begin_long order many 5000 && kill_daemon || return 1
	until_true 60 fails running || return 1
	end_step && return 1
	fails result && says ": 802$" && says 'gpushared is not there: .* (DaemonAbsent=fail)'
}
# The processor time of the program, which no kernel takes part in once it is over: the device is emulated in the program itself.
worked() { # in ticks
	awk '{ print $14 + $15 }' "/proc/$(sed -n 's/.* pid \([0-9]*\): entries on gpu .*/\1/p' "$TMP/log" | tail -n 1)/stat"
}
rests() { # for half a second, and a busy machine gives it some of each
	local before
	before=$(worked) && [ -n "$before" ] && sleep 0.5 && [ "$(worked)" = "$before" ]
}
runs_under_wait() {
	: >"$TMP/more"
	begin_long entries compute "$TMP/more" && kill_daemon && until_true 60 says 'gpushared is not there: this program waits' || return 1
	until_true 60 rests || return 1 # the kernel at hand has ended; a program that does not wait goes on to the next one, and the next
	rm "$TMP/more" # with which it would end
	sleep 1
	running && fails result || return 1
	start_daemon && end_step && result
}

# In the middle of a kernel it has left the GPU to one of higher priority.  The shim's log: $TMP/shim.
begin_evicted() {
	local last
	last=$(newest_job low)
	rm -f "$TMP/shim"
	GPUSHARE_LOG=$TMP/shim t 100 gpusharectl run --shares 40 --mem 128M --partition low -- "$BUILD/testsuite/e2e/order" one 150 >"$TMP/step.out" 2>"$TMP/step.err" &
	step=$!
	until_true 60 computes 600 "$last" low || return 1 # some of its block-tasks are done when the other one comes
	: >"$TMP/more" # so long the high one has it
	last=$(newest_job high)
	t 100 gpusharectl run --shares 40 --mem 128M --partition high -- "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/high.out" 2>"$TMP/high.err" &
	high=$!
	until_true 60 computes 100 "$last" high
}
goes_on() { grep 'lcg goes on from block-task [1-9]' "$TMP/shim"; }
evicted_under_run() {
	begin_evicted && fails goes_on && kill_daemon && until_true 60 goes_on || return 1
	rm "$TMP/more"
	wait "$high"
	end_step && grep '^the long one: right' "$TMP/step.out" && grep '^one: right' "$TMP/step.out" && grep '^until: right' "$TMP/high.out"
}
# What was launched ends; what is not yet, fails.
evicted_under_fail() {
	begin_evicted && fails goes_on && kill_daemon && until_true 60 goes_on || return 1
	rm "$TMP/more"
	until_true 60 fails running || return 1
	wait "$high"
	end_step && return 1
	grep '^the long one: right' "$TMP/step.out" && fails grep '^one: ' "$TMP/step.out" && says ": 802$" &&
		says 'gpushared is not there: .* (DaemonAbsent=fail)'
}
evicted_under_wait() {
	begin_evicted && fails goes_on && kill_daemon || return 1
	sleep 3 # without waiting it goes on at once
	running && fails goes_on && kill -0 "$high" && start_daemon || return 1
	rm "$TMP/more"
	wait "$high"
	end_step && goes_on && grep '^one: right' "$TMP/step.out" && grep '^until: right' "$TMP/high.out"
}

configure run
check "run: gpushared serves" start_daemon
check "run: a program that starts without it runs, with one notice" starts_under_run
check "run: gpushared serves again" start_daemon
check "run: a kernel that was evicted when the daemon died goes on" evicted_under_run
configure fail
check "fail: gpushared serves" start_daemon
check "fail: a program that starts without it gets errors" starts_under_fail
check "fail: gpushared serves again" start_daemon
check "fail: so does the one that had the turn" runs_under_fail
check "fail: gpushared serves a third time" start_daemon
check "fail: a kernel that was evicted ends, and the next one gets the error" evicted_under_fail
configure wait
check "wait: gpushared serves" start_daemon
check "wait: a program that starts without it waits for it, and runs" starts_under_wait
check "wait: so does the one that had the turn" runs_under_wait
check "wait: a kernel that was evicted goes on with the next daemon" evicted_under_wait
kill "$step" "$high" 2>/dev/null # where it has not ended
check "gpushared stops" stop_daemon
finish
