#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F6: what a program had in its device memory is seen by none that comes after it, and kept nowhere by gpushare. f6_residue.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row F6 - "nothing" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to look into gpushared's memory"
need gpushared gpusharectl gpushare-mem testsuite/campaign/residue
own_daemon
export GPUSHARE_CACHE=$TMP/cache # it is looked through, too
write_conf 72M "Gpu=0 Memory=64M" "Partition=low Priority=1" "Partition=high Priority=10" \
	MemoryPreempt=checkpoint "MemoryParameters=cycle=1ms,program=$BUILD/gpushare-mem"
start_daemon || cannot "gpushared does not start"
trials_of f6_residue.py
