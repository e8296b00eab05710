#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E4: the trials are in e4_page.py; N counts words that were written. A neighbour computes all the time, and what it computes is right.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row E4 - "words written into the page while the daemon reads it" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl testsuite/campaign/e4_flip testsuite/e2e/order
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
neighbour() { # until the file is gone
	while [ -e "$TMP/more" ]; do
		t 60 gpusharectl run --shares 20 --mem 64M -- "$BUILD/testsuite/e2e/order" many 1 || return 1
	done
}
: >"$TMP/more"
daemon=${pids[0]}
neighbour >"$TMP/neighbour" 2>&1 & beside=$!
pids+=($beside)
python_trials_over() { # what is looked at before the last line
	rm "$TMP/more"
	wait $beside || { row_failed=$((row_failed + 1)); echo "E4: the neighbour: $(tail -n 1 "$TMP/neighbour")"; }
	kill -0 "$daemon" || { row_failed=$((row_failed + 1)); echo "E4: gpushared is gone: $(tail -n 1 "$TMP/log")"; }
}
python_trials e4_page.py "$TMP/sock" "$daemon" "$BUILD/testsuite/campaign/e4_flip"
