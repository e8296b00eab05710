#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C3: gpushared reads its configuration anew, once or many times, or ends and starts, under programs in mixed states. c3_reload.py.
# Upgrades from one package to the next are testsuite/package/check-upgrade's (make check-upgrade).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row C3 s "a daemon's stop to the last program that is connected again" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv PolicyParameters=rr_quantum=3ms
start_daemon || cannot "gpushared does not start"
trials_of c3_reload.py
