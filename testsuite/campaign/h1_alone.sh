#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row H1: programs that have the GPU to themselves print what they print without gpushare. h_results.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row H1 - "nothing is measured" "$@"
need gpushared gpusharectl gpushare-demo-matmul gpushare-demo-triad gpushare-demo-reduce testsuite/e2e/order
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" Policy=piv
start_daemon || cannot "gpushared does not start"
trials_of h_results.py
