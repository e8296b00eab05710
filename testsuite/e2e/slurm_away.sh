#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld goes away while steps with shares start: they wait for it, no job is lost, no node drained, no GPU given twice.
# GPUSHARE_ROUNDS: killed at so many moments of a step's start, beside gres/shard (default 2).
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$BUILD/gpushared" ] || skip_all "gpushared was not built"
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
ROUNDS=${GPUSHARE_ROUNDS:-2}
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
kill -KILL "$(cat "$dir/run/slurmctld.pid")"
END
chmod 755 "$TMP/prolog"
OTHER=MessageTimeout=2
start_cluster shard GRES=shard GPUS=1 "SLURM_EXTRA=$OTHER"
SHARD=$D
start_cluster main GPUS=1 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M \
	"SPANK_ARGS=timeout=10s slurmctld_timeout=${WAIT}s" "SLURM_EXTRA=$OTHER
Prolog=$TMP/prolog"
MAIN=$D
use() { eval "$("$CLUSTER" "$1" env)"; D=$1; mkdir -p "$D/out"; }

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

pid=$(cat "$D/run/slurmctld.pid")
: >"$D/kill"
job=$(submit --gres=gpushare:30 --wrap 'echo ran; srun --gres=gpushare:30 echo step ran')
check "slurmctld is killed while a batch step begins, and comes back" away 2
check "the job completes" reaches "$job" COMPLETED 40
check "its script has run, with its step" out_has "$job" '^step ran$'
check "slurmctld took it for the same run" test "$(job_field "$job" Restarts)" = 0

pid=$(cat "$D/run/slurmctld.pid")
: >"$D/kill"
t 60 srun --gres=gpushare:30 echo interactive ran >"$TMP/srun" 2>&1 &
srun=$!
check "the same of srun's own job" away 2
wait $srun
rc=$?
check "srun's step has run" grep -xF 'interactive ran' "$TMP/srun"
check "and srun says so" test $rc = 0

pid=$(cat "$D/run/slurmctld.pid")
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

pid=$(cat "$D/run/slurmctld.pid")
: >"$D/kill"
job=$(submit --no-requeue --gres=gpushare:30 --wrap 'echo ran')
check "too late for a job that may not be requeued" away $((WAIT + 6))
check "it has failed" reaches "$job" FAILED 40
check "the node is in service" until_true 20 in_service

# --- when a job ends ---

comment_of() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
rm -f "$D/end"
job=$(submit --gres=gpushare:30 --wrap "echo ran; until [ -e $D/end ]; do sleep 0.1; done; exit 3")
until_true 20 out_has "$job" '^ran$'
: >"$TMP/now"
t 10 scontrol update jobid="$job" comment=save
until_true 15 test "$D/state/job_state" -nt "$TMP/now"
pid=$(cat "$D/run/slurmctld.pid")
kill -KILL "$pid"
until_true 10 has_ended "$pid"
: >"$D/end"
sleep 4 # longer than gpushared lets a step wait for its last report
check "slurmctld comes back after a job has ended" come_back
check "the job has failed, as it did" eval "reaches $job FAILED 40 && [ \"\$(job_field $job ExitCode)\" = 3:0 ]"
check "its AdminComment has the last report" eval "comment_of $job | tee /dev/stderr | grep -E '^gpushare: gpu=0 share=30%'"
check "the node is in service" until_true 20 in_service

# --- at any moment of a step's start, beside gres/shard ---

# start GRES: a job that waits for its step's start, and one that wants the whole GPU.
start() {
	rm -f "$D/go"
	job[$1]=$(submit --requeue --gres="$1:60" --wrap "until [ -e $D/go ]; do sleep 0.02; done; srun sleep 1")
	whole[$1]=$(submit -p high --hold --gres=gpu:1 --wrap 'exec sleep 300')
	reaches "${job[$1]}" RUNNING && t 10 scontrol release "${whole[$1]}" && pends_for "${whole[$1]}" Resources || return 1
	sleep 0.3
	: >"$TMP/now"
	t 10 scontrol update jobid="${job[$1]}" comment=save
	until_true 15 test "$D/state/job_state" -nt "$TMP/now"
}
kill_at() { # MS
	local pid
	pid=$(cat "$D/run/slurmctld.pid")
	: >"$D/go"
	sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')"
	kill -KILL "$pid" && until_true 10 has_ended "$pid"
}
# judge GRES: a word on what became of the job.
judge() {
	local state
	until_true 40 over "${job[$1]}" || true
	state=$(job_field "${job[$1]}" JobState)
	[ "$(job_field "${job[$1]}" Restarts)" = 0 ] || state+=,requeued
	# srun has words of its own where slurmctld dies while it talks to it: no step has begun.
	if grep -qE '^srun: error: Unable to (create step|confirm allocation)' "$D/out/${job[$1]}"; then
		echo "srun itself, $1: at $2 ms: $state"
	elif [ "$state" != COMPLETED ]; then
		echo "$1: at $2 ms: ${state:-lost}"
	fi
	in_service || { echo "$1: at $2 ms: $(t 5 sinfo -h -o '%T %E')"; t 5 scontrol update nodename="$(hostname -s)" state=resume; }
	t 10 scancel "${job[$1]}" "${whole[$1]}" 2>/dev/null
	until_true 30 idle
}
# In one answer: between two of them the first may end and the other begin.
both_run() { [ "$(t 5 squeue -h -t RUNNING -j "$1,$2" -o %i | wc -l)" = 2 ]; }
idle() { [ -z "$(t 5 squeue -h)" ]; }
declare -A job whole
for ((moment = 0; moment < ROUNDS; moment++)); do
	ms=$((moment * 200 / ROUNDS))
	for gres in shard gpushare; do
		[ $gres = shard ] && use "$SHARD" || use "$MAIN"
		start $gres && kill_at $ms && sleep 1 && come_back || echo "$gres: at $ms ms: not back"
		# As long as the one runs, the other does not.
		for i in 1 2 3 4 5 6; do
			both_run "${job[$gres]}" "${whole[$gres]}" && echo "$gres: at $ms ms: GPU given twice"
			sleep 0.2
		done
		judge $gres $ms
	done
done >"$TMP/moments" 2>"$TMP/moments.err"
sed 's/^/# /' "$TMP/moments"
of() { grep -cE "^$1: .*$2" "$TMP/moments" || true; }
check "no GPU is given twice" test "$(of gpushare 'given twice')" = 0
check "no more jobs are lost, failed or requeued than with gres/shard" test "$(of gpushare ms)" -le "$(of shard ms)"
check "no more nodes are drained" test "$(of gpushare drain)" -le "$(of shard drain)"

finish
