#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D1: 992 clients of eight users connect at once, each in a process of its own; the limits of one user hold; a hundred connections come and go.
# After the third trial it has the memory that it needs for that, and for a while the reports of steps that are over come to it.
# environment: D1_SECONDS=5, the most that the 99th percentile may be
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D1 s "the 99th percentile of 992 registrations at once" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl
own_daemon
ulimit -n 4096 2>/dev/null || cannot "4096 descriptors are not allowed"
write_conf 4G "Gpu=0 Memory=4G" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
steady_kib=
trial() {
	local p99 kib said
	said=$(t 120 python3 "$SRC/testsuite/campaign/d1_many_clients.py" "$TMP/sock" "${pids[0]}" "$1" 2>&1) || went_wrong "$(tail -n 1 <<<"$said")" || return
	read -r p99 kib <<<"$said"
	measured "$p99"
	# The thousand processes share the processors with the daemon and with each other: most of it is waiting for those.
	awk -v p="$p99" -v most="${D1_SECONDS:-5}" 'BEGIN { exit !(p <= most) }' || went_wrong "a registration took $p99 s" || return
	[ $row_tried -ge 3 ] || return 0
	steady_kib=${steady_kib:-$kib}
	[ "$kib" -le $((steady_kib + 8192)) ] || went_wrong "the daemon has $kib KiB, after the third trial it had $steady_kib"
}
trials trial
