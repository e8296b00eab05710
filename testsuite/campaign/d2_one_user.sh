#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D2: the trials are in d2_one_user.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row D2 s "the 99th percentile of another user's questions" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
python_trials d2_one_user.py "$TMP/sock"
