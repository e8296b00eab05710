#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A data-parallel program with shares of three GPUs of a node, as doc/admin.md has it: a job for each GPU. Its kernels wait for each
# other on the GPUs, and each GPU has another job as well. RUNS: so many (default 3).
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared testsuite/e2e/ranks gpushare-demo-matmul
mkdir -p "$TMP/bin" && cp "$BUILD/testsuite/e2e/ranks" "$BUILD/gpushare-demo-matmul" "$TMP/bin/"
start_cluster main GPUS=3 GPU_TYPES="g0 g1 g2" GPU_MEMORY=256M CPUS=16 "SPANK_ARGS=timeout=20s" GPUSHARE_EXTRA="JobEnv=GPUSHARE_EMU_SMS=2"
RUNS=${RUNS:-3}
STEPS=5

ended_right() { # JOB...
	local job
	for job; do
		reaches "$job" COMPLETED 120 && grep -x "rank [0-2] of 3: $STEPS steps, the longest [0-9]* ms, right" "$D/out/$job" || { cat "$D/out/$job"; return 1; }
	done
}
touch "$D/out/more" && chmod 666 "$D/out/more"
neighbours=()
for gpu in 0 1 2; do
	neighbours+=("$(submit -p low --gres=gpushare:g$gpu:40 --wrap "while [ -e '$D/out/more' ]; do '$TMP/bin/gpushare-demo-matmul' --tiles 8 --repeats 20 | grep 'correct: ' || exit 1; done")")
done
check "a neighbour on each GPU" eval "reaches ${neighbours[0]} RUNNING && reaches ${neighbours[1]} RUNNING && reaches ${neighbours[2]} RUNNING"

# A type for each GPU: the ranks ask for one each.
by_type() {
	local rank jobs=()
	rm -f "$D/out/shared"
	for rank in 0 1 2; do
		jobs+=("$(submit -p low --gres=gpushare:g$rank:40 --export=ALL,RANK=$rank,WORLD_SIZE=3 --wrap "exec '$TMP/bin/ranks' '$D/out/shared' \$WORLD_SIZE \$RANK $STEPS")") || return 1
	done
	ended_right "${jobs[@]}"
}
for ((run = 1; run <= RUNS; run++)); do check "three jobs by the GPUs' types end right, run $run" by_type; done

# More than half of a GPU's shares: no two ranks have the same GPU. The elements of an array are jobs of their own.
by_half() {
	local array gpus
	rm -f "$D/out/shared"
	array=$(timeout 10 sbatch --parsable --output="$D/out/%A_%a" -p low --array=0-2 --gres=gpushare:51 \
		--wrap "exec '$TMP/bin/ranks' '$D/out/shared' \$SLURM_ARRAY_TASK_COUNT \$SLURM_ARRAY_TASK_ID $STEPS") || return 1
	until_true 120 eval "[ \$(cat '$D'/out/${array}_? | grep -c right) = 3 ]" || { cat "$D"/out/${array}_?; return 1; }
	gpus=$(grep -ohE "job [0-9]+\.batch .* 51 shares of gpu [0-2]," "$D/log/gpushared.log" | grep -o 'gpu [0-2]' | sort -u | wc -l)
	echo "on $gpus GPUs" && [ "$gpus" = 3 ]
}
check "an array of jobs with more than half of a GPU each has one on each, and ends right" by_half
rm "$D/out/more"
check "the neighbours have computed right" eval "reaches ${neighbours[0]} COMPLETED 60 && reaches ${neighbours[1]} COMPLETED 60 && reaches ${neighbours[2]} COMPLETED 60"
check "the node is in service" until_true 20 node_is idle
finish
