# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2030,SC2031
# Shared by the end-to-end tests (sourced): result lines, a private cluster, waiting with a limit.
# A test script runs in the build tree; automake exports srcdir.
set -u
set -o pipefail
export LC_ALL=C

SRC=$(realpath -- "${srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}")
BUILD=$(realpath -- "${BUILD:-.}")
CLUSTER=$SRC/contrib/private-cluster
STANDIN=$BUILD/testsuite/e2e/standin
PATH=$PATH:/usr/sbin:/usr/local/sbin

# What PATH has may be a script that looks for an interpreter, and takes longer than many a check. No modules but Python's own.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
python3() { "$PYTHON" -I -S "$@"; }

tests=0
failures=0
clusters=()
pids=()
declare -A apart_pid

# check NAME COMMAND...: one line per behaviour, with the seconds that it took, if that is one or more.
check() {
	local name=$1 begun=${EPOCHREALTIME/./} good=1 took
	shift
	tests=$((tests + 1))
	"$@" >>"$TMP/check.out" 2>&1 || good=
	took=$(((${EPOCHREALTIME/./} - begun) / 100000))
	[ $took -lt 10 ] && took='' || took=" # ${took%?}.${took: -1} s"
	if [ $good ]; then
		echo "ok $tests - $name$took"
	else
		failures=$((failures + 1))
		echo "not ok $tests - $name$took"
		tail -n 8 "$TMP/check.out" | sed 's/^/#   /'
		[ -z "${STOP_AT_FAILURE:-}" ] || finish
	fi
	: >"$TMP/check.out"
}

# apart NAME COMMAND...: begins what mostly waits, in a folder and with a daemon of its own; `check ... joined NAME` once the others
# are over.
apart() {
	mkdir "$TMP/$1"
	chmod 755 "$TMP/$1"
	(
		TMP=$TMP/$1
		TMPDIR=$TMP GPUSHARE_SOCKET=${GPUSHARE_SOCKET:+$TMP/sock}
		pids=() clusters=() apart_pid=()
		trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null' EXIT
		trap 'exit 130' INT TERM
		shift
		"$@"
	) >"$TMP/$1.out" 2>&1 &
	apart_pid[$1]=$!
}
joined() {
	local pid=${apart_pid[$1]} rc=0
	unset "apart_pid[$1]"
	wait "$pid" || rc=$?
	cat "$TMP/$1.out"
	[ $rc = 0 ] || [ ! -e "$TMP/$1/log" ] || tail -n 40 "$TMP/$1/log"
	return $rc
}

# usual_or_long SHORT LONG: the size of what a test does in `make check`, and in `make check-long`.
usual_or_long() { [ -z "${CHECK_LONG:-}" ] && echo "$1" || echo "$2"; }

skip_all() {
	echo "1..0 # SKIP $*"
	exit 77
}

# in_own_mounts: the script begins again in a mount namespace of its own, shared as systemd has the node's: nothing that it mounts is left
# on the machine.
in_own_mounts() {
	[ -z "${OWN_MOUNTS:-}" ] || return 0
	[ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null || skip_all "no mount namespace may be made here"
	trap - EXIT
	rm -rf "$TMP"
	local all
	all=$(taskset -pc $$ | sed 's/.*: //')
	exec taskset -c "$(oldest_mounts)" unshare --mount --propagation=private bash -c \
		'taskset -pc "$1" $$ >/dev/null; mount --make-rshared / && OWN_MOUNTS=1 exec bash "$0"' "$0" "$all"
}
# The kernel keeps no reference to a mount namespace in one that it takes for younger (Slurm's "ns base mount failed: Invalid argument"), and
# since 6.18 its processors deal out the numbers by which it judges in batches: the processor that has the lowest ones.
oldest_mounts() {
	python3 -c '
import ctypes, fcntl, os
libc, NS_GET_MNTNS_ID, CLONE_NEWNS, best = ctypes.CDLL(None), 0x8008b705, 0x20000, None
for processor in sorted(os.sched_getaffinity(0)):
    os.sched_setaffinity(0, [processor])
    number = bytearray(8)
    try:
        if libc.unshare(CLONE_NEWNS) != 0:
            raise OSError
        with open("/proc/self/ns/mnt") as file:
            fcntl.ioctl(file, NS_GET_MNTNS_ID, number)
    except OSError:  # an older kernel: the numbers are in the order of time
        pass
    number = int.from_bytes(number, "little")
    if best is None or number < best[0]:
        best = number, processor
print(best[1])'
}

# users_have_fuse: users may mount FUSE file systems, and let others look into them (allow_other). Where udev has not opened the device to
# them, another one of the same numbers is mounted over it; hence in_own_mounts.
users_have_fuse() {
	[ -c /dev/fuse ] && [ -e /etc/fuse.conf ] || return 1
	echo user_allow_other >"$TMP/fuse.conf" && chmod 644 "$TMP/fuse.conf" && mount --bind "$TMP/fuse.conf" /etc/fuse.conf || return 1
	(cd / && as_nobody test -w /dev/fuse) && return 0
	mkdir -p "$TMP/dev" && mount -t tmpfs -o mode=755 none "$TMP/dev" && mknod "$TMP/dev/fuse" c 10 229 && chmod 666 "$TMP/dev/fuse" &&
		mount --bind "$TMP/dev/fuse" /dev/fuse && umount -l "$TMP/dev" && rmdir "$TMP/dev"
}

# need_built PROGRAM...: of the build tree.
need_built() {
	local program
	for program in "$@"; do
		[ -x "$BUILD/$program" ] || skip_all "$program was not built"
	done
}

note() { echo "# $*"; }

# csv_line WHAT N FAILURES SEED REMARK: a line of doc/measurements/cluster-campaign.csv. WHAT and REMARK have no commas.
csv_line() { echo "$1,$2,$3,$4,$(date -u +%Y-%m-%d),$(scontrol --version | sed 's/.* //'),$5"; }

finish() {
	echo "1..$tests"
	if [ $failures != 0 ]; then
		# What a daemon of the test's own had to say: the folder is about to go.
		[ ! -f "$TMP/log" ] || { grep -E ': (warn|error): ' "$TMP/log" | head -n 20; echo ...; tail -n 40 "$TMP/log"; } |
			sed 's/^/# log: /'
		note "$failures of $tests failed"
		exit 1
	fi
	exit 0
}

# Nothing may be left running, however the script ends.
cleanup() {
	local status=$? dir pid
	trap - EXIT INT TERM
	for dir in ${clusters[@]+"${clusters[@]}"}; do
		timeout 60 "$CLUSTER" "$dir" stop >/dev/null 2>&1 || { echo "# cannot stop $dir"; status=1; }
	done
	for pid in ${pids[@]+"${pids[@]}"} "${apart_pid[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in ${pids[@]+"${pids[@]}"} "${apart_pid[@]}"; do wait "$pid" 2>/dev/null; done
	if [ $status != 0 ] && [ $status != 77 ] && [ -n "${KEEP:-}" ]; then
		echo "# kept: $TMP"
	else
		rm -rf "$TMP"
	fi
	exit $status
}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/gse2e.XXXXXX")
chmod 755 "$TMP"
trap cleanup EXIT
trap 'exit 130' INT TERM

# What a live cluster needs; the reason why there cannot be one otherwise.
need_cluster() {
	local program
	[ "$(id -u)" = 0 ] || skip_all "needs root: slurmd runs jobs as their users"
	for program in munged mungekey slurmctld slurmd sbatch srun scontrol setpriv; do
		command -v $program >/dev/null || skip_all "$program is not installed"
	done
	[ -r "$BUILD/src/plugins/.libs/gres_gpushare.so" ] ||
		skip_all "the gres plugin was not built (configure --with-slurm-source=DIR)"
	! nm -D "$BUILD/src/plugins/.libs/spank_gpushare.so" | grep -c __asan_ >/dev/null ||
		skip_all "built with the sanitizers: Slurm's programs cannot load the plugins"
	stage_build || skip_all "cannot copy the build tree to $TMP"
}

# Jobs run as other users: where those cannot enter the build tree (a clone below /root),
# what a job and a daemon need is copied to where they can.
stage_build() {
	local to=$TMP/build
	! as_nobody test -r "$BUILD/src/device/shim/.libs/libcuda.so.1" || return 0
	mkdir -p "$to" && (cd "$BUILD" &&
		cp -a --parents gpushared gpusharectl gpushare-sim gpushare-mem gpushare-demo-* testsuite/e2e \
			src/device/{shim,emu,cudart}/.libs src/plugins/.libs "$to" &&
		if [ -e .libs/fake_nvml.so ]; then cp -a --parents .libs/fake_nvml.so "$to"; fi) || return 1
	BUILD=$to
	STANDIN=$BUILD/testsuite/e2e/standin
}

# start_cluster NAME [VARIABLE=VALUE...]: sets D and this shell's environment for it.
start_cluster() {
	D=$TMP/$1
	shift
	clusters+=("$D")
	if ! timeout 90 env BUILD="$BUILD" "$@" "$CLUSTER" "$D" start >"$TMP/start.out" 2>&1; then
		sed 's/^/# /' "$TMP/start.out"
		echo "Bail out! the private cluster does not start"
		exit 1
	fi
	eval "$("$CLUSTER" "$D" env)"
	mkdir -p "$D/out" && chmod 1777 "$D/out"
}

t() { timeout "$@"; }

# pid_in FILE: the process that a daemon has written there. slurmctld, reconfigured, writes its new number over the old one without cutting
# the file: where the old one was longer, its end is left as a second line.
pid_in() { head -n 1 "$1"; }

# until_true SECONDS COMMAND...
until_true() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000)) said=$TMP/until_true.$BASHPID
	shift
	until "$@" >"$said" 2>&1; do
		[ ${EPOCHREALTIME/./} -lt $end ] || { tail -n 20 "$said" >&2; return 1; }
		sleep 0.05
	done
}

# has_ended PID: nothing of it runs any more. A daemon's parent is process 1, which may leave it a zombie for seconds, or for ever
# where that is no init; a zombie with threads that still end holds its files.
has_ended() {
	local words
	words=$(awk '/^(State|Threads):/ { printf "%s ", $2 }' "/proc/$1/status" 2>/dev/null) || return 0
	[ -z "$words" ] || [ "$words" = 'Z 1 ' ]
}

# --- a gpushared of the test's own over one emulated GPU, without Slurm ---

# own_daemon: the programs by their names, and the socket that they use.
own_daemon() {
	PATH=$BUILD:$PATH
	export GPUSHARE_SOCKET=$TMP/sock
}
# write_conf MEMORY LINE...: gpushare.conf for start_daemon; the emulated device has so much memory.
# ARBITER: auto, poll or sleep; ARBITER_CPU: its processor. LEAVE_WITHIN: what takes longer to leave is not waited for; the emulated device's kernels take milliseconds.
# It and all LINEs PolicyParameters= become one line.
write_conf() {
	local line parameters=leave_within=${LEAVE_WITHIN:-1s} lines=()
	for line in "${@:2}"; do
		case $line in
		PolicyParameters=*) parameters+=,${line#*=} ;;
		*) lines+=("$line") ;;
		esac
	done
	cat >"$TMP/gpushare.conf" <<-END
	Socket=$TMP/sock
	PidFile=$TMP/pid
	LogFile=$TMP/log
	ReportToSlurm=no
	AllowLocal=yes
	Arbiter=${ARBITER:-auto}
	ArbiterCpu=${ARBITER_CPU:-no}
	PolicyParameters=$parameters
	VariantMin=${VARIANT_MIN:-0}
	ShimDir=$BUILD/src/device/shim/.libs
	Driver=$BUILD/src/device/emu/.libs/libcuda.so.1
	JobEnv=GPUSHARE_EMU_DEVICE=$TMP/device
	JobEnv=GPUSHARE_EMU_MEMORY=$1
	JobEnv=GPUSHARE_EMU_SMS=2
	JobEnv=GPUSHARE_EMU_STRICT=1
	END
	# make check-jitter
	[ -z "${GPUSHARE_JITTER:-}" ] || printf '%s\n' "JobEnv=LD_PRELOAD=$BUILD/.libs/jitter.so" \
		"JobEnv=GPUSHARE_JITTER=$GPUSHARE_JITTER" >>"$TMP/gpushare.conf"
	printf '%s\n' "${lines[@]}" >>"$TMP/gpushare.conf"
}
start_daemon() {
	t 20 gpushared --config "$TMP/gpushare.conf" || return 1
	pids=("$(cat "$TMP/pid")")
}
# kill -9, and its end: until then it has its lock.
kill_daemon() {
	local pid
	pid=$(cat "$TMP/pid") && kill -KILL "$pid" && until_true 20 has_ended "$pid"
}
stop_daemon() {
	local pid
	pid=$(cat "$TMP/pid") || return 1
	kill "$pid" && until_true 5 has_ended "$pid" && [ ! -e "$TMP/sock" ]
}

# reload [PID-FILE LOG]: SIGHUP, and the daemon has read its configuration.
reload() {
	local pid=${1:-$TMP/pid} log=${2:-$TMP/log} before
	before=$(grep -c 'reloaded /' "$log")
	reloaded() { [ "$(grep -c 'reloaded /' "$log")" -gt "$before" ]; }
	kill -HUP "$(cat "$pid")" && until_true 20 reloaded
}

# Of the first GPU.
clients_are() { [ "$(t 5 gpusharectl status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["clients"])')" = "$1" ]; }

# newest_job [PARTITION]: what `gpusharectl report` has last; computes MS JOB [PARTITION]: one that is newer than JOB has had the GPU
# for more than so long. Without JOB it could be one that is over.
newest_job() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["partition"] in sys.argv[1:] or not sys.argv[1:]]
print(rows[-1]["job"] if rows else "none")' "$@"
}
computes() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["partition"] in sys.argv[3:] or not sys.argv[3:]]
sys.exit(not rows or str(rows[-1]["job"]) == sys.argv[2] or not rows[-1]["active_ms"] > float(sys.argv[1]))' "$@"
}

# --- jobs of a cluster ---

# submit OPTIONS...: prints the job's id; its output goes to $D/out/ID.
submit() { t 10 sbatch --parsable --output="$D/out/%j" "$@"; }
as_nobody() { (cd / && setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"); }

job_field() { t 10 scontrol show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
in_state() { [ "$(job_field "$1" JobState)" = "$2" ]; }
has_reason() { [ "$(job_field "$1" Reason)" = "$2" ]; }
# A job that cannot start yet says so; its state alone would not tell it from one not looked at.
pends_for() { until_true 20 has_reason "$1" "$2" && in_state "$1" PENDING; }
reaches() { until_true "${3:-20}" in_state "$1" "$2" || { t 10 scontrol show job "$1"; return 1; }; }
over() { [[ "$(job_field "$1" JobState)" =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
wait_over() { until_true "${2:-20}" over "$1"; }
node_is() { [ "$(t 5 sinfo -h -p low -o %T)" = "$1" ]; }

# index_form: Slurm's words for shares, IDX: before 23.11; 24.11 and later say how much of each GPU.
# From standard input: gpushare:60(0/100,60/100) becomes gpushare:60(IDX:1).
index_form() {
	awk '{
		while (match($0, /\([0-9]+\/[0-9]+(,[0-9]+\/[0-9]+)*\)/)) {
			n = split(substr($0, RSTART + 1, RLENGTH - 2), part, ",")
			list = ""
			for (i = 1; i <= n; i++)
				if (part[i] !~ /^0\//)
					list = list (list == "" ? "" : ",") (i - 1)
			$0 = substr($0, 1, RSTART - 1) "(IDX:" list ")" substr($0, RSTART + RLENGTH)
		}
		print
	}'
}

# refused PATTERN COMMAND...: it fails, and says why.
refused() {
	local pattern=$1 out rc=0
	shift
	out=$("$@" 2>&1) || rc=$?
	echo "exit status $rc: $out"
	[ $rc != 0 ] && [ $rc != 124 ] && grep -qE -- "$pattern" <<<"$out"
}

# lacks PATTERN FILE: the file is there and no line matches.
lacks() {
	cat -- "$2" || return 1
	! grep -qE -- "$1" "$2"
}

# GPU 0 has no client, and nobody has shares or memory of it.
gpu_is_free() {
	t 5 gpusharectl status --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpus"][0]
sys.exit(any(gpu[k] for k in ("reserved_mb", "shares_taken", "clients")))'
}
