#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's jobs and gpushared: who may register, what a job sees and leaves, and what survives whose death.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl testsuite/e2e/standin
# No program of these jobs touches CUDA: an empty file stands for the shim.
mkdir -p "$TMP/shim" && : >"$TMP/shim/libcuda.so.1"
start_cluster main SHIM_DIR="$TMP/shim" DRIVER=/nonexistent/libcuda.so.1 GPU_MEMORY=1000M \
	GPUSHARE_EXTRA=$'JobEnv=SITE_NOTE=hello\nReportInterval=500ms' "SPANK_ARGS=timeout=3s"
SOCKET=$D/run/gpushared.sock
LOG=$D/log/gpushared.log
daemon_pid() { cat "$D/run/gpushared.pid"; }
logged() { tail -n 5 "$LOG"; grep -qE -- "$1" "$LOG"; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }
# value EXPRESSION: of the daemon's status, as Python sees it; step(J, S) is a step's row or {}.
value() {
	t 5 gpusharectl status --json | python3 -c 'import json, sys
status = json.load(sys.stdin)
def step(job, name):
    return next((s for s in status["steps"] if str(s["job"]) == job and str(s["step"]) == name), {})
print(eval(sys.argv[1], {"gpu": status["gpus"][0], "steps": status["steps"], "step": step}))' "$1"
}
is() { # EXPRESSION VALUE
	local got
	got=$(value "$1")
	echo "$1 is $got"
	[ "$got" = "$2" ]
}
reserved() { is 'gpu["reserved_mb"]' "$1"; }

# --- a daemon that does not start ---

clusters+=("$TMP/bad")
check "a bad gpushare.conf: private-cluster names the step, the file, the line and the reason" \
	refused "$TMP/bad/etc/gpushare.conf:[0-9]+: Policy: .nosuch." \
	env BUILD="$BUILD" SHIM_DIR="$TMP/shim" POLICY=nosuch "$CLUSTER" "$TMP/bad" start
stopped() { ! "$CLUSTER" "$1" status >"$TMP/status" && test "$(grep -c 'is not running' "$TMP/status")" = 4; }
check "and leaves nothing running" stopped "$TMP/bad"

# --- who may register ---

present() { "$STANDIN" present "$SOCKET"; }
sealed_by_nobody() { as_nobody "$STANDIN" seal "$D/munge/socket" 4242 90; }
sealed_by_root() { "$STANDIN" seal "$D/munge/socket" 4242 10; }
user_forges() { sealed_by_nobody | refused 'REFUSED .*only root' as_nobody "$STANDIN" present "$SOCKET"; }
check "a user cannot register a step" user_forges
root_brings_users() { sealed_by_nobody | refused "REFUSED .*made by uid $(id -u nobody)" present; }
check "nor with root as the messenger" root_brings_users
user_brings_roots() { sealed_by_root | refused 'REFUSED .*only root' as_nobody "$STANDIN" present "$SOCKET"; }
check "nor with a credential of root's" user_brings_roots
garbage() { echo MUNGE:AAAA: | refused REFUSED present; }
check "a credential that is none is refused" garbage
sealed_by_root >"$TMP/cred"
accepted() { present <"$TMP/cred" | grep '^REGISTERED job=4242 '; }
check "root's credential in root's hands is taken" accepted
replayed() { refused REFUSED present <"$TMP/cred"; }
check "once: its replay is refused" replayed
# Its registrant has ended, so the daemon takes it back by itself.
check "the step of a registrant that is gone is taken back" until_true 5 reserved 0.0
check "and nobody was registered by all of that" lacks " 4242\.[^ ]* uid $(id -u nobody) " "$LOG"

# wait_for WORD: a shell command for a job that waits until the test says so (go WORD).
wait_for() { echo "n=0; while [ ! -e $D/out/$1 ] && [ \$n -lt 600 ]; do n=\$((n + 1)); sleep 0.1; done"; }
go() { : >"$D/out/$1"; }

# --- a job ---

job=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" -p high --gres=gpushare:25 \
	--wrap "env; srun --gres=gpushare:10 sh -c '$(wait_for seen)'")
check "a user's job is registered with its shares" until_true 10 is "step('$job', 'batch').get('shares')" 25
check "and its user" is "step('$job', 'batch').get('user')" nobody
check "and its partition" is "step('$job', 'batch').get('partition')" high
check "a step within it as well" until_true 5 is "step('$job', '0').get('shares')" 10
check "within the job's reservation: a quarter of the GPU's memory in all" until_true 10 reserved 250.0
go seen
check "it completes" reaches "$job" COMPLETED
check "its environment leads to the shim" out_has "$job" "^LD_LIBRARY_PATH=$TMP/shim(:|$)"
check "its environment names the driver" out_has "$job" '^GPUSHARE_DRIVER=/nonexistent/libcuda.so.1$'
check "its environment says what to do if the daemon goes away" out_has "$job" '^GPUSHARE_ABSENT=run$'
check "its environment has the administrator's variable" out_has "$job" '^SITE_NOTE=hello$'
check "its AdminComment has the report when it is complete" \
	grep -E '^gpushare:' <<<"$(t 10 scontrol show job "$job" | sed -n 's/^ *AdminComment=//p')"
check "the reservation is back" reserved 0.0
keeps_comment() { # the administrator's own words stay
	local id
	id=$(submit --gres=gpushare:5 --wrap "$(wait_for written)")
	t 10 scontrol update job "$id" admincomment='ticket 17' || return 1
	go written
	reaches "$id" COMPLETED && t 10 scontrol show job "$id" | grep 'AdminComment=ticket 17.*gpushare:'
}
check "what an administrator wrote there stays" keeps_comment

# --- the partition's default ---

sed -i 's/^Partition=high .*/& DefaultShares=20/' "$D/etc/gpushare.conf"
check "gpushared reads another configuration" reload "$D/run/gpushared.pid" "$LOG"
default_step() { # PATTERN SRUN-OPTION...: what a step has
	local pattern=$1
	shift
	t 20 srun -p high "$@" sh -c 'echo "shares $GPUSHARE_SHARES"; gpusharectl status --noheader -o step,shares,priority,priority_requested' |
		tee /dev/stderr | tr -s ' ' | tr '\n' ' ' | grep -E "$pattern"
}
check "a step of srun's without a number has the partition's default, as its job" default_step '^shares 20 ?0 20 10 - $' --gres=gpushare
check "one of one share has one" default_step '^shares 1 ?0 1 10 - $' --gres=gpushare:1
lowered_shown() { as_nobody timeout 20 srun -p high --gres=gpushare:5 --gpushare-priority=50 gpusharectl status --noheader -o priority,priority_requested | tr -s ' ' | tee /dev/stderr | grep -x ' *10 50'; }
check "a priority above the partition's is shown beside what came of it" lowered_shown
sed -i 's/ DefaultShares=20//' "$D/etc/gpushare.conf"
check "and the one before again" reload "$D/run/gpushared.pid" "$LOG"

extra() { t 10 scontrol show node | sed -n 's/^ *Extra=//p'; }
node_has() { extra | tee /dev/stderr | grep -E -- "$1" >/dev/null; }
check "the node's Extra has its GPUs" until_true 10 node_has '^gpushare: gpu0 policy=[a-z]+ shares=0/100 clients=0 waiting=0 antt=0.00 '
keeps_extra() {
	local id
	id=$(submit --gres=gpushare:30 --wrap "$(wait_for extra)")
	t 10 scontrol update nodename="$(hostname -s)" extra='rack 4' || return 1
	until_true 10 node_has '^rack 4; gpushare: gpu0 policy=[a-z]+ shares=30/100 ' || return 1
	go extra
	reaches "$id" COMPLETED
}
check "beside what an administrator wrote there" keeps_extra

# --- limits ---

job=$(submit --gres=gpushare:10 --gpushare-mem=301M --wrap "$(wait_for raised)")
check "more memory than its shares stand for: the daemon counts the shares that it takes" \
	until_true 10 logged "job $job\\.batch .*: 31 shares"
go raised
check "and the job completes" reaches "$job" COMPLETED
check "more memory than the GPU has is refused at submission" refused 'more than a whole GPU has' \
	submit --gres=gpushare:10 --gpushare-mem=1001M --wrap true
check "as much memory as its shares stand for is not" submit --gres=gpushare:10 --gpushare-mem=100M --wrap true
# Without gpushare.conf beside slurm.conf, slurmctld knows of no memory: the daemon does.
mv "$D/etc/gpushare.conf" "$D/etc/aside"
job=$(submit --gres=gpushare:10 --gpushare-mem=1001M --wrap 'echo ran')
mv "$D/etc/aside" "$D/etc/gpushare.conf"
check "more memory than the GPU has: the job fails" reaches "$job" FAILED
check "with the daemon's reason in its output" out_has "$job" 'refused by gpushared: job [0-9]+\.batch: .+'
check "and did not run" lacks '^ran$' "$D/out/$job"
job=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" -p low --gres=gpushare:10 --gpushare-priority=1000 --wrap true)
check "a user's job that asks for more priority runs" reaches "$job" COMPLETED
check "at its partition's" logged "job $job\.batch .*priority 1$"
check "nothing stays reserved" reserved 0.0

# --- deaths ---

# over_within JOB MILLISECONDS SINCE: by the daemon's own clock, whatever this machine is busy with.
over_within() {
	local stamp took
	until_true 10 grep -q "job $1\\.batch .* over: " "$LOG" || return 1
	stamp=$(sed -n "s/^\([^ ]*\) .*job $1\\.batch .* over: .*/\1/p" "$LOG" | head -n 1)
	took=$(($(date -d "${stamp%.*}" +%s) * 1000 + 10#${stamp##*.} - $3 / 1000))
	echo "over at $stamp, after $took ms" | tee -a "$TMP/took"
	[ $took -le "$2" ] && reserved 0.0
}
# in_time COMMAND...: such a time, for once of three: a busy machine may have no processor for the daemon that long.
in_time() { "$@" || { echo "again"; "$@"; } || { echo "again"; "$@"; }; }

# A new job, of which that is killed.
process_killed() {
	local since
	job=$(submit --gres=gpushare:40 --wrap 'echo $$; exec sleep 60')
	until_true 20 is "step('$job', 'batch').get('shares')" 40 && until_true 20 test -s "$D/out/$job" || return 1
	since=${EPOCHREALTIME/./}
	kill -KILL "$(head -n 1 "$D/out/$job")"
	over_within "$job" 1000 "$since"
}
check "kill -9 of a job's process gives its reservation back within a second" in_time process_killed
check "and Slurm takes the job for failed" reaches "$job" FAILED

stepd_killed() {
	local since rc=0
	job=$(submit --gres=gpushare:40 --wrap 'exec sleep 60')
	until_true 20 is "step('$job', 'batch').get('shares')" 40 || return 1
	since=${EPOCHREALTIME/./}
	kill -KILL "$(sed -n "s/.*job $job\.batch .* pid \([0-9]*\):.*/\1/p" "$LOG")"
	over_within "$job" 100 "$since" || rc=1
	t 10 scancel "$job"
	wait_over "$job"
	return $rc
}
check "kill -9 of its slurmstepd gives its reservation back within 100 ms" in_time stepd_killed
note "$(tail -n 1 "$TMP/took")"

job=$(submit --gres=gpushare:40 --wrap "$(wait_for restarted); echo done")
until_true 10 reserved 400.0 # its shares are known before its memory is admitted
pid=$(daemon_pid)
kill -KILL "$pid"
until_true 10 has_ended "$pid" # it has its lock until then
check "kill -9 of gpushared: the job runs on" in_state "$job" RUNNING
check "gpushared starts again" t 10 gpushared --config "$D/etc/gpushare.conf"
check "and knows the job's reservation" reserved 400.0
go restarted
check "the job completes" reaches "$job" COMPLETED
check "having done its work" out_has "$job" '^done$'
check "and its reservation is back" until_true 10 reserved 0.0
check "the node is in service" until_true 5 node_is idle

finish
