#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The campaign's runner: what it keeps, how it goes on, and that rows that fail, hang or leave processes are found; rows.def, and the
# report that is made from the figures. One row is run in earnest.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

HERE=$SRC/testsuite/campaign
campaign() { # ARGUMENT...: output in $TMP/out
	TMPDIR=$TMP t 120 "$PYTHON" -I -S "$HERE/campaign" --table "$TMP/rows.def" --csv "$TMP/csv" "$@" "$BUILD" >"$TMP/out" 2>&1
	local rc=$?
	cat "$TMP/out"
	return $rc
}
fake() { # ROW NAME SCRIPT: a row of that table
	printf '#!/bin/bash\n%s\n' "$3" >"$TMP/$2.sh" && chmod +x "$TMP/$2.sh" && echo "$1 | $TMP/$2.sh | 3 | 10 | It holds." >>"$TMP/rows.def"
}
# shellcheck disable=SC2016
fake A1 good 'echo row=A1 n=$1 failures=0 worst=0.$2 unit=s what=a thing, and another'
# shellcheck disable=SC2016
fake A2 bad 'echo row=A2 n=$1 failures=1 worst=- unit=- what=nothing; exit 1'
# shellcheck disable=SC2016
fake B1 lying 'echo row=B1 n=$1 failures=1 worst=- unit=- what=nothing; exit 0'
fake B2 silent 'exit 0'
fake B3 absent 'exit 77'
# shellcheck disable=SC2016
fake C1 leaving 'setsid sleep 100 >/dev/null 2>&1 & echo $! >"$TMPDIR/../left.pid"; echo row=C1 n=$1 failures=0 worst=- unit=- what=nothing'
# shellcheck disable=SC2016
fake C2 part 'echo row=C2 n=4 failures=0 worst=0.$2 unit=s what=part of it'
echo "D1 | - | 0 | 7 | Not yet." >>"$TMP/rows.def"

rows() { grep -c "^$1," "$TMP/csv"; }
good() {
	campaign --rows A1 --seed 7 && grep -E '^A1,3,0,0.7,s,"a thing, and another",7,20[0-9-]{8},[^,]+,' "$TMP/csv" && [ "$(head -n 1 "$TMP/csv")" = \
		row,n,failures,worst,unit,what,seed,date,commit,machine ]
}
check "a row's figures are kept" good
again() { campaign --rows A1 && [ "$(rows A1)" = 2 ]; }
check "the short form is run each time" again
fails() { # ROW WORDS: the runner fails because of this row
	! campaign --rows "A1,$1" && grep -E "^$1: $2" "$TMP/out" && grep "failed: $1\$" "$TMP/out"
}
check "a failure fails, and is counted" fails A2 '3 trials, 1 failures'
check "it is kept, too" test "$(rows A2)" = 1
check "a status that does not fit the figures fails" fails B1 'its status is 0 with 1 failures'
check "a row without its last line fails" fails B2 'it ended with status 0 and without its last line'
leaving() { fails C1 'it left 1 processes behind' && has_ended "$(cat "$TMP/left.pid")"; }
check "a row that leaves a process fails" leaving
absent() { campaign --rows B3 && grep 'B3: cannot run here' "$TMP/out" && [ "$(rows B3)" = 0 ]; }
check "a row that cannot run here is said, and has no figures" absent
full() {
	campaign --full --rows C2 && campaign --full --rows C2 && [ "$(cut -d, -f2,7 "$TMP/csv" | tail -n 2 | tr '\n' ' ')" = '4,1 4,5 ' ] &&
		campaign --full --rows C2 && grep 'C2: 2 trials' "$TMP/out" && campaign --full --rows C2 && grep 'C2: done already' "$TMP/out"
}
check "the full form goes on where it ended" full
check "a row that has no program is refused by name" refused 'no program yet' campaign --rows D1
check "an unknown row is refused" refused 'no such row' campaign --rows Z9
report() {
	campaign --report >/dev/null || return 1
	grep -F '| C2 | It holds. | 12 | 0 | 25 % | 0.9 s (part of it) |' "$TMP/out" && grep -F '| D1 | Not yet. | not measured |' "$TMP/out" &&
		cp "$TMP/out" "$TMP/doc" && campaign --report --check "$TMP/doc" && echo >>"$TMP/doc" && ! campaign --report --check "$TMP/doc"
}
check "the report has the sums, and says what was not measured" report
hangs() {
	fake E1 hanging "trap '' TERM; echo \$\$ >$TMP/hanging.pid; while :; do sleep 1; done"
	! campaign --rows E1 --limit 2 --grace 1 && grep 'E1: it did not end by itself' "$TMP/out" && has_ended "$(cat "$TMP/hanging.pid")"
}
check "a row that hangs is ended" hangs
interrupted() {
	local runner
	fake E2 waiting "setsid sleep 100 & echo \$! >$TMP/waiting.pid; wait"
	TMPDIR=$TMP "$PYTHON" -I -S "$HERE/campaign" --table "$TMP/rows.def" --csv "$TMP/csv" --rows E2 "$BUILD" & runner=$!
	until_true 20 test -s "$TMP/waiting.pid" && kill "$runner" && until_true 20 has_ended "$(cat "$TMP/waiting.pid")" || return 1
	wait "$runner"
	[ $? = 143 ] && ! ls -d "$TMP"/gsc.*
}
check "a runner that is ended leaves nothing behind" interrupted

# --- the campaign's own ---
scripts_exist() {
	local row script bad=0
	while IFS='|' read -r row script _; do
		script=${script// /}
		[ "$script" = - ] || [ -x "$HERE/$script" ] || { echo "$row: $script is not there"; bad=1; }
	done < <(grep -v '^#' "$HERE/rows.def")
	[ "$(grep -vc '^#' "$HERE/rows.def")" = 50 ] && [ $bad = 0 ]
}
check "each row of rows.def has its script" scripts_exist
check "doc/reliability.md is what is made of the figures" "$PYTHON" -I -S "$HERE/campaign" --report --check "$SRC/doc/reliability.md"
in_earnest() {
	t 120 "$PYTHON" -I -S "$HERE/campaign" --rows C7 --limit 60 --csv "$TMP/csv.own" "$BUILD" && grep '^C7,[1-9][0-9]*,0,' "$TMP/csv.own"
}
check "a row in earnest: two daemons" in_earnest
finish
