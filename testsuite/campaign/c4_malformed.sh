#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C4: the trials are in c4_malformed.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row C4 - "malformed configurations" "$@"
need gpushared gpusharectl
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
python_trials c4_malformed.py "$TMP/gpushare.conf" "$TMP/log" "${pids[0]}"
