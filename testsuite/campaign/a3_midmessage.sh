#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row A3: kill -9 of a program of eight threads in the middle of its messages, half a message included. a3_midmessage.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row A3 ms "another connection's round trip meanwhile" "$@"
need gpushared gpusharectl
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1"
start_daemon || cannot "gpushared does not start"
trials_of a3_midmessage.py
