#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A2: SIGSEGV, SIGTERM and SIGSTOP of a program whose launch is in a state, beside two neighbours. One that is stopped is stopped for two
# seconds, longer than EvictDeadline: longer ones show nothing else. a1_killed.py; the out-of-memory killer of a cgroup and scancel are
# not in it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A2 s "signal to the neighbours' kernels or, where it stops the program, to their end" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=1s PolicyParameters=handover_lead=0
start_daemon || cannot "gpushared does not start"
trials_of a1_killed.py
