#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C2: gpushared is killed at a call by which it reads, writes or replaces its state file, or finds a damaged one. c2_state.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row C2 s "the start of the next daemon" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared .libs/killer.so
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
trials_of c2_state.py
