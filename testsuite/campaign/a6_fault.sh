#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A6: a kernel of one program fails while two neighbours run. a6_fault.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A6 s "a new program's connection to its end, beside a neighbour whose kernel runs, after another one's kernel has failed" "$@"
need gpushared gpusharectl gpushare-demo-matmul gpushare-demo-triad gpushare-demo-reduce testsuite/e2e/{order,until,fault}
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10"
start_daemon || cannot "gpushared does not start"
trials_of a6_fault.py
