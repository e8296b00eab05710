#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two Slurm jobs of different users share one GPU, the whole path on the emulated device: sbatch, the
# plugins, gpushared, the shim, the transformed kernels.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-demo-triad gpushare-demo-matmul testsuite/e2e/order testsuite/e2e/until
start_cluster main GPU_MEMORY=512M "SPANK_ARGS=timeout=10s"
LOG=$D/log/gpushared.log
TRIAD='gpushare-demo-triad --elements 262144'

# field JOB NAME: of the batch step, from gpusharectl's report; 0 as long as there is none.
field() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1] and r["step"] == "batch"]
print(rows[0][sys.argv[2]] if rows else 0)' "$@"
}
# holds JOB NAME TEST: as in holds 7 preemptions ">= 1"
holds() {
	local got
	got=$(field "$1" "$2")
	echo "$2 of job $1 is $got, wanted $3"
	awk "BEGIN { exit !($got $3) }"
}
on_gpu() { until_true 20 holds "$1" active_ms '> 200'; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
comment() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
by_nobody() { as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" "$@"; }

# --- the low job leaves for the high one and comes back ---

# One kernel that lasts until it is told.
until_told() { : >"$D/out/more" && by_nobody -p low --gres=gpushare:40 --wrap "exec $BUILD/testsuite/e2e/until $D/out/more"; }
enough() { rm "$D/out/more"; }
low=$(until_told)
check "the low job's kernel is on the GPU" on_gpu "$low"
# Had it to wait for the low job's kernel the slowdown would be several times as much, each time; a busy machine makes 1.6 of 1.1, and
# more of one in a while.
slowed_little() {
	local i
	for _ in 1 2 3; do
		high=$(submit -p high --gres=gpushare:40 --wrap 'gpushare-demo-matmul --tiles 14') && reaches "$high" COMPLETED 60 || return 1
		! holds "$high" ntt '<= 3' || return 0
	done
	return 1
}
check "the high job completes, and its slowdown is 3 or less" slowed_little
check "while the low job still runs" in_state "$low" RUNNING
enough
check "its result is the CPU's" out_has "$high" 'correct: '
check "it was not preempted" holds "$high" preemptions '== 0'
check "the low job was, at least once" holds "$low" preemptions '>= 1'
check "the low job completes" reaches "$low" COMPLETED 120
check "its result is right all the same" out_has "$low" '^until: right$'
check "it waited for the high job's kernel" holds "$low" waiting_ms '> 10'
says() { comment "$1" | tee -a /dev/stderr | grep -E "$2" >/dev/null; }
check "its AdminComment counts the preemptions" says "$low" '^gpushare: .*preempt=[1-9]'
check "the high job's says none" says "$high" '^gpushare: .*preempt=0'

# --- memory ---

# Three arrays of 8 Mi floats are 96 MiB.
job=$(submit --gres=gpushare:40 --gpushare-mem=64M --wrap 'gpushare-demo-triad --elements 8388608 --passes 1; echo went on')
check "a job that wants more than its reservation fails to allocate" until_true 30 out_has "$job" 'out of memory|cuMemAlloc.*\(2\)'
check "and goes on" until_true 10 out_has "$job" '^went on$'
job=$(submit --gres=gpushare:40 --gpushare-mem=128M --wrap 'gpushare-demo-triad --elements 8388608 --passes 1')
check "with a larger reservation the same program is right" reaches "$job" COMPLETED 120
check "its peak is in the report" holds "$job" memory_mb '>= 96'

# --- kill -9 while kernels run ---

kills=$(submit -p low --gres=gpushare:60 --wrap "echo \$\$; exec $TRIAD --passes 100000")
next=$(submit -p low --gres=gpushare:60 --wrap "$TRIAD --passes 1")
check "a kernel that would run for long is on the GPU" on_gpu "$kills"
check "the next job waits for its shares" pends_for "$next" Resources
kill -KILL "$(head -n 1 "$D/out/$kills")"
check "kill -9 of its process: the next job runs and is right" reaches "$next" COMPLETED 20
check "and the killed one has failed" reaches "$kills" FAILED

job=$(until_told)
check "a kernel is on the GPU while gpushared will be killed" on_gpu "$job"
pid=$(cat "$D/run/gpushared.pid")
kill -KILL "$pid"
until_true 10 has_ended "$pid" # it has its lock until then
check "the job runs on" in_state "$job" RUNNING
check "gpushared starts again" t 10 gpushared --config "$D/etc/gpushare.conf"
connected() { t 5 gpusharectl status --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["gpus"][0]["clients"] != 1)'; }
check "and has its client again" until_true 20 connected
high=$(submit -p high --gres=gpushare:40 --wrap 'gpushare-demo-matmul --tiles 14')
check "a high job submitted then completes" reaches "$high" COMPLETED 60
check "while that one is still there" in_state "$job" RUNNING
enough
check "its result is the CPU's" out_has "$high" 'correct: '
check "and so is that of the job that lived through it" reaches "$job" COMPLETED 120
check "which is correct" out_has "$job" '^until: right$'
check "which is managed again: the high job preempted it" holds "$job" preemptions '>= 1'

# --- a partition without a line has its PriorityTier ---

sed -i '/^Partition=/d' "$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
registered() { grep -E "job $1\..*partition '$2', QOS '', priority $3\$" "$LOG"; }
job=$(submit -p high --gres=gpushare:40 --wrap "$TRIAD --passes 1")
check "a job of the partition with PriorityTier=10 runs" reaches "$job" COMPLETED 60
check "with priority 10" registered "$job" high 10
job=$(SLURM_JOB_PARTITION=high submit -p low --gres=gpushare:40 --wrap "$TRIAD --passes 1")
check "a job of the other, which says it were that one's, runs" reaches "$job" COMPLETED 60
check "with priority 1" registered "$job" low 1

# --- a kernel that never reaches the end of a block-task ---

printf '%s\n' EvictDeadline=1s EvictOverdue=kill "Partition=high Priority=10" >>"$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
# The last task of an array has the array's own number.
stays=$(by_nobody -p low --array=1-2 --gres=gpushare:20 --wrap "[ \$SLURM_ARRAY_TASK_ID = 1 ] || $BUILD/testsuite/e2e/order stay; sleep 100")
lacks_killed() { comment "$1"; ! comment "$1" | grep killed; }
has_gpu() { t 5 gpusharectl status --json | grep '"holder": "job '"$1"; }
check "its kernel is on the GPU" until_true 20 has_gpu "$stays"
high=$(submit -p high --gres=gpushare:40 --wrap 'gpushare-demo-matmul --tiles 4')
check "another job completes all the same" reaches "$high" COMPLETED 60
check "the whole job of that kernel is killed" reaches "${stays}_2" CANCELLED 20
check "its AdminComment says why" until_true 10 says "${stays}_2" 'killed: kernel lcg has not left gpu 0 for 1 s'
check "the other task of the array goes on" in_state "${stays}_1" RUNNING
check "and nobody says that it was killed" lacks_killed "${stays}_1"
t 10 scancel "$stays"

# --- the end ---

gone() { t 5 gpusharectl status --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpus"][0]
print(gpu)
sys.exit(not (gpu["clients"] == 0 and gpu["reserved_mb"] == 0 and gpu["shares_taken"] == 0))'; }
check "nothing is left on the GPU" until_true 5 gone
check "the daemon had no error to log" lacks ': error: ' "$LOG"
check "the node is in service" until_true 5 node_is idle
finish
