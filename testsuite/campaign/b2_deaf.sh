#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B2: a client that has the GPU and is deaf: it never launches, never leaves, is stopped, or does not read its socket. Nobody is killed
# here (EvictOverdue=warn), the next one runs all the same; b_deadlines.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B2 s "the neighbour's connection to its end, EvictDeadline of 0.5 s included" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
LEAVE_WITHIN=0 # every kernel is waited for until EvictDeadline
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=500ms
start_daemon || cannot "gpushared does not start"
trials_of b_deadlines.py
