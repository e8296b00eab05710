#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row G1: programs that allocate up to their reservation and beyond, by each way that the emulated device has. g1_limit.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row G1 % "gpushared's figure beside what the program has" "$@"
need gpushared gpusharectl testsuite/e2e/entries testsuite/campaign/at_limit
own_daemon
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1" ContextMemory=4M # the rest of the device is for the shim's own blocks
start_daemon || cannot "gpushared does not start"
trials_of g1_limit.py 4
