#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/private-cluster: two at once, refusals, and nothing left behind.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster

# Two are started side by side; neither may take the other's ports.
a=$TMP/a b=$TMP/b
clusters+=("$a" "$b")
BUILD=$BUILD WITH_DAEMON=0 timeout 90 "$CLUSTER" "$a" start >"$TMP/a.out" 2>&1 &
first=$!
BUILD=$BUILD WITH_DAEMON=0 timeout 90 "$CLUSTER" "$b" start >"$TMP/b.out" 2>&1
second=$?
wait $first
first=$?
check "two clusters start at once" test "$first$second" = 00
in_cluster() { # DIR COMMAND...
	local dir=$1
	shift
	(eval "$("$CLUSTER" "$dir" env)" && timeout 10 "$@")
}
runs_job() { in_cluster "$1" srun --immediate=10 -p high true; }
check "the first runs a job" runs_job "$a"
check "the second runs a job" runs_job "$b"
ports() { sed -n 's/^Slurm[a-z]*Port=//p' "$1/etc/slurm.conf"; }
check "they share no port" test "$(cat <(ports "$a") <(ports "$b") | sort -u | wc -l)" = 4
separate_keys() { ! cmp -s "$a/munge/key" "$b/munge/key"; }
check "each has a key of its own" separate_keys
not_readable() { refused 'Permission denied' as_nobody cat "$a/munge/key"; }
check "a user cannot read the key" not_readable
user_job() { (cd / && in_cluster "$a" setpriv --reuid=nobody --regid=nogroup --clear-groups srun id -u) | grep -xF "$(id -u nobody)"; }
check "a user's job runs as that user" user_job

if command -v man >/dev/null; then
	has_page() { in_cluster "$a" man -w "$1" | grep "/$2\$"; }
	check "man finds gpushare's pages" eval "has_page gpusharectl gpusharectl.1 && has_page gpushare.conf gpushare.conf.5 && has_page gpushared gpushared.8"
	check "and still the system's" in_cluster "$a" man -w man
else
	note "man is not installed: whether it finds the pages was not tried"
fi

# --- refusals ---

check "a second start in the same folder is refused" refused 'runs in .* already' \
	env BUILD="$BUILD" WITH_DAEMON=0 "$CLUSTER" "$a" start
mkdir "$TMP/other" && : >"$TMP/other/precious"
check "a folder with something else in it is refused" refused 'not made by this tool' \
	env BUILD="$BUILD" WITH_DAEMON=0 "$CLUSTER" "$TMP/other" start
check "and left as it was" test -e "$TMP/other/precious"
check "a build without plugins is named" refused 'no gres_gpushare.so in /nowhere' \
	env BUILD="$BUILD" PLUGINS=/nowhere "$CLUSTER" "$TMP/c" start
clusters+=("$TMP/c")
check "a bad line for slurm.conf: the step and its log are named" refused 'slurmctld does not start' \
	env BUILD="$BUILD" WITH_DAEMON=0 SLURM_EXTRA=NoSuchKey=1 "$CLUSTER" "$TMP/c" start
stopped() { ! "$CLUSTER" "$1" status >"$TMP/status" && test "$(grep -c 'is not running' "$TMP/status")" = 4; }
check "and nothing is left running" stopped "$TMP/c"
check "no arguments: usage" refused '^usage|usage: private-cluster' "$CLUSTER"
check "an unknown command: usage" refused 'usage: private-cluster' "$CLUSTER" "$TMP/c" restart
# A copy: the source tree may lie where other users cannot go.
install -m 755 "$CLUSTER" "$TMP/private-cluster"
check "a user is told that root is needed" refused 'needs root' as_nobody "$TMP/private-cluster" "$TMP/c" start

quickstart=$SRC/contrib/quickstart
check "quickstart refuses an unknown policy before it installs anything" refused 'no policy .nosuch.; there are: fifo .*frsp' timeout 10 "$quickstart" --policy nosuch --build "$TMP/qs"
check "and a cluster's folder that is there" refused 'is there already' timeout 10 "$quickstart" --dir "$TMP/other" --build "$TMP/qs"
check "it has made nothing then" test ! -e "$TMP/qs"

# --- the end ---

daemons() { head -qn 1 "$1"/run/slurm{ctld,d}.pid "$1/munge/pid"; }
alive() { # PIDS: those that run and are not zombies
	local pid
	for pid; do
		[ ! -d "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" || echo "$pid"
	done
}
# running_of DIR: its daemons, whatever the pid files say.
running_of() {
	local proc name
	for proc in /proc/[0-9]*; do
		{ read -r name <"$proc/comm"; } 2>/dev/null || continue
		[[ "$name" = slurmctld* || "$name" = slurmd* || "$name" = munged ]] && tr '\0' '\n' 2>/dev/null <"$proc/cmdline" | grep -F -- "$1/" >/dev/null &&
			echo "${proc#/proc/}"
	done
}
# A job that heeds no signal, and its child, must go too.
in_cluster "$a" sbatch --output="$TMP/stubborn" -D / --wrap 'trap "" TERM INT; echo $$; sleep 300 & echo $!; while :; do sleep 300; done' >/dev/null
has_two_pids() { [ "$(wc -l <"$TMP/stubborn")" = 2 ]; }
check "a stubborn job runs" until_true 10 has_two_pids
mapfile -t job < <(cat "$TMP/stubborn")
# Since 24.11 slurmctld and slurmd run on as other processes, maybe of other names; for a moment there are two of each.
in_cluster "$a" scontrol reconfigure
reconfigured() { in_cluster "$a" scontrol ping && [ "$(running_of "$a" | wc -l)" = 3 ] && [ "$(alive $(daemons "$a") "${job[@]}" | wc -l)" = 5 ]; }
check "there are processes to end" until_true 20 reconfigured
mapfile -t of_b < <(daemons "$b")
check "stop succeeds" timeout 60 "$CLUSTER" "$a" stop
check "none of its daemons is left" test -z "$(running_of "$a")"
check "nor anything of the job" test -z "$(alive "${job[@]}")"
check "the other cluster is still there" test "$(alive "${of_b[@]}" | wc -l)" = 3
check "and runs jobs" runs_job "$b"
check "stopping twice is no error" timeout 60 "$CLUSTER" "$a" stop
check "a stopped one starts again" env BUILD="$BUILD" WITH_DAEMON=0 timeout 90 "$CLUSTER" "$a" start
check "and runs jobs" runs_job "$a"

in_cluster "$a" scontrol reconfigure
check "stop succeeds while they are reconfigured" timeout 60 "$CLUSTER" "$a" stop
stays_empty() { [ -z "$(running_of "$a")" ] && sleep 1 && [ -z "$(running_of "$a")" ]; }
check "and none of them is left or comes" stays_empty

# slurmd and slurmctld dead: the job's slurmstepd is found all the same.
in_cluster "$b" sbatch --output="$TMP/orphan" -D / --wrap 'echo $$; exec sleep 300' >/dev/null
has_pid() { [ -s "$TMP/orphan" ]; }
check "another job runs" until_true 10 has_pid
kill -KILL "$(cat "$b/run/slurmctld.pid")" "$(cat "$b/run/slurmd.pid")"
check "stop succeeds after the daemons were killed" timeout 60 "$CLUSTER" "$b" stop
check "the orphaned job is gone" test -z "$(alive "$(cat "$TMP/orphan")")"

# A stale pid file that names somebody else's process.
sleep 300 &
bystander=$!
pids+=("$bystander")
echo $bystander >"$b/run/slurmd.pid"
check "stop with a pid file that names another process" timeout 60 "$CLUSTER" "$b" stop
check "leaves that process alone" test -n "$(alive $bystander)"

finish
