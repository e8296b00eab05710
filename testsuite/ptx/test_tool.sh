#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-ptx: its commands, its exit statuses, standard input, and the JSON report.
set -u
here=${srcdir:-.}/testsuite/ptx
tool=${GPUSHARE_PTX:-./gpushare-ptx}
status=0

expect() { # status pattern command...
	want=$1 pattern=$2
	shift 2
	out=$("$@" 2>&1 < /dev/null)
	got=$?
	if [ "$got" -ne "$want" ] || ! printf '%s\n' "$out" | grep -q -e "$pattern"; then
		printf 'FAIL: %s: status %s, wanted %s and "%s":\n%s\n' "$*" "$got" "$want" "$pattern" "$out"
		status=1
	fi
}

expect 0 'Usage: gpushare-ptx' "$tool" --help
expect 0 '^gpushare-ptx [0-9]' "$tool" --version
expect 2 'Usage' "$tool"
expect 2 'Usage' "$tool" frobnicate x
expect 2 'Usage' "$tool" --frobnicate info
expect 2 'No such file' "$tool" info "$here/there-is-no-such-file"
expect 2 "line 5: ']' expected" "$tool" info "$here/golden/bracket.ptx"
expect 0 'triad: persistent' "$tool" info "$here/corpus/stream.ptx"
expect 0 '3 of 3 kernels can leave' "$tool" info "$here/corpus/stream.ptx"
expect 0 '' "$tool" check "$here/corpus/stream.ptx"
expect 1 'refused90.ptx:[0-9]*: whole_grid synchronises the whole grid' "$tool" check "$here/corpus/refused90.ptx"
expect 0 '"reason": "CLUSTER"' "$tool" --json info "$here/corpus/refused90.ptx"
expect 1 '"as_is": 3' "$tool" --json check "$here/corpus/refused90.ptx"
expect 0 'triad__gpushare_p(' "$tool" transform "$here/corpus/stream.ptx"
expect 0 'nothing: persistent' sh -c "'$tool' info < '$here/corpus/functions.ptx'"
expect 0 'nothing: persistent' sh -c "'$tool' info - < '$here/corpus/functions.ptx'"
expect 2 'cannot write' sh -c "'$tool' transform '$here/corpus/functions.ptx' > /dev/full"
exit $status
