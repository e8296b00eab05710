#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SuspendMemory=checkpoint without task/gpushare, as on Slurm 24.11 and later, which ask no plugin: gpushared notices that a job is stopped, by
# signals (proctrack/linuxproc) or by the freezer (proctrack/cgroup). slurm_memory.sh has it with the plugin.
# Slurm names its cgroups by the node: a host name of this suite's own keeps them apart from any other Slurm's here.
if [ -z "${GPUSHARE_SUSPEND_HOST:-}" ] && unshare --uts true 2>/dev/null; then
	GPUSHARE_SUSPEND_HOST=gssu$$ exec unshare --uts sh -c 'hostname "$GPUSHARE_SUSPEND_HOST" && exec bash "$@"' sh "$0" "$@"
fi
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-mem testsuite/e2e/entries
ENTRIES=$BUILD/testsuite/e2e/entries

# keeps RESERVED WORD USED...: a job with a process for each USED (MiB), which have that memory until go WORD.
keeps() {
	local reserved=$1 word=$2 script='' n=0 used
	shift 2
	for used; do
		n=$((n + 1))
		script+="$ENTRIES keep $used $D/out/hold.$word.$n & "
	done
	# Slurm 25.05 starts tasks with SIGCHLD blocked, with which wait of dash never ends.
	submit --gres=gpushare:5 --gpushare-mem="$reserved"M --wrap "exec bash -c '$script wait'" 2>>"$TMP/submit.err"
}
all_have() { # WORD N
	local n
	for ((n = 1; n <= $2; n++)); do test -s "$D/out/hold.$1.$n" || return 1; done
}
has_it() { until_true 20 all_have "$1" "${2:-1}"; }
go() { rm "$D/out/hold.$1".*; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
row_says() { # JOB FIELD PATTERN: of gpusharectl memory
	local is
	is=$(t 5 gpusharectl memory --json | python3 -c 'import json, sys
print(next(str(s[sys.argv[2]]) for s in json.load(sys.stdin)[0]["steps"] if str(s["job"]) == sys.argv[1]))' "$1" "$2")
	echo "$2: $is"
	grep -qE -- "$3" <<<"$is"
}
no_steps() { t 5 gpusharectl memory --json | python3 -c 'import json, sys
sys.exit(len(json.load(sys.stdin)[0]["steps"]))'; }
clients_of() { sed -nE "s/.*job $1\.[a-z0-9]+ uid [0-9]+ pid ([0-9]+): .* on gpu 0.*/\1/p" "$LOG" | sort -u; }
# stopped PID: by a signal, or frozen.
stopped() {
	grep -q '^State:.[T]' "/proc/$1/status" && return 0
	local group
	group=$(sed -n 's/^[0-9]*:freezer://p' "/proc/$1/cgroup")
	[ -z "$group" ] || ! grep -q FROZEN "/sys/fs/cgroup/freezer$group/freezer.state" 2>/dev/null || return 0
	group=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	grep -qx 'frozen 1' "/sys/fs/cgroup$group/cgroup.events" 2>/dev/null
}
all_stopped() { local pid; for pid in $(clients_of "$1"); do stopped "$pid" || return 1; done; [ -n "$(clients_of "$1")" ]; }
none_stopped() { local pid; for pid in $(clients_of "$1"); do ! stopped "$pid" || return 1; done; }
# took JOB SINCE: ms from then (date +%s.%N) until its memory was on the host.
took() {
	python3 - "$LOG" "$1" "$2" <<-'END'
	import datetime, re, sys
	for line in open(sys.argv[1]):
	    at = re.match(r"(\S+) gpushared: info: .*job %s\.\S+ ?.*: [0-9]+ MiB are on the host" % sys.argv[2], line)
	    if at and datetime.datetime.fromisoformat(at.group(1)).timestamp() >= float(sys.argv[3]):
	        print(round((datetime.datetime.fromisoformat(at.group(1)).timestamp() - float(sys.argv[3])) * 1000))
	        break
	END
}
within() { local ms; ms=$(took "$2" "$3"); echo "$ms ms"; [ -n "$ms" ] && [ "$ms" -lt "$1" ]; }
restart_daemon() {
	local pid
	pid=$(cat "$D/run/gpushared.pid")
	kill "$pid" && until_true 10 has_ended "$pid" && ${1:-true} && t 20 gpushared --config "$D/etc/gpushare.conf"
}

# Each move to the host begins so many seconds late: other things happen meanwhile.
slow_moves() { echo "$1" >"$D/out/late"; }
cat >"$TMP/slow_mem" <<-END
	#!/bin/sh
	[ "\$1" != checkpoint ] || { late=\$(cat "\$LATE"); : >"\$LATE.begun"; sleep "\$late"; while [ -e "\$LATE.hold" ]; do sleep 0.05; done; }
	exec "$BUILD/gpushare-mem" "\$@"
END
chmod 755 "$TMP/slow_mem"
moves() { grep -cE "job $1\.batch: is suspended: its memory goes to the host" "$LOG"; }
# awake JOB: suspends it with a move that begins when it may (let_move), and waits until its programs have been woken for the move.
awake() {
	: >"$D/out/late.hold"
	rm -f "$D/out/late.begun"
	t 10 scontrol suspend "$1"
	until_true 10 test -e "$D/out/late.begun" && written && until_true 5 none_stopped "$1"
}
let_move() { rm "$D/out/late.hold"; }
# beyond_stop JOB: Slurm stops the programs once more after two seconds, and gpushared wakes them again.
beyond_stop() { sleep 4 && until_true 5 none_stopped "$1"; }
written() { grep -q '^woken ' "$D/run/gpushared.sock.state"; }
not_written() { ! written; }
kill_daemon() {
	local pid
	pid=$(cat "$D/run/gpushared.pid")
	kill -9 "$pid" && until_true 10 has_ended "$pid"
}
end_daemon() {
	local pid
	pid=$(cat "$D/run/gpushared.pid")
	kill "$pid" && until_true 10 has_ended "$pid"
}
new_daemon() { t 20 gpushared --config "$D/etc/gpushare.conf"; }
# For a second, in which what stops or wakes a process wrongly does so. Of a job that is resumed at once slurmd stops the processes for a
# moment, two seconds after the suspension.
stay() { local i; for i in 1 2 3 4 5; do "$@" || return 1; sleep 0.2; done; }
back() { none_stopped "$1" && row_says "$1" used_mb '^[5-9][0-9]' && row_says "$1" state admitted; }

# gpushared dies while it has woken a suspended job's programs.
killed() {
	local low pid state=$D/run/gpushared.sock.state
	low=$(keeps 100 died 40 10)
	check "two processes of a job have memory" has_it died 2
	check "they are awake while their memory moves" awake "$low"
	check "beyond Slurm's own second stop" beyond_stop "$low"
	check "gpushared is killed" kill_daemon
	check "nobody stops them" stay none_stopped "$low"
	pid=$(pid_in "$D/run/slurmctld.pid")
	kill -STOP "$pid" # a new one cannot know what to do
	check "a new gpushared starts" new_daemon
	check "it is killed before it could stop them" kill_daemon
	kill -CONT "$pid"
	check "that has lost nothing" written
	let_move
	check "the next one" new_daemon
	check "stops them again" until_true 20 all_stopped "$low"
	check "for good" until_true 10 not_written
	check "they stay so" stay all_stopped "$low"
	check "scontrol resume" t 10 scontrol resume "$low"
	check "they go on with their memory" until_true 20 back "$low"
	check "for more than a moment, in which gpushared sees that" until_true 20 stay back "$low"

	check "awake again" awake "$low"
	check "gpushared is killed" kill_daemon
	let_move
	check "the job is resumed meanwhile" t 10 scontrol resume "$low"
	check "a new gpushared" new_daemon
	check "knows that it is not to be stopped" until_true 20 not_written
	check "it runs on" until_true 20 stay none_stopped "$low"
	check "with its memory" until_true 20 back "$low"

	check "awake again" awake "$low"
	check "beyond Slurm's own second stop" beyond_stop "$low"
	check "the job is resumed" t 10 scontrol resume "$low"
	sleep 0.5 # slurmd has sent its SIGCONT, and sends no other
	kill -STOP "$pid" # gpushared cannot know it
	let_move
	check "its programs are stopped again" until_true 20 all_stopped "$low"
	check "gpushared is killed before it can ask" kill_daemon
	kill -CONT "$pid"
	check "a new gpushared" new_daemon
	check "lets them go on" until_true 20 back "$low"
	check "and forgets it" not_written

	check "awake again" awake "$low"
	check "the job is resumed" t 10 scontrol resume "$low"
	check "gpushared ends in order" end_daemon
	let_move
	check "the job runs on" until_true 20 stay none_stopped "$low"
	check "a new gpushared" new_daemon
	check "leaves it so" until_true 20 back "$low"
	check "for more than a moment" until_true 20 stay back "$low"

	check "awake again" awake "$low"
	check "gpushared ends in order" end_daemon
	let_move
	check "the job is stopped again" stay all_stopped "$low"
	check "a new gpushared" new_daemon
	check "finishes that" until_true 20 not_written
	check "and leaves it stopped" stay all_stopped "$low"
	check "scontrol resume" t 10 scontrol resume "$low"
	check "it goes on with its memory" until_true 20 back "$low"
	check "for more than a moment" until_true 20 stay back "$low"

	check "awake again" awake "$low"
	check "beyond Slurm's own second stop" beyond_stop "$low"
	kill -STOP "$pid"
	check "gpushared ends in order, and Slurm does not say whether the job is suspended" end_daemon
	let_move
	check "so it runs on" until_true 20 stay none_stopped "$low"
	check "and is left to the next gpushared" written
	kill -CONT "$pid"
	check "which begins" new_daemon
	check "and stops it again" until_true 20 all_stopped "$low"
	check "for good" until_true 10 not_written
	check "scontrol resume" t 10 scontrol resume "$low"
	check "it goes on with its memory" until_true 20 back "$low"
	check "for more than a moment" until_true 20 stay back "$low"

	check "gpushared cannot write its state" mkdir "$state.new"
	t 10 scontrol suspend "$low"
	check "so it wakes nobody" until_true 10 grep -qE "job $low\.batch: is suspended and keeps its memory: the state file" "$LOG"
	check "they are stopped" until_true 10 all_stopped "$low"
	rmdir "$state.new"
	check "scontrol resume" t 10 scontrol resume "$low"
	go died
	check "the job completes" reaches "$low" COMPLETED 30
	check "with its memory as it was" out_has "$low" ' 0 words wrong'
}

suspensions() { # NAME VARIABLE=VALUE...: the cluster's
	local low other job pid since limit
	start_cluster "$1" "${@:2}" GPU_MEMORY=512M GPUSHARE_EXTRA="MemoryQueue=node
SuspendMemory=checkpoint
MemoryParameters=cycle=5ms,program=$TMP/slow_mem
JobEnv=LATE=$TMP/$1/out/late
JobEnv=GPUSHARE_EMU_MEMORY=560M
JobEnv=GPUSHARE_EMU_SMS=2"
	LOG=$D/log/gpushared.log
	slow_moves 0
	low=$(keeps 400 low 200 100)
	check "$1: two processes of a job have its memory" has_it low 2
	other=$(keeps 300 other 200)
	check "another job waits for memory" until_true 10 row_says "$other" state waiting
	since=$(date +%s.%N)
	check "scontrol suspend of the first" t 10 scontrol suspend "$low"
	check "the other one gets the memory" has_it other
	# Slurm freezes processes that srun did not start only after its suspend_grace_time of 2 s.
	[ "$1" = frozen ] && limit=4000 || limit=2000
	check "within $limit ms of scontrol suspend" within $limit "$low" "$since"
	note "after $(took "$low" "$since") ms"
	check "the first's is on the host" row_says "$low" state suspended
	check "with none in use on the GPU" row_says "$low" used_mb '^0'
	check "its processes are stopped again" until_true 10 all_stopped "$low"
	check "Slurm has it suspended" in_state "$low" SUSPENDED
	check "gpushared starts anew" restart_daemon
	check "it is suspended for the new daemon, too" until_true 10 row_says "$low" state suspended
	check "scontrol resume" t 10 scontrol resume "$low"
	check "it waits for its memory, which the other one has" until_true 10 row_says "$low" state waiting
	check "its processes go on" until_true 10 none_stopped "$low"
	go other
	check "it gets it back" until_true 20 row_says "$low" used_mb '^3[0-9][0-9]'
	go low
	for job in "$other" "$low"; do
		check "job $job completes" reaches "$job" COMPLETED 30
		check "with its memory as it was" out_has "$job" ' 0 words wrong'
	done

	: >"$D/out/more" && chmod 666 "$D/out/more"
	low=$(submit --gres=gpushare:5 --gpushare-mem=100M --wrap "srun $ENTRIES compute $D/out/more")
	computes() { t 5 gpusharectl report --json | python3 -c 'import json, sys
sys.exit(not any(r["active_ms"] > 50 for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1]))' "$low"; }
	check "a task of srun's has kernels on the GPU" until_true 30 computes
	check "scontrol suspend" t 10 scontrol suspend "$low"
	check "its memory leaves once they are over" until_true 20 row_says "$low" state suspended
	check "and it is stopped" until_true 10 all_stopped "$low"
	resume() { t 10 scontrol resume "$low" && until_true 10 in_state "$low" RUNNING && until_true 10 none_stopped "$low"; }
	check "it is resumed while gpushared is not there" restart_daemon resume
	check "its memory comes back all the same" until_true 20 row_says "$low" state admitted
	rm "$D/out/more"
	check "it goes on, and completes" reaches "$low" COMPLETED 30
	check "with the right result" out_has "$low" ', 0 words wrong'

	low=$(keeps 100 user 50)
	check "one more has its memory" has_it user
	pid=$(clients_of "$low")
	kill -STOP "$pid"
	check "its user stops its process" until_true 10 grep -qE "pid $pid: stopped" "$LOG"
	asked() { [ "$(grep -c "job $low\.batch: is stopped; slurmctld has not suspended its job" "$LOG")" -ge 1 ]; }
	check "which is no suspension" until_true 10 asked
	check "it keeps its memory" row_says "$low" used_mb '^[5-9][0-9]'
	check "and stays stopped" stopped "$pid"
	kill -CONT "$pid"
	check "and goes on as its user wants" until_true 10 grep -qE "pid $pid: goes on" "$LOG"
	# Slurm stops them for good two seconds after it has begun.
	slow_moves 2.5
	check "it is suspended while the move takes longer than Slurm's own stop" t 10 scontrol suspend "$low"
	check "its memory leaves all the same" until_true 10 row_says "$low" state suspended
	check "and it is stopped" until_true 5 all_stopped "$low"
	slow_moves 0
	check "scontrol resume" t 10 scontrol resume "$low"
	goes_on() { none_stopped "$low" && row_says "$low" used_mb '^[5-9][0-9]' && row_says "$low" state admitted; }
	check "it goes on with its memory" until_true 20 goes_on
	local i before
	before=$(moves "$low")
	slow_moves 1.5
	t 10 scontrol suspend "$low"
	has_begun() { [ "$(moves "$low")" -gt "$before" ]; }
	check "its memory is about to leave again" until_true 10 has_begun
	check "it is resumed meanwhile" t 10 scontrol resume "$low"
	slow_moves 0
	left() { [ "$(grep -cE "job $low\.batch: goes on with its memory" "$LOG")" -gt "$before" ]; }
	check "its memory leaves, and comes back at once" until_true 10 left
	check "it is not stopped again" until_true 20 goes_on
	for i in 0.0 0.4 1.9 2.05 2.2 2.6; do
		t 10 scontrol suspend "$low"
		sleep $i
		t 10 scontrol resume "$low" || { sleep 1; t 10 scontrol resume "$low"; }
		sleep 0.3
	done
	check "resumed at any moment, it goes on with its memory" until_true 20 goes_on
	go user
	check "and completes" reaches "$low" COMPLETED 30
	check "with its memory as it was" out_has "$low" ' 0 words wrong'

	killed

	low=$(keeps 100 dead 50)
	check "a job that is to be cancelled has its memory" has_it dead
	t 10 scontrol suspend "$low"
	check "its memory is on the host" until_true 10 row_says "$low" state suspended
	check "scancel while it is suspended" t 10 scancel "$low"
	check "leaves nothing" until_true 20 no_steps

	printf 'MemoryPreemptHostLimit=1M\n' >>"$D/etc/gpushare.conf"
	reload "$D/run/gpushared.pid" "$LOG"
	low=$(keeps 100 stays 50)
	check "one whose memory is more than MemoryPreemptHostLimit" has_it stays
	t 10 scontrol suspend "$low"
	check "is suspended with it" until_true 10 grep -E "job $low\.batch: is suspended and keeps its memory: .*MemoryPreemptHostLimit" "$LOG"
	check "its processes stay stopped" until_true 5 all_stopped "$low"
	t 10 scontrol resume "$low"
	go stays
	check "it is resumed, and completes" reaches "$low" COMPLETED 30
	"$CLUSTER" "$D" stop >/dev/null
}

suspensions signals
if [ -n "${GPUSHARE_SUSPEND_HOST:-}" ] && { [ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d /sys/fs/cgroup/freezer ]; }; then
	suspensions frozen PROCTRACK=cgroup
	# Slurm leaves the node's own cgroup behind.
	find /sys/fs/cgroup -maxdepth 3 -type d \( -name "slurm_$GPUSHARE_SUSPEND_HOST" -o -name "${GPUSHARE_SUSPEND_HOST}_slurmstepd.scope" \) 2>/dev/null |
		while read -r group; do find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null; done
else
	note "no proctrack/cgroup: no cgroups of version 2 or version 1's freezer, or no UTS namespace"
fi
finish
