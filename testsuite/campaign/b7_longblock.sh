#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B7: how long a kernel of long blocks takes to leave. Every kernel is waited for; b7_longblock.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B7 blocks "the order to the kernel's leave, as a part of a block's time" "$@"
need gpushared gpusharectl testsuite/e2e/order testsuite/campaign/longblock
own_daemon
LEAVE_WITHIN=0 # every kernel is waited for until EvictDeadline
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=60s
start_daemon || cannot "gpushared does not start"
trials_of b7_longblock.py
