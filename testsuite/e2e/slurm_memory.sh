#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Device memory of Slurm's jobs beyond what their shares stand for (MemoryQueue=node): who waits, what they are told,
# in which order they go on, whose memory is taken back, and RBDM's twenty tasks as jobs.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-mem gpushare-demo-matmul testsuite/e2e/entries
ENTRIES=$BUILD/testsuite/e2e/entries
TASK=none
[ ! -r "$BUILD/src/plugins/.libs/task_gpushare.so" ] || TASK=gpushare
start_cluster main GPU_MEMORY=512M SLURM_EXTRA=TaskPlugin=task/$TASK \
	GPUSHARE_EXTRA="MemoryQueue=node
MemoryParameters=cycle=5ms,program=$BUILD/gpushare-mem
ReportInterval=300ms
JobEnv=GPUSHARE_EMU_MEMORY=560M
JobEnv=GPUSHARE_EMU_SMS=2"
LOG=$D/log/gpushared.log

# keeps PARTITION RESERVED USED WORD: a job that has memory until go WORD.
keeps() {
	submit -p "$1" --gres=gpushare:5 --gpushare-mem="$2M" --wrap "exec $ENTRIES keep $3 $D/out/hold.$4" 2>>"$TMP/submit.err"
}
has_it() { until_true 20 test -s "$D/out/hold.$1"; }
go() { rm "$D/out/hold.$1"; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
comment_says() { local is; is=$(t 10 scontrol show job "$1" | sed -n "s/^ *AdminComment=//p"); echo "AdminComment: $is"; grep -qE -- "$2" <<<"$is"; }
# row JOB FIELD: of `gpusharectl memory`
row() {
	t 5 gpusharectl memory --json | python3 -c 'import json, sys
print(next(str(s[sys.argv[2]]) for s in json.load(sys.stdin)[0]["steps"] if str(s["job"]) == sys.argv[1]))' "$@"
}
comment_lacks() { ! comment_says "$1" "$2"; }
until_comment() { until_true 30 comment_says "$@" || comment_says "$@"; }
row_says() { local is; is=$(row "$1" "$2"); echo "$2: $is"; grep -qE -- "$3" <<<"$is"; }
reload_conf() { reload "$D/run/gpushared.pid" "$LOG"; }
logged() { grep -E -- "$1" "$LOG"; }

# --- waiting ---

low=$(keeps low 400 300 low)
check "a job of 5 shares has 400 of 512 MiB" has_it low
# gres:gpushare:5 before Slurm 23.02
check "Slurm counts its 5 shares" grep -xE "gres[:/]gpushare:5" <<<"$(job_field "$low" TresPerNode)"
check "more memory than the GPU has is refused at submission" refused 'more than a whole GPU has' \
	submit --gres=gpushare:5 --gpushare-mem=513M --wrap true
other=$(keeps low 300 200 other)
check "the next one runs, as Slurm sees it" reaches "$other" RUNNING
check "and waits for its memory: gpusharectl memory" until_true 10 row_says "$other" state waiting
check "which says why" row_says "$other" why 'number 1 of 1 that wait for memory: 112 of 512 MiB'
check "so does the daemon's log" logged "job $other\.batch: waits for 300 MiB of gpu 0: number 1 of 1"
check "so does its AdminComment" until_comment "$other" 'waits for 300MiB: number 1 of 1 that wait for memory'
high=$(keeps high 300 200 high)
check "one of higher priority waits in front of it" until_true 10 row_says "$high" why 'number 1 of 2'
go low
check "which goes on first" has_it high
check "and its AdminComment says no more that it waits" until_true 10 comment_lacks "$high" 'waits for'
check "while the other one waits on" row_says "$other" state waiting
go high
check "and is the next" has_it other
go other
for job in "$low" "$high" "$other"; do
	check "job $job completes" reaches "$job" COMPLETED
	check "with its memory as it was" out_has "$job" ' 0 words wrong'
done

# --- what it holds, while it holds it ---

# It asks for its context; the rest it takes without asking, and launches nothing.
echo ContextMemory=4M >>"$D/etc/gpushare.conf"
reload_conf
live=$(keeps low 400 150 live)
check "a job has 154 of 400 MiB" has_it live
check "its AdminComment says so while it runs" until_comment "$live" ' mem=154/400MiB'
go live
check "it completes" reaches "$live" COMPLETED
sed -i '/^ContextMemory=/d' "$D/etc/gpushare.conf"
reload_conf

# --- as much as the last time ---

one_auto() { # what the program takes is known once it has run
	local job
	job=$(submit --gres=gpushare:50 --gpushare-mem=auto "$D/out/auto.sh") && reaches "$job" COMPLETED 30 && logged "job $job: $1"
}
auto() {
	printf '#!/bin/sh\nexec %s limit 1\n' "$ENTRIES" >"$D/out/auto.sh"
	chmod 755 "$D/out/auto.sh"
	one_auto '256 MiB, by its shares' && one_auto '[0-9]* MiB, by earlier runs of the program'
}
check "--gpushare-mem=auto: its shares' part, then what it took" auto

# --- taking it back ---

echo MemoryPreempt=checkpoint >>"$D/etc/gpushare.conf"
reload_conf
low=$(keeps low 400 300 low)
check "a low job has its memory" has_it low
high=$(keeps high 300 200 high)
check "a high one gets it" has_it high
check "the low one's is on the host" row_says "$low" why 'its memory is on the host'
check "its AdminComment says so" until_comment "$low" 'on the host'
go low
go high
for job in "$high" "$low"; do
	check "job $job completes" reaches "$job" COMPLETED 30
	check "with its memory as it was" out_has "$job" ' 0 words wrong'
done

# A stranger has some of the memory when the low one's is to return, and the driver refuses that time and again.
low=$(keeps low 400 300 lost)
has_it lost
high=$(keeps high 300 200 high)
check "again the low one's memory is on the host" eval "has_it high && until_true 10 row_says $low why 'its memory is on the host'"
env GPUSHARE_EMU_DEVICE="$D/emu/device" GPUSHARE_EMU_MEMORY=560M GPUSHARE_EMU_SMS=2 LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs" \
	timeout 120 "$ENTRIES" keep 300 "$TMP/stranger" >"$TMP/stranger.out" 2>&1 &
stranger=$!
pids+=("$stranger")
check "a program outside gpushare takes some of the GPU's" until_true 30 test -s "$TMP/stranger"
rm -f "$D/out/hold.lost" # it begins anew when it runs again
go high
requeued() { [ "$(job_field "$low" Restarts)" = 1 ]; }
check "the low job, whose memory is lost, is requeued" until_true 60 requeued
check "its AdminComment says why" until_comment "$low" 'its memory does not come back to gpu 0 from the host: .*OUT_OF_MEMORY'
rm -f "$TMP/stranger"
wait "$stranger" # nobody else knows of its memory
t 10 scancel "$low"
reaches "$high" COMPLETED 30
check "nothing stays reserved" until_true 20 gpu_is_free

# --- suspension ---

if [ -r "$D/plugins/task_gpushare.so" ]; then
	sed -i '/^MemoryPreempt=/d' "$D/etc/gpushare.conf"
	echo SuspendMemory=checkpoint >>"$D/etc/gpushare.conf"
	reload_conf
	low=$(keeps low 400 300 low)
	check "a job has its memory" has_it low
	other=$(keeps low 300 200 other)
	check "another one waits for memory" until_true 10 row_says "$other" state waiting
	check "scontrol suspend of the first" t 10 scontrol suspend "$low"
	check "the other one gets it" has_it other
	check "the first's is on the host" row_says "$low" state suspended
	check "and says so" row_says "$low" why 'its memory is on the host'
	check "with none in use on the GPU" row_says "$low" used_mb '^0'
	check "Slurm has it suspended" reaches "$low" SUSPENDED
	stopped() { grep -q '^State:.T' "/proc/$(sed -n "s/.*job $low\.batch uid [0-9]* pid \([0-9]*\): its memory is on the host.*/\1/p" "$LOG" | tail -n 1)/status"; }
	check "its process is stopped" until_true 10 stopped
	pid=$(cat "$D/run/gpushared.pid")
	kill "$pid"
	check "gpushared ends" until_true 10 has_ended "$pid"
	check "and starts again" t 20 gpushared --config "$D/etc/gpushare.conf"
	check "it is suspended for the new daemon, too" until_true 10 row_says "$low" state suspended
	go low
	check "scontrol resume" t 10 scontrol resume "$low"
	check "it waits for its memory, which the other one has" until_true 10 row_says "$low" state waiting
	go other
	for job in "$other" "$low"; do
		check "job $job completes" reaches "$job" COMPLETED 30
		check "with its memory as it was" out_has "$job" ' 0 words wrong'
	done
	: >"$D/out/more" && chmod 666 "$D/out/more"
	busy=$(submit -p low --gres=gpushare:5 --gpushare-mem=100M --wrap "exec $ENTRIES compute $D/out/more")
	computes() { t 5 gpusharectl report --json | python3 -c 'import json, sys
sys.exit(not any(r["active_ms"] > 50 for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1]))' "$busy"; }
	check "a job has kernels on the GPU" until_true 30 computes
	check "scontrol suspend" t 10 scontrol suspend "$busy"
	check "its memory leaves once they are over" until_true 20 row_says "$busy" state suspended
	check "Slurm has it suspended" reaches "$busy" SUSPENDED
	returns() { grep -c 'its memory is back' "$LOG"; }
	before=$(returns)
	has_returned() { [ "$(returns)" -gt "$before" ]; }
	check "scontrol resume" t 10 scontrol resume "$busy"
	# A job that ends in the moment in which its memory is back may be over before the way back is counted.
	check "its memory is back" until_true 20 has_returned
	rm "$D/out/more"
	check "it goes on, and completes" reaches "$busy" COMPLETED 30
	check "with the right result" out_has "$busy" ', 0 words wrong'
	moved() { t 10 scontrol show job "$busy" | grep -E "AdminComment=.* moved=[1-9][0-9]*MiB/[0-9.]+/[0-9.]*[1-9][0-9.]*GiB/s"; }
	check "its AdminComment says how much was moved, and at which bandwidth" until_true 10 moved
	dead=$(keeps low 100 50 dead)
	check "a job that is to be cancelled has its memory" has_it dead
	check "scontrol suspend" t 10 scontrol suspend "$dead"
	check "its memory is on the host" until_true 10 row_says "$dead" state suspended
	check "scancel while it is suspended" t 10 scancel "$dead"
	no_steps() { t 5 gpusharectl memory --json | python3 -c 'import json, sys
sys.exit(len(json.load(sys.stdin)[0]["steps"]))'; }
	check "leaves nothing" until_true 20 no_steps
	third=$(keeps low 100 50 third)
	check "one more has its memory" has_it third
	sed -i '/^SuspendMemory=/d' "$D/etc/gpushare.conf"
	reload_conf
	check "SuspendMemory=keep: scontrol suspend" t 10 scontrol suspend "$third"
	check "Slurm has it suspended" reaches "$third" SUSPENDED
	check "it keeps its memory" row_says "$third" used_mb '^[5-9][0-9]'
	check "scontrol resume" t 10 scontrol resume "$third"
	reaches "$third" RUNNING
	printf 'SuspendMemory=checkpoint\nMemoryPreemptHostLimit=1M\n' >>"$D/etc/gpushare.conf"
	reload_conf
	check "more than MemoryPreemptHostLimit: scontrol suspend" t 10 scontrol suspend "$third"
	check "Slurm has it suspended all the same" reaches "$third" SUSPENDED
	check "slurmd's log says why its memory stays" until_true 10 \
		grep -E "job $third is suspended, gpushared does not move its memory: .*MemoryPreemptHostLimit" "$D/log/slurmd.log"
	check "it keeps it" row_says "$third" used_mb '^[5-9][0-9]'
	go third
	check "scontrol resume" t 10 scontrol resume "$third"
	check "and completes" reaches "$third" COMPLETED 30
else
	note "task_gpushare.so was not built: this Slurm asks no plugin before it suspends a job; slurm_suspend.sh has that"
fi

# --- Table 2 ---

tasks() {
	local dir=$TMP/table2
	mkdir -p "$dir" && chmod 755 "$dir"
	env -u SLURM_CONF GPUSHARE_EMU_DEVICE="$dir/device" GPUSHARE_EMU_MEMORY=560M GPUSHARE_EMU_SMS=2 TMPDIR="$dir" SUBMIT=sbatch \
		MEMORY=480 CONTEXT=4 PART=0.003 DEPTH=40 CYCLE=100ms MODES=rbdm-strict:hpfw LIMIT=60 \
		timeout 100 "$SRC/testsuite/bench/table2.sh" "$BUILD" "$dir/out.csv" "$BUILD/src/device/emu/.libs/libcuda.so.1"
}
check "RBDM's twenty matrix products as jobs: all admitted, all correct" tasks
check "one line for each" test "$(grep -c '^rbdm-strict:hpfw,t[0-9]*,.*,0$' "$TMP/table2/out.csv")" = 20
finish
