#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C6: what a boot leaves, or somebody puts there: a state file of another boot, sockets, locks and numbers of a daemon that is no more,
# and what is no socket. c6_boot.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row C6 s "the start of the next daemon" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
trials_of c6_boot.py
