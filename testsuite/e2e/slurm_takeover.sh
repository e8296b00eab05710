#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two controllers: whichever takes over, no GPU with shares in use is given out whole, and jobs with shares are taken.
# TAKEOVERS: so many, there and back (default 2); BOTH: both controllers killed so many times (default 1); SLOW: so many takeovers, there and
# back, with a state directory in which each operation takes SLOW_MS (default 1, 200); LATE: so many with threads that wake up late (default 2); CSV=FILE: a line for each of them is added.
# GRES=shard: the same with Slurm's own gres/shard, to compare.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_built gpushared .libs/slow_state.so
SLOW_LIBRARY=$BUILD/.libs/slow_state.so # root's alone
need_cluster
unshare --uts --mount true 2>/dev/null || skip_all "a second host's name needs a UTS namespace of its own"
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
TAKEOVERS=${TAKEOVERS:-2} BOTH=${BOTH:-1} SLOW=${SLOW:-1} LATE=${LATE:-2} SLOW_MS=${SLOW_MS:-200} GRES=${GRES:-gpushare}
start_cluster main GRES="$GRES" GPUS=2 SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M "SPANK_ARGS=timeout=10s" \
	"SLURM_EXTRA=SlurmctldHost=gs-backup(127.0.0.2)
CommunicationParameters=NoCtldInAddrAny
DebugFlags=NO_CONF_HASH
SlurmctldTimeout=4
MessageTimeout=5"

# The second slurmctld has a host name, an address and files of its own, as if it were on another host.
sed "s,^SlurmctldPidFile=.*,SlurmctldPidFile=$D/run/backup.pid,; s,^SlurmctldLogFile=.*,SlurmctldLogFile=$D/log/backup.log," \
	"$D/etc/slurm.conf" >"$D/etc/backup.conf"
(cat /etc/hosts && echo 127.0.0.2 gs-backup) >"$D/etc/hosts"
# What controllers are started with: where these files say so, their state directory is slow, or their threads wake up late.
slow=(env LD_PRELOAD="$SLOW_LIBRARY" SLOW_STATE="$D/state" SLOW_MS_FILE="$TMP/slow-ms" SLEEP_MS_FILE="$TMP/sleep-ms")
backup() { # timeout, for one that heeds no signal at the end
	timeout -k 5 14400 "${slow[@]}" unshare --uts --mount sh -c 'mount --bind "$1/etc/hosts" /etc/hosts && hostname gs-backup && exec slurmctld -D -f "$1/etc/backup.conf"' \
		sh "$D" >/dev/null 2>&1 </dev/null &
	pids+=($!)
	until_true 20 pings backup
}
# pings STATE WHICH: as scontrol ping has it.
pings() { t 5 scontrol ping | grep -E "\($1\) .* is UP" >/dev/null; }

sleeper() { submit --time=30 "$@" --wrap 'exec sleep 1800'; }
gres_of() { t 10 scontrol show job -d "$1" | sed -n 's/.* GRES=\(.*\)/\1/p' | index_form; }
has_gres() { [ "$(gres_of "$1")" = "$2" ]; }
answers() { t 2 squeue -h >/dev/null 2>&1; }
# From Slurm 23.02 on a trailing - says that the node is planned for a job that waits.
in_service() { t 5 sinfo -h -p low -o %T | grep -xE '(mixed|allocated|idle)-?' >/dev/null; }
# dies PID: that controller is killed, but not while it replaces its heartbeat file. Before 25.11 Slurm removes the old one first, and no
# controller takes over where there is none. With a SlurmctldTimeout under 4 it would do that without a pause, the file missing a third of the time.
dies() {
	until kill -STOP "$1" && [ -e "$D/state/heartbeat" ]; do
		kill -CONT "$1" || return
		sleep 0.05
	done
	kill -KILL "$1"
	until_true 10 has_ended "$1"
}
# What slurmctld has not written yet it forgets when it is killed; nothing else has a change written at once. It writes the nodes after
# the jobs: killed between the two, it would leave a node behind for ever that completes a job.
saved() {
	sleep 0.3
	: >"$TMP/now"
	t 10 scontrol update jobid="$sharer" comment=save && t 10 scontrol update nodename="$(hostname -s)" comment=save &&
		until_true 15 test "$D/state/job_state" -nt "$TMP/now" && until_true 15 test "$D/state/node_state" -nt "$TMP/now"
}

# stands_by NUMBER: it has begun to stand by so many times.
stands_by() { [ "$(grep -c 'running in background mode' "$D/log/backup.log")" -ge "$1" ]; }
# A backup of Slurm before 23.02 joins a thread of its first term again when it gives up its second one (main_sched_fini),
# and may hang for good in that; no plugin can help it. Slurm 24.11's waits up to 30 s for the very request that waits for it
# (conmgr_quiesce), with gres/shard as well.
giving_up=45
[[ "$(scontrol --version)" != "slurm 22."* ]] || giving_up=15
gives_up() { # TIMES
	until_true $giving_up stands_by "$1" && return
	hung+=1
	echo "round $round: Slurm's own: the backup hangs as it gives up; a new one is started"
	pid=$(cat "$D/run/backup.pid")
	kill -KILL "$pid"
	until_true 10 has_ended "$pid"
	backup
}

# wrong: of any kind. twice: a GPU with shares in use was given out whole. refusals: by a controller that answers. lost: jobs.
declare -i wrong=0 twice=0 refusals=0 lost=0 hung=0 standing=0
say() { echo "$(date +%T.%3N) $*"; wrong+=1; }
# A controller has just taken over: ask for everything at once, then look who got what.
judge() { # WHICH
	local one more
	until_true 40 answers || { say "$1: no controller answers"; return; }
	if ! more=$(sleeper -p high --gres="$GRES:30" 2>"$TMP/refused"); then
		refusals+=1
		say "$1: $GRES:30 refused: $(head -n 1 "$TMP/refused")"
	fi
	if ! one=$(sleeper -p high --gres=gpu:1 2>"$TMP/refused"); then
		refusals+=1
		say "$1: gpu:1 refused: $(head -n 1 "$TMP/refused")"
	fi
	until_true 30 in_service || say "$1: the node is $(t 5 sinfo -h -o '%T %E')"
	runs_with "$1" "$one" 'gpu:1(IDX:1)'
	runs_with "$1" "$more" "$GRES:30(IDX:0)"
	if ! in_state "$sharer" RUNNING || ! has_gres "$sharer" "$GRES:40(IDX:0)"; then
		lost+=1
		say "$1: the sharer: $(job_field "$sharer" JobState) $(gres_of "$sharer")"
	fi
	if ! in_state "$both" PENDING; then
		! in_state "$both" RUNNING || twice+=1
		say "$1: gpu:2 is $(job_field "$both" JobState)"
	fi
	t 10 scancel ${one:+"$one"} ${more:+"$more"}
	[ -z "$one" ] || wait_over "$one"
	[ -z "$more" ] || wait_over "$more"
}
patience=20
# runs_with WHICH JOB GRES: a job that was submitted (none: it was refused) runs, with what it can have.
runs_with() {
	local has
	[ -n "$2" ] || return
	reaches "$2" RUNNING $patience >/dev/null || say "$1: $3 does not run: $(job_field "$2" JobState) $(job_field "$2" Reason)"
	has=$(gres_of "$2")
	[ "$has" != 'gpu:1(IDX:0)' ] || twice+=1
	[ "$has" = "$3" ] || say "$1: $3 has $has"
}

backup
check "a second controller stands by" pings backup
shares_one() { sharer=$(sleeper --gres="$GRES:40") && reaches "$sharer" RUNNING; }
wants_both() { both=$(sleeper --gres=gpu:2) && pends_for "$both" Resources; }
check "a job has shares of GPU 0" shares_one
check "one that wants both GPUs waits" wants_both
# Before their time is up others take their places.
renew() {
	t 10 scancel "$both" "$sharer"
	wait_over "$both" && wait_over "$sharer" && shares_one && wants_both || say "round $round: no jobs to judge by"
}

primary_dies() {
	saved || say "round $round: the state is not written"
	dies "$(pid_in "$D/run/slurmctld.pid")"
	rm -f "$D/run/slurmctld.pid"
}
primary_starts() { t 20 "${slow[@]}" slurmctld -f "$D/etc/slurm.conf" || say "round $round: the primary does not start"; }
primary_returns() {
	saved || say "round $round: the state is not written"
	standing=$(grep -c 'running in background mode' "$D/log/backup.log")
	primary_starts
	gives_up $((standing + 1))
	until_true 60 pings primary || say "round $round: the primary does not come back"
}
stands_by_again() { until_true 20 pings backup || say "round $round: the backup does not stand by again"; }

# campaign WHAT COUNT COMMAND: so many rounds; what was wrong in them goes to $TMP/rounds, and the figures to $CSV.
campaign() {
	local -i bad=0 before
	[ "$GRES" = gpushare ] || set -- "gres/$GRES: $1" "$2" "$3"
	wrong=0 twice=0 refusals=0 lost=0 hung=0
	for ((round = 1; round <= $2; round++)); do
		[ $((round % 20)) != 0 ] || renew
		before=wrong
		"$3"
		[ "$before" = "$wrong" ] || bad+=1
	done >"$TMP/rounds" 2>&1
	sed 's/^/# /' "$TMP/rounds"
	echo "# $1: $2 rounds, $bad of them wrong: a GPU given twice $twice times, $refusals submissions refused, the running job lost $lost times; the backup hung $hung times"
	[ -z "${CSV:-}" ] || [ "$2" = 0 ] || csv_line "$1" "$2" "$bad" "" \
		"$twice GPUs given twice; $refusals submissions refused; $lost jobs lost; $hung backups hung as they gave up" >>"$CSV"
	[ $wrong = 0 ]
}

there_and_back() {
	primary_dies
	judge "takeover $round"
	primary_returns
	judge "return $round"
	stands_by_again
}
campaign "takeovers there and back" "$TAKEOVERS" there_and_back >"$TMP/campaign"
right=$?
cat "$TMP/campaign"
check "the primary is killed and the backup takes over, and back: everything right each time" test $right = 0

# An administrator's word instead of a death: the primary hands over and ends.
wrong=0
{
	round=word
	saved || say "the state is not written"
	pid=$(pid_in "$D/run/slurmctld.pid")
	t 60 scontrol takeover || say "scontrol takeover fails"
	until_true 30 has_ended "$pid" || say "the primary does not end"
	rm -f "$D/run/slurmctld.pid"
	judge "scontrol takeover"
	primary_returns
	judge "the return after it"
	stands_by_again
} >"$TMP/word" 2>&1
sed 's/^/# /' "$TMP/word"
check "scontrol takeover, and back: everything right" test $wrong = 0

# The primary dies, the backup takes over and dies in its turn, and the primary is the only one.
both_die() {
	primary_dies
	judge "the backup alone, $round"
	saved || say "round $round: the state is not written"
	dies "$(cat "$D/run/backup.pid")"
	rm -f "$D/run/backup.pid"
	primary_starts
	until_true 60 pings primary || say "round $round: the primary does not come back"
	judge "the primary alone, $round"
	backup || say "round $round: no new backup stands by"
}
campaign "both controllers killed in turn" "$BOTH" both_die >"$TMP/campaign"
right=$?
cat "$TMP/campaign"
check "both killed in turn: everything right" test $right = 0
# What a controller saves of a node that has not registered with it, the next one reads: first such a one dies, then the other takes over.
saved_early() {
	local slurmd
	slurmd=$(pid_in "$D/run/slurmd.pid")
	primary_dies
	kill -STOP "$slurmd"
	until_true 40 answers || say "no controller answers"
	: >"$TMP/now"
	t 10 scontrol update nodename="$(hostname -s)" comment=save
	until_true 15 test "$D/state/node_state" -nt "$TMP/now" || say "the node is not saved"
	dies "$(cat "$D/run/backup.pid")"
	rm -f "$D/run/backup.pid"
	backup || say "no new backup stands by"
	until_true 40 answers || say "the new backup does not take over"
	kill -CONT "$slurmd"
	judge "the second backup"
	primary_returns
	judge "the return after it"
	stands_by_again
}
campaign "a node is saved before it has registered" 1 saved_early >"$TMP/campaign"
right=$?
cat "$TMP/campaign"
check "a node was saved before it had registered: everything right" test $right = 0

# A node may answer before it registers; the plugin's thread, which holds it back, is late to see that.
echo 500 >"$TMP/sleep-ms"
campaign "takeovers there and back; the controllers' threads wake up 0.5 s late" "$LATE" there_and_back >"$TMP/campaign"
right=$?
cat "$TMP/campaign"
rm "$TMP/sleep-ms"
check "with threads that are late: everything right" test $right = 0

# Both controllers' files take long: the scheduler waits for slurmctld's locks while the state is read.
echo "$SLOW_MS" >"$TMP/slow-ms"
giving_up=60
campaign "takeovers there and back; each operation in the state directory takes $SLOW_MS ms" "$SLOW" there_and_back >"$TMP/campaign"
right=$?
cat "$TMP/campaign"
rm "$TMP/slow-ms"
check "with a slow state directory: everything right" test $right = 0

cancelled() { t 10 scancel "$sharer" && reaches "$both" RUNNING; }
check "when the sharer has ended both GPUs are given out" cancelled

finish
