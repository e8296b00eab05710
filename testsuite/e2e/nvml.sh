#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NVML within jobs: the step's memory, its processes and its share of the GPU; the rest is the driver's. The driver is a fake one.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/until testsuite/e2e/nvml_job testsuite/e2e/nvml_dcgm .libs/fake_nvml.so src/device/shim/.libs/libnvidia-ml.so.1
own_daemon
# As a driver's package has it; what it lists is in a file.
mkdir -p "$TMP/driver"
cp "$BUILD/.libs/fake_nvml.so" "$TMP/driver/libnvidia-ml.so.580.1"
ln -s libnvidia-ml.so.580.1 "$TMP/driver/libnvidia-ml.so.1"
NVML=$TMP/driver/libnvidia-ml.so.1
export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))"
: >"$FAKE_NVML"
BIN=$BUILD/testsuite/e2e

configure() { # LINE...
	write_conf 512M LogLevel=debug "Gpu=0 Memory=512M" "Partition=main Priority=10" "MemoryParameters=check=1s,nvml=${NVML_OF_CONF:-$NVML}" "JobNvml=${JOB_NVML:-yes}" "$@"
}
run() { t 60 gpusharectl run --shares 25 --mem 128M --partition main -- "$@"; }
# says LIBRARY [ARGUMENT...]: what NVML says in a step; lines PATTERN...: each is a line of it.
says() { run "$BIN/nvml_job" "$@" >"$TMP/says" 2>&1; local rc=$?; cat "$TMP/says"; return $rc; }
lines() {
	local pattern
	for pattern in "$@"; do grep -qE -- "^$pattern\$" "$TMP/says" || { echo "no line '$pattern'"; return 1; }; done
}
WHOLE='memory rc=0 total=81920 free=10240 used=71680 ms=[0-9]+'
PART='memory rc=0 total=128 free=128 used=0 ms=[0-9]+'

# Whether root, or this system's users, may make mounts decides by which way our NVML is found; MountShim=no has the other one.
mounts_or_skip() { unshare --mount true 2>/dev/null || unshare --user --map-root-user --mount true 2>/dev/null; }

configure
check "gpushared serves" start_daemon
whole() { t 20 "$BIN/nvml_job" "$NVML" >"$TMP/says" && cat "$TMP/says" && lines "$WHOLE" 'utilization rc=0 gpu=77 memory=33 ms=[0-9]+'; }
check "outside of jobs it is the driver's" whole
outside() { t 20 "$BIN/nvml_job" "$BUILD/src/device/shim/.libs/libnvidia-ml.so.1" >"$TMP/says" && cat "$TMP/says" && lines "$WHOLE" 'utilization rc=0 gpu=77 memory=33 ms=[0-9]+'; }
check "and ours passes on what the driver says, which gpushared hands over" outside

part() { # LIBRARY
	echo "1 1000
2 2000" >"$FAKE_NVML"
	says "$1" && lines "$PART" 'memory_v2 rc=0 total=128 reserved=0 free=128 used=0' 'room rc=0 n=0:' 'v1 rc=0 n=0:' 'v2 rc=0 n=0:' 'v3 rc=0 n=0:' 'samples rc=0 n=0:' \
		'table rc=0 n=0:' 'table room rc=0 n=0:' 'table of 1 rc=0 n=0:' 'table graphics rc=0 n=0:' 'table mps rc=0 n=0:' 'another table rc=0 n=2: 1 2' 'utilization rc=0 gpu=0 memory=33 ms=[0-9]+' 'newest rc=0 limit=4711 uuid=GPU-fake-0 words=fake error' 'missing rc=13'
}
if mounts_or_skip; then
	check "in a step the driver's file has its limit, none of the others' processes, no utilisation" part "$NVML"
	check "under its other name, too" part "$TMP/driver/libnvidia-ml.so.580.1"
else
	note "the driver's own path was not tried: no mounts may be made here"
fi
check "by LD_LIBRARY_PATH the same" part libnvidia-ml.so.1

# A step that computes: it is listed, and has its share and more of a GPU that is else idle.
computing() {
	: >"$TMP/more"
	run sh -c "'$BIN/until' '$TMP/more' & until=\$!
		echo \"1 1000
\$until 4194304
2 2000\" >'$FAKE_NVML'
		echo pid=\$until
		sleep 2
		'$BIN/nvml_job' libnvidia-ml.so.1 0 3
		$PYTHON -I -S '$SRC/testsuite/e2e/nvml_job.py' libnvidia-ml.so.1
		'$BIN/nvml_dcgm'
		rm '$TMP/more'
		wait \$until" >"$TMP/says" 2>&1 || { cat "$TMP/says"; return 1; }
	cat "$TMP/says"
	cp "$TMP/says" "$TMP/computing"
	pid=$(sed -n 's/^pid=//p' "$TMP/says")
	lines 'memory rc=0 total=128 free=1[0-9]+ used=[1-9][0-9]* ms=[0-9]+' 'room rc=7 n=1:' "v1 rc=0 n=1: $pid" "v2 rc=0 n=1: $pid" "v3 rc=0 n=1: $pid" "samples rc=0 n=1: $pid" \
		"table rc=0 n=1: $pid" 'table room rc=7 n=1:' "table of 1 rc=0 n=1: $pid" "table graphics rc=0 n=1: $pid" "table mps rc=0 n=1: $pid" 'another table rc=0 n=3: .*' 'utilization rc=0 gpu=100 memory=33 ms=[0-9]+'
}
check "a step that computes sees itself, alone, and its share in use" computing
check "Python's ctypes sees the same" lines "python total=128 free=1[0-9]+ used=[1-9][0-9]* processes=\[$pid\]"

# What DCGM's process view asks, by the same functions: the job's own process, its accounting among it; the rest passes on, with the accounting
# of a process whose number the caller knows.
dcgm() {
	local compute=nvmlDeviceGetComputeRunningProcesses
	cp "$TMP/computing" "$TMP/says" && cat "$TMP/says"
	lines "$compute room rc=7 n=1" "$compute rc=0: $pid=4194304" 'nvmlDeviceGetGraphicsRunningProcesses room rc=0 n=0' 'accounting rc=0 on=1' \
		'accounted rc=0 n=1' "stats own rc=0 pid=$pid most=4194304" 'stats foreign rc=0 pid=1 most=1000' 'samples room rc=7 n=1' "samples rc=0: $pid=50" \
		'fields rc=0 83=1083 142=1142' 'framebuffer rc=0 total=128' 'gpu_util rc=0 gpu=100'
}
check "by the functions of DCGM's process view the same" dcgm
# Without a process of the job's there are none, whatever others have.
dcgm_idle() {
	echo "1 1000
2 2000" >"$FAKE_NVML"
	run "$BIN/nvml_dcgm" >"$TMP/says" 2>&1 || { cat "$TMP/says"; return 1; }
	cat "$TMP/says"
	lines 'nvmlDeviceGetComputeRunningProcesses room rc=0 n=0' 'accounted rc=0 n=0' 'samples room rc=0 n=0' 'stats foreign rc=0 pid=1 most=1000'
}
check "and none where the job has none" dcgm_idle

# nvidia-smi's table, whose lists are known of some drivers only.
untried() {
	echo "1 1000
2 2000" >"$FAKE_NVML"
	FAKE_NVML_VERSION=$1 says libnvidia-ml.so.1 && lines 'v3 rc=0 n=0:' 'table rc=0 n=2: 1 2' 'table of 1 rc=7 n=2:' 'table graphics rc=0 n=2: 1 2' 'table mps rc=0 n=2: 1 2'
}
check "nvidia-smi's lists of a driver that was not tried are the driver's" untried 581.1
check "nor is one tried whose number only begins like that" untried 5801.1
short() { FAKE_NVML_SHORT=yes says libnvidia-ml.so.1 && lines 'table rc=0 n=0:' 'table graphics rc=0 n=0:' 'table mps is not there'; }
check "a table without the last list keeps its size" short
many() {
	seq 1000 1299 | sed 's/$/ 1000/' >"$FAKE_NVML"
	says libnvidia-ml.so.1 && lines 'v3 rc=0 n=0:' 'samples rc=0 n=0:' 'table rc=0 n=0:' 'table mps rc=0 n=0:' 'another table rc=7 n=300:'
}
check "with three hundred processes on the GPU the same" many

# Two GPUs are there, and the step has shares of the first.
two() {
	FAKE_NVML_COUNT=2 says libnvidia-ml.so.1 0 && lines "$PART" && FAKE_NVML_COUNT=2 says libnvidia-ml.so.1 1 && lines "$WHOLE"
}
check "another GPU's figures are the driver's" two

# The daemon that does not answer holds nobody up, and the last figures hold while it is away for a moment.
stopped() {
	local ms
	kill -STOP "$(cat "$TMP/pid")" || return 1
	t 20 env GPUSHARE_NVML="$NVML" GPUSHARE_SOCKET="$TMP/sock" "$BIN/nvml_job" "$BUILD/src/device/shim/.libs/libnvidia-ml.so.1" >"$TMP/says"
	kill -CONT "$(cat "$TMP/pid")"
	cat "$TMP/says"
	ms=$(sed -n 's/^memory .* ms=//p' "$TMP/says")
	lines "$WHOLE" && [ "$ms" -ge 100 ] && [ "$ms" -le 400 ]
}
check "a daemon that hangs is waited for 200 ms, then the figures are the driver's" stopped
away() {
	: >"$TMP/more"
	run "$BIN/nvml_job" libnvidia-ml.so.1 0 20 >"$TMP/says" 2>&1 & local program=$!
	until_true 10 grep -q '^utilization' "$TMP/says" || return 1
	kill_daemon && start_daemon || return 1
	wait $program
	cat "$TMP/says"
	! grep -q 'gpu=77' "$TMP/says"
}
check "while gpushared is replaced the last figures hold" away
check "gpushared ends" stop_daemon

configure MountShim=no
check "MountShim=no: gpushared serves" start_daemon
check "there it is by LD_LIBRARY_PATH" part libnvidia-ml.so.1
check "gpushared ends" stop_daemon

JOB_NVML=no configure
check "JobNvml=no: gpushared serves" start_daemon
no() { says "$1" && lines "$WHOLE" 'room rc=7 n=2:' 'v3 rc=0 n=2: 1 2' 'table rc=0 n=2: 1 2' 'utilization rc=0 gpu=77 memory=33 ms=[0-9]+'; }
check "a step sees the whole GPU" no libnvidia-ml.so.1
check "and by the driver's path" no "$NVML"
check "gpushared ends" stop_daemon

# --- an NVML that does not return ---

export FAKE_NVML_HANGS=$TMP/hangs
configure
check "gpushared serves" start_daemon
touch "$TMP/hangs"
said() { until_true 20 grep -F "$1" "$TMP/log"; }
check "a driver that does not answer is in the log" said "has not answered NVML's questions for 10 s"
check "meanwhile programs run" run env -u FAKE_NVML_HANGS "$BIN/nvml_job" libnvidia-ml.so.1 0
rm "$TMP/hangs"
check "and so is that it answers again" said "the driver answers NVML's questions again"
touch "$TMP/hangs"
sleep 1.5
check "gpushared ends while it hangs" stop_daemon
rm "$TMP/hangs"
unset FAKE_NVML_HANGS

# --- MIG ---

mig() { # PATTERN LINE...: gpushared does not start, and says why
	local pattern=$1
	NVML_OF_CONF=$NVML configure "${@:2}"
	FAKE_NVML_MIG=${MODE:-0} refused "$pattern" t 20 gpushared --config "$TMP/gpushare.conf"
}
check "a GPU in MIG mode: gpushared does not start" mig 'GPU 0 is in MIG mode, and gpushare shares whole GPUs: switch it off'
check "nor with Mig=unverified, as its line names no instance" mig 'GPU 0 is in MIG mode' Mig=unverified
MODE=1 FAKE_NVML_COUNT=2 check "the second of two GPUs" mig 'GPU 1 is in MIG mode' "Gpu=1 Memory=512M"
check "an instance by its UUID: not either" mig 'GPU 1 is a MIG instance' "Gpu=1 Memory=512M Uuid=MIG-fake-0"
MODE=1 FAKE_NVML_COUNT=2 check "one that is not there, with Mig=unverified" mig 'GPU 1: there is no MIG instance MIG-fake-1' Mig=unverified "Gpu=1 Memory=512M Uuid=MIG-fake-1"
other_is_mig() { MODE=1 FAKE_NVML_MIG=1 FAKE_NVML_COUNT=2 start_daemon; }
configure
check "a GPU in MIG mode that no line names does no harm" other_is_mig
check "gpushared ends" stop_daemon
configure Mig=unverified "Gpu=1 Memory=512M Uuid=MIG-fake-0"
with_instance() { FAKE_NVML_MIG=1 FAKE_NVML_COUNT=2 start_daemon && grep -F 'memory is not checked against the driver: GPU 1 is a MIG instance' "$TMP/log"; }
check "with Mig=unverified one that is there is taken" with_instance
its_uuid() { [ "$(t 20 gpusharectl run --gpu 1 --shares 20 --mem 64M -- printenv CUDA_VISIBLE_DEVICES)" = MIG-fake-0 ]; }
check "and programs know it by its UUID" its_uuid
check "gpushared ends" stop_daemon

# Where NVML says nothing the log does, if the driver is to be a real one: here any file that is not the emulated device's.
cp "$BUILD/.libs/fake_nvml.so" "$TMP/driver/libcuda.so.1"
unknown() { # DRIVER VARIABLE...: gpushared starts with that driver
	sed -i "s,^Driver=.*,Driver=$1," "$TMP/gpushare.conf"
	: >"$TMP/log"
	t 20 env "${@:2}" gpushared --config "$TMP/gpushare.conf" || return 1
	pids=("$(cat "$TMP/pid")")
	cat "$TMP/log"
}
says_unknown() { unknown "$TMP/driver/libcuda.so.1" "${@:2}" && [ "$(grep -cF "it is not known whether a GPU is in MIG mode, in which programs would not find it: NVML ($1" "$TMP/log")" = 1 ]; }
says_nothing() { unknown "$@" && ! grep -F 'MIG mode' "$TMP/log"; }
configure MountShim=no
check "a driver's NVML that answers: nothing is said" says_nothing "$TMP/driver/libcuda.so.1"
check "gpushared ends" stop_daemon
check "one that finds no driver: the log says that the MIG mode is not known" says_unknown "$NVML): it finds no driver" -u FAKE_NVML
check "gpushared ends" stop_daemon
check "the emulated device has none, and nothing is said" says_nothing "$BUILD/src/device/emu/.libs/libcuda.so.1" -u FAKE_NVML
check "gpushared ends" stop_daemon
touch "$TMP/hangs"
check "one that hangs: after 3 s" says_unknown "$NVML): it has not answered within 3 s" FAKE_NVML_HANGS="$TMP/hangs"
rm "$TMP/hangs"
check "gpushared ends" stop_daemon
NVML_OF_CONF=$TMP/nowhere.so configure MountShim=no
check "one that cannot be loaded" says_unknown "$TMP/nowhere.so): it cannot be loaded: " A=
check "gpushared ends" stop_daemon

# A machine without any.
NVML_OF_CONF=$TMP/nowhere.so configure MountShim=no
none() { says libnvidia-ml.so.1; [ $? = 1 ] && lines 'init rc=12 words=gpushare has found no libnvidia-ml.so.1 of the driver.s on this machine'; }
if [ -z "$(ldconfig -p | grep libnvidia-ml.so.1)" ]; then
	check "without an NVML: gpushared serves" start_daemon
	check "it says so in words" none
	check "gpushared ends" stop_daemon
else
	note "a machine without NVML was not tried: this one has it"
fi
finish
