#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D5: waves of random jobs under chaos. d5_soak.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D5 KiB "more memory of gpushared than when its reports had all the steps that they keep" "$@"
need gpushared gpusharectl gpushare-demo-matmul gpushare-demo-triad gpushare-demo-reduce testsuite/e2e/order
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" EvictDeadline=10s
start_daemon || cannot "gpushared does not start"
trials_of d5_soak.py
