#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# doc/ptx-transform.md: every reason is explained, every case of "What goes wrong elsewhere" names tests, and they exist.
set -u
top=${srcdir:-.}
doc=$top/doc/ptx-transform.md
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

sed -n 's/^PTX_REASON(\([A-Z0-9_]*\),.*/\1/p' "$top/src/common/reasons.def" > "$work/reasons"
[ -s "$work/reasons" ] || { echo "FAIL: no reasons"; exit 1; }
while read -r reason; do
	grep -q "^| $reason |" "$doc" || echo "FAIL: the reason $reason is not explained"
done < "$work/reasons" > "$work/failed"

# the rows, as: case <tab> the tests
awk -F ' \\| ' '/^\| case \| here \| test \|$/ { inside = 1; getline; next } inside && !/^\|/ { exit }
	inside { sub(/^\| /, "", $1); sub(/ *\|$/, "", $NF); print $1 "\t" (NF == 3 ? $3 : "") }' "$doc" > "$work/rows"
[ "$(wc -l < "$work/rows")" -ge 30 ] || { echo "FAIL: the table has only $(wc -l < "$work/rows") rows"; exit 1; }

exists() { # one of a row's tests, as written there
	# shellcheck disable=SC2086
	set -- $1
	case $1 in
	golden/*) # shellcheck disable=SC2086
		ls "$top"/testsuite/ptx/$1 "$top/testsuite/ptx/$1.ptx" 2> /dev/null | grep -q . ;;
	programs/*) [ -e "$top/testsuite/$1.cu" ] ;;
	fuzz_*) [ -e "$top/testsuite/fuzz/$1.c" ] ;;
	ptx_far | ptx_places) grep -q "^$1_SOURCES" "$top/testsuite/ptx/Makemodule.am" ;;
	every) grep -q 'ptx_equiv' "$top/testsuite/ptx/test_equiv.sh" ;;
	test_*.sh) [ -e "$top/testsuite/ptx/$1" ] ;;
	test_*)
		[ -e "$top/testsuite/unit/$1" ] || [ -e "$top/testsuite/unit/$1.c" ] || return 1
		unit=$1
		[ $# -lt 2 ] || grep -q "^static void $2(void" "$top/testsuite/unit/$unit.c" ;;
	*) grep -q "\"$1\"" "$top/testsuite/ptx/equiv/cases.def" || { [ -n "$unit" ] && grep -q "^static void $1(void" "$top/testsuite/unit/$unit.c"; } ;;
	esac
}

tab=$(printf '\t')
while IFS=$tab read -r case tests; do
	[ -n "$tests" ] || { echo "FAIL: no test for: $case"; continue; }
	printf '%s\n' "$tests" | tr ';' '\n' > "$work/groups"
	while read -r group; do
		unit=
		printf '%s\n' "$group" | tr ',' '\n' > "$work/names"
		while read -r name; do
			exists "$name" || echo "FAIL: $case: there is no test $name"
		done < "$work/names"
	done < "$work/groups"
done < "$work/rows" >> "$work/failed"
cat "$work/failed"
[ ! -s "$work/failed" ] || exit 1
echo "$(wc -l < "$work/rows") cases, $(wc -l < "$work/reasons") reasons"
