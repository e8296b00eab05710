#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row G5: contexts and what they are charged with. g5_contexts.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row G5 - "nothing" "$@"
need gpushared gpusharectl testsuite/campaign/contexts
own_daemon
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1"
start_daemon || cannot "gpushared does not start"
trials_of g5_contexts.py
