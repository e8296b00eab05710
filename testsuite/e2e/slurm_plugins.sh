#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Slurm plugins in a live cluster; a stand-in answers in gpushared's place.
unset GPUSHARE_CACHE # of make check's; steps inherit it, and here they are to have no variable of gpushare's
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
[ -x "$STANDIN" ] || skip_all "$STANDIN was not built (make check builds it)"
for script in prolog epilog; do
	printf '#!/bin/sh\nenv | sed -n "s/^GPUSHARE_SHARES=/$SLURM_JOB_ID %s /p" >>%s\n' $script "$TMP/scripts" >"$TMP/$script"
	chmod +x "$TMP/$script"
done
start_cluster main WITH_DAEMON=0 "SPANK_ARGS=timeout=2s" \
	SLURM_EXTRA="Prolog=$TMP/prolog"$'\n'"Epilog=$TMP/epilog"
unset GPUSHARE_SOCKET GPUSHARE_CONF
SOCKET=$D/run/gpushared.sock
LOG=$D/log/standin.log
: >"$LOG"

standin() { # MODE
	[ -z "${standin_pid:-}" ] || { kill "$standin_pid"; wait "$standin_pid" 2>/dev/null; }
	rm -f "$SOCKET"
	[ "$1" != none ] || return 0
	"$STANDIN" serve "$SOCKET" "$D/munge/socket" "$LOG" "$1" </dev/null >/dev/null 2>&1 &
	standin_pid=$!
	pids+=("$standin_pid")
	until_true 5 test -S "$SOCKET"
}
requests() { grep -c " job=$1 " "$LOG"; }
out_has() { cat "$D/out/$1"; grep -qE -- "$2" "$D/out/$1"; }

# --- loading ---

slurmd_lists() { t 10 slurmd -G -f "$1" 2>&1 | tee -a "$TMP/check.out" | grep -E 'gpushare' | grep -E 'Count=100' >/dev/null; }
check "slurmd -G loads gres/gpushare and lists its 100 shares" slurmd_lists "$D/etc/slurm.conf"

# One more in the micro version: the lowest byte of plugin_version.
wrong_version() {
	local so=$1 address section offset byte
	address=$((16#$(nm -D "$so" | awk '$3 == "plugin_version" { print $1 }')))
	read -r section offset < <(readelf -SW "$so" | sed 's/^ *\[[ 0-9]*\] *//' | awk '$1 == ".rodata" { print $3, $4 }')
	offset=$((address - 16#$section + 16#$offset))
	byte=$(od -An -tu1 -j $offset -N1 "$so")
	# shellcheck disable=SC2059
	printf "\\x$(printf %x $((byte + 1)))" | dd of="$so" bs=1 seek=$offset conv=notrunc status=none
}
wrong_refused() {
	mkdir -p "$TMP/wrong"
	cp "$D"/plugins/*.so "$D/etc/cgroup.conf" "$TMP/wrong/"
	wrong_version "$TMP/wrong/gres_gpushare.so"
	sed "s#^PluginDir=$D/plugins#PluginDir=$TMP/wrong#" "$D/etc/slurm.conf" >"$TMP/wrong/slurm.conf"
	t 10 slurmd -G -f "$TMP/wrong/slurm.conf" >"$TMP/wrong/out" 2>&1
	cat "$TMP/wrong/out"
	grep -qi 'incompatible slurm plugin' "$TMP/wrong/out"
}
check "a plugin built for another micro version is refused" wrong_refused
private_cluster_refuses() {
	clusters+=("$TMP/w")
	refused 'Slurm refuses the plugin' env BUILD="$BUILD" PLUGINS="$TMP/wrong" WITH_DAEMON=0 "$CLUSTER" "$TMP/w" start &&
		refused 'not running' "$CLUSTER" "$TMP/w" status
}
check "private-cluster notices it, says so and leaves nothing running" private_cluster_refuses

# --- options ---

help_has() { t 10 "$1" --help | grep -c -- --gpushare-mem=SIZE && t 10 "$1" --help | grep -c -- --gpushare-priority=N; }
check "sbatch --help shows the options" help_has sbatch
check "srun --help shows the options" help_has srun

# The man page knows every option, argument and variable that the sources do.
manual=$(sed 's/\\-/-/g; s/\\f[A-Z]//g' "$SRC/doc/gpushare-spank.8")
documented() {
	local word
	for word; do
		echo "$word"
		grep -qF -- "$word" <<<"$manual" || return 1
	done
}
mapfile -t words < <(t 10 sbatch --help | grep -oE -- '--gpushare-[a-z]+=')
check "the options of sbatch --help are in the man page" documented "${words[@]:?}"
mapfile -t words < <(sed -n 's/.*\[ARG_.*\] = "\(.*\)".*/\1=/p' "$SRC/src/plugins/values.c")
check "so are the arguments in plugstack.conf" documented "${words[@]:?}"
mapfile -t words < <(grep -ohE 'GPUSHARE_[A-Z_]+' "$SRC"/src/plugins/{spank/stepd,gres/gres_gpushare}.c | sort -u)
check "so are the variables" documented "${words[@]:?}"

G=--gres=gpushare:10
for value in 5X 0 -1G 1023K '' 1e3; do
	check "--gpushare-mem=$value is refused by sbatch with the reason" \
		refused '--gpushare-mem: .+' submit $G --gpushare-mem=$value --wrap true
done
for value in high 1001 -1 1.5; do
	check "--gpushare-priority=$value is refused by sbatch with the reason" \
		refused '--gpushare-priority: .+' submit $G --gpushare-priority=$value --wrap true
done
for value in soon 0 99us 25h -20ms ''; do
	check "--gpushare-period=$value is refused by sbatch with the reason" \
		refused '--gpushare-period: .+' submit $G --gpushare-period=$value --wrap true
	check "--gpushare-deadline=$value too" \
		refused '--gpushare-deadline: .+' submit $G --gpushare-deadline=$value --wrap true
done
check "an over-long value is refused" refused 'more than 31 characters' \
	submit $G --gpushare-mem=00000000000000000000000000000008G --wrap true
check "a bad value in the environment is refused as well" refused 'Invalid argument' \
	env SLURM_SPANK__SLURM_SPANK_OPTION_gpushare_gpushare_mem=5X timeout 10 sbatch $G --wrap true
check "--gpushare-mem without gpushare is refused at submission" \
	refused '--gpushare-mem without --gres=gpushare' submit --gpushare-mem=8G --wrap true
check "--gpushare-priority without gpushare is refused at submission, by srun too" \
	refused '--gpushare-priority without --gres=gpushare' t 10 srun --gpushare-priority=3 true
check "--gpushare-deadline without gpushare is refused at submission" \
	refused '--gpushare-deadline without --gres=gpushare' submit --gpushare-deadline=20ms --wrap true
check "more shares than the GPU has are refused" refused 'more than a GPU has' submit --gres=gpushare:101 --wrap true

# --- registration ---

standin grant
job=$(as_nobody env LD_LIBRARY_PATH=/user/lib GPUSHARE_SHARES=100 GPUSHARE_JOB_ID=1 timeout 10 sbatch --parsable \
	--output="$D/out/%j" -p high --gres=gpushare:25 --gpushare-mem=200M --gpushare-priority=7 --gpushare-period=20ms --gpushare-deadline=15ms \
	--wrap 'env; echo STEP; srun --gres=gpushare:10 env')
check "a user's job with options completes" reaches "$job" COMPLETED
batch=$(sed '/^STEP$/,$d' "$D/out/$job")
step=$(sed '1,/^STEP$/d' "$D/out/$job")
has_line() { echo "$1"; grep -qxF -- "$2" <<<"$1"; }
check "the batch step has its shares, whatever the user exported" has_line "$batch" GPUSHARE_SHARES=25
check "the GPU's number" has_line "$batch" GPUSHARE_GPU=0
check "the job's id, whatever the user exported" has_line "$batch" "GPUSHARE_JOB_ID=$job"
check "the batch step's id" has_line "$batch" GPUSHARE_STEP_ID=4294967291
check "the daemon's socket" has_line "$batch" "GPUSHARE_SOCKET=$SOCKET"
check "the driver" has_line "$batch" GPUSHARE_DRIVER=/standin/libcuda.so.1
check "the shim in front of the user's library path" has_line "$batch" LD_LIBRARY_PATH=/standin/shim:/user/lib
check "the administrator's variables, blanks included" has_line "$batch" 'STANDIN_B=two words'
check "a step within the job has its own id" has_line "$step" GPUSHARE_STEP_ID=0
check "a step within the job has the shares that it asked for" has_line "$step" GPUSHARE_SHARES=10
check "the shim is not put in front twice" has_line "$step" LD_LIBRARY_PATH=/standin/shim:/user/lib

nobody=$(id -u nobody)
logged() { cat "$LOG"; grep -qE -- "$1" "$LOG"; }
check "the batch step is registered by root, with user, shares, memory, priority and partition" logged \
	"^REGISTER pid=[0-9]+ sealer=0 job=$job step=4294967291 uid=$nobody shares=25 gpu=0 memory=209715200 priority=7 partition=high qos= tier=11 account= period=20000000 deadline=15000000$"
check "the step within is registered with its own shares" logged \
	"^REGISTER pid=[0-9]+ sealer=0 job=$job step=0 uid=$nobody shares=10 gpu=0 memory=209715200 priority=7 partition=high qos= tier=11 account= period=20000000 deadline=15000000$"
check "both are taken back: four requests in all" test "$(requests "$job")" = 4

# sbatch --wait and srun return when the job is complete: by then its end must have been told.
told_before() {
	local id=$1 what=$2
	grep -E "^UNREGISTER .* job=$id step=$what " "$LOG"
}
job=$(submit $G --wait --wrap 'true' | head -n 1)
check "the end of a batch step is told before the job is complete" told_before "$job" 4294967291
job=$(t 10 srun $G sh -c 'echo $SLURM_JOB_ID')
check "the end of a step of srun's is told before srun returns" told_before "$job" 0
job=$(t 10 srun -n 3 $G sh -c 'sleep 0.$SLURM_PROCID; echo $SLURM_JOB_ID' | head -n 1)
check "a step of three tasks makes two requests" test "$(requests "$job")" = 2
job=$(submit $G --wrap 'exec sleep 60')
check "a job that will be cancelled runs" reaches "$job" RUNNING
until_true 5 grep -q "^REGISTER .* job=$job " "$LOG"
t 10 scancel "$job"
check "the end of a cancelled job is told" until_true 20 told_before "$job" 4294967291

# The process that registers is slurmstepd: the daemon takes clients that descend from it.
job=$(submit $G --wrap 'grep PPid /proc/$$/status')
wait_over "$job"
ancestor() {
	local pid
	pid=$(sed -n "s/^REGISTER pid=\([0-9]*\) .* job=$job .*/\1/p" "$LOG" | head -n 1)
	echo "registered by $pid"
	out_has "$job" "^PPid:[[:space:]]+$pid$"
}
check "the process that registers is the parent of the tasks" ancestor

script_saw() { cat "$TMP/scripts"; grep -qxF "$1" "$TMP/scripts"; }
job=$(submit --gres=gpushare:15 --wait --wrap true | head -n 1)
check "the prolog knows the shares" script_saw "$job prolog 15"
check "the epilog knows the shares" until_true 20 script_saw "$job epilog 15"

# A job submitted from within another has the other's environment.
job=$(submit $G --wrap "sbatch --parsable --output=$D/out/inner --wrap 'env; srun env; echo END'")
inner_ends() { tail -n 1 "$D/out/inner" | grep -x END; }
check "a job submitted from within one with shares completes" until_true 30 inner_ends
check "and keeps nothing of the other's" lacks ^GPUSHARE_ "$D/out/inner"
job=$(submit $G --array=7 --wrap 'env')
check "a task of an array is registered under its own number" until_true 20 told_before "$job" 4294967291

# --- a credential that root did not make ---

forged() {
	as_nobody "$STANDIN" seal "$D/munge/socket" 4242 90 | "$STANDIN" present "$SOCKET"
	logged "sealer=$nobody job=4242"
}
check "a user's credential names the user as its maker, not root" forged

# --- jobs without gpushare ---

before=$(wc -l <"$LOG")
job=$(submit --export=ALL,GPUSHARE_SHARES=50,LD_LIBRARY_PATH=/user/lib --wrap 'env; srun env')
check "a job without gpushare completes" reaches "$job" COMPLETED
check "it has no variable of gpushare's, not even a forged one" lacks ^GPUSHARE_ "$D/out/$job"
check "its library path is its own" test "$(grep -c '^LD_LIBRARY_PATH=/user/lib$' "$D/out/$job")" = 2
check "the daemon hears nothing of it" test "$(wc -l <"$LOG")" = "$before"

# --- counting ---

one=$(submit --gres=gpushare:40 --wrap 'exec sleep 60')
two=$(submit -p high --gres=gpushare:40 --wrap 'exec sleep 60')
three=$(submit --gres=gpushare:40 --wrap true)
check "two jobs of 40 run at once (first)" reaches "$one" RUNNING
check "two jobs of 40 run at once (second)" reaches "$two" RUNNING
check "a third of 40 pends for resources" pends_for "$three" Resources
small=$(submit -p high --gres=gpushare:20 --wrap true)
check "one of 20 still fits beside them" reaches "$small" COMPLETED
check "the third still pends" in_state "$three" PENDING
t 10 scancel "$one"
check "the third runs when one of them ends" reaches "$three" COMPLETED
t 10 scancel "$two"

# --- slurmctld comes and goes ---

one=$(submit --gres=gpushare:60 --wrap 'exec sleep 60')
check "a job of 60 runs" reaches "$one" RUNNING
t 10 scontrol reconfigure
pid=$(pid_in "$D/run/slurmctld.pid")
kill "$pid"
until_true 20 has_ended "$pid" # it has the port until then
slurmctld -f "$D/etc/slurm.conf"
check "slurmctld is reconfigured and restarted" until_true 10 t 3 scontrol ping
check "the job runs on" in_state "$one" RUNNING
check "with its shares" test "$(t 10 scontrol show job -d "$one" | grep -c 'gpushare(CNT:60)\|gpushare:60')" -ge 1
two=$(submit --gres=gpushare:50 --wrap true)
check "they are still counted: one of 50 pends" pends_for "$two" Resources
t 10 scancel "$one"
check "and runs when the job has ended" reaches "$two" COMPLETED 15

# --- a daemon that refuses, hangs, is not there ---

fails_saying() { # PATTERN: the job fails in its task, its output says why, the node stays
	local job
	job=$(submit $G --wrap 'echo ran') || return 1
	reaches "$job" FAILED || return 1
	test "$(job_field "$job" ExitCode)" = 1:0 || return 1
	! grep -q '^ran$' "$D/out/$job" || return 1
	out_has "$job" "$1" && until_true 5 node_is idle
}
standin refuse
check "a refused job fails with the daemon's words in its output" fails_saying 'the stand-in refuses everything'
check "a refused srun fails with the daemon's words" refused 'the stand-in refuses everything' t 10 srun $G true
standin mute
check "a daemon that hangs holds a job up for the timeout, not longer" fails_saying 'did not answer in time'
standin none
check "without a daemon a job fails, absent=fail being the default" fails_saying 'does not answer at'
sed -i 's/$/ absent=run/' "$D/etc/plugstack.conf"
job=$(submit $G --wrap 'echo ran')
check "with absent=run it runs" reaches "$job" COMPLETED
check "its output says that it is unmanaged" out_has "$job" 'runs unmanaged'
check "and it did run" out_has "$job" '^ran$'
late() { # a daemon that comes back within the timeout is waited for
	sed -i 's/timeout=2s absent=run/timeout=5s/' "$D/etc/plugstack.conf"
	job=$(submit $G --wrap 'echo ran') || return 1
	sleep 0.5
	standin grant
	reaches "$job" COMPLETED && logged "^REGISTER .* job=$job "
}
check "a daemon that is back within the timeout is waited for" late
# A bad plugstack.conf stops submissions; on the node it stops the steps that it concerns.
job=$(submit $G --hold --wrap 'echo ran')
plain=$(submit --hold --wrap 'echo ran')
sed -i 's/timeout=5s/timeuot=5s/' "$D/etc/plugstack.conf"
t 10 scontrol release "$job" "$plain"
check "a wrong word in plugstack.conf on the node fails a gpushare job" reaches "$job" FAILED
check "whose output names it" out_has "$job" 'unknown argument timeuot=5s'
check "and leaves other jobs alone" reaches "$plain" COMPLETED
check "a wrong word in plugstack.conf is named" refused 'unknown argument timeuot=5s in plugstack.conf' submit $G --wrap true
slurmd_is_there() { kill -0 "$(pid_in "$D/run/slurmd.pid")"; }
slurmd_again() {
	local pid
	until_true 10 slurmd_is_there && pid=$(pid_in "$D/run/slurmd.pid") && kill "$pid" && until_true 20 has_ended "$pid" && : >"$D/log/slurmd.log" && t 20 slurmd -f "$D/etc/slurm.conf" &&
		until_true 10 grep -E 'error: gpushare: unknown argument timeuot=5s' "$D/log/slurmd.log" && until_true 10 slurmd_is_there
}
check "slurmd starts with it all the same, and its log names it" slurmd_again
sed -i 's/timeuot=5s/timeout=5s/' "$D/etc/plugstack.conf"
check "once it is mended jobs run, with nothing restarted" eval 'job=$(submit $G --wrap "echo ran") && reaches "$job" COMPLETED'
check "the node was never drained" until_true 10 node_is idle

finish
