#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Launches that wait for their turn in their streams (shim/launch/grant.h): what a program may rely on, beside one that always has kernels on
# the GPU; and whoever dies, comes back or has no daemon meanwhile. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/until
# Who runs beside another waits in no stream, and so would kernels that nobody knows yet.
LEAVE_WITHIN=0
own_daemon

configure_again() { stop_daemon && configure "$@" && start_daemon; }
configure() { write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" "$@"; }
run() { t 150 gpusharectl run --shares 20 --mem 64M "$@"; }

# begin_other [OPTION...]: computes until $TMP/more is gone; other is its gpusharectl.
begin_other() {
	local last
	last=$(newest_job)
	: >"$TMP/more"
	# shellcheck disable=SC2016
	run "$@" -- sh -c 'echo $$ >"$0"; exec "$@"' "$TMP/other.pid" "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/other.out" 2>&1 &
	other=$!
	until_true 20 computes 30 "$last"
}
end_other() {
	rm -f "$TMP/more"
	wait "$other" && grep -qx 'until: right' "$TMP/other.out" || { cat "$TMP/other.out"; return 1; }
}
# begin_waiting CASE...: a program whose first launch waits; waiting is its gpusharectl, its shim's log is $TMP/shim.
begin_waiting() {
	rm -f "$TMP/shim" "$TMP/waiting.pid"
	# shellcheck disable=SC2016
	GPUSHARE_LOG=$TMP/shim run --partition low -- sh -c 'echo $$ >"$0"; exec "$@"' "$TMP/waiting.pid" "$ORDER" "$@" >"$TMP/waiting.out" 2>&1 &
	waiting=$!
	until_true 20 waits_in_stream
}
waits_in_stream() { grep -q 'waits for its time slice in its stream' "$TMP/shim"; }
end_waiting() {
	wait "$waiting" && grep -q ': right$' "$TMP/waiting.out" || { cat "$TMP/waiting.out"; return 1; }
}

# --- what a program may rely on ---
configure Policy=rr
check "gpushared serves" start_daemon
beside() { # CASE...
	local rc=0
	rm -f "$TMP/shim"
	begin_other || return 1
	GPUSHARE_LOG=$TMP/shim run -- "$ORDER" "$@" >"$TMP/one.out" 2>&1 && grep -qx "$1: right" "$TMP/one.out" || { cat "$TMP/one.out"; rc=1; }
	end_other && return $rc
}
waits_beside() { beside "$@" && waits_in_stream; }
for case in streams crowd order legacy "many 20" fork; do
	# shellcheck disable=SC2086
	check "$case, beside one that computes" waits_beside $case
done
check "graphs, which do not wait so, beside one that computes" beside graphs 8
check "calls in front of which nothing is held, beside one that computes" beside calls
check "gpushared stops" stop_daemon

# --- who dies meanwhile ---
configure Policy=piv
check "gpushared serves by priority" start_daemon
killed() {
	begin_other --partition high && begin_waiting one 10 || return 1
	kill -KILL "$(cat "$TMP/waiting.pid")"
	wait "$waiting"
	until_true 10 clients_are 1 && end_other && until_true 10 clients_are 0 && run -- "$ORDER" many 1
}
check "the one that waits is killed: the other goes on, and the next one" killed
killed_other() {
	begin_other --partition high && begin_waiting one 10 && kill -KILL "$(cat "$TMP/other.pid")" || return 1
	wait "$other"
	end_waiting
}
check "the other one is killed: it goes" killed_other
daemon_killed() {
	begin_other --partition high && begin_waiting one 10 && kill_daemon || return 1
	end_waiting && end_other
}
check "DaemonAbsent=run, the daemon is killed: it goes" daemon_killed
configure Policy=piv DaemonAbsent=wait
check "gpushared serves again" start_daemon
daemon_back() {
	begin_other --partition high && begin_waiting one 10 && kill_daemon && sleep 1 || return 1
	kill -0 "$waiting" && start_daemon && end_other && end_waiting
}
check "DaemonAbsent=wait, the daemon is killed and comes back: it waits, and goes" daemon_back
# What is in a stream cannot be taken out again: nobody could be told that it is not to be.
fails() {
	begin_other --partition high || return 1
	rm -f "$TMP/shim"
	GPUSHARE_LOG=$TMP/shim run --partition low -- "$ORDER" one 10 >"$TMP/waiting.out" 2>&1 &
	waiting=$!
	until_true 20 clients_are 2 && sleep 0.5 && kill -0 "$waiting" && end_other && end_waiting && ! grep -qs 'waits for its time slice in its stream' "$TMP/shim"
}
check "DaemonAbsent=fail: gpushared serves" configure_again Policy=piv DaemonAbsent=fail
check "DaemonAbsent=fail: it waits with its thread" fails
check "gpushared stops" stop_daemon
finish
