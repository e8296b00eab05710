# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Shared by rows that need a private Slurm cluster (sourced behind lib.sh): one cluster for all trials of a row, whose daemons end and come
# back. An epilog writes down each of its runs.

# cluster_begins: "cannot" where there can be none.
cluster_begins() {
	need gpushared gpusharectl
	need_cluster
	mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
	printf '#!/bin/sh\necho "$SLURM_JOB_ID" >>%s/epilogs\n' "$TMP" >"$TMP/epilog" && chmod 755 "$TMP/epilog" && : >"$TMP/epilogs"
	start_cluster main GPUS=1 CPUS=16 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M \
		"SPANK_ARGS=timeout=10s slurmctld_timeout=20s" "SLURM_EXTRA=MessageTimeout=4"$'\n'"Epilog=$TMP/epilog"
}

in_service() { t 5 sinfo -h -p low -o %T | grep -xE '(mixed|allocated|idle|completing|planned)-?' >/dev/null; }
# ends NAME SIGNAL, comes NAME: slurmctld, slurmd or munged.
ends() {
	local pid
	pid=$(pid_in "$D/run/$1.pid") && kill "-$2" "$pid" && until_true 20 has_ended "$pid" || went_wrong "$1 does not end" || return
	rm -f "$D/run/$1.pid"
}
comes() {
	case $1 in
	munged)
		# As contrib/private-cluster starts it, whose user owns the folder.
		rm -f "$D/munge/pid"
		t 20 setpriv --reuid="$(stat -c %u "$D/munge")" --regid="$(stat -c %g "$D/munge")" --clear-groups munged --force --key-file="$D/munge/key" \
			--socket="$D/munge/socket" --pid-file="$D/munge/pid" --log-file="$D/munge/log" --seed-file="$D/munge/seed" >/dev/null 2>&1 &&
			until_true 10 t 3 munge -n -S "$D/munge/socket" && ln -sf ../munge/pid "$D/run/munged.pid"
		;;
	*) t 20 "$1" -f "$D/etc/slurm.conf" >/dev/null 2>&1 && until_true 20 test -s "$D/run/$1.pid" ;;
	esac || went_wrong "$1 does not come back"
}
answers() { until_true 30 t 5 scontrol ping && until_true 30 in_service || went_wrong "the node is $(t 5 sinfo -h -p low -o '%T %E')"; }

# waits_for NAME: what a job says that runs until `go NAME`.
waits_for() { echo "echo begun; n=0; until [ -e $D/out/$1 ] || [ \$n -ge 900 ]; do n=\$((n + 1)); sleep 0.1; done; echo ended"; }
go() { : >"$D/out/$1"; }
epilogs_of() { grep -cx "$1" "$TMP/epilogs"; }
# shares_are N: for gpushared.
shares_are() { t 5 gpusharectl status --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["gpus"][0]["shares_taken"] != int(sys.argv[1]))' "$1"; }
# slurm_counts N: a job of all other shares begins, and one of a share more does not (GresUsed says only which GPUs, in some versions).
slurm_counts() {
	local more fits
	more=$(submit -n 1 -p low --gres="gpushare:$((101 - $1))" --wrap true) && fits=$(submit -n 1 -p high --gres="gpushare:$((100 - $1))" --wrap true) || went_wrong "a job was not submitted" || return
	until_true 30 in_state "$fits" COMPLETED || went_wrong "slurmctld counts more than $1 shares: $(job_field "$fits" JobState) $(job_field "$fits" Reason)" || return
	in_state "$more" PENDING || went_wrong "slurmctld counts fewer than $1 shares: $(job_field "$more" JobState)" || return
	t 10 scancel "$more"
}
# over() of testsuite/e2e/lib.sh is another one here.
is_over() { [[ "$(job_field "$1" JobState)" =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
all_over() { local job; for job in "${jobs[@]}"; do is_over "$job" || return 1; done; }
cluster_is_empty() {
	until_true 60 shares_are 0 || went_wrong "after all jobs are over: $(t 5 gpusharectl status | tail -n 2)"
}
no_jobs() { [ -z "$(t 5 squeue -h)" ]; }
# clear_cluster: whatever a trial that failed has left.
clear_cluster() {
	t 10 scancel --user=root >/dev/null 2>&1
	until_true 30 no_jobs
	in_service || t 5 scontrol update nodename="$(hostname -s)" state=resume >/dev/null 2>&1
	rm -f "$D"/out/*
}
