#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B6: programs with kernels that cannot be evicted, or that are special in another way, beside a neighbour. b6_whole.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B6 - "nothing is measured" "$@"
need gpushared gpusharectl testsuite/e2e/{order,until}
[ -x "$BUILD/testsuite/programs/bin/cg_grid" ] || cannot "the programs are not compiled: testsuite/programs/run-all --emulated --build . --compile-only"
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10"
start_daemon || cannot "gpushared does not start"
trials_of b6_whole.py
