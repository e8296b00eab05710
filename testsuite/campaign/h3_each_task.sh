#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row H3: a kernel is evicted after each number of its block-tasks, without a daemon, which no number of block-tasks could be told. h3_each_task.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row H3 - "nothing is measured" "$@"
need testsuite/campaign/image
trials_of h3_each_task.py
