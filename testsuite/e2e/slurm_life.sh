#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs' lives on a node with two GPUs: steps, suspension, requeueing, every death, and a long array.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-demo-triad gpushare-demo-matmul
# Nobody may depend on EvictDeadline here.  Memory is watched so that Slurm can kill for it.
start_cluster main GPUS=2 CPUS=32 GPU_MEMORY=512M "SPANK_ARGS=timeout=20s" \
	"GPUSHARE_EXTRA=EvictDeadline=300s" \
	SLURM_EXTRA=$'JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\nJobAcctGatherParams=OverMemoryKill\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=30\nPriorityType=priority/basic'
LOG=$D/log/gpushared.log
TRIAD='gpushare-demo-triad --elements 262144'

# field JOB STEP NAME: from gpusharectl's report; 0 as long as there is none.
field() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1] and str(r["step"]) == sys.argv[2]]
print(rows[-1][sys.argv[3]] if rows else 0)' "$@"
}
# holds JOB STEP NAME TEST: as in holds 7 batch preemptions ">= 1"
holds() {
	local got
	got=$(field "$1" "$2" "$3")
	echo "$3 of job $1.$2 is $got, wanted $4"
	awk "BEGIN { exit !($got $4) }"
}
on_gpu() { until_true 30 holds "$1" "${2:-batch}" active_ms '> 100'; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
# taken SHARES: besides those of the job that runs out of time meanwhile; slurmctld is not asked.
taken() {
	t 5 gpusharectl status --json | python3 -c 'import json, sys
status = json.load(sys.stdin)
n = sum(g["shares_taken"] for g in status["gpus"])
n -= sum(s["shares"] for s in status["steps"] if str(s["job"]) == sys.argv[1])
print(n, "shares are taken")
sys.exit(n != int(sys.argv[2]))' "$timed" "$1"
}
slurm_free() { t 5 scontrol show node -d | grep -E '^ *GresUsed=gpu:[^,]*:?0[^,]*,gpushare:[^,]*:?0'; }
left_nothing() { until_true 10 taken 0; }
comment() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
wait_for() { echo "n=0; while [ ! -e $D/out/$1 ] && [ \$n -lt 1200 ]; do n=\$((n + 1)); sleep 0.1; done"; }
go() { : >"$D/out/$1"; }

# --- to be seen later: Slurm looks at time limits twice a minute ---

timed=$(submit -p low --time=1 --gres=gpushare:10 --wrap "sleep 50; exec $TRIAD --passes 1000000")
check "a job that will run out of time runs" reaches "$timed" RUNNING

# --- steps within a job ---

job=$(submit -n 4 --gres=gpushare:40 --wrap "srun -n1 --exact --gres=gpushare:20 $TRIAD --passes 2 & srun -n1 --exact --gres=gpushare:20 $TRIAD --passes 2 & wait; $(wait_for steps)")
check "two steps share the job's shares" until_true 20 holds "$job" 1 shares '== 20'
check "the job's reservation is counted once" until_true 5 taken 40
go steps
check "the job completes" reaches "$job" COMPLETED 60
check "both steps' results are the CPU's" test "$(grep -c 'correct: ' "$D/out/$job")" = 2
job=$(submit -n 2 --gres=gpushare:40 --wrap "srun -n1 --overlap $TRIAD --passes 2 & srun -n1 --overlap $TRIAD --passes 2 & wait")
check "a job with two overlapping steps of all its shares completes" reaches "$job" COMPLETED 60
check "both results are the CPU's" test "$(grep -c 'correct: ' "$D/out/$job")" = 2
check "and nothing is left" left_nothing

# What an ended step had is its job's in the end, whatever becomes of gpushared meanwhile.
used() { comment "$1" | sed -n 's/.*used=\([0-9.]*\)s.*/\1/p'; }
restarts() {
	local pid
	pid=$(cat "$D/run/gpushared.pid")
	kill -KILL "$pid"
	until_true 10 has_ended "$pid" && t 20 gpushared --config "$D/etc/gpushare.conf"
}
counts_ended() {
	local had=$1 is
	is=$(used "$restarted")
	echo "the step had $had ms, the job has used $is s"
	awk "BEGIN { exit !(\"$is\" != \"\" && $is >= $had / 1000 - 0.001 && $had > 0) }"
}
restarted=$(submit --gres=gpushare:40 --wrap "srun $TRIAD --passes 2; $(wait_for counted)")
check "a step of a job has used the GPU and ended" until_true 60 holds "$restarted" 0 end '> 0'
had=$(field "$restarted" 0 active_ms)
check "gpushared is killed and starts again" restarts
go counted
check "the job completes" reaches "$restarted" COMPLETED 60
check "and its comment counts the ended step" counts_ended "$had"
# Without a batch step, nobody has the job's shares before they come.
overlapping() {
	local n
	t 60 salloc -p low -n 1 --gres=gpushare:20 bash -c \
		'for i in 1 2 3 4; do srun --overlap -n1 --gres=gpushare:20 sh -c "touch '"$D"'/out/overlaps.$i; $1" & done; wait' - \
		"$(wait_for overlapped)" >/dev/null 2>&1 &
	until_true 30 test -e "$D/out/overlaps.1" -a -e "$D/out/overlaps.2" -a -e "$D/out/overlaps.3" -a -e "$D/out/overlaps.4" &&
		taken 20
	n=$?
	go overlapped
	wait $!
	return $n
}
check "four overlapping steps of salloc have its shares once" overlapping
check "and nothing is left then" left_nothing
steps_of() { grep -cE "job $1\.[0-9]+ .* over: unregistered" "$LOG"; }
check "each of them was registered and taken back" test "$(steps_of "$job")" = 2

# --- suspension ---

# As long as Slurm counts the shares of one that is completing, the next ones would be given different GPUs.
only_timed() { [ "$(t 5 squeue -h -o %A)" = "$timed" ]; }
check "Slurm has taken their shares back" until_true 20 only_timed
high=$(submit -p high --gres=gpushare:60 --wrap "$TRIAD --passes 40000")
check "a job's kernel is on the GPU" on_gpu "$high"
low=$(submit -p low --gres=gpushare:30 --wrap "gpushare-demo-matmul --tiles 14")
check "a job below it in priority waits for it" until_true 20 holds "$low" batch waiting_ms '> 100'
had=$(field "$low" batch active_ms)
sleep 0.5
check "and has not had the GPU meanwhile" holds "$low" batch active_ms "== $had"
since=$(date +%s%N)
check "scontrol suspend" t 10 scontrol suspend "$high"
# Its time on the GPU begins to grow.
check "the other gets the GPU" until_true 10 holds "$low" batch active_ms "> $had"
took=$((($(date +%s%N) - since) / 1000000))
check "within 2 s of scontrol suspend" test $took -lt 2000
note "after $took ms at most"
check "Slurm has it suspended" reaches "$high" SUSPENDED
check "gpushared has noticed" until_true 10 grep -qE "job $high\.batch .*: stopped" "$LOG"
check "the other completes" reaches "$low" COMPLETED 60
check "while the first is still suspended" in_state "$high" SUSPENDED
check "its result is the CPU's" out_has "$low" 'correct: '
check "the suspended job keeps its shares" taken 60
late=$(submit -p high --gres=gpushare:60 --wrap true)
other=$(submit -p high --gres=gpushare:60 --wrap true)
check "and Slurm counts them: of two jobs of 60 both run, on the other GPU" reaches "$other" COMPLETED 20
check "one after the other" reaches "$late" COMPLETED 20
waited=$(field "$high" batch waiting_ms)
check "scontrol resume" t 10 scontrol resume "$high"
check "it goes on" until_true 10 grep -qE "job $high\.batch .*: goes on" "$LOG"
check "it completes" reaches "$high" COMPLETED 120
check "its result is the CPU's" out_has "$high" 'correct: '
check "the time that it was suspended is not time that it waited" holds "$high" batch waiting_ms "< $waited + 1500"
check "and nothing is left" left_nothing

# --- requeueing ---

job=$(submit --requeue --gres=gpushare:30 --wrap "echo begun; $TRIAD --passes 1; $(wait_for requeued)")
until_true 20 out_has "$job" 'correct: '
check "scontrol requeue of a running job" t 10 scontrol requeue "$job"
check "gives its shares back" until_true 10 grep -qE "job $job\.batch .* over: " "$LOG"
go requeued
# Slurm would let it wait for two minutes; a second it needs, to tell the new credential from the old.
sleep 2
until_true 20 t 10 scontrol update jobid="$job" starttime=now
check "it runs once more, and completes" reaches "$job" COMPLETED 60
check "having been registered twice" test "$(grep -cE "job $job\.batch uid .* shares of gpu" "$LOG")" = 2
check "and nothing is left" left_nothing

# --- two partitions, two priorities ---

low=$(submit -p low --gres=gpushare:40 --wrap "$TRIAD --passes 40000")
on_gpu "$low"
high=$(submit -p high --gres=gpushare:40 --wrap "$TRIAD --passes 15000")
check "a low and a high job on one GPU complete (high)" reaches "$high" COMPLETED 120
check "a low and a high job on one GPU complete (low)" reaches "$low" COMPLETED 120
slowdown() { comment "$1" | sed -n 's/.*ntt=\([0-9.]*\).*/\1/p'; }
less() { echo "$(comment "$low") / $(comment "$high")"; awk "BEGIN { exit !($1 > 0 && $1 < $2) }"; }
check "scontrol shows a smaller slowdown for the high one" less "$(slowdown "$high")" "$(slowdown "$low")"

# --- deaths ---

running() { # OPTIONS...: a job whose kernels are on the GPU
	job=$(submit -p high --gres=gpushare:50 "$@") && on_gpu "$job"
}
check "a job to be cancelled has kernels on the GPU" running --wrap "$TRIAD --passes 100000"
check "scancel" t 10 scancel "$job"
check "leaves nothing" left_nothing
check "a job to be killed for its memory has kernels on the GPU" running --mem=200 \
	--wrap "$TRIAD --passes 100000 & $(wait_for eat); exec python3 -c 'import time; a = bytes([1]) * (600 << 20); time.sleep(60)'"
go eat
killed() { [[ "$(job_field "$1" JobState)" =~ ^(OUT_OF_MEMORY|CANCELLED|FAILED)$ ]]; }
if [[ "$(scontrol --version)" = slurm*" 25."* ]]; then
	note "25.05 and 25.11 kill no step for its memory by OverMemoryKill (mended with 26.05.3): it is cancelled"
	t 10 scancel "$job"
fi
check "it is killed when it eats more" until_true 30 killed "$job"
check "its slurmstepd is killed" running --wrap "$TRIAD --passes 100000"
kill -KILL "$(sed -n "s/.*job $job\.batch .* pid \([0-9]*\):.*/\1/p" "$LOG" | tail -n 1)"
t 10 scancel "$job"
check "all of that leaves nothing" left_nothing

# --- slurmctld is down ---

job=$(submit -p high --gres=gpushare:50 --wrap "$TRIAD --passes 4000")
on_gpu "$job"
kill "$(pid_in "$D/run/slurmctld.pid")"
until_true 10 test ! -e "$D/run/slurmctld.pid"
check "a job goes on while slurmctld is down, and ends" until_true 60 out_has "$job" 'correct: '
check "its shares are given back all the same" until_true 20 taken 0
check "slurmctld starts" t 20 slurmctld -f "$D/etc/slurm.conf"
check "and has the job as completed" reaches "$job" COMPLETED 60
check "and nothing is left" left_nothing

# --- the time limit ---

check "the job out of time is ended" reaches "$timed" TIMEOUT 120
check "and that leaves nothing" left_nothing
check "nor does Slurm hold anything" until_true 10 slurm_free

# --- an array ---

ARRAY=${ARRAY:-200}
array=$(submit --array=1-"$ARRAY" --gres=gpushare:10 --output="$D/out/array-%a" --wrap 'gpushare-demo-triad --elements 4096 --passes 1; echo gpu=$GPUSHARE_GPU')
drained() { [ -z "$(t 10 squeue -h -j "$array" -o %i 2>/dev/null)" ]; }
check "an array of $ARRAY jobs drains" until_true 240 drained
right() { local n; n=$(grep -l 'correct: ' "$D"/out/array-* | wc -l); echo "$n are right"; [ "$n" = "$ARRAY" ]; }
check "every one is right" right
both() { cat "$D"/out/array-* | sort | uniq -c | grep gpu=; [ "$(cat "$D"/out/array-* | grep -c gpu=0)" -gt 10 ] && [ "$(cat "$D"/out/array-* | grep -c gpu=1)" -gt 10 ]; }
check "on both GPUs" both
check "and nothing is left" left_nothing

check "the daemon had no error to log" lacks ': error: ' "$LOG"
check "the node is in service" until_true 10 node_is idle
finish
