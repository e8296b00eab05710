#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B1: a kernel whose block-tasks take minutes is told to leave. With EvictOverdue=kill, where its program is killed; b_deadlines.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B1 s "the neighbour's connection to its end, EvictDeadline of 0.5 s included" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
LEAVE_WITHIN=0 # every kernel is waited for until EvictDeadline
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=500ms EvictOverdue=kill
start_daemon || cannot "gpushared does not start"
export OVERDUE=kill
trials_of b_deadlines.py
