#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A1: kill -9 of a program whose launch is in a state, beside two neighbours. a1_killed.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A1 s "client's death to the log's line and to the neighbour's kernel" "$@"
need gpushared gpusharectl testsuite/e2e/order
own_daemon
# Whoever is told to leave is waited for: what frees the GPU is the death alone.
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv EvictDeadline=60s PolicyParameters=handover_lead=0
start_daemon || cannot "gpushared does not start"
trials_of a1_killed.py
