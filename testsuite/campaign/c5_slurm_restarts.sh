#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C5: slurmd, slurmctld or both end or are killed while jobs with shares begin, run and end, and come back, or are reconfigured. The jobs
# go on, gpushared and slurmctld count the same shares, and each job's epilog runs once.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

row C5 s "Slurm's daemons back to its count of shares" "$@"
cluster_begins

restart() { # WHAT SIGNAL
	local daemon
	case $1 in
	reconfigure) t 20 scontrol reconfigure >/dev/null || went_wrong "scontrol reconfigure failed" ;;
	*)
		for daemon in ${1//,/ }; do ends "$daemon" "$2" || return; done
		sleep "0.$((RANDOM % 10))"
		for daemon in ${1//,/ }; do comes "$daemon" || return; done
		;;
	esac
}
KINDS=(slurmd slurmctld slurmd,slurmctld reconfigure)
one() { # SEED
	local sum=0 i shares job begun jobs=() kind=${KINDS[$(($1 % 4))]} signal=TERM
	[ $(($1 / 4 % 2)) = 0 ] || signal=KILL
	rm -f "$D"/out/*
	for ((i = 0; i < 1 + RANDOM % 3; i++)); do
		shares=$((5 + RANDOM % 20))
		job=$(submit -n 1 --gres="gpushare:$shares" --wrap "$(waits_for "go.$1")") || went_wrong "a job was not submitted" || return
		jobs+=("$job") sum=$((sum + shares))
	done
	# slurmctld writes down a job when it can; a killed one may not know of the newest, with gres/gpushare or without it.
	for job in "${jobs[@]}"; do until_true 30 grep -q begun "$D/out/$job" || went_wrong "job $job does not begin: $(job_field "$job" Reason)" || return; done
	if [ $signal = KILL ] && [[ $kind = *slurmctld* ]]; then
		: >"$TMP/now"
		t 10 scontrol update jobid="${jobs[-1]}" comment=save && until_true 20 test "$D/state/job_state" -nt "$TMP/now" || went_wrong "slurmctld saves nothing" || return
	fi
	[ $((RANDOM % 3)) != 0 ] || (sleep "0.$((RANDOM % 10))"; go "go.$1") & # while the daemons are away: the jobs end
	restart "$kind" $signal || return
	begun=$(now_us)
	answers || return
	if [ ! -e "$D/out/go.$1" ]; then
		for job in "${jobs[@]}"; do until_true 10 in_state "$job" RUNNING || [ -e "$D/out/go.$1" ] || went_wrong "$kind, $signal: job $job is $(job_field "$job" JobState)" || return; done
		shares_are $sum || [ -e "$D/out/go.$1" ] || went_wrong "$kind, $signal: gpushared does not count $sum shares" || return
		[ -e "$D/out/go.$1" ] || slurm_counts $sum || [ -e "$D/out/go.$1" ] || return
		measured "$(seconds_since "$begun")"
	fi
	wait
	go "go.$1"
	until_true 60 all_over || went_wrong "$kind, $signal: jobs stay: $(t 5 squeue -h | tail -n 1)" || return
	for job in "${jobs[@]}"; do
		in_state "$job" COMPLETED && grep -q ended "$D/out/$job" || went_wrong "$kind, $signal: job $job is $(job_field "$job" JobState): $(tail -n 1 "$D/out/$job")" || return
		[ "$(job_field "$job" Restarts)" = 0 ] || went_wrong "$kind, $signal: job $job began again" || return
	done
	cluster_is_empty || return
	for job in "${jobs[@]}"; do
		until_true 20 test -n "$(grep -x "$job" "$TMP/epilogs")" && [ "$(epilogs_of "$job")" = 1 ] || went_wrong "$kind, $signal: the epilog of job $job ran $(epilogs_of "$job") times" || return
	done
}
trial() {
	local rc=0
	one "$1" || rc=1
	wait
	[ $rc = 0 ] || clear_cluster
	return $rc
}
trials trial
