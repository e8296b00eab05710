#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld goes away while steps with shares start: they wait for it, no job is lost, no node drained, no GPU given twice.
# At random moments of a step's start: slurm_moments.sh.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$BUILD/gpushared" ] || skip_all "gpushared was not built"
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
WAIT=6 # seconds that a step waits for slurmctld

# A node's prolog, which runs before its first slurmstepd of a job: asked to, it kills slurmctld, once that knows that the job runs.
cat >"$TMP/prolog" <<END
#!/bin/sh
PATH=$PATH
END
cat >>"$TMP/prolog" <<'END'
dir=$(dirname "$SLURM_CONF")/..
[ -e "$dir/kill" ] || exit 0
rm "$dir/kill"
sleep 0.3 # a state that is just being written is an older one
touch "$dir/now"
timeout 2 scontrol update jobid=$SLURM_JOB_ID comment=save # nothing else has the start of a job saved at once
for i in $(seq 60); do [ "$dir/state/job_state" -nt "$dir/now" ] && break; sleep 0.1; done
kill -KILL "$(head -n 1 "$dir/run/slurmctld.pid")"
END
chmod 755 "$TMP/prolog"
OTHER=MessageTimeout=2
start_cluster main GPUS=1 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M \
	"SPANK_ARGS=timeout=10s slurmctld_timeout=${WAIT}s" "SLURM_EXTRA=$OTHER
Prolog=$TMP/prolog"

out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
killed() { [ ! -e "$D/kill" ] && has_ended "$1"; }
come_back() {
	rm -f "$D/run/slurmctld.pid"
	t 20 slurmctld -f "$D/etc/slurm.conf" && until_true 10 t 3 scontrol ping && until_true 20 in_service
}
in_service() { t 5 sinfo -h -p low -o %T | grep -xE '(mixed|allocated|idle|completing|planned)-?' >/dev/null; }
# away SECONDS: slurmctld has been killed by the prolog and comes back so much later.
away() {
	until_true 20 killed "$pid" || return 1
	sleep "$1"
	come_back
}

# --- while a job's first step begins ---

pid=$(pid_in "$D/run/slurmctld.pid")
: >"$D/kill"
job=$(submit --gres=gpushare:30 --wrap 'echo ran; srun --gres=gpushare:30 echo step ran')
check "slurmctld is killed while a batch step begins, and comes back" away 2
check "the job completes" reaches "$job" COMPLETED 40
check "its script has run, with its step" out_has "$job" '^step ran$'
check "slurmctld took it for the same run" test "$(job_field "$job" Restarts)" = 0

pid=$(pid_in "$D/run/slurmctld.pid")
: >"$D/kill"
t 60 srun --gres=gpushare:30 echo interactive ran >"$TMP/srun" 2>&1 &
srun=$!
check "the same of srun's own job" away 2
wait $srun
rc=$?
check "srun's step has run" grep -xF 'interactive ran' "$TMP/srun"
check "and srun says so" test $rc = 0

pid=$(pid_in "$D/run/slurmctld.pid")
: >"$D/kill"
job=$(submit --requeue --gres=gpushare:30 --wrap 'echo ran')
# One attempt to reach it takes Slurm's MessageTimeout.
check "it comes back too late" away $((WAIT + 6))
check "the step's output says why" until_true 20 out_has "$job" 'slurmctld has not come back in time'
check "the script did not run" lacks '^ran$' "$D/out/$job"
requeued() { [ "$(job_field "$job" Restarts)" = 1 ]; }
check "the job is requeued" until_true 30 requeued
check "and not held" test "$(job_field "$job" Priority)" != 0
check "the node is in service" until_true 20 in_service
t 10 scancel "$job"

pid=$(pid_in "$D/run/slurmctld.pid")
: >"$D/kill"
job=$(submit --no-requeue --gres=gpushare:30 --wrap 'echo ran')
check "too late for a job that may not be requeued" away $((WAIT + 6))
check "it has failed" reaches "$job" FAILED 40
check "the node is in service" until_true 20 in_service

# --- when a job ends ---

comment_of() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
# The daemon of this suite, whose jobs launch nothing, reports on a job at its end and never before.
reported() { comment_of "$1" | tee /dev/stderr | grep -E "^gpushare: gpu=0 share=$2%"; }
has_last_report() { until_true 20 reported "$@"; }
# A change is saved at once if the last one was saved five seconds ago or earlier.
saved_by() { # COMMAND...
	: >"$TMP/now"
	t 10 "$@"
	until_true 15 test "$D/state/job_state" -nt "$TMP/now"
}
dies() {
	pid=$(pid_in "$D/run/slurmctld.pid")
	kill -KILL "$pid"
	until_true 10 has_ended "$pid"
}
# ends_at_go SHARES STATUS [SECONDS]: a job that ends with that status when it is told to; told to end before, it takes so long.
ends_at_go() {
	rm -f "$D/end"
	job=$(submit --gres="gpushare:$1" --wrap "trap 'sleep ${3:-0}; exit 5' TERM; echo ran; until [ -e $D/end ]; do sleep 0.1; done; exit $2")
	until_true 20 out_has "$job" '^ran$'
}

ends_at_go 30 3
saved_by scontrol update jobid="$job" comment=save
dies
: >"$D/end"
sleep 4 # longer than gpushared lets a step wait for its last report
check "slurmctld comes back after a job has ended" come_back
check "the job has failed, as it did" eval "reaches $job FAILED 40 && [ \"\$(job_field $job ExitCode)\" = 3:0 ]"
check "its AdminComment has the last report" has_last_report "$job" 30
check "the node is in service" until_true 20 in_service

# srun's own job has no batch script whose end could wait.
rm -f "$D/end" "$TMP/srun"
t 60 srun --gres=gpushare:20 sh -c "echo \$SLURM_JOB_ID; until [ -e $D/end ]; do sleep 0.1; done" >"$TMP/srun" 2>&1 &
srun=$!
until_true 20 test -s "$TMP/srun"
job=$(head -n 1 "$TMP/srun")
saved_by scontrol update jobid="$job" comment=save
dies
: >"$D/end"
sleep 4
check "slurmctld comes back after the step of srun's own job has ended" come_back
wait $srun
check "its AdminComment has the last report" has_last_report "$job" 20

# --- when a job is ended ---

# For a time limit Slurm looks twice a minute, and a minute is the shortest; the job begins before the others.
limited=$(submit --time=1 --gres=gpushare:10 --wrap "echo ran; exec sleep 300")
until_true 20 out_has "$limited" '^ran$'
begun=$SECONDS

ends_at_go 31 0
check "a job is cancelled" t 10 scancel "$job"
check "its AdminComment has the last report, though slurmctld takes none for it any more" eval "reaches $job CANCELLED && has_last_report $job 31"
check "and nothing of that is left at the node" until_true 10 eval '! t 5 scontrol show node | grep -F gpushare-ended'

ends_at_go 32 0 1.5
sleep 5.5
check "slurmctld dies when it has saved that a job is cancelled, before the job has ended" eval "saved_by scancel $job && dies"
sleep 4
check "it comes back" come_back
check "the job is cancelled" reaches "$job" CANCELLED 40
check "its AdminComment has the last report" has_last_report "$job" 32

ends_at_go 33 0 1.5
saved_by scontrol update jobid="$job" comment=save
check "slurmctld dies before it has saved that a job is cancelled" eval "t 10 scancel $job && sleep 0.5 && dies"
sleep 4
check "it comes back" come_back
check "the job is over" wait_over "$job" 40
check "its AdminComment has the last report" has_last_report "$job" 33

saved_by scontrol update jobid="$limited" comment=save
until [ $((SECONDS - begun)) -ge 50 ]; do sleep 0.5; done
check "slurmctld dies before a job's time is up" eval "in_state $limited RUNNING && dies"
until [ $((SECONDS - begun)) -ge 65 ]; do sleep 0.5; done
check "it comes back" come_back
check "the job is ended for its time limit" reaches "$limited" TIMEOUT 90
check "its AdminComment has the last report" has_last_report "$limited" 10
check "the node is in service" until_true 20 in_service

finish
