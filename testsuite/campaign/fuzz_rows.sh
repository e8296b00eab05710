# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Shared by the rows that run fuzz targets (sourced behind lib.sh). They are in a build of their own, build-fuzz in the build tree, as `make fuzz`
# has it. A trial is an execution; trial i of seed S is not repeated by seed S+i-1, but each finding by its input, which is kept there.
FUZZ=$BUILD/build-fuzz
FRESH_BELOW=200000 # so few executions begin with the seeds alone: what earlier ones found would take longer

need_fuzz() { # TARGET...: built, or built now
	command -v clang >/dev/null || cannot "fuzzing needs clang (contrib/install-deps --with-clang)"
	local target
	"$SRC/testsuite/fuzz/build" "$FUZZ" >"$TMP/build.log" 2>&1 || { tail -n 5 "$TMP/build.log"; cannot "the fuzz targets cannot be built (testsuite/fuzz/build build-fuzz)"; }
	for target in "$@"; do
		[ -x "$FUZZ/$target" ] || cannot "there is no $target in build-fuzz"
	done
}

seconds_left() { [ -z "${CAMPAIGN_UNTIL:-}" ] && echo 100000 || echo $((CAMPAIGN_UNTIL - EPOCHSECONDS)); }

# fuzzed TARGET PARTS...: of each so many thousandths of N, all at once.
fuzzed() {
	local left target n begun=() options=(--seed "$seed")
	left=$(seconds_left)
	[ "$trials_n" -ge $FRESH_BELOW ] || options+=(--fresh)
	[ "$left" -gt 5 ] || cannot "building the targets took all the time: call it again"
	while [ $# -gt 0 ]; do
		target=$1 n=$((trials_n * $2 / 1000))
		shift 2
		begun+=("$target")
		TMPDIR=$TMP "$SRC/testsuite/fuzz/run-all" "${options[@]}" --runs $((n > 0 ? n : 1)) "$left" 1 "$FUZZ" "$target" >"$TMP/$target" 2>&1 &
		pids+=($!)
	done
	while ! wait_some; do
		echo "$row: $(progress "${begun[@]}")"
	done
	for target in "${begun[@]}"; do fuzz_figures "$target"; done
}
# Some seconds; are all over?
wait_some() {
	local i pid
	for ((i = 0; i < 40; i++)); do
		for pid in "${pids[@]}"; do
			kill -0 "$pid" 2>/dev/null && { sleep 0.5; continue 2; }
		done
		return 0
	done
	return 1
}
progress() { # TARGET...
	local target
	for target in "$@"; do
		echo -n "$target $(sed -n 's/^#\([0-9]*\).*/\1/p' "$FUZZ/fuzz/$target/log/worker-1.log" | tail -n 1) "
	done
}
fuzz_figures() { # TARGET: of what its process said
	local log=$FUZZ/fuzz/$1/log/worker-1.log n summary input
	n=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
	summary=$(grep -m 1 -E '^SUMMARY: |^==.*ERROR' "$log")
	[ -n "$n$summary" ] || { echo "$row: $1 did not run: $(tail -n 1 "$TMP/$1")"; exit 1; }
	row_tried=$((row_tried + ${n:-1}))
	[ -n "$summary" ] || return 0
	row_failed=$((row_failed + 1))
	input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
	echo "$row: $1: $summary; again: $FUZZ/$1 ${input:-(no input: it is what was left at the end; see $log)}"
}
