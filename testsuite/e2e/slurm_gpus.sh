#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two GPUs on a node: which job has which, whole GPUs beside shares, and restarts of everything.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$BUILD/gpushared" ] || skip_all "gpushared was not built"
# No program of these jobs touches CUDA: an empty file stands for the shim.
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
start_cluster main GPUS=2 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M "SPANK_ARGS=timeout=10s"
LOG=$D/log/gpushared.log

sleeper() { submit --time=5 "$@" --wrap 'env | grep -E "^(GPUSHARE|CUDA)_"; exec sleep 120'; }
runs() { reaches "$1" RUNNING; }
# What Slurm says that the job has: gpushare:60(IDX:0).
gres_of() { t 10 scontrol show job -d "$1" | sed -n 's/.* GRES=\(.*\)/\1/p' | index_form; }
has_gres() { gres_of "$1" | tee -a /dev/stderr | grep -xF -- "$2" >/dev/null; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
registered() { until_true 10 grep -qE "job $1\.batch .* shares of gpu $2," "$LOG"; }
# daemon_has GPU SHARES
daemon_has() {
	t 5 gpusharectl status --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpus"][int(sys.argv[1])]
print(gpu)
sys.exit(gpu["shares_taken"] != int(sys.argv[2]))' "$@"
}
cancel() { t 10 scancel "$@"; for job; do wait_over "$job"; done; }

# --- placement ---

a=$(sleeper --gres=gpushare:60)
check "a job of 60 shares has them on GPU 0" runs "$a"
check "as scontrol show job -d says" has_gres "$a" 'gpushare:60(IDX:0)'
b=$(sleeper --gres=gpushare:70)
check "a second of 70 has them on GPU 1: no job's shares are divided" runs "$b"
check "its index too" has_gres "$b" 'gpushare:70(IDX:1)'
until_true 5 out_has "$b" CUDA_VISIBLE
check "its environment has the index" out_has "$b" '^GPUSHARE_GPU=1$'
check "for CUDA as well" out_has "$b" '^CUDA_VISIBLE_DEVICES=1$'
check "and the emulated device of that GPU" out_has "$b" '^GPUSHARE_EMU_DEVICE=.*/device-1$'
check "gpushared has the first at GPU 0" registered "$a" 0
check "and the second at GPU 1" registered "$b" 1
# Both tasks of the step have the GPU of its shares, whatever Slurm makes of the binding, and no line complains.
bound() { # OPTION...
	local job
	job=$(submit --gres=gpushare:35 -n2 --wrap "srun $* printenv CUDA_VISIBLE_DEVICES") &&
		wait_over "$job" && cat "$D/out/$job" && [ "$(cat "$D/out/$job")" = "0
0" ]
}
for bind in closest single:1 single:2 none map_gpu:0 map_gpu:1,0 mask_gpu:0x1 mask_gpu:0x2,0x1 per_task:1; do
	check "a step's tasks have their GPU with --gpu-bind=$bind" bound --gpu-bind=$bind
done
exported() { SLURM_GPU_BIND=closest bound; }
check "and with SLURM_GPU_BIND" exported
if srun --help | grep -q -- --tres-per-task; then
	per_task() { # OPTION...: 30 shares for each of two tasks
		local job
		job=$(submit -N1 -n2 --tres-per-task=gres/gpushare:15 "$@" --wrap "srun printenv CUDA_VISIBLE_DEVICES") &&
			wait_over "$job" && cat "$D/out/$job" && [ "$(cat "$D/out/$job")" = "0
0" ]
	}
	check "and with --tres-per-task" per_task
	check "and with --tres-per-task and --tres-bind" per_task --tres-bind=gres/gpu:closest
	check "and with --tres-bind for the shares" bound --tres-bind=gres/gpushare:closest
	check "tasks whose shares no GPU has together are refused, with what to write" \
		refused 'gpushare: 4 tasks with 30 shares each have 120 on a node.*--ntasks-per-node=3' submit -N1 -n4 --tres-per-task=gres/gpushare:30 --wrap true
fi
# sbatch of Slurm 26.05 takes gres/gpushare for gres/gpu and refuses that itself.
for both in --gres=gpu:1,gpushare:10 '--gpus=1 --gres=gpushare:10' '--gpus-per-node=1 --gres=gpushare:10'; do
	# shellcheck disable=SC2086
	check "whole GPUs beside shares are refused, with what to write: $both" \
		refused 'gpushare: a job has shares or whole GPUs, not both: write|--gpus-per-node and --gres=gpu are mutually exclusive' submit $both --wrap true
done
check "--exclusive with shares is refused, with what to write" \
	refused 'gpushare: --exclusive takes .* whole GPUs .*write --gres=gpu:N' submit --exclusive --gres=gpushare:10 --wrap true
held=$(submit --hold --exclusive=user --gres=gpushare:10 --wrap true)
check "--exclusive=user is not" test -n "$held"
t 10 scancel "$held"
c=$(sleeper --gres=gpushare:60)
check "60 more fit on no single GPU, though 70 are free in all" pends_for "$c" Resources
d=$(sleeper -p high --gres=gpushare:35)
check "35 fit on the less loaded GPU only" runs "$d"
check "and are there" has_gres "$d" 'gpushare:35(IDX:0)'
e=$(sleeper -p high --gres=gpushare:30)
check "30 fit on the other only" runs "$e"
check "and are there" has_gres "$e" 'gpushare:30(IDX:1)'
check "the 60 still pend" in_state "$c" PENDING
check "gpushared counts 95 shares of GPU 0" until_true 5 daemon_has 0 95
check "and 100 of GPU 1" until_true 5 daemon_has 1 100

# --- restarts with running jobs ---

all_there() {
	local job
	for job in "$a" "$b" "$d" "$e"; do in_state "$job" RUNNING || return 1; done
	has_gres "$a" 'gpushare:60(IDX:0)' && has_gres "$b" 'gpushare:70(IDX:1)' &&
		has_gres "$d" 'gpushare:35(IDX:0)' && has_gres "$e" 'gpushare:30(IDX:1)'
}
full() { # 5 shares are free on GPU 0, none on GPU 1
	local six five
	six=$(submit -p high --gres=gpushare:6 --wrap true)
	pends_for "$six" Resources || return 1
	five=$(submit -p high --gres=gpushare:5 --wrap true)
	t 10 scancel "$six"
	reaches "$five" COMPLETED
}
starts() { # A program of Slurm's, until slurmctld answers.
	t 20 "$@" && until_true 10 t 3 scontrol ping || { tail -n 20 "$D/log/slurmctld.log"; return 1; }
}
restart_only() { # PROGRAM COMMAND...: end it and start it again
	local pid program=$1
	shift
	pid=$(pid_in "$D/run/$program.pid")
	kill "$pid" && until_true 15 test ! -e "$D/run/$program.pid" && until_true 15 has_ended "$pid" &&
		starts "$@"
}
restart() { restart_only "$@" && until_true 15 node_known; }
node_known() { t 5 sinfo -h -p low -o %T | grep -xE '(mixed|allocated|idle|planned)-?' >/dev/null; } # no * behind it; - is what backfill plans
check "scontrol reconfigure" t 15 scontrol reconfigure
check "leaves every job and its index" all_there
check "and the counts" full
check "slurmctld restarts" restart slurmctld slurmctld -f "$D/etc/slurm.conf"
check "with every job and its index" all_there
check "and the counts" full
# What slurmctld has not written yet it forgets when it is killed; that is Slurm's affair.
: >"$TMP/now"
saved() { [ "$D/state/job_state" -nt "$TMP/now" ]; }
until_true 15 saved
pid=$(pid_in "$D/run/slurmctld.pid")
kill -KILL "$pid"
until_true 15 has_ended "$pid" # it has the port until then
rm -f "$D/run/slurmctld.pid"
check "slurmctld, killed, starts again" starts slurmctld -f "$D/etc/slurm.conf"
until_true 15 node_known
check "with every job and its index" all_there
check "and the counts" full
check "slurmd restarts" restart slurmd slurmd -f "$D/etc/slurm.conf"
check "with every job and its index" all_there
check "and the counts" full
check "gpushared restarts" restart gpushared gpushared --config "$D/etc/gpushare.conf"
check "and counts 95 shares of GPU 0" until_true 5 daemon_has 0 95
check "and 100 of GPU 1" until_true 5 daemon_has 1 100
check "a reconfiguration after all that" t 15 scontrol reconfigure
check "leaves every job and its index" all_there

# --- the end of a job ---

cancel "$a"
check "the 60 run when a GPU has room" runs "$c"
check "on that GPU" has_gres "$c" 'gpushare:60(IDX:0)'

# --- whole GPUs ---

whole=$(sleeper -p high --gres=gpu:1)
check "a whole GPU waits while both are shared" pends_for "$whole" Resources
cancel "$b" "$e"
check "and runs when one is not" runs "$whole"
check "on that one" has_gres "$whole" 'gpu:1(IDX:1)'
until_true 5 out_has "$whole" CUDA_VISIBLE
check "with its index for CUDA" out_has "$whole" '^CUDA_VISIBLE_DEVICES=1$'
check "and nothing of gpushare's" lacks '^GPUSHARE_(GPU|SHARES|JOB_ID)=' "$D/out/$whole"
f=$(sleeper -p high --gres=gpushare:50)
check "50 shares do not go to the whole GPU's" pends_for "$f" Resources
# Before the node has registered again slurmctld does not know which share is of which GPU.
check "nor after a restart of slurmctld" restart_only slurmctld slurmctld -f "$D/etc/slurm.conf"
check "which takes jobs at once" test -n "$(two=$(sleeper -p high --gres=gpu:2); echo "$two" >"$TMP/two"; echo "$two")"
two=$(cat "$TMP/two")
check "the whole GPU's job runs on" in_state "$whole" RUNNING
cancel "$whole"
check "shares run on it when the whole GPU's job has ended" runs "$f"
check "there" has_gres "$f" 'gpushare:50(IDX:1)'
check "two whole GPUs wait meanwhile" reaches "$two" PENDING 5
cancel "$c" "$d" "$f"
check "and run when nobody has shares" runs "$two"
one=$(submit -p high --gres=gpushare:1 --wrap true)
check "then not even one share is to be had" pends_for "$one" Resources
cancel "$two"
check "until they end" reaches "$one" COMPLETED
check "nothing stays taken of GPU 0" until_true 5 daemon_has 0 0
check "nor of GPU 1" until_true 5 daemon_has 1 0

check "the node is in service" until_true 5 node_is idle
check "slurmctld had nothing to complain of" lacks 'gres.*(mismatch|overalloc|underflow)' "$D/log/slurmctld.log"

finish
