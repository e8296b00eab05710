#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A4: programs that fork with kernels out and are killed, while the child lives on. a4_forked.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A4 s "the fork to the log's line that the program is gone" "$@"
need gpushared gpusharectl testsuite/e2e/order testsuite/campaign/forked
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv
start_daemon || cannot "gpushared does not start"
trials_of a4_forked.py
