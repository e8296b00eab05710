#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E1: any bytes as messages, sequences of answers to the client library, and sequences of requests to gpushared.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/fuzz_rows.sh"

row E1 - "messages, and sequences of them in both directions" "$@"
need_fuzz fuzz_msg fuzz_answers fuzz_requests
# About as long for each: a sequence is answered by a whole daemon.
fuzzed fuzz_msg 764 fuzz_answers 230 fuzz_requests 6
over
