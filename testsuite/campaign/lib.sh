# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# Shared by the rows of the campaign (sourced): README.md beside this file says what a row is.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# Standard output is for the last line alone.
exec 3>&1 1>&2

# A daemon writes to its files until it has ended, and is no child of the script: `cleanup` would not wait for it.
trap '(exit $?); row_cleanup' EXIT
row_cleanup() {
	local status=$? pid
	[ ! -s "$TMP/pid" ] || pids+=("$(cat "$TMP/pid")") # another one than at the start, perhaps
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null && ! until_true 5 has_ended "$pid" && kill -KILL "$pid" && until_true 5 has_ended "$pid"
	done
	pids=()
	(exit $status)
	cleanup
}

# row NAME UNIT WHAT N SEED
row() {
	row=$1 unit=$2 what=$3 trials_n=${4:-} seed=${5:-}
	case $trials_n,$seed in
	*[!0-9,]* | ,* | *,) echo "usage: $0 N SEED" && exit 2 ;;
	esac
	row_tried=0 row_failed=0 row_worst=-
}

# cannot WORDS...: the row cannot run here.
cannot() {
	echo "$row: $*"
	exit 77
}

# need PROGRAM...: of the build tree.
need() {
	local program
	for program in "$@"; do
		[ -x "$BUILD/$program" ] || cannot "$program was not built: make check TESTS= builds it"
	done
}

# measured VALUE: of this trial.
measured() {
	if [ "$row_worst" = - ] || awk -v a="$1" -v b="$row_worst" 'BEGIN { exit !(a > b) }'; then row_worst=$1; fi
}

# went_wrong WORDS...: what happened; it fails, so that a trial can say `went_wrong ... || return`.
went_wrong() {
	row_reason=$*
	return 1
}

# seconds_since MICROSECONDS: of $now_us.
now_us() { echo "${EPOCHREALTIME/./}"; }
seconds_since() { awk -v a="$1" -v b="${EPOCHREALTIME/./}" 'BEGIN { printf "%.3f\n", (b - a) / 1000000 }'; }

# trials FUNCTION: called with the trial's seed; ends the script.
trials() {
	local i said=$SECONDS
	for ((i = 0; i < trials_n; i++)); do
		[ -z "${CAMPAIGN_UNTIL:-}" ] || [ "$EPOCHSECONDS" -lt "$CAMPAIGN_UNTIL" ] || break
		row_reason=''
		RANDOM=$(((seed + i) % 32768))
		row_tried=$((row_tried + 1))
		if ! "$1" $((seed + i)); then
			row_failed=$((row_failed + 1))
			echo "$row: trial $((i + 1)): ${row_reason:-it failed}; again: testsuite/campaign/$(basename "$0") 1 $((seed + i))"
		fi
		if [ $((SECONDS - said)) -ge 20 ]; then
			said=$SECONDS
			echo "$row: $row_tried of $trials_n trials, $row_failed failures"
		fi
	done
	over
}

# over: the last line, and the end.
over() {
	echo "row=$row n=$row_tried failures=$row_failed worst=$row_worst unit=$unit what=$what" >&3
	[ "$row_failed" = 0 ] || exit 1
	exit 0
}

# trials_of FILE [ARGUMENT...]: the trials are a Python program's (trials.py); ends the script.
trials_of() { trials_of_command "$1" env -- "${@:2}"; }
# trials_of_command FILE COMMAND... [-- ARGUMENT...]: the same; the command runs the program.
trials_of_command() {
	local file=$1 command=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do command+=("$1") && shift; done
	ROW=$row ROW_SCRIPT=$(basename "$0") TMP_OF_ROW=$TMP BUILD=$BUILD "${command[@]}" "$PYTHON" -I -S -B "$SRC/testsuite/campaign/$file" "$trials_n" "$seed" \
		"${@:2}" >"$TMP/figures" &
	pids+=($!)
	wait $! # a signal to the script ends this, not only what runs
	unset 'pids[-1]'
	read -r row_tried row_failed row_worst < <(tail -n 1 "$TMP/figures") && [ -n "$row_worst" ] || { echo "$row: $file said no figures"; exit 1; }
	over
}
