#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ways past the shim: jobs whose programs come by the driver otherwise than by LD_LIBRARY_PATH. Each is managed, or is told
# that it gets nothing; the driver is the emulated one, in a folder of its own.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
in_own_mounts
need_cluster
need_built gpushared .libs/fake_nvml.so testsuite/e2e/nvml_job testsuite/e2e/bypass testsuite/e2e/bypass_rpath testsuite/e2e/bypass_runpath

# As a driver's package has it: libcuda.so, a link to libcuda.so.1, a link to the file. $TMP/bin has the programs.
mkdir -p "$TMP/driver" "$TMP/bin"
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.580.1"
ln -s libcuda.so.580.1 "$TMP/driver/libcuda.so.1"
ln -s libcuda.so.1 "$TMP/driver/libcuda.so"
cp "$BUILD"/testsuite/e2e/{bypass,bypass_rpath,bypass_runpath,nvml_job} "$TMP/bin/"
NVML=$BUILD/.libs/fake_nvml.so
DRIVER_DIR=$TMP/driver
BIN=$TMP/bin
# What NVML would list: the test writes it.
export FAKE_NVML=$TMP/nvml
: >"$FAKE_NVML"
start_cluster main DRIVER="$DRIVER_DIR/libcuda.so.1" "SPANK_ARGS=timeout=10s" \
	GPUSHARE_EXTRA="MemoryParameters=nvml=$NVML
JobNvml=yes"
LOG=$D/log/gpushared.log
MOUNTS=$D/run/gpushared.mounts

# A job of 25 shares has 256 of 1024 MiB; the program asks for 512.
out_of() { cat "$D/out/$1"; }
job_says() { # PATTERN SBATCH-OPTION... -- COMMAND: $job
	local pattern=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	job=$(submit "${options[@]}" --wrap "$* </dev/null") || return 1
	wait_over "$job" 30
	out_of "$job"
	grep -qE -- "$pattern" "$D/out/$job"
}
MANAGED='^total=256 alloc=refused '
managed() { job_says "$MANAGED" --gres=gpushare:25 -- "$@"; }
nothing() { job_says 'this program gets nothing of the GPU' --gres=gpushare:25 -- "$@" && ! grep -E 'alloc=granted' "$D/out/"*; }

check "gpushared says whose place the shim takes" grep -F "in jobs the shim takes the place of $DRIVER_DIR/libcuda.so.1" "$LOG"
check "with the driver where the environment leads, a job is managed" managed "$BIN/bypass 512"
check "DT_RPATH that leads to the driver" managed "env -u LD_LIBRARY_PATH $BIN/bypass_rpath 512"
check "DT_RPATH, with LD_LIBRARY_PATH as it is" managed "$BIN/bypass_rpath 512"
check "DT_RUNPATH" managed "env -u LD_LIBRARY_PATH $BIN/bypass_runpath 512"
check "LD_LIBRARY_PATH overwritten" managed "env LD_LIBRARY_PATH=$DRIVER_DIR $BIN/bypass 512"
check "a folder put in front of LD_LIBRARY_PATH, as module load does" managed "env LD_LIBRARY_PATH=$DRIVER_DIR:\$LD_LIBRARY_PATH $BIN/bypass 512"
check "env -i" managed "env -i $BIN/bypass_runpath 512"
check "env -i, with a socket that does not exist" managed "env -i GPUSHARE_SOCKET=/nonexistent $BIN/bypass_runpath 512"
check "env -i, with an empty socket" managed "env -i GPUSHARE_SOCKET= $BIN/bypass_runpath 512"
check "a login shell" managed "bash -lc '$BIN/bypass_runpath 512'"
check "a login shell without any environment" managed "env -i bash -lc '$BIN/bypass_runpath 512'"
check "LD_PRELOAD of the driver" managed "env LD_PRELOAD=$DRIVER_DIR/libcuda.so.580.1 $BIN/bypass 512"
check "dlopen of the driver's link" managed "$BIN/bypass 512 $DRIVER_DIR/libcuda.so.1"
check "dlopen of the driver's file" managed "$BIN/bypass 512 $DRIVER_DIR/libcuda.so.580.1"
check "dlopen of libcuda.so" managed "env -i $BIN/bypass_rpath 512 $DRIVER_DIR/libcuda.so"
check "another session, env -i" managed "setsid -w env -i $BIN/bypass_rpath 512"
check "su to another user: it is told that it gets nothing" nothing "su -s /bin/sh nobody -c '$BIN/bypass_runpath 512'"
check "su -: the same" nothing "env -i su -s /bin/sh - nobody -c '$BIN/bypass_runpath 512'"
check "GPUSHARE_ variables unset" managed "env -u GPUSHARE_JOB_ID -u GPUSHARE_STEP_ID -u GPUSHARE_GPU -u GPUSHARE_SOCKET $BIN/bypass_rpath 512"
check "a mount namespace of the program's own" managed "env -i unshare -m $BIN/bypass_rpath 512"
check "a user namespace of its own, too" managed "unshare -rm env -i $BIN/bypass_rpath 512"

# NVML, by the path that gpushared was told: a job of shares sees its part, with whatever environment, one without sees the whole GPU.
export FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))"
sees() { # MEMORY SBATCH-OPTION...
	local total=$1 options=("${@:2}")
	job_says "^memory rc=0 total=$total " "${options[@]}" -- "env -i FAKE_NVML=$FAKE_NVML FAKE_NVML_DEVICE='$FAKE_NVML_DEVICE' $BIN/nvml_job $NVML"
}
check "NVML in a job of shares has the job's memory" sees 256 --gres=gpushare:25
check "in a job without it has the GPU's" sees 81920
check "and on the node as well" eval "t 10 '$BIN/nvml_job' '$NVML' | grep '^memory rc=0 total=81920 '"

# As a user, who owns nothing of this.
as_user() {
	local job
	job=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" --gres=gpushare:25 --wrap "$* </dev/null") || return 1
	wait_over "$job" 30
	out_of "$job"
	grep -qE -- "$MANAGED" "$D/out/$job"
}
check "another user's job, env -i" as_user "env -i $BIN/bypass_runpath 512"
check "and in a namespace of that user's" as_user "unshare -rm env -i $BIN/bypass_runpath 512"
sees_cwd() {
	local job
	job=$(as_nobody timeout 10 sbatch --parsable --chdir="$D/out" --output="$D/out/%j" --gres=gpushare:25 --wrap pwd) || return 1
	wait_over "$job" && out_of "$job" && [ "$(cat "$D/out/$job")" = "$D/out" ]
}
check "a task begins in its working directory" sees_cwd

# --- steps ---

check "srun in the job" managed "srun env -i $BIN/bypass_rpath 512"
check "srun --overlap" managed "srun --overlap env -i $BIN/bypass_rpath 512"
check "srun --overlap with fewer shares" managed "srun --overlap --gres=gpushare:5 env -i $BIN/bypass_rpath 512"
check "srun --gres=none: nothing" nothing "srun --overlap --gres=none env -i $BIN/bypass_rpath 512"
check "srun --gres=none with the environment of the job: nothing" nothing "srun --overlap --gres=none $BIN/bypass_rpath 512"


# --- the program's own settings ---

notices() { [ "$(grep -c "$2" "$D/out/$job")" = "$1" ]; }
own_connections() { # NUMBER
	job_says "$MANAGED" --gres=gpushare:25 -- "env CUDA_DEVICE_MAX_CONNECTIONS=$1 $BIN/bypass 512" && notices 0 CUDA_DEVICE_MAX_CONNECTIONS
}
check "a number of connections is the program's, and nothing is said of it" own_connections 1
check "a large one as well" own_connections 32

check "a job without gres: the shim passes it on" job_says 'alloc=granted' -- "$BIN/bypass_rpath 512"
maps_both() {
	job_says "$MOUNTS/job/real$DRIVER_DIR/libcuda.so.580.1" -- \
		"mkfifo $D/out/wait; $BIN/bypass_rpath 1 <$D/out/wait & exec 9>$D/out/wait; sleep 1; cat /proc/\$!/maps; exec 9>&-; wait"
}
check "to the driver's own file" maps_both

# --- the namespace ---

same_namespace() { job_says '^same$' --gres=gpushare:25 -- 'a=$(readlink /proc/self/ns/mnt); b=$(srun --overlap readlink /proc/self/ns/mnt); [ "$a" = "$b" ] && echo same'; }
check "a job's steps have one namespace" same_namespace
other_namespace() {
	local job
	job=$(submit --gres=gpushare:5 --wrap 'readlink /proc/self/ns/mnt') && wait_over "$job" && out_of "$job" &&
		[ "$(out_of "$job")" != "$(readlink /proc/self/ns/mnt)" ]
}
check "which is not the node's" other_namespace
seen_by_others() {
	job_says '^seen$' --gres=gpushare:25 -- \
		"mkdir $D/out/m; srun --overlap mount -t tmpfs none $D/out/m; srun --overlap touch $D/out/m/seen; ls $D/out/m"
}
check "what one step mounts (as FUSE does) another one and the batch script see" seen_by_others
no_mount_left() { ! grep -F "$D/out/m" /proc/self/mountinfo; }
check "the node does not" no_mount_left
arrives() {
	local job
	mkdir "$TMP/auto" && mount -t tmpfs none "$TMP/auto" && mount --make-shared "$TMP/auto" && mkdir "$TMP/auto/home" || return 1
	job=$(submit --gres=gpushare:5 --wrap "touch $D/out/begun; until [ -e $TMP/auto/home/late ]; do sleep 0.1; done; echo arrived") &&
		until_true 10 test -e "$D/out/begun" && mount -t tmpfs none "$TMP/auto/home" && : >"$TMP/auto/home/late"
	wait_over "$job" 10
	out_of "$job" && grep -qx arrived "$D/out/$job"
}
check "what is mounted on the node later (as autofs does) arrives in the job" arrives
umount -R "$TMP/auto" 2>/dev/null
references_gone() { [ -z "$(ls -A "$MOUNTS/jobs")" ] && ! grep -F "$MOUNTS/jobs/" /proc/self/mountinfo; }
check "no namespace is kept once its job is over" until_true 10 references_gone
node_untouched() { ! grep -F "$DRIVER_DIR" /proc/self/mountinfo && cmp "$DRIVER_DIR/libcuda.so.1" "$BUILD/src/device/emu/.libs/libcuda.so.1"; }
check "the node itself has the driver where it was" node_untouched

# --- failures ---

fails_with_words() { # PATTERN
	local job
	job=$(submit --gres=gpushare:25 --wrap 'echo begun') && wait_over "$job" && out_of "$job" && ! grep -x begun "$D/out/$job" &&
		in_state "$job" FAILED && grep -E -- "$1" "$D/out/$job"
}
mv "$MOUNTS/plan" "$TMP/plan"
echo nonsense >"$MOUNTS/plan"
check "a plan that is none: the step ends with a sentence" fails_with_words "the shim cannot take the driver's place in it .*is not what gpushared writes"
sed "s#^cover .*#cover /nonexistent/libcuda.so.1#" "$TMP/plan" >"$MOUNTS/plan"
check "a driver that is gone: the step ends with a sentence" fails_with_words "the shim cannot take the driver's place in it .*is gone"
check "the node stays in service" until_true 5 node_is idle
mv "$TMP/plan" "$MOUNTS/plan"
check "and the next job runs" managed "$BIN/bypass 512"

# --- what still gets past: a copy of the driver ---

copied() { # runs a job with such a program, until $D/out/copy is gone; $pid
	cp "$TMP/driver/libcuda.so.580.1" "$TMP/copy.so"
	rm -f "$D/out/fifo" && mkfifo "$D/out/fifo"
	: >"$D/out/pid"
	job=$(submit --gres=gpushare:25 --wrap "$BIN/bypass 512 $TMP/copy.so <$D/out/fifo & echo \$! >$D/out/pid; wait \$!") || return 1
	exec 8>"$D/out/fifo"
	until_true 10 test -s "$D/out/pid" && pid=$(cat "$D/out/pid") && until_true 10 grep '^total=1024 alloc=granted' "$D/out/$job"
}
check "a program with a copy of the driver gets past" copied
seen_at=$SECONDS
echo "$pid $((512 << 20))" >"$FAKE_NVML"
check "within 10 s the log says so, with the job" until_true 10 grep -E "pid $pid \(bypass\), uid 0, of job $job\.batch, uses the GPU past gpushare, 512 MiB" "$LOG"
check "status has a row of it" until_true 5 eval "t 5 gpusharectl status | grep -E '^ *0 +$pid +0 +$job +batch +bypass +512'"
check "there is a metric" eval "t 5 gpusharectl metrics | grep -x 'gpushare_gpu_unmanaged_processes{gpu=\"0\",UUID=\"\"} 1'"
note "seen after $((SECONDS - seen_at)) s"
echo Unmanaged=kill >>"$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
check "Unmanaged=kill ends it" until_true 15 has_ended "$pid"
exec 8>&-
: >"$FAKE_NVML"
check "and so its job" wait_over "$job"

# --- gpushared away ---

DAEMON=$(cat "$D/run/gpushared.pid")
kill "$DAEMON"
until_true 10 has_ended "$DAEMON"
check "without gpushared a job without shares runs as ever" job_says 'alloc=granted' -- "env -i $BIN/bypass_rpath 512"
t 20 gpushared --config "$D/etc/gpushare.conf"

# --- MountShim=node ---

echo MountShim=node >>"$D/etc/gpushare.conf"
check "gpushared --mounts puts the shim in the driver's place on the node" t 10 gpushared --mounts --config "$D/etc/gpushare.conf"
check "a second time changes nothing" t 10 gpushared --mounts --config "$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
check "gpushared finds it there" grep -F "on this node the shim has the place of $DRIVER_DIR/libcuda.so.1" "$LOG"
check "MountShim=node: DT_RPATH in a job" managed "$BIN/bypass_rpath 512"
check "MountShim=node: env -i" managed "env -i $BIN/bypass_rpath 512"
check "MountShim=node: dlopen of the driver's file" managed "env -i $BIN/bypass_rpath 512 $DRIVER_DIR/libcuda.so.580.1"
check "MountShim=node: a job without gres has the driver" job_says 'alloc=granted' -- "env -i $BIN/bypass_rpath 512"
outside() { env -i GPUSHARE_EMU_DEVICE="$TMP/outside" "$BIN/bypass_rpath" 512 </dev/null >"$TMP/outside.out" 2>&1; cat "$TMP/outside.out"; grep -q '^total=.* alloc=granted ' "$TMP/outside.out"; }
check "MountShim=node: so has a program of no job" outside
node_namespace=$(readlink /proc/self/ns/mnt | tr -dc 0-9)
check "no job has a mount namespace then" job_says "^mnt:.$node_namespace.\$" --gres=gpushare:5 -- readlink /proc/self/ns/mnt
sed -i '/^MountShim=/d' "$D/etc/gpushare.conf"
check "without it gpushared --mounts takes it away" t 10 gpushared --mounts --config "$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
check "the node has its driver again" node_untouched
check "and jobs their mounts" managed "env -i $BIN/bypass_rpath 512"

# --- MountShim=no ---

echo MountShim=no >>"$D/etc/gpushare.conf"
reload "$D/run/gpushared.pid" "$LOG"
check "MountShim=no: LD_LIBRARY_PATH leads to the shim, as before" managed "$BIN/bypass 512"
unmanaged() { job_says '^total=1024 alloc=granted ' --gres=gpushare:25 -- "$@"; }
check "and a program with DT_RPATH has the driver: that is what MountShim=step is for" unmanaged "$BIN/bypass_rpath 512"
finish
