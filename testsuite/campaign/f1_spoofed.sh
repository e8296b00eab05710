#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F1: the trials are in f_identity.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row F1 - "spoofed identities" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
start_daemon || cannot "gpushared does not start"
python_trials f_identity.py F1 "$TMP/sock"
