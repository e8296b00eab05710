#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A few trials of the rows that need no more than seconds, so that `make check` has what the campaign found.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
need_built gpushared gpusharectl testsuite/campaign/e4_flip testsuite/e2e/order .libs/killer.so
few() { # SCRIPT N
	t 120 env TMPDIR="$TMP" "$SRC/testsuite/campaign/$1" "$2" 1 | tee "$TMP/last" && grep -E '^row=[A-H][0-9]+ n=[1-9][0-9]* failures=0 ' "$TMP/last"
}
check "malformed configurations change nothing (C4)" few c4_malformed.sh 24
check "the daemon is killed while it saves its state (C2)" few c2_state.sh 30
# Only the campaign judges how soon: here other tests use the processors, too.
export D1_SECONDS=60
check "a thousand clients, and a user more (D1)" few d1_many_clients.sh 1
check "anything in a client's page (E4)" few e4_page.sh 20000000
check "claims of another's job (F1)" few f1_spoofed.sh 40
check "who registers twice is counted once (F3)" few f3_twice.sh 10
check "another user's files and the daemon's (F4)" few f4_paths.sh 6
if unshare --pid --fork --mount-proc sh -c 'echo 300 >/proc/sys/kernel/ns_last_pid' 2>/dev/null; then
	check "numbers of processes used again (F2)" few f2_reuse.sh 8
else
	note "no number of a process can be chosen here: F2 was not tried"
fi
check "commands that only an administrator may give (F5)" few f5_commands.sh 18
check "setuid programs in a user's environment (F8)" few f8_secure.sh 7
finish
