#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D1: 992 clients of eight users connect at once, each in a process of its own; the limits of one user hold; a hundred connections come and go.
# The first trial is not counted as growth: after it memory and descriptors are what they were.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D1 s "the 99th percentile of 992 registrations at once" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl
own_daemon
ulimit -n 4096 2>/dev/null || cannot "4096 descriptors are not allowed"
write_conf 4G "Gpu=0 Memory=4G" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
first_kib=
trial() {
	local p99 kib said
	said=$(t 120 python3 "$SRC/testsuite/campaign/d1_many_clients.py" "$TMP/sock" "${pids[0]}" "$1" 2>&1) || went_wrong "$(tail -n 1 <<<"$said")" || return
	read -r p99 kib <<<"$said"
	measured "$p99"
	first_kib=${first_kib:-$kib}
	# The thousand processes share the processors with the daemon, and that takes most of it.
	awk -v p="$p99" 'BEGIN { exit !(p <= 3) }' || went_wrong "a registration took $p99 s" || return
	[ "$kib" -le $((first_kib + 1024)) ] || went_wrong "the daemon has $kib KiB, after the first trial it had $first_kib"
}
trials trial
