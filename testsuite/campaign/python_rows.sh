# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Shared by rows whose trials a Python program makes (sourced behind lib.sh): a line `trial I: WORDS` for each that failed, `worst VALUE` for
# what was measured, and at last how many were made. Trial i of seed S is that of index S + i - 2, so that one of them can be made alone.
python_trials_over() { :; } # a row may look at something more, while its daemon is there
python_trials() { # SCRIPT ARGUMENT...: of the program, N and SEED are the last two
	local line
	while read -r line; do
		case $line in
		"trial "*)
			row_failed=$((row_failed + 1))
			line=${line#trial }
			echo "$row: trial ${line%%:*}:${line#*:}; again: testsuite/campaign/$(basename "$0") 1 $((seed + ${line%%:*} - 1))"
			;;
		"worst "*) measured "${line#worst }" ;;
		*[!0-9]*) echo "$row: $line" ;;
		*) row_tried=$line ;;
		esac
	done < <(python3 "$SRC/testsuite/campaign/$1" "${@:2}" "$trials_n" "$seed" 2>&1)
	python_trials_over
	[ ! -e "$TMP/pid" ] || stop_daemon || { row_failed=$((row_failed + 1)); echo "$row: gpushared does not end, or is gone"; }
	[ "$row_tried" -gt 0 ] || row_tried=$row_failed
	[ "$row_tried" -gt 0 ] || { echo "$row: no trial was made"; exit 1; }
	over
}
