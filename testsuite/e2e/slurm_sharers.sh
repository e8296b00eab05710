#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Of two jobs that share a GPU one ends: no whole-GPU job goes there before the other has ended as well.
# ROUNDS: each case so many times, on each of the node's four GPUs at once (default 1, without the time limits). CSV=FILE: a line for each case is added.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$BUILD/gpushared" ] || skip_all "gpushared was not built"
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
GPUS=4 LIMITS=${ROUNDS:-} ROUNDS=${ROUNDS:-1}
start_cluster main GPUS=$GPUS CPUS=64 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M "SPANK_ARGS=timeout=10s"

count() { t 10 squeue -h -t "$1" -o %A -j "$2" | wc -l; }
is_count() { [ "$(count "$1" "$2")" = "$3" ]; }
# jobs OPTIONS...: one for each GPU; their numbers with commas.
jobs() {
	local i list=
	for ((i = 0; i < GPUS; i++)); do list+=,$(submit "$@") || return 1; done
	echo "${list#,}"
}
sleepers() { jobs --time=5 "$@" --wrap 'exec sleep 300'; }
cancel() { t 10 scancel ${*//,/ } && until_true 20 is_count pending,running,completing "${*// /,}" 0; }
gone() { until_true "${2:-30}" is_count running,completing "$1" 0; }

# The ways to end.
by_itself() { : >"$TMP/over"; }
by_scancel() { t 10 scancel ${1//,/ }; }
by_requeue() { t 10 scontrol requeuehold "$1"; }
by_time_limit() { :; }

# waits WHOLE KEEPERS: none of the former runs, however often it is looked at.
waits() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		is_count running "$1" 0 && is_count running "$2" $GPUS || { t 10 squeue; return 1; }
		sleep 0.25
	done
}

# share_and_leave WAY WHEN
share_and_leave() {
	local keepers leavers whole one limit=5 rc=0
	rm -f "$TMP/over"
	[ "$1" != by_time_limit ] || limit=1
	keepers=$(sleepers --gres=gpushare:60) && until_true 20 is_count running "$keepers" $GPUS || return 1
	# 40 fit on each of the GPUs once.
	leavers=$(jobs --time=$limit --requeue --gres=gpushare:40 --wrap "until [ -e $TMP/over ]; do sleep 0.1; done") &&
		until_true 20 is_count running "$leavers" $GPUS || return 1
	[ "$2" = pending ] && whole=$(sleepers -p high --gres=gpu:1)
	by_${1#by_} "$leavers" && gone "$leavers" 120 || return 1
	[ "$2" = pending ] || whole=$(sleepers -p high --gres=gpu:1)
	waits "$whole" "$keepers" || rc=1
	# Then they run.
	if [ $rc = 0 ]; then
		one=${keepers%%,*}
		cancel "$one" && until_true 20 is_count running "$whole" 1 || rc=1
	fi
	cancel "$keepers,$leavers,$whole"
	return $rc
}
rounds() {
	local i bad=0
	for ((i = 0; i < ROUNDS; i++)); do share_and_leave "$@" || bad=$((bad + 1)); done
	echo "$1, whole GPUs $2: $bad of $ROUNDS rounds of $GPUS GPUs wrong"
	[ -z "${CSV:-}" ] || csv_line "of two jobs on a GPU one ends ($1) and gpu:1 is $2" $((ROUNDS * GPUS)) $bad "" "$ROUNDS rounds on $GPUS GPUs" >>"$CSV"
	[ $bad = 0 ]
}

for way in by_itself by_scancel by_requeue; do
	for when in submitted pending; do
		check "a sharer ends ${way//_/ }, whole-GPU jobs $when: they wait for the other" rounds $way $when
	done
done
# A time limit is a minute, and looked at every half minute.
for when in submitted pending; do
	[ -n "$LIMITS" ] || break
	check "a sharer ends by time limit, whole-GPU jobs $when: they wait for the other" rounds by_time_limit $when
done
check "nothing stays taken" test "$(t 5 scontrol show node -d | grep -cE 'GresUsed=.*\(IDX:[0-9]')" = 0
check "the node is in service" until_true 20 node_is idle
check "slurmctld had nothing to complain of" lacks 'gres.*(mismatch|overalloc|underflow)' "$D/log/slurmctld.log"

finish
