#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose step a process is: daemons, another step's environment, nested steps, other users, a PID namespace of its own, and
# processes that outlive their step; with proctrack/cgroup, and what is left with proctrack/linuxproc.
# Slurm names its cgroups by the node: a host name of this suite's own keeps them apart from any other Slurm's here.
if [ -z "${GPUSHARE_IDENTITY_HOST:-}" ] && unshare --uts true 2>/dev/null; then
	GPUSHARE_IDENTITY_HOST=gsid$$ exec unshare --uts sh -c 'hostname "$GPUSHARE_IDENTITY_HOST" && exec bash "$@"' sh "$0" "$@"
fi
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-demo-triad testsuite/e2e/entries
TRIAD="$BUILD/gpushare-demo-triad --elements 65536 --passes 1"
ENTRIES=$BUILD/testsuite/e2e/entries

out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
logged() { grep -E -- "$1" "$D/log/gpushared.log"; }
# client JOB.STEP PROGRAM [USER]: the daemon had such a client.
client() { logged "job $1 uid ${3:-0} pid [0-9]+: ${2:0:15}[^ ]* on gpu 0"; }
# step SCRIPT: a job of one step with shares; the id is in $job.
step() {
	job=$(submit --gres=gpushare:25 --wrap "srun --gres=gpushare:25 sh -c '$1'") && wait_over "$job" 60
}
correct() { out_has "$job" 'correct: '; }

# --- by the cgroup ---

cgroups=
if [ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d /sys/fs/cgroup/freezer ]; then
	if [ -n "${GPUSHARE_IDENTITY_HOST:-}" ]; then cgroups=yes; fi
fi
if [ -n "$cgroups" ]; then
	start_cluster groups PROCTRACK=cgroup GPU_MEMORY=512M GPUSHARE_EXTRA="JobEnv=GPUSHARE_EMU_SMS=2"
	note "proctrack/cgroup, $(sed -n 's/^CgroupPlugin=//p' "$D/etc/cgroup.conf")"
	step "( ( sleep 1; exec $TRIAD ) & ); sleep 8"
	check "a program whose parents have ended is its step's client" client "$job.0" gpushare-demo-triad
	check "and computes" correct
	step "setsid nohup sh -c \"sleep 1; $TRIAD\" </dev/null & sleep 8"
	check "so is one in a session of its own, started with nohup" client "$job.0" gpushare-demo-triad
	check "and computes" correct
	step "GPUSHARE_STEP_ID=77 $TRIAD"
	check "one that says that it is step 77's is its own step's" client "$job.0" gpushare-demo-triad
	check "and computes" correct
	step "GPUSHARE_JOB_ID=4711 GPUSHARE_STEP_ID=77 $TRIAD"
	check "one that says that it is another job's is its own job's" client "$job.0" gpushare-demo-triad
	check "and computes" correct
	job=$(submit --gres=gpushare:40 --wrap "srun --gres=gpushare:20 sh -c 'env >$D/out/env0; sleep 1'
		srun --gres=gpushare:30 sh -c '. $D/out/env1; $TRIAD; env | grep ^GPUSHARE_STEP_ID'")
	until_true 20 test -s "$D/out/env0"
	sed -n "s/^\(GPUSHARE_[A-Z_]*\)=\(.*\)/export \1='\2'/p" "$D/out/env0" >"$D/out/env1"
	wait_over "$job" 60
	check "a step with the environment of an earlier one" out_has "$job" '^GPUSHARE_STEP_ID=0$'
	check "is itself" client "$job.1" gpushare-demo-triad
	check "and computes" correct
	job=$(submit --gres=gpushare:40 --wrap "srun --gres=gpushare:20 sh -c '( ( sleep 2; exec $TRIAD ) & ); sleep 8' & $TRIAD; wait") &&
		wait_over "$job" 60
	check "of a batch script and its step each has its own program" client "$job.batch" gpushare-demo-triad
	check "though the step's became a daemon" client "$job.0" gpushare-demo-triad
	check "both compute" test "$(grep -c 'correct: ' "$D/out/$job")" = 2
	step "exec setpriv --reuid=nobody --regid=nogroup --clear-groups $TRIAD"
	check "a program that becomes another user is the job's" client "$job.0" gpushare-demo-triad "$(id -u nobody)"
	check "and computes" correct
	if unshare --pid --fork --mount-proc true 2>/dev/null; then
		step "exec unshare --pid --fork --mount-proc $TRIAD"
		check "a program in a PID namespace of its own is the step's" client "$job.0" gpushare-demo-triad
		check "and computes" correct
	fi
	job=$(submit --gres=gpushare:25 --wrap "srun --gres=none env GPUSHARE_STEP_ID=4294967291 $TRIAD") && wait_over "$job" 60
	check "a step without shares has none of its job's" out_has "$job" 'gets nothing of the GPU|in which this process is, has no shares here'
	check "and computes nothing" lacks 'correct: ' "$D/out/$job"
	outside() {
		refused 'not this process|no such step' as_nobody env GPUSHARE_JOB_ID="$1" GPUSHARE_STEP_ID=0 GPUSHARE_GPU=0 \
			GPUSHARE_DRIVER="$BUILD/src/device/emu/.libs/libcuda.so.1" GPUSHARE_EMU_DEVICE="$D/emu/device" \
			LD_LIBRARY_PATH="$BUILD/src/device/shim/.libs" timeout 20 $TRIAD
	}
	job=$(submit --uid=nobody --gres=gpushare:25 --wrap 'exec sleep 60')
	until_true 20 logged "job $job.batch uid"
	check "a process outside the job, of its user, is refused" outside "$job"
	t 10 scancel "$job"

	# What leaves its cgroup before the step ends is not killed by Slurm.
	leave='for f in /sys/fs/cgroup/freezer/cgroup.procs /sys/fs/cgroup/cgroup.procs; do [ ! -w $f ] || echo $p >$f; done'
	step "setsid $ENTRIES keep 100 $D/out/hold.old </dev/null >/dev/null 2>&1 & p=\$!; until [ -s $D/out/hold.old ]; do sleep 0.1; done; $leave"
	check "a process that left its cgroup outlives its step: the log says so" until_true 10 logged "job $job.0 pid [0-9]+: outlives its step: its [0-9]+ MiB of gpu 0 stay counted"
	pid=$(logged 'outlives its step' | sed -n 's/.* pid \([0-9]*\): outlives.*/\1/p' | tail -n 1)
	pids+=("$pid")
	shares_free() { t 5 gpusharectl status --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpus"][0]
print(gpu)
sys.exit(gpu["shares_taken"] != 0 or gpu["reserved_mb"] < 100)'; }
	check "its shares are free, its memory is not" until_true 10 shares_free
	restarted() {
		local daemon
		daemon=$(cat "$D/run/gpushared.pid")
		kill -KILL "$daemon" && until_true 10 has_ended "$daemon"
		t 20 gpushared --config "$D/etc/gpushare.conf" && until_true 10 shares_free
	}
	check "also after a restart of gpushared" restarted
	next=$(submit --gres=gpushare:90 --wrap "$TRIAD")
	check "the next job's program waits for memory" until_true 15 logged "job $next.batch: waits for [0-9]+ MiB of gpu 0"
	nothing_yet() { ! grep 'correct: ' "$D/out/$1"; }
	check "and computes nothing yet" nothing_yet "$next"
	kill -KILL "$pid"
	check "until the process is gone" reaches "$next" COMPLETED 30
	check "as the log says" logged "pid $pid: gone: its [0-9]+ MiB of gpu 0 are free"
	check "nothing stays reserved" until_true 10 gpu_is_free
	timeout 60 "$CLUSTER" "$D" stop >/dev/null 2>&1
	find /sys/fs/cgroup -maxdepth 3 -type d -name "slurm_$GPUSHARE_IDENTITY_HOST" 2>/dev/null |
		while read -r group; do find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null; done
else
	note "no proctrack/cgroup: no cgroups of version 2 or version 1's freezer, or no UTS namespace"
fi

# --- without cgroups ---

start_cluster parents GPU_MEMORY=512M GPUSHARE_EXTRA="JobEnv=GPUSHARE_EMU_SMS=2"
note "proctrack/linuxproc"
step "GPUSHARE_JOB_ID=4711 GPUSHARE_STEP_ID=77 $TRIAD"
check "linuxproc: one that says that it is another job's is its own step's" client "$job.0" gpushare-demo-triad
check "and computes" correct
step "( ( sleep 1; exec $TRIAD ) & ); sleep 6"
check "linuxproc: a program whose parents have ended is told that it gets nothing" out_has "$job" 'gets nothing of the GPU'
check "and computes nothing" lacks 'correct: ' "$D/out/$job"
step "setsid $ENTRIES keep 100 $D/out/hold.old </dev/null >/dev/null 2>&1 & until [ -s $D/out/hold.old ]; do sleep 0.1; done"
check "linuxproc: a process in a session of its own outlives its step" until_true 10 logged "job $job.0 pid [0-9]+: outlives its step"
rm -f "$D/out/hold.old"
check "and its memory is free when it ends" until_true 20 gpu_is_free
check "the node is in service" until_true 10 node_is idle

finish
