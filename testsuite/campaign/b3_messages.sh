#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B3: each type of message in each state of a client, by a user; b3_messages.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B3 - "a message in a state of its client" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to be several users"
need gpushared gpusharectl testsuite/e2e/until
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=below Priority=1" "Partition=middle Priority=5" "Partition=above Priority=9" Policy=piv EvictDeadline=500ms
start_daemon || cannot "gpushared does not start"
trials_of b3_messages.py
