#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C1: kill -9 of gpushared under eight programs in mixed states. c1_daemon_killed.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row C1 s "the new daemon's start to the last program that is connected again" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv PolicyParameters=rr_quantum=3ms
start_daemon || cannot "gpushared does not start"
trials_of c1_daemon_killed.py
