#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F4: the trials are in f4_paths.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row F4 - "another user's files and processes and the daemon's" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl
own_daemon
mkdir -m 1777 "$TMP/public"
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1" "HistoryFile=$TMP/history.db" "MetricsFile=$TMP/public/metrics.prom" "ReportInterval=1s"
start_daemon || cannot "gpushared does not start"
python_trials f4_paths.py "$TMP" "$TMP/public" "${pids[0]}"
