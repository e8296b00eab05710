#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of a user in containers of apptainer, without privileges: --nv takes along what the dynamic linker's cache lists, which is the emulated
# driver here.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
command -v apptainer >/dev/null || skip_all "apptainer is not installed"
in_own_mounts
need_cluster
need_built gpushared testsuite/e2e/bypass testsuite/e2e/matmul_old
CONF=/etc/apptainer/apptainer.conf
[ -r $CONF ] || skip_all "apptainer has no $CONF"
mkdir -p "$TMP/driver" "$TMP/bin" "$TMP/root"/{tmp,run,proc,sys,dev,opt,etc}
# A container with a few programs and their libraries, in which there is no driver.
for program in /bin/sh /bin/ls /bin/true "$BUILD"/testsuite/e2e/{bypass,matmul_old} "$BUILD"/src/device/{shim,emu}/.libs/libcuda.so.1; do
	ldd "$program" | grep -o '/lib[^ ]*/\(lib\|ld-\)[^ ]*' | grep -v -e libcuda -e "^$BUILD"
done | sort -u | xargs cp -L --parents -t "$TMP/root" /bin/sh /bin/ls /bin/true /etc/passwd /etc/group
(cd / && as_nobody env HOME=/ apptainer exec --no-home "$TMP/root" true) >"$TMP/out" 2>&1 || skip_all "apptainer does nothing for users here: $(tail -n 1 "$TMP/out")"

# The node has the driver where its linker finds it.
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.1"
cp "$BUILD"/testsuite/e2e/{bypass,matmul_old} "$TMP/bin/"
{ echo "$TMP/driver"; cat /etc/ld.so.conf; } >"$TMP/ld.so.conf"
ldconfig -X -f "$TMP/ld.so.conf" -C "$TMP/ld.so.cache" && mount --bind "$TMP/ld.so.cache" /etc/ld.so.cache || skip_all "the linker's cache cannot be replaced here"
start_cluster main DRIVER="$TMP/driver/libcuda.so.1" "SPANK_ARGS=timeout=10s" GPUSHARE_EXTRA="PolicyParameters=leave_within=1s,idle_grace=0"
LOG=$D/log/gpushared.log
MANAGED='^total=256 alloc=refused '

# contained OPTION... -- PROGRAM...: the command line. The emulated GPU is a file of the node's, as a device would be. An image that apptainer
# has made sets LD_LIBRARY_PATH itself.
contained() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	echo "apptainer exec --nv --no-home --no-mount tmp --pwd / --bind $TMP/bin:/opt --bind $D/emu --env LD_LIBRARY_PATH=/.singularity.d/libs ${options[*]} $TMP/root $*"
}
user_job() { # SBATCH-OPTION... -- COMMAND: $job
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	job=$(as_nobody timeout 10 sbatch --parsable --chdir=/ --output="$D/out/%j" --gres=gpushare:25 "${options[@]}" --wrap "export HOME=/; $* </dev/null")
}
says() { # PATTERN COMMAND
	user_job -- "$2" || return 1
	wait_over "$job" 40
	cat "$D/out/$job"
	grep -qE -- "$1" "$D/out/$job"
}

check "the container sees neither gpushared's folder nor the driver's" says '^none$' "$(contained -- /bin/sh -c "'ls -d $D/run $TMP/driver >/dev/null 2>&1 || echo none'")"
check "--nv takes the shim along: the program is managed, its memory fenced" says "$MANAGED.*/.singularity.d/libs/libcuda.so.1" "$(contained -- /opt/bypass 512)"
check "gpushared knows it as the job's" eval "grep -E \"job \$job\\.batch uid $(id -u nobody) pid [0-9]+: bypass on gpu 0\" '$LOG'"
check "so it is in a step" says "$MANAGED" "srun --overlap $(contained -- /opt/bypass 512)"
check "with process and IPC namespaces of its own" says "$MANAGED" "$(contained --pid --ipc -- /opt/bypass 512)"
check "in a container within a mount namespace of the user's" says "$MANAGED" "unshare -rm $(contained -- /opt/bypass 512)"
check "--cleanenv: without the step's variables it has no driver, and is told so" says 'no CUDA driver found' "$(contained --cleanenv -- /opt/bypass 512)"
preempted() {
	local low high
	user_job -p low -- "$(contained -- /opt/matmul_old --tiles 30 --repeats 8)" || return 1
	low=$job
	until_true 20 computes 50 0 low || { cat "$D/out/$low"; return 1; }
	high=$(submit -p high --gres=gpushare:10 --wrap "exec gpushare-demo-matmul --tiles 4 --repeats 3") || return 1
	reaches "$high" COMPLETED 60 && reaches "$low" COMPLETED 90
	cat "$D/out/$low"
	grep -q ' correct: ' "$D/out/$low" && t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1]]
print(rows)
sys.exit(not rows or rows[0]["preemptions"] < 1)' "$low"
}
check "it computes right, and is evicted" preempted
image() { # mounted by FUSE, in the container's own namespaces
	apptainer build "$TMP/image.sif" "$TMP/root" && says "$MANAGED" "$(contained -- /opt/bypass 512 | sed "s# $TMP/root # $TMP/image.sif #")"
}
if command -v squashfuse_ll >/dev/null && command -v mksquashfs >/dev/null && users_have_fuse; then
	check "an image file is managed as a folder is" image
else
	note "an image file was not tried: it takes squashfuse, mksquashfs and a /dev/fuse for users"
fi

# --- with the line of contrib in apptainer.conf ---

{ cat $CONF; sed "s#/run/gpushare#$D/run#" "$SRC/contrib/apptainer/apptainer-gpushare.conf"; } >"$TMP/apptainer.conf"
chmod 644 "$TMP/apptainer.conf"
mount --bind "$TMP/apptainer.conf" $CONF
check "contrib's line in apptainer.conf gives the container gpushared's folder, read-only" says '^read-only$' \
	"$(contained -- /bin/sh -c "'[ -e $D/run/gpushared.sock ] && [ ! -w $D/run/gpushared.mounts ] && echo read-only'")"
check "with it --cleanenv is managed" says "$MANAGED" "$(contained --cleanenv -- /opt/bypass 512)"
check "so is a network namespace of its own" says "$MANAGED" "$(contained --net --network none -- /opt/bypass 512)"
check "--containall, for which apptainer leaves that line out: the program has no driver, and is told so" says 'no CUDA driver found' "$(contained --containall -- /opt/bypass 512)"
check "--containall with the folder is managed" says "$MANAGED" "$(contained --containall --bind "$D/run" -- /opt/bypass 512)"
check "so it is without network" says "$MANAGED" "$(contained --containall --bind "$D/run" --net --network none -- /opt/bypass 512)"
check "a job without shares has the driver in its container" eval "job=\$(as_nobody timeout 10 sbatch --parsable --chdir=/ --output='$D/out/%j' --wrap \"export HOME=/; $(contained -- /opt/bypass 512) </dev/null\") &&
	wait_over \$job 40; cat $D/out/\$job; grep -E '^total=.* alloc=granted ' $D/out/\$job"
check "the node is in service" until_true 10 node_is idle
finish
