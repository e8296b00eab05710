#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row G4: requests for more than the GPU has, and for what is no amount. g4_too_much.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row G4 - "nothing" "$@"
need gpushared gpusharectl
own_daemon
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1"
start_daemon || cannot "gpushared does not start"
trials_of g4_too_much.py
