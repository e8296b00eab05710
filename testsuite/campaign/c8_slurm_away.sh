#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C8: while jobs with shares begin and end, slurmctld or munged ends, or gpushared is killed, and comes back seconds later. Each job
# has run by the end, once or requeued, or it waits with a reason; the node is neither down nor drained, and nothing stays counted.
# A slurmctld that is killed forgets what it has not written down, with gres/gpushare or without it: testsuite/e2e/slurm_moments.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

row C8 s "what was away coming back to the end of all jobs" "$@"
cluster_begins

KINDS=(munged slurmctld munged,slurmctld gpushared)
away() { # WHAT SECONDS
	local daemon
	if [ "$1" = gpushared ]; then
		ends gpushared KILL || return
		sleep "$2"
		t 20 gpushared --config "$D/etc/gpushare.conf" >/dev/null 2>&1 || went_wrong "gpushared does not start again"
		return
	fi
	for daemon in ${1//,/ }; do ends "$daemon" TERM || return; done
	sleep "$2"
	for daemon in ${1//,/ }; do comes "$daemon" || return; done
}
# settled JOB: it is over, or waits and says why.
settled() { is_over "$1" || { in_state "$1" PENDING && ! [[ "$(job_field "$1" Reason)" =~ ^(None|)$ ]]; }; }
all_settled() { local job; for job in "${jobs[@]}"; do settled "$job" || return 1; done; }
one() { # SEED
	local i job begun jobs=() kind=${KINDS[$(($1 % 4))]} state
	rm -f "$D"/out/*
	for ((i = 0; i < 2 + RANDOM % 3; i++)); do
		job=$(submit -n 1 --requeue --gres="gpushare:$((5 + RANDOM % 20))" --wrap "echo begun; sleep 0.$((RANDOM % 10)); srun --gres=gpushare:5 true; echo ended") ||
			went_wrong "a job was not submitted" || return
		jobs+=("$job")
	done
	sleep "0.$((RANDOM % 10))"
	away "$kind" $((1 + RANDOM % 3)) || return
	begun=$(now_us)
	answers || return
	until_true 120 all_settled || went_wrong "$kind: jobs neither end nor wait: $(t 5 squeue -h | tail -n 1)" || return
	until_true 60 all_over || true # those that were requeued begin two minutes later, where Slurm is left to it
	measured "$(seconds_since "$begun")"
	for job in "${jobs[@]}"; do
		state=$(job_field "$job" JobState)
		case $state in
		COMPLETED) ;;
		PENDING) [ "$(job_field "$job" Restarts)" -gt 0 ] || went_wrong "$kind: job $job has not begun: $(job_field "$job" Reason)" || return ;;
		*) went_wrong "$kind: job $job is $state: $(tr "\n" ";" <"$D/out/$job" | tail -c 400)" || return ;;
		esac
	done
	[ "$(t 5 sinfo -h -p low -o %E)" = none ] && in_service || went_wrong "$kind: the node is $(t 5 sinfo -h -p low -o '%T: %E')" || return
	t 10 scancel --user=root
	cluster_is_empty
}
trial() {
	local rc=0
	one "$1" || rc=1
	[ -S "$D/run/gpushared.sock" ] || t 20 gpushared --config "$D/etc/gpushare.conf" >/dev/null 2>&1
	[ $rc = 0 ] || clear_cluster
	return $rc
}
trials trial
