#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A5: programs that end themselves where programs rarely do. a5_ends.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A5 s "a program's whole run" "$@"
need gpushared gpusharectl testsuite/e2e/order testsuite/campaign/ends
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1"
start_daemon || cannot "gpushared does not start"
trials_of a5_ends.py
