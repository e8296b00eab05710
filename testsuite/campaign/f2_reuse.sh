#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F2: numbers of processes that are used again, in a namespace of numbers in which the next one can be chosen. f2_reuse.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row F2 - "numbers of processes used again" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to choose numbers of processes"
unshare --pid --fork --mount-proc sh -c 'echo 300 >/proc/sys/kernel/ns_last_pid' 2>/dev/null || cannot "no number of a process can be chosen here"
need gpushared .libs/old_kernel.so
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1"
# Of the namespace's numbers; lib.sh would take it for one of this namespace's.
sed -i "s|^PidFile=.*|PidFile=$TMP/pid.inside|" "$TMP/gpushare.conf"
trials_of_command f2_reuse.py unshare --pid --fork --mount-proc --kill-child
