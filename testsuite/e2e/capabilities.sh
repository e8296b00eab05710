#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushared with the capabilities that its unit leaves it, and no more: all of them are enough for what it does, and without any one of
# them something does not work (doc/threat-model.md has the table). It runs as the unit has it run: everything but its own folders is read-only;
# and /proc is mounted so that a user's processes are shown to nobody else, as on many clusters. It writes nowhere else. Without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
need_built gpushared gpusharectl gpushare-demo-matmul .libs/fake_nvml.so
[ -e "$BUILD/etc/gpushared.service" ] || skip_all "etc/gpushared.service was not made"
command -v setpriv >/dev/null || skip_all "setpriv is not installed"
in_own_mounts
stage_build || skip_all "cannot copy the build tree to $TMP"
own_daemon
export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))"
: >"$FAKE_NVML"
mkdir "$TMP/own"
UNIT=$(sed -n 's/^CapabilityBoundingSet=//p' "$BUILD/etc/gpushared.service" | tr 'A-Z' 'a-z' | sed 's/cap_//g')
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=10" "Unmanaged=kill" "MemoryParameters=check=1s,nvml=$BUILD/.libs/fake_nvml.so" \
	"HistoryFile=$TMP/own/history.db" "MetricsFile=$TMP/own/metrics.prom"
sed -i "s#$TMP/\(sock\|pid\|log\)\$#$TMP/own/\1#" "$TMP/gpushare.conf"
mkdir -m 1777 "$TMP/gpu" # its file is made by the first program
sed -i "s#=$TMP/device#=$TMP/gpu/device#" "$TMP/gpushare.conf"
export GPUSHARE_SOCKET=$TMP/own/sock

# The view that the unit has, for a command.
cat >"$TMP/confined" <<'END'
#!/bin/bash
set -e
own=$1
shift
mount --make-rprivate /
mount --bind "$own" "$own"
mount -t proc -o hidepid=invisible,gid=2 proc /proc
while read -r at; do
	case $at in "$own" | "$own"/* | /proc | /proc/* | /dev | /dev/*) continue ;; esac
	mount -o remount,bind,ro "$at" 2>/dev/null || :
done < <(awk '{ print $5 }' /proc/self/mountinfo)
! (: >"${own%/own}/outside") 2>/dev/null
exec "$@"
END
chmod 755 "$TMP/confined"
# serve CAPABILITIES [COMMAND...]
serve() {
	local set=-all word
	for word in $1; do set+=,+$word; done
	shift
	: >"$TMP/own/log"
	t 30 unshare --mount "$TMP/confined" "$TMP/own" "$@" setpriv --no-new-privs --inh-caps=-all --bounding-set=$set "$BUILD/gpushared" --config "$TMP/gpushare.conf" &&
		pids=("$(cat "$TMP/own/pid")")
}
end() { [ ${#pids[@]} = 1 ] && kill "${pids[0]}" && until_true 10 has_ended "${pids[0]}"; }
user_run() { as_nobody timeout 60 gpusharectl run --shares 20 --mem 64M --partition main -- "$@"; }

# --- what must work ---
computes_for_a_user() { user_run "$BUILD/gpushare-demo-matmul" --tiles 2; }
# Its place before the jobs: real time, or nice where a container has none.
is_scheduled_first() { ps -L -o cls=,ni= -p "$(cat "$TMP/own/pid")" | grep -E "RR|FF|-20"; }
ends_a_users_process() {
	local step pid rc=1
	: >"$TMP/sleeps"
	user_run sh -c 'sleep 30 & echo $! >&3; wait' 3>>"$TMP/sleeps" & step=$!
	until_true 10 test -s "$TMP/sleeps" && pid=$(cat "$TMP/sleeps") || return 1
	echo "$pid 1000000" >"$FAKE_NVML"
	until_true "$1" has_ended "$pid" && rc=0
	: >"$FAKE_NVML"
	kill "$pid" 2>/dev/null
	wait $step
	return $rc
}
# As SlurmUser has them.
reads_others_files() {
	chown nobody "$TMP/gpushare.conf" && chmod 600 "$TMP/gpushare.conf" && (reload "$TMP/own/pid" "$TMP/own/log")
	local rc=$?
	chown root "$TMP/gpushare.conf" && chmod 644 "$TMP/gpushare.conf"
	return $rc
}

check "with what the unit has, and all else read-only, it serves" serve "$UNIT"
check "a user computes" computes_for_a_user
check "it is scheduled before the jobs" is_scheduled_first
check "it ends a user's process" ends_a_users_process 15
check "it reads a configuration that only SlurmUser may read" reads_others_files
check "it ends" end

without() { # CAPABILITY: it still starts
	local left=" $UNIT "
	serve "${left/ $1 / }"
}
not() { ! "$@"; }
fewer() { # CAPABILITY WHAT COMMAND...: COMMAND fails without it
	check "without $1 it serves" without "$1"
	check "but $2" not "${@:3}"
	check "it ends" end
}
cannot_reload() { ! (until_true() { sleep 2 && "${@:2}"; } && reads_others_files) && grep -F 'not reloaded' "$TMP/own/log"; }
fewer kill "it ends no user's process" ends_a_users_process 5
fewer sys_nice "it is scheduled as everybody is" is_scheduled_first
fewer sys_ptrace "it does not see a user's processes, which get nothing" computes_for_a_user
check "without dac_read_search it serves" without dac_read_search
check "but it cannot read SlurmUser's files" cannot_reload
check "it ends" end
all_are_tried() { [ "$(tr ' ' '\n' <<<"$UNIT" | sort | xargs)" = "dac_read_search kill sys_nice sys_ptrace" ] || { echo "the unit has $UNIT"; return 1; }; }
check "the unit has no other capability" all_are_tried

# --- where it writes ---
# What it opens for writing, makes, removes or renames. -z: what succeeds.
writes_elsewhere() {
	grep -hE 'O_WRONLY|O_RDWR|O_CREAT|^[0-9]+ +(mkdir|unlink|rename|link|symlink|truncate|chmod|chown|mknod|rmdir|fchmodat|fchownat|bind)' "$TMP"/trace* |
		grep -vE "\"$TMP/own/|\"/dev/null\"|sun_path=\"$TMP/own|sun_path=@|AF_NETLINK|\"/proc/self/|\"/dev/shm/"
}
traced() {
	(unset LD_PRELOAD && t 30 strace -f -z -o "$TMP/trace" -e trace=%file,bind "$BUILD/gpushared" --config "$TMP/gpushare.conf") & local trace=$!
	until_true 20 test -e "$TMP/own/pid" && until_true 10 t 5 gpusharectl ping || return 1
	pids=("$(cat "$TMP/own/pid")")
	computes_for_a_user && (reload "$TMP/own/pid" "$TMP/own/log") && t 10 gpusharectl report && end && wait $trace && [ -s "$TMP/trace" ]
}
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	check "it serves, traced" traced
	check "it writes nowhere but in its folders" not writes_elsewhere
else
	note "where it writes was not traced: strace is not installed, or may not trace"
fi
finish
