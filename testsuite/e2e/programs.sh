#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of testsuite/programs on the emulated device: natively and evicted every 1 and 10 ms (and 100, CHECK_LONG=1), the same output.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v nvcc >/dev/null || [ -x "$BUILD/testsuite/programs/bin/streams" ] || skip_all "no nvcc to compile the programs with"
[ -e "$BUILD/src/device/cudart/.libs/libcudart.so.13" ] || skip_all "the emulated libcudart was not built"
"$SRC/testsuite/programs/run-all" --emulated --build "$BUILD" --timeout 60 --periods "$(usual_or_long "1 10" "1 10 100")" --csv "$TMP/csv" >"$TMP/lines" 2>&1
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
# By a kernel that lasts, evictions are certain, if it lasts longer than a busy machine leaves a thread without a processor.
fraction() {
	"$SRC/testsuite/programs/run-all" --emulated --build "$BUILD" --periods 0.2 --linger 200000 --scale 2 --csv "$TMP/csv2" grid3d >"$TMP/lines2" 2>&1 ||
		{ cat "$TMP/lines2"; return 1; }
	cat "$TMP/csv2" "$TMP/lines2"
	grep -q '^grid3d,0.2,ok,0,[0-9]*,1,1,[1-9]' "$TMP/csv2" &&
		tail -n 1 "$TMP/lines2" | grep -q '2 runs: 2 right, 0 wrong; [1-9][0-9]* evictions, in 1 of 1 programs with an evictable kernel$'
}
check "a kernel that lasts is evicted by a fraction of a ms" fraction
wrong_option() {
	"$SRC/testsuite/programs/run-all" --emulated --build "$BUILD" "$@" grid3d >"$TMP/lines2" 2>&1
	[ $? = 2 ]
}
check "wrong: run-all --periods 1,10" wrong_option --periods 1,10
check "wrong: run-all --linger 1ms" wrong_option --linger 1ms
check "run-all's own verdict" test $status = 0
finish
