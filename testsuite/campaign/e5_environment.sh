#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E5: a user's step with a hostile environment, or with hostile options, on a private Slurm cluster. It runs, or is refused with words that are
# no crash's; Slurm's daemons and gpushared are the same processes afterwards, the node takes jobs, and gpushared has nothing left of it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row E5 s "a step with a hostile environment or hostile options" "$@"
need gpushared gpusharectl
need_cluster
start_cluster main "SPANK_ARGS=timeout=10s"

daemons() { # of the cluster: the processes
	local name
	for name in slurmctld slurmd gpushared; do pid_in "$D/run/$name.pid"; done
}
before=$(daemons 2>/dev/null)
[ "$(wc -w <<<"$before")" = 3 ] || cannot "a daemon of the private cluster has no pid file in $D/run"

nothing_left() { gpusharectl status --json 2>/dev/null | grep -q '"shares_taken": 0'; }
node_takes_jobs() { [[ "$(t 10 sinfo -h -o %T | sort -u)" =~ ^(idle|mixed)$ ]]; }
crashed='Segmentation|core dumped|signal 11|SIGSEGV|SIGABRT|Zero Bytes|Socket timed out|Unexpected missing socket|exited on|Node failure'
trial() { # SEED
	local begun rc=0 start
	begun=$(now_us) start=$(wc -c <"$D/log/slurmd.log")
	t 60 "$PYTHON" -I -S "$SRC/testsuite/campaign/e5_hostile.py" "$1" "$(command -v srun)" --chdir=/ --gres=gpushare:10 --time=1 /bin/echo fine >"$TMP/said" 2>&1 </dev/null || rc=$?
	measured "$(seconds_since "$begun")"
	[ "$rc" != 124 ] || went_wrong "it has not ended within 60 s" || return
	[ "$rc" -lt 125 ] || [ "$rc" = 255 ] || went_wrong "it ended with $rc: $(tail -c 200 "$TMP/said")" || return
	[ "$rc" != 0 ] || grep -qx fine "$TMP/said" || went_wrong "it ended with 0 and did not run" || return
	[ "$rc" = 0 ] || [ -s "$TMP/said" ] || went_wrong "it ended with $rc, and nothing is said" || return
	! grep -m 1 -aE "$crashed" "$TMP/said" >"$TMP/why" || went_wrong "$(cut -c 1-200 "$TMP/why")" || return
	! tail -c +$((start + 1)) "$D/log/slurmd.log" | grep -m 1 -aE "$crashed" >"$TMP/why" || went_wrong "slurmd: $(cut -c 1-200 "$TMP/why")" || return
	[ "$(daemons)" = "$before" ] && has_all || went_wrong "a daemon is gone" || return
	until_true 30 node_takes_jobs || went_wrong "the node is $(t 10 sinfo -h -o '%T %E')" || return
	until_true 30 nothing_left || went_wrong "gpushared still has shares of it" || return
}
has_all() {
	local pid
	for pid in $before; do kill -0 "$pid" || return 1; done
}
trials trial
