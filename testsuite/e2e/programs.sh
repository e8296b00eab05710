#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of testsuite/programs on the emulated device: natively and evicted every 1, 10 and 100 ms, the same output.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v nvcc >/dev/null || [ -x "$BUILD/testsuite/programs/bin/streams" ] || skip_all "no nvcc to compile the programs with"
[ -e "$BUILD/src/device/cudart/.libs/libcudart.so.13" ] || skip_all "the emulated libcudart was not built"
"$SRC/testsuite/programs/run-all" --emulated --build "$BUILD" --timeout 60 --csv "$TMP/csv" >"$TMP/lines" 2>&1
status=$?
# One line per program: all of its runs.
while read -r program; do
	if grep -q "^$program,[^,]*,skip" "$TMP/csv"; then
		note "skipped: $program: $(sed -n "s/^$program,[^,]*,skip,.*\"\(.*\)\"\$/\1/p" "$TMP/csv")"
		continue
	fi
	right() {
		grep "^$program," "$TMP/csv"
		grep -q "^$program,native,ok" "$TMP/csv" && ! grep -q "^$program,[^,]*,FAIL" "$TMP/csv"
	}
	check "$program" right
done < <(awk -F'|' '!/^#/ && NF { print $1 }' "$SRC/testsuite/programs/programs.list")
note "$(tail -n 1 "$TMP/lines")"
evicted() {
	tail -n 1 "$TMP/lines"
	[ "$(awk -F, 'NR > 1 { n += $8 } END { print n }' "$TMP/csv")" -gt 0 ]
}
check "kernels were evicted" evicted
check "run-all's own verdict" test $status = 0
finish
