#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B5: a kernel that waits for its host, beside a neighbour that comes meanwhile. Whoever is told to leave is waited for until EvictDeadline,
# and nobody is killed; b5_hostwait.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B5 s "the neighbour's connection to its kernel, EvictDeadline of 0.5 s included" "$@"
need gpushared gpusharectl testsuite/e2e/order testsuite/campaign/hostwait
own_daemon
LEAVE_WITHIN=0 # every kernel is waited for until EvictDeadline
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" EvictDeadline=500ms
start_daemon || cannot "gpushared does not start"
trials_of b5_hostwait.py
