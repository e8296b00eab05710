#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of a user in containers without privileges (bubblewrap): they see neither gpushared's folder nor the driver, but what the job has in the
# driver's place, as apptainer --nv takes it along. The roots have other C libraries where debootstrap can have them, or ROOTS names their folders.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared testsuite/e2e/bypass_old testsuite/e2e/matmul_old
command -v bwrap >/dev/null || skip_all "bubblewrap is not installed"
(cd / && as_nobody bwrap --ro-bind / / true) 2>/dev/null || skip_all "users may have no user namespaces here"

mkdir -p "$TMP/driver" "$TMP/bin"
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.1"
cp "$BUILD"/testsuite/e2e/{bypass,matmul}_old "$TMP/bin/"
start_cluster main DRIVER="$TMP/driver/libcuda.so.1" "SPANK_ARGS=timeout=10s" GPUSHARE_EXTRA="PolicyParameters=leave_within=1s,idle_grace=0"
LOG=$D/log/gpushared.log
out_of() { cat "$D/out/$1"; }

# The oldest and the newest that can be had, beside the node's own.
get_root() { # SUITE
	timeout 150 debootstrap --variant=minbase "$1" "$TMP/roots/$1" >"$TMP/roots/$1.log" 2>&1 || { rm -rf "${TMP:?}/roots/$1"; return 1; }
}
roots=(/)
if [ -n "${ROOTS:-}" ]; then
	read -ra given <<<"$ROOTS"
	roots+=("${given[@]}")
elif command -v debootstrap >/dev/null; then
	mkdir "$TMP/roots"
	for suite in bullseye trixie; do get_root $suite & done
	wait
	for suite in bullseye trixie; do
		if [ -d "$TMP/roots/$suite" ]; then roots+=("$TMP/roots/$suite"); else note "no root of $suite: $(tail -n 1 "$TMP/roots/$suite.log")"; fi
	done
else
	note "other roots were not tried: debootstrap is not installed"
fi
glibc_of() { strings -a "$1"/lib/x86_64-linux-gnu/libc.so.6 2>/dev/null | sed -n 's/^GNU C Library .* version \([0-9.]*[0-9]\).*/\1/p'; }

# contained ROOT OPTION... -- PROGRAM...: the command line. The emulated GPU is a file of the node's, as a device would be.
contained() {
	local root=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	echo "bwrap --ro-bind $root / --unshare-pid --proc /proc --dev /dev --tmpfs /run --tmpfs /tmp --tmpfs /var/tmp --tmpfs /mnt --tmpfs /srv" \
		"--ro-bind $TMP/driver/libcuda.so.1 /srv/libcuda.so.1 --ro-bind $TMP/bin /mnt/bin --bind $D/emu $D/emu" \
		"--setenv LD_LIBRARY_PATH /srv --chdir / ${options[*]} $*"
}
user_job() { # SBATCH-OPTION... -- COMMAND: $job
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	job=$(as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" --gres=gpushare:25 "${options[@]}" --wrap "$* </dev/null")
}
says() { # PATTERN COMMAND
	user_job -- "$2" || return 1
	wait_over "$job" 40
	out_of "$job"
	grep -qE -- "$1" "$D/out/$job"
}
: >"$D/out/go" && chmod 666 "$D/out/go"
preempted() { # ROOT: the less urgent job is in the container, evicted for the other, and right
	local low high
	user_job -p low -- "$(contained "$1" -- /mnt/bin/matmul_old --tiles 30 --repeats 8)" || return 1
	low=$job
	until_true 20 computes 50 0 low || return 1
	# More than once: between two of its kernels the low job has nothing to be evicted.
	high=$(submit -p high --gres=gpushare:10 --wrap "for i in 1 2 3; do gpushare-demo-matmul --tiles 4 --repeats 3 || exit 1; done") || return 1
	reaches "$high" COMPLETED 60 && reaches "$low" COMPLETED 90
	out_of "$low"
	grep -q ' correct: ' "$D/out/$low" && t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1]]
print(rows)
sys.exit(not rows or rows[0]["preemptions"] < 1)' "$low"
}

for root in "${roots[@]}"; do
	name="glibc $(glibc_of "$root")"
	check "$name: the program is managed, its memory fenced" says '^total=256 alloc=refused ' "$(contained "$root" -- /mnt/bin/bypass_old 512)"
	check "$name: gpushared knows it as the job's" grep -E "job $job\\.batch uid $(id -u nobody) pid [0-9]+: bypass_old on gpu 0" "$LOG"
	check "$name: it computes right, and is evicted" preempted "$root"
done
check "it sees neither the socket's path nor the driver's" says '^none$' "$(contained / -- /bin/sh -c "'ls $D/run $TMP/driver >/dev/null 2>&1 || echo none'")"
check "a container with a network of its own has no driver, and is told so" says 'no CUDA driver found: .*gpushared' \
	"$(contained / --unshare-net -- /mnt/bin/bypass_old 512)"
check "without the step's variables, too: nobody can show it that gpushared answers" says 'no CUDA driver found' \
	"$(contained / --clearenv --setenv LD_LIBRARY_PATH /srv -- /mnt/bin/bypass_old 512)"

# enroot's hook, without enroot: a folder of mounts as it would be given.
hook() {
	: >"$TMP/mounts"
	ENROOT_MOUNTS=$TMP/mounts GPUSHARE_FOLDER=$D/run bash "$SRC/contrib/enroot/95-gpushare.sh" && grep -x "$D/run $D/run none .*rbind.*" "$TMP/mounts" &&
		ENROOT_MOUNTS=$TMP/mounts GPUSHARE_FOLDER=/nonexistent bash "$SRC/contrib/enroot/95-gpushare.sh" && [ "$(wc -l <"$TMP/mounts")" = 1 ]
}
check "the hook for enroot and pyxis mounts gpushared's folder where there is one" hook
# ...and what that does: with the folder, a container without network and without variables is managed.
check "with it a container with a network of its own and without the step's variables is managed" says '^total=256 alloc=refused ' \
	"$(contained / --unshare-net --clearenv --setenv LD_LIBRARY_PATH /srv --ro-bind "$D/run" "$D/run" -- /mnt/bin/bypass_old 512)"

# Somebody else listens at the abstract address while gpushared is away.
impostor() {
	local pid
	kill "$(cat "$D/run/gpushared.pid")" && until_true 10 test ! -e "$D/run/gpushared.sock" || return 1
	"$PYTHON" -I -S -c 'import os, socket, sys
os.setgid(1)
os.setuid(1)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0" + sys.argv[1]); s.listen(); print("listens", flush=True)
while True:
    c, _ = s.accept()
    print("connected", c.recv(4096)[:4].hex(), flush=True)' "$D/run/gpushared.sock" >"$TMP/impostor" 2>&1 &
	pid=$!
	pids+=("$pid")
	until_true 5 grep -q listens "$TMP/impostor" || return 1
	t 20 gpushared --config "$D/etc/gpushare.conf" || return 1
	says 'no CUDA driver found: .*does not show that it is gpushared' "$(contained / -- /mnt/bin/bypass_old 512)"
	local rc=$?
	cat "$TMP/impostor"
	kill "$pid"
	return $rc
}
check "what listens in gpushared's place is not believed, and has nobody's driver taken" impostor
check "gpushared says that its abstract address is taken" grep -F 'cannot listen at the abstract address' "$LOG"
finish
