#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ways past the shim on a real GPU under `gpusharectl run`, and what MountShim=node costs programs of no step. No Slurm is needed; slurm_bypass.sh has
# the ways that need it.
#
# usage: past_gpu.sh BUILD OUT-FOLDER [DRIVER]   (as root; a C compiler, PyTorch and nvcc)
#   BUILD   the build tree (make all); DRIVER the libcuda.so.1 (default: the system's)
# environment: PAIRS=11, TURNS=40 (of each); COST=c (not PyTorch's, too); EMULATED=yes: over BUILD's emulated device and a fake NVML, without PyTorch and nvcc
# Writes past.csv (a line for each way) and mount-shim.csv (a line for each process timed) into OUT-FOLDER, prints a table; 200 seconds at most.
#
# Outcomes of a way: managed (a client of gpushared, held to its step's memory), told (it gets nothing of the GPU, and says why), seen (past the shim,
# and a row in `status` within 10 s), none (it finds no driver), and SILENT or FAILED. Ways with a copy of the driver, or by intent, are to be seen, su is
# to be told, all others are to be managed.
# Exit status 1: an outcome was another one, or a bar does not hold; 77: no driver, or no mount namespace may be made.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '6,9p' "$0"; exit 2; }
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
if [ -z "${PAST_INSIDE:-}" ]; then
	unshare --mount true 2>/dev/null || { echo "no mount namespace may be made here"; exit 77; }
	# What is mounted here is seen nowhere else, and goes with the last process.
	PAST_INSIDE=yes exec timeout -k 10 200 unshare --mount --propagation private bash "$0" "$@"
fi
export LC_ALL=C
here=$(realpath "$(dirname "$0")") build=$(realpath "$1")
src=$(realpath "$here/../..")
mkdir -p "$2" && out=$(realpath "$2") || exit 1
tmp=$(mktemp -d) && chmod 755 "$tmp" && mkdir "$tmp/bin" "$tmp/node" || exit 1
compat_root=/usr/local/cuda-past.$$ compat=/usr/local/cuda-past.$$/compat
PATH=$build:$PATH:/usr/sbin:/usr/local/cuda/bin
children=() bad=0
# The first import of PyTorch reads gigabytes.
[ -n "${EMULATED:-}" ] || timeout 120 python3 -c 'import torch' >/dev/null 2>&1 &
cleanup() {
	local pid
	exec 9>&- 8>&-
	for pid in "${children[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in "${children[@]}"; do wait "$pid" 2>/dev/null; done
	rm -rf "$compat_root" "$tmp"
}
trap cleanup EXIT
trap 'echo "past_gpu: the 200 seconds are over"; exit 1' TERM INT
say_failed() { echo "past_gpu: $*"; bad=1; }

# --- what the programs have for a driver, and how much memory ---

emulated=${EMULATED:-}
if [ "$emulated" ]; then
	# As a driver's package has it.
	mkdir "$tmp/driver"
	cp -L "${3:-$build/src/device/emu/.libs/libcuda.so.1}" "$tmp/driver/libcuda.so.580.1" || exit 1
	ln -s libcuda.so.580.1 "$tmp/driver/libcuda.so.1"
	driver=$tmp/driver/libcuda.so.1
	memory=1G part=256 ask=512
	# NVML's list: what a real one would have of the programs here.
	export FAKE_NVML=$tmp/nvml
	: >"$FAKE_NVML"
	: >"$tmp/device" && chmod 666 "$tmp/device"
	export GPUSHARE_EMU_DEVICE=$tmp/device GPUSHARE_EMU_MEMORY=1G GPUSHARE_EMU_SMS=2
	more=("MemoryParameters=nvml=$build/.libs/fake_nvml.so" "JobEnv=GPUSHARE_EMU_DEVICE=$tmp/device" JobEnv=GPUSHARE_EMU_MEMORY=1G JobEnv=GPUSHARE_EMU_SMS=2)
else
	driver=${3:-$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 (libc6,x86-64.* => //p' | head -1)}
	for place in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/nvidia/lib64; do
		[ -n "$driver" ] || [ ! -e "$place/libcuda.so.1" ] || driver=$place/libcuda.so.1
	done
	memory=16G part=2048 ask=3072
	more=()
fi
[ -e "$driver" ] || { echo "no driver"; exit 77; }
folder=$(dirname "$driver") file=$(realpath "$driver")
cached=$(ldconfig -p | grep -c "libcuda.so.1 .*=> $driver\$")
# Without an entry in the loader's cache a program without RPATH has no driver unless LD_LIBRARY_PATH leads to it.
[ "$cached" != 0 ] || export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

cc_with() { # NAME SOURCE OPTION...
	timeout 60 gcc -O2 -o "$tmp/bin/$1" "$2" -I"$src/src/device/driver" -Wl,--no-as-needed -Wl,--allow-shlib-undefined "${@:3}" "$file" -ldl ||
		{ echo "past_gpu: $2 cannot be compiled"; exit 1; }
}
compilers=()
cc_with plain "$src/testsuite/e2e/bypass.c" &
compilers+=($!)
cc_with rpath "$src/testsuite/e2e/bypass.c" -Wl,--disable-new-dtags,-rpath,"$folder" &
compilers+=($!)
cc_with runpath "$src/testsuite/e2e/bypass.c" -Wl,--enable-new-dtags,-rpath,"$folder" &
compilers+=($!)
cc_with mount_cost "$here/mount_cost.c" &
compilers+=($!)
cat >"$tmp/runtime.cu" <<'END'
// As bypass.c, by CUDA's runtime, which is linked in and opens the driver by its name.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
int main(int argc, char **argv)
{
	size_t unused, total = 0;
	void *p;
	if (cudaMemGetInfo(&unused, &total) != cudaSuccess)
		return printf("memory=failed\n"), 1;
	cudaError_t got = cudaMalloc(&p, (size_t)atol(argv[argc - 1]) << 20);
	printf("total=%zu alloc=%s pid=%d\n", total >> 20, got == cudaSuccess ? "granted" : "refused", (int)getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
cat >"$tmp/allocate.py" <<'END'
import os, sys, torch
total = torch.cuda.mem_get_info()[1]
try:
    x = torch.empty(int(sys.argv[1]) << 20, dtype=torch.uint8, device="cuda")
    got = "granted"
except torch.OutOfMemoryError:
    got = "refused"
print(f"total={total >> 20} alloc={got} pid={os.getpid()}", flush=True)
sys.stdin.read()
END
[ "$emulated" ] || timeout 60 nvcc -o "$tmp/bin/runtime" "$tmp/runtime.cu" || say_failed "runtime.cu cannot be compiled"
wait "${compilers[@]}"
[ -x "$tmp/bin/plain" ] && [ -x "$tmp/bin/rpath" ] && [ -x "$tmp/bin/runpath" ] && [ -x "$tmp/bin/mount_cost" ] || exit 1

# Copies of the driver: in a folder that gpushare looks into, and in one that it cannot know.
mkdir -p "$compat" "$tmp/conda/lib" "$tmp/linked/lib"
cp "$file" "$compat/libcuda.so.1" && cp "$file" "$tmp/conda/lib/libcuda.so.1" && ln -s "$file" "$tmp/linked/lib/libcuda.so.1" || exit 1

configure() { # FILE NAME LINE...
	printf '%s\n' "Socket=$tmp/$2/sock" "PidFile=$tmp/$2/pid" "LogFile=$out/gpushared-$2.log" ReportToSlurm=no AllowLocal=yes \
		"ShimDir=$build/src/device/shim/.libs" "Driver=$driver" "Gpu=0 Memory=$memory" "${more[@]}" "${@:3}" >"$1"
}
serves() { # NAME
	local i
	for ((i = 0; i < 100; i++)); do
		[ ! -S "$tmp/$1/sock" ] || timeout 5 gpusharectl --socket "$tmp/$1/sock" status >/dev/null 2>&1 && return
		sleep 0.1
	done
	cat "$out/gpushared-$1.log"
	echo "past_gpu: gpushared does not serve"
	exit 1
}
rm -f "$out"/gpushared-{step,node}.log
mkdir "$tmp/step"

# --- ways past ---

# state: "CLIENTS PID...": how many processes of steps gpushared knows, and whom it has seen past it.
state() {
	timeout 5 "${ctl[@]}" status --json | python3 -I -S -c 'import json, sys
s = json.load(sys.stdin)
print(s["gpus"][0]["clients"], *[p["pid"] for p in s["unmanaged"]])'
}
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
fifo=$tmp/fifo said=$tmp/said ctl=(gpusharectl)
# judge: the outcome of the program whose words are in $said; behind `seen` the ms until it was.
judge() {
	local pid words from
	from=$(now_ms)
	if ! grep -q '^total=' "$said"; then
		if grep -q 'gets nothing of the GPU' "$said"; then
			echo told
		elif grep -qE 'cannot open shared object|no device' "$said"; then
			echo none
		else
			echo FAILED
		fi
		return
	fi
	pid=$(sed -n 's/^total=.* pid=\([0-9]*\).*/\1/p' "$said")
	[ -z "$emulated" ] || echo "$pid $((ask << 20))" >"$FAKE_NVML"
	# A program of the step before may still be on its way out.
	while read -r words < <(state) && [ "${words%% *}" -gt 1 ] && [ $(($(now_ms) - from)) -lt 3000 ]; do sleep 0.1; done
	if [ "${words%% *}" = 1 ] && grep -q "^total=$part alloc=refused " "$said"; then
		echo managed
		return
	elif [ "${words%% *}" = 0 ]; then
		while [ $(($(now_ms) - from)) -lt 10000 ]; do
			read -r words < <(state)
			[[ " ${words#* } " != *" $pid "* ]] || { echo "seen $(($(now_ms) - from))"; return; }
			sleep 0.1
		done
	fi
	echo SILENT
}
echo "mount_shim,way,expected,outcome,seen_ms,total_mib,alloc" >"$out/past.csv"
mode=step silent=0 ways=0
# way EXPECTED NAME COMMAND...: runs it in a step of its own, and ends it once it is judged.
way() {
	local expected=$1 name=$2 runner outcome took i
	shift 2
	rm -f "$fifo" && mkfifo "$fifo" && : >"$said" && chmod 666 "$fifo"
	timeout -k 2 45 "${ctl[@]}" run --mem "${part}M" -- "$@" <"$fifo" >"$said" 2>&1 &
	runner=$!
	exec 9>"$fifo"
	for ((i = 0; i < 600; i++)); do
		! grep -qE '^total=|gets nothing of the GPU' "$said" && kill -0 "$runner" 2>/dev/null || break
		sleep 0.05
	done
	outcome=$(judge)
	exec 9>&-
	[ -z "$emulated" ] || : >"$FAKE_NVML"
	wait "$runner" 2>/dev/null
	took=${outcome#seen } outcome=${outcome%% *}
	[ "$took" != "$outcome" ] || took=
	echo "$mode,$name,$expected,$outcome,$took,$(sed -n 's/^total=\([0-9]*\) alloc=\([a-z]*\).*/\1,\2/p' "$said" | grep . || echo ,)" >>"$out/past.csv"
	ways=$((ways + 1))
	[ "$outcome" != SILENT ] || silent=$((silent + 1))
	[ "$outcome" = "$expected" ] && return
	bad=1
	{ echo "--- $mode, $name: $outcome, not $expected"; cat "$said"; } | tee -a "$out/past.log"
}
ways_past() {
	local b=$tmp/bin
	way managed "as it is" "$b/plain" $ask
	way managed "DT_RPATH" env -u LD_LIBRARY_PATH "$b/rpath" $ask
	way managed "DT_RUNPATH" env -u LD_LIBRARY_PATH "$b/runpath" $ask
	way managed "LD_LIBRARY_PATH overwritten" env LD_LIBRARY_PATH="$folder" "$b/plain" $ask
	way managed "LD_LIBRARY_PATH unset" env -u LD_LIBRARY_PATH "$b/$unset" $ask
	way managed "LD_LIBRARY_PATH emptied" env LD_LIBRARY_PATH= "$b/$unset" $ask
	way managed "LD_LIBRARY_PATH prepended as module load does" sh -c "export LD_LIBRARY_PATH=$folder:\$LD_LIBRARY_PATH; exec $b/plain $ask"
	way managed "env -i" env -i "$b/runpath" $ask
	way managed "env -i in a session of its own" setsid -w env -i "$b/rpath" $ask
	way managed "re-parented" sh -c "setsid -f $b/rpath $ask <$fifo; exec cat <$fifo"
	way managed "env -i re-parented" sh -c "env -i setsid -f $b/rpath $ask <$fifo; exec cat <$fifo"
	way managed "GPUSHARE_ variables unset" env -u GPUSHARE_JOB_ID -u GPUSHARE_STEP_ID -u GPUSHARE_GPU -u GPUSHARE_SOCKET "$b/rpath" $ask
	way managed "GPUSHARE_SOCKET that leads nowhere" env -i GPUSHARE_SOCKET=/nonexistent "$b/rpath" $ask
	way managed "login shell" bash -lc "$b/runpath $ask"
	way managed "login shell without an environment" env -i bash -lc "$b/runpath $ask"
	way told "su to nobody" su -s /bin/sh nobody -c "$b/runpath $ask"
	way told "su - to nobody" su -s /bin/sh - nobody -c "$b/runpath $ask"
	way managed "LD_PRELOAD of the driver" env LD_PRELOAD="$file" "$b/plain" $ask
	way managed "dlopen of the driver's link" "$b/plain" $ask "$driver"
	way managed "dlopen of the driver's file" "$b/plain" $ask "$file"
	way managed "mount namespace of its own" env -i unshare -m "$b/rpath" $ask
	way managed "user namespace of its own" unshare -rm env -i "$b/rpath" $ask
	way managed "cuda-compat folder" env LD_LIBRARY_PATH="$compat" "$b/plain" $ask
	way managed "dlopen of a cuda-compat driver" env -i "$b/rpath" $ask "$compat/libcuda.so.1"
	way managed "conda's folder with a link" env LD_LIBRARY_PATH="$tmp/linked/lib" CONDA_PREFIX="$tmp/linked" "$b/plain" $ask
	if [ -z "$emulated" ]; then
		way managed "nvcc with the static runtime and LD_LIBRARY_PATH overwritten" env LD_LIBRARY_PATH="$folder" "$b/runtime" $ask
		way managed "PyTorch with LD_LIBRARY_PATH overwritten" env LD_LIBRARY_PATH="$folder" python3 "$tmp/allocate.py" $ask
	fi
	way seen "conda's folder with a copy of the driver" env LD_LIBRARY_PATH="$tmp/conda/lib" CONDA_PREFIX="$tmp/conda" "$b/plain" $ask
	way seen "dlopen of a copy of the driver" env -i "$b/rpath" $ask "$tmp/conda/lib/libcuda.so.1"
	way seen "dlopen of the driver's file where the mounts keep it" env -i "$b/rpath" $ask "$tmp/step/sock.mounts/job/real$file"
}
unset=plain
[ "$cached" != 0 ] || unset=runpath
configure "$tmp/step.conf" step
gpushared --foreground --config "$tmp/step.conf" &
children+=($!)
export GPUSHARE_SOCKET=$tmp/step/sock
serves step
rm -f "$out/past.log"
begun=$SECONDS
ways_past
# A program that is managed is not said to be past: longer than NVML is asked for.
not_said() {
	local runner i words=
	rm -f "$fifo" && mkfifo "$fifo" && : >"$said"
	timeout -k 2 30 "${ctl[@]}" run --mem "${part}M" -- "$tmp/bin/rpath" $ask <"$fifo" >"$said" 2>&1 &
	runner=$!
	exec 9>"$fifo"
	for ((i = 0; i < 100; i++)); do
		grep -q '^total=' "$said" && break
		sleep 0.1
	done
	[ -z "$emulated" ] || echo "$(sed -n 's/.* pid=\([0-9]*\).*/\1/p' "$said") 1048576" >"$FAKE_NVML"
	sleep 9
	read -r words < <(state)
	exec 9>&-
	[ -z "$emulated" ] || : >"$FAKE_NVML"
	wait "$runner" 2>/dev/null
	[ "$words" = 1 ] || say_failed "a managed program beside whom gpushared says: '$words' (1 client and nobody unmanaged are right)"
}
not_said
# A program that is linked with a function that the shim does not have would not start. Only debuggers look for cudbg*, in the
# driver itself, which the shim loads.
exports() { nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ && $3 ~ /^cu/ && $3 !~ /^cudbg/ { sub(/@.*/, "", $3); print $3 }' | sort -u; }
missing=$(comm -23 <(exports "$file") <(exports "$build/src/device/shim/.libs/libcuda.so.1"))
[ -z "$missing" ] || say_failed "the driver exports $(wc -w <<<"$missing") functions that the shim does not:" $missing
cmp -s "$file" "$tmp/conda/lib/libcuda.so.1" || say_failed "the machine's driver is not what it was before"

# --- MountShim=node: ways past, and what a program of no step pays ---

kill "${children[0]}" && wait "${children[0]}"
children=() mode=node
configure "$tmp/node.conf" node MountShim=node
unshare --mount --propagation private sh -c "timeout 20 gpushared --mounts --config $tmp/node.conf && : >$tmp/mounted; exec sleep 200" &
bound=$!
children+=("$bound")
for ((i = 0; i < 100; i++)); do
	[ -e "$tmp/mounted" ] && break
	sleep 0.1
done
[ -e "$tmp/mounted" ] || { echo "past_gpu: gpushared --mounts has failed"; exit 1; }
nsenter -m -t "$bound" -- gpushared --foreground --config "$tmp/node.conf" &
children+=($!)
export GPUSHARE_SOCKET=$tmp/node/sock
serves node
# A step begins where users' sessions are: in the namespace with the mounts.
ctl=(nsenter -m -t "$bound" -- "$build/gpusharectl")
b=$tmp/bin
way managed "DT_RPATH" env -u LD_LIBRARY_PATH "$b/rpath" $ask
way managed "LD_LIBRARY_PATH overwritten" env LD_LIBRARY_PATH="$folder" "$b/plain" $ask
way managed "env -i" env -i "$b/runpath" $ask
way managed "dlopen of the driver's file" env -i "$b/rpath" $ask "$file"
way managed "cuda-compat folder" env LD_LIBRARY_PATH="$compat" "$b/plain" $ask
# No step of another user's: such a process has the GPU as a session of that user's would, and a step has shares of it.
way seen "su - to nobody" su -s /bin/sh - nobody -c "$b/runpath $ask"
way seen "dlopen of a copy of the driver" env -i "$b/rpath" $ask "$tmp/conda/lib/libcuda.so.1"
took_ways=$((SECONDS - begun))

# Somebody keeps the GPU awake meanwhile: the first of its users waits for the driver to start it.
rm -f "$fifo" && mkfifo "$fifo" && : >"$said"
timeout 180 "$b/plain" 1 <"$fifo" >"$said" 2>&1 &
children+=($!)
exec 8>"$fifo"
for ((i = 0; i < 200; i++)); do
	grep -q '^total=' "$said" && break
	sleep 0.1
done
grep -q '^total=.* alloc=granted' "$said" || say_failed "a program of no step does not have the GPU"
torch=()
if [ -z "$emulated" ] && [[ ${COST:-c torch} = *torch* ]]; then
	python3 -c 'import torch' 2>/dev/null && torch=("$here/mount_torch.py") || say_failed "no PyTorch: its cost is not measured"
fi
timeout -k 2 $((190 - SECONDS)) python3 "$here/mount_cost.py" "$out/mount-shim.csv" "${PAIRS:-11}" "${TURNS:-40}" $((175 - SECONDS)) $$ "$bound" "$b/mount_cost" "${torch[@]}" \
	>"$tmp/cost" 2>&1
rc=$?
# Times on the emulated device say nothing.
[ $rc = 0 ] || { [ $rc = 1 ] && [ "$emulated" ]; } || bad=1
exec 8>&-

echo
awk -F, 'NR > 1 { n[$1 " " $4]++; if ($4 == "seen" && $5 > most) most = $5 } END { for (k in n) print "ways past, " k ": " n[k]; if (most) print "latest seen: " most " ms" }' "$out/past.csv" | sort
echo "ways past: $ways tried, $silent silent (bar: 0), ${took_ways} s"
cat "$tmp/cost"
[ -z "$(ls "$out"/past.log 2>/dev/null)" ] || echo "other outcomes than expected: $out/past.log"
echo "past_gpu: $([ $bad = 0 ] && [ "$silent" = 0 ] && echo good || echo BAD), $SECONDS s, driver $file${emulated:+ (emulated)}"
exit $bad
