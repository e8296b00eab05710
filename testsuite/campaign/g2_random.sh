#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row G2: eight programs that allocate and free 10,000 times together at the limit, and more that are killed. g2_random.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row G2 MiB "the most that was seen of 512 MiB" "$@"
need gpushared gpusharectl testsuite/e2e/entries
own_daemon
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1" # a context takes nothing: a program may begin at the limit
start_daemon || cannot "gpushared does not start"
trials_of g2_random.py
