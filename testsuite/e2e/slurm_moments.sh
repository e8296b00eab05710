#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld is killed at random moments of steps' starts, and comes back: with gres/gpushare no more jobs fail and no more nodes are
# drained than with gres/shard at the same moments, and no GPU is given out whole beside its sharers.
# MOMENTS: so many (default 4), four of them at each death, one on each GPU. SEED: which ones (default 1). SPAN: so many milliseconds
# before the death, at most, a step's start has begun (default 600).
# RECORD=FILE: what became of each; what is there already is not tried again. CSV=FILE: a line for each of the two is added.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$BUILD/gpushared" ] || skip_all "gpushared was not built"
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
MOMENTS=${MOMENTS:-4} SEED=${SEED:-1} SPAN=${SPAN:-600} GPUS=4
RECORD=$(realpath -m "${RECORD:-$TMP/record}")
touch "$RECORD" || exit 1

in_service() { t 5 sinfo -h -p low -o %T | grep -xE '(mixed|allocated|idle|completing|planned)-?' >/dev/null; }
drained() { t 5 sinfo -h -p low -o %T | grep -E 'drain|down' >/dev/null; }
come_back() {
	rm -f "$D/run/slurmctld.pid"
	t 20 slurmctld -f "$D/etc/slurm.conf" && until_true 10 t 3 scontrol ping || return 1
	until_true 20 in_service || true
}
idle() { [ -z "$(t 5 squeue -h)" ]; }
# In one answer: between two of them one may end and another begin. More than one job to a GPU?
given_twice() { [ "$(t 5 squeue -h -t RUNNING -o %i | wc -l)" -gt $GPUS ]; }

# taken OPTIONS...: submit, its number in id. After a restart Slurm refuses jobs with shards until the node has registered.
taken() {
	id=$(submit "$@" 2>"$TMP/refused") && return
	refusals+=1
	return 1
}
all_run() { [ "$(t 5 squeue -h -t RUNNING -o %i | wc -l)" = $GPUS ]; }
# start GRES: on each GPU a job that waits for its step's start, and as many that want a whole GPU.
start() {
	local i
	rm -f "$D"/go.*
	jobs=() wholes=()
	for ((i = 0; i < GPUS; i++)); do
		until_true 20 taken --requeue --gres="$1:60" \
			--wrap "until [ -e $D/go.$i ]; do sleep 0.01; done; srun sh -c 'echo step; sleep 1'" || return 1
		jobs+=("$id")
	done
	until_true 20 all_run || return 1
	for ((i = 0; i < GPUS; i++)); do
		until_true 20 taken -p high --gres=gpu:1 --wrap 'exec sleep 300' || return 1
		wholes+=("$id")
	done
	sleep 0.3
	: >"$TMP/now"
	t 10 scontrol update jobid="${jobs[0]}" comment=save
	until_true 15 test "$D/state/job_state" -nt "$TMP/now" && all_run
}
# kill_after MS...: so long after each of the jobs was let go.
kill_after() {
	local pid
	pid=$(pid_in "$D/run/slurmctld.pid")
	python3 - "$D" "$pid" "$@" <<-'END' && until_true 10 has_ended "$pid"
	import os, signal, sys, time
	folder, pid, before = sys.argv[1], int(sys.argv[2]), [int(ms) / 1000 for ms in sys.argv[3:]]
	end = time.monotonic() + max(before)
	for seconds, i in sorted(((s, i) for i, s in enumerate(before)), reverse=True):
	    time.sleep(max(0, end - seconds - time.monotonic()))
	    open(f"{folder}/go.{i}", "w").close()
	time.sleep(max(0, end - time.monotonic()))
	os.kill(pid, signal.SIGKILL)
	END
}
# of_job JOB: what became of it, in a word: right, or what was wrong.
of_job() {
	local state words=()
	state=$(job_field "$1" JobState)
	[ "$(job_field "$1" Restarts)" = 0 ] || words+=(requeued)
	# srun has words of its own where slurmctld dies while it talks to it: no step has begun.
	if [ "$state" != COMPLETED ] && grep -E '^srun: error: Unable to (create step|confirm allocation)' "$D/out/$1" >/dev/null; then
		words+=("srun's own: $(grep -m 1 '^srun: error: Unable' "$D/out/$1" | tr ',' ';')")
	elif [ "$state" != COMPLETED ]; then
		words+=("failed: ${state:-lost} $(tail -n 2 "$D/out/$1" | tr '\n,' ';;')")
	fi
	[ ${#words[@]} != 0 ] || words=(right)
	(IFS=+; echo "${words[*]}")
}
all_over() { local job; for job in "${jobs[@]}"; do over "$job" || return 1; done; }
# of_node: the same of the node and the death as a whole.
of_node() {
	local words=()
	if ! until_true 20 in_service; then
		! drained || words+=(drained)
		words+=("node $(t 5 sinfo -h -p low -o '%T %E' | tr ',' ';')")
		t 5 scontrol update nodename="$(hostname -s)" state=resume
	fi
	[ $twice = 0 ] || words+=("GPU given twice")
	[ $refusals = 0 ] || words+=("a submission refused")
	[ ${#words[@]} = 0 ] || (IFS=+; echo "+${words[*]}")
}
# death GRES FIRST MS...: one death; the moments' numbers begin with FIRST.
death() {
	local gres=$1 first=$2 i id jobs=() wholes=() twice=0 node
	local -i refusals=0
	shift 2
	if start "$gres" && kill_after "$@" && sleep 1 && come_back; then
		# A sharer's GPU is its own as long as it runs.
		for i in 1 2 3 4 5 6; do
			! given_twice || twice=1
			sleep 0.2
		done
		until_true 60 all_over
		node=$(of_node)
		for ((i = 0; i < $#; i++)); do
			echo "$gres $SEED $((first + i)) ${*:i+1:1} $(of_job "${jobs[$i]}")$node"
			node=
		done >>"$RECORD"
	else
		echo "# gres/$gres, moment $first: not tried: $(t 5 sinfo -h -p low -o '%T %E') $(head -n 1 "$TMP/refused")"
	fi
	t 10 scancel --user=root
	until_true 30 idle || echo "# gres/$gres, moment $first: jobs stay"
}

# The same moments for both.
mapfile -t moments < <(awk -v seed="$SEED" -v n="$MOMENTS" -v span="$SPAN" 'BEGIN { srand(seed); for (i = 0; i < n; i++) print int(rand() * span) }')
tried() { grep "^$1 $SEED $2 ${moments[$2]} " "$RECORD" >/dev/null; }
# of GRES PATTERN: how many of this seed's moments.
of() { awk -v n="$MOMENTS" -v seed="$SEED" -v gres="$1" '$1 == gres && $2 == seed && $3 < n' "$RECORD" | grep -cE -- "$2"; }

MORE="SLURM_EXTRA=MessageTimeout=2"
start_cluster shard GRES=shard GPUS=$GPUS CPUS=64 "$MORE"
start_cluster gpushare GPUS=$GPUS CPUS=64 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M "SPANK_ARGS=timeout=10s" "$MORE"
use() { D=$TMP/$1; eval "$("$CLUSTER" "$D" env)"; }
# One right after the other: what goes wrong depends on what else the machine does.
for ((n = 0; n < MOMENTS; n += GPUS)); do
	for gres in shard gpushare; do
		use $gres
		tried $gres $n || death $gres $n "${moments[@]:n:GPUS}"
	done
done
sed 's/^/# /' <(awk -v n="$MOMENTS" -v seed="$SEED" '$2 == seed && $3 < n' "$RECORD" | grep -v ' right$')
for gres in shard gpushare; do
	failed=$(of $gres 'failed:|requeued') drained=$(of $gres drained) own=$(of $gres "srun's own") twice=$(of $gres 'given twice') refusals=$(of $gres 'a submission refused')
	echo "# gres/$gres: $(of $gres .) of $MOMENTS moments (seed $SEED): $failed jobs failed or requeued, $own by srun's own words, $drained nodes drained, $twice GPUs given twice, $refusals submissions refused at first"
	[ -z "${CSV:-}" ] || csv_line "slurmctld killed while a step with gres/$gres starts" "$(of $gres .)" $((failed + drained + twice)) "$SEED" \
		"$failed jobs failed or requeued; $drained nodes drained; $twice GPUs given twice; besides $refusals submissions refused until the node had registered and $own where srun lost slurmctld before its step began" >>"$CSV"
done

check "all moments were tried" test "$(of shard .),$(of gpushare .)" = "$MOMENTS,$MOMENTS"
check "no GPU is given twice" test "$(of gpushare 'given twice')" = 0
check "no more jobs are lost, failed or requeued than with gres/shard" test "$(of gpushare 'failed:|requeued')" -le "$(of shard 'failed:|requeued')"
check "no submission is refused" test "$(of gpushare 'a submission refused')" = 0
check "no more nodes are drained" test "$(of gpushare 'drained|node ')" -le "$(of shard 'drained|node ')"
# That moment is some milliseconds wide, so it is met by chance: three standard deviations.
no_more_by_chance() {
	local ours theirs
	ours=$(of gpushare "srun's own") theirs=$(of shard "srun's own")
	echo "$ours, $theirs"
	[ $(((ours - theirs) * (ours - theirs))) -le $((9 * (ours + theirs))) ] || [ "$ours" -lt "$theirs" ]
}
check "nor does srun fail more often, as it does with gres/shard where slurmctld dies while it talks to it" no_more_by_chance

finish
