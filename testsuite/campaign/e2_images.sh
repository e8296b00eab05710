#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E2: any bytes as PTX, as a fatbin, as an ELF file and as machine code, under the sanitizers; and the corpus with ends missing and bits turned,
# to gpushare-ptx under limits.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/fuzz_rows.sh"

row E2 MiB "memory that the tool took for a file with an end missing or bits turned" "$@"
need gpushare-ptx
need_fuzz fuzz_ptx fuzz_fatbin fuzz_elf fuzz_cubin fuzz_guard fuzz_unpack
mutants() {
	local line
	while read -r line; do
		case $line in
		"trial "*)
			row_failed=$((row_failed + 1))
			line=${line#trial }
			echo "$row: ${line#*: }; again: testsuite/campaign/e2_mutants.py $SRC $BUILD FOLDER 1 $((seed + ${line%%:*} - 1))"
			;;
		"peak "*) measured "${line#peak }" ;;
		*[!0-9]* | '') echo "$row: $line" && mutants_made= ;;
		*) mutants_made=$line ;;
		esac
	done <"$TMP/mutants"
	[ -n "$mutants_made" ] || { echo "$row: no file was made"; exit 1; }
	row_tried=$((row_tried + mutants_made))
}
mutants_made=
python3 "$SRC/testsuite/campaign/e2_mutants.py" "$SRC" "$BUILD" "$TMP/files" $((trials_n / 50 > 0 ? trials_n / 50 : 1)) "$seed" >"$TMP/mutants" 2>&1 & pids+=($!)
# About as long for each.
fuzzed fuzz_unpack 400 fuzz_fatbin 330 fuzz_cubin 120 fuzz_guard 100 fuzz_elf 20 fuzz_ptx 10
mutants
over
