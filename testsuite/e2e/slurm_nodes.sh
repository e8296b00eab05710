#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Three nodes of two GPUs each: jobs across nodes, a report from each, and who may not pass for whom.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-demo-triad
start_cluster main NODES=3 GPUS=2 CPUS=4 GPU_MEMORY=512M "SPANK_ARGS=timeout=20s"
TRIAD='gpushare-demo-triad --elements 262144'
log() { echo "$D/log/gpushared-$1.log"; }
on() { local node=$1; shift; GPUSHARE_SOCKET=$D/run/gpushared-$node.sock t 5 "$@"; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
comment() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
comment_has() { comment "$1" | tee -a /dev/stderr | grep -E -- "$2" >/dev/null; }
gres_of() { t 10 scontrol show job -d "$1" | sed -n 's/.* GRES=\(.*\)/\1/p'; }
taken() { # NODE SHARES: in all of its GPUs
	on "$1" gpusharectl status --json | python3 -c 'import json, sys
taken = sum(g["shares_taken"] for g in json.load(sys.stdin)["gpus"])
print(taken)
sys.exit(taken != int(sys.argv[1]))' "$2"
}
left_nothing() { local n; for n in n1 n2 n3; do until_true 10 taken $n 0 || return 1; done; }

three_idle() { [ "$(t 5 sinfo -h -N -p low -t idle -o %N | sort -u | wc -l)" = 3 ]; }
check "three nodes are idle" until_true 10 three_idle

# --- one job on three nodes ---

job=$(submit -N3 -n3 --gres=gpushare:60 --wrap "srun --label sh -c '$TRIAD --passes 20; echo node=\$SLURMD_NODENAME gpu=\$GPUSHARE_GPU'; $TRIAD --passes 1")
check "a job on three nodes completes" reaches "$job" COMPLETED 90
check "all four results are the CPU's" test "$(grep -c 'correct: ' "$D/out/$job")" = 4
for node in n1 n2 n3; do
	check "gpushared of $node had its step" grep -qE "job $job\.0 .* 60 shares of gpu 0" "$(log $node)"
	check "the job's AdminComment has the report of $node" comment_has "$job" "(gpushare:|\|) $node: gpu=0 share=60% used=[0-9.]+s"
done
check "in one line, once each" test "$(comment "$job" | grep -oE '(gpushare:|\|) n[123]: ' | wc -l)" = 3
check "nothing is left" left_nothing
kept() { # what an administrator writes stays
	local id
	id=$(submit -N2 -n2 --gres=gpushare:20 --wrap "srun $TRIAD --passes 5; sleep 1; srun $TRIAD --passes 5")
	until_true 20 t 5 scontrol update job "$id" admincomment='ticket 17' || return 1
	reaches "$id" COMPLETED 60 && comment_has "$id" '^ticket 17; gpushare: n[123]: .* \| n[123]: [^|]*$'
}
check "beside what an administrator wrote" kept

# --- different GPUs of different nodes ---

a=$(submit -w n1 --gres=gpushare:70 --wrap 'exec sleep 120')
reaches "$a" RUNNING
b=$(submit -N2 -n2 -w n1,n2 --gres=gpushare:60 --wrap 'srun --label sh -c "echo gpu=\$GPUSHARE_GPU; sleep 1"')
check "a job on two nodes has the GPU that is free on each" reaches "$b" COMPLETED 30
check "GPU 1 of the first, which is loaded" out_has "$b" '^0: gpu=1$'
check "GPU 0 of the second, which is not" out_has "$b" '^1: gpu=0$'
t 10 scancel "$a"

# --- a heterogeneous job: Slurm puts its components on different nodes ---

het=$(submit --gres=gpushare:60 : --gres=gpushare:30 --wrap "srun --het-group=0 $TRIAD --passes 2 & srun --het-group=1 $TRIAD --passes 2 & wait")
check "a heterogeneous job of two components completes" reaches "$het" COMPLETED 60
check "both results are the CPU's" test "$(grep -c 'correct: ' "$D/out/$het")" = 2
second=$((het + 1))
component() { grep -hE "job $1\.[0-9]+ .* $2 shares of gpu" "$D"/log/gpushared-n?.log; }
check "the first component has its own job and shares" component "$het" 60
check "the second as well" component "$second" 30

# --- who may not pass for whom ---

victim=$(submit -w n1 --gres=gpushare:50 --wrap "$TRIAD --passes 1; exec sleep 120")
until_true 20 out_has "$victim" 'correct: '
# The thief has a job of its own on the same node, and says that it is the other's.
thief=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" -w n1 --gres=gpushare:10 \
	--wrap "GPUSHARE_JOB_ID=$victim GPUSHARE_STEP_ID=4294967295 $TRIAD --passes 1; echo went on; exec sleep 5")
check "a job that says that it is another's computes as itself" until_true 30 out_has "$thief" 'correct: '
check "and is its own job's client" grep -E "job $thief\.batch uid $(id -u nobody) pid [0-9]+: gpushare-demo-t" "$(log n1)"
check "the other goes on" in_state "$victim" RUNNING
thief=$(submit -w n1 --gres=gpushare:10 --export=ALL,GPUSHARE_GPU=1,GPUSHARE_SHARES=100,SLURM_JOB_ID=$victim,CUDA_VISIBLE_DEVICES=1 \
	--wrap "env | grep -E '^(GPUSHARE_GPU|GPUSHARE_SHARES|GPUSHARE_JOB_ID|CUDA_VISIBLE_DEVICES)='; GPUSHARE_GPU=1 $TRIAD --passes 1")
check "a job that exports another GPU has its own" until_true 20 out_has "$thief" '^GPUSHARE_GPU=0$'
check "for CUDA as well" out_has "$thief" '^CUDA_VISIBLE_DEVICES=0$'
check "and its own shares" out_has "$thief" '^GPUSHARE_SHARES=10$'
check "one that sets it in the script is refused" until_true 20 out_has "$thief" 'has shares of GPU 0, not 1'
check "and computes nothing" lacks 'correct: ' "$D/out/$thief"
nobodys=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" -w n1 --gres=gpushare:10 --wrap "echo ready; exec sleep 60")
until_true 20 out_has "$nobodys" '^ready$'
check "a user cannot write the AdminComment of the user's own job" \
	refused 'denied|Invalid user' as_nobody timeout 10 scontrol update job "$nobodys" admincomment='gpushare: gpu=0 share=100%'
check "nor a node's Extra" refused 'denied|Invalid user' as_nobody timeout 10 scontrol update nodename=n1 extra='gpushare: idle'
outside() { # a process of the victim's user that is not of its job: root's would be taken for gpusharectl's
	refused 'not this process|no such step' as_nobody env GPUSHARE_SOCKET="$D/run/gpushared-n1.sock" GPUSHARE_JOB_ID="$nobodys" \
		GPUSHARE_STEP_ID=4294967291 GPUSHARE_GPU=0 GPUSHARE_DRIVER="$BUILD/src/device/emu/.libs/libcuda.so.1" \
		GPUSHARE_EMU_DEVICE="$D/emu/device-n1-0" LD_LIBRARY_PATH="$BUILD/src/device/shim/.libs" \
		timeout 20 "$BUILD/gpushare-demo-triad" --elements 4096 --passes 1
}
check "a process outside the job, of its user, is refused" outside
t 10 scancel "$victim" "$nobodys" "$thief"
check "nothing is left" left_nothing
check "the nodes are in service" until_true 10 three_idle

finish
