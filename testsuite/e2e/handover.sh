#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# MeasureHandover=start: what gpushared takes a hand-over for follows what one costs on the device, whatever
# goes wrong is one line in its log, and nobody waits for it. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl handover-probe testsuite/e2e/order
# Started by root the programs are nobody's.
[ "$(id -u)" != 0 ] || stage_build || skip_all "cannot copy the build tree to $TMP"
ORDER=$BUILD/testsuite/e2e/order
own_daemon
MEASURE=start

# configure SWITCH_US LINE...: a fresh device of that cost; what was measured before is forgotten.
configure() {
	[ ! -e "$TMP/pid" ] || stop_daemon # of a check that failed
	[ -d "$TMP/emu" ] || mkdir -m 1777 "$TMP/emu"
	rm -f "$TMP"/emu/* "$TMP/sock.handover" "$TMP/log"
	write_conf 256M "JobEnv=GPUSHARE_EMU_DEVICE=$TMP/emu/device%g" "JobEnv=GPUSHARE_EMU_SWITCH_US=$1" "Gpu=0 Memory=256M" "${@:2}"
}
logged() { grep -E -- "$1" "$TMP/log"; }
says() { until_true "${2:-20}" logged "$1" || { cat "$TMP/log"; return 1; }; }
handover_us() { t 5 gpusharectl status --json | python3 -c 'import json, sys
print(int(json.load(sys.stdin)["gpus"][int(sys.argv[1])]["handover_us"]))' "${1:-0}"; }
between() { echo "$1 <= $2 <= $3?"; [ "$2" -ge "$1" ] && [ "$2" -le "$3" ]; }
# The programs, by what they were given: whatever stands for handover-probe.
probes() { grep -lzxF "GPUSHARE_SOCKET=$TMP/sock" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -lzxF GPUSHARE_JOB_ID=4294967295 2>/dev/null; }
any_probe() { [ -n "$(probes)" ]; }
no_probe() { [ -z "$(probes)" ]; }
none_left() { until_true 5 no_probe || { probes; return 1; }; }

ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
probe() { printf '#!/bin/sh\n%s\n' "$1" >"$TMP/probe" && chmod 755 "$TMP/probe"; }
failed() { # PATTERN LINE...
	configure 0 "${@:2}" && start_daemon && says "gpu 0: what a hand-over costs was not measured: .*$1.*Handover=135.0us stays" 40 &&
		[ "$(handover_us)" = 135 ] && none_left && [ ! -e "$TMP/sock.handover" ] && stop_daemon
}
# Deaf to SIGTERM as well. The daemon takes all of its 20 s, so the others are tested beside it.
deaf() { probe 'trap "" TERM; while :; do sleep 1; done'; }
hangs() {
	PROBE=$TMP/probe
	deaf && failed '0 of 33 hand-overs in 20 s'
}
apart hangs hangs

# --- the figure follows the device ---
measured() { # SWITCH_US MOST; far from the default, which Handover= says. Beside other work the device itself is slow: again.
	local i
	for i in 1 2 3 4; do
		configure "$1" "Handover=$1us" && start_daemon && says 'hand-over costs? .*(measured in|not measured)' || return 1
		logged 'measured in' && between "$1" "$(handover_us)" "$2" && return
	done
	return 1
}
check "hand-overs of 1 ms: measured, and used" measured 1000 6000
check "none of it is left" none_left
no_trace() {
	[ "$(t 5 gpusharectl report --json)" = '[]' ] && gpu_is_free && [ "$(t 5 gpusharectl status --json |
		python3 -c 'import json, sys; print(len(json.load(sys.stdin)["steps"]))')" = 0 ] && [ ! -e "$TMP/sock.state" ]
}
check "it is in no report, and has nothing reserved" no_trace
again() { stop_daemon && rm "$TMP/log" && start_daemon && says 'as measured before' && lacks 'measured in' "$TMP/log" && between 1000 "$(handover_us)" 6000; }
check "the next daemon knows it without measuring" again
reloads() { reload && between 1000 "$(handover_us)" 6000; }
check "so it does after a reload" reloads
check "gpushared ends" stop_daemon
check "hand-overs of 4 ms: the same" measured 4000 20000
check "gpushared ends" stop_daemon

learn() { MEASURE=$1 configure 8000 && start_daemon && sleep 0.3 && lacks 'hand-over' "$TMP/log" && [ "$(handover_us)" = 135 ] && none_left && stop_daemon; }
check "MeasureHandover=learn: it begins as configured" learn learn
check "MeasureHandover=no: so it does" learn no

two() { # as in measured()
	local i
	for i in 1 2 3 4; do
		configure 1000 "Gpu=1 Memory=256M" Handover=1ms && start_daemon && says 'gpu 1: .*hand-over costs? .*(measured in|not measured)' &&
			says 'gpu 0: .*hand-over costs? .*(measured in|not measured)' || return 1
		logged 'gpu 1: .*measured in' && logged 'gpu 0: .*measured in' && between 1000 "$(handover_us 1)" 6000 && stop_daemon && return
	done
	return 1
}
check "two GPUs, one after the other" two
# The probe would be on the first of them, whichever is meant.
alike() {
	configure 0 "Gpu=1 Memory=256M" && sed -i '/EMU_DEVICE=/d' "$TMP/gpushare.conf" &&
		echo "JobEnv=GPUSHARE_EMU_DEVICE=$TMP/emu/device%%g" >>"$TMP/gpushare.conf" && start_daemon &&
		says 'gpu 1: what .* was not measured: which GPU it is, is not known' && logged 'gpu 0: .*is not known' && no_probe && stop_daemon
}
check "two GPUs that nothing tells apart: neither is measured" alike

# --- what goes wrong ---
far_off() { # HANDOVER_US LINE...
	configure 1000 "${@:2}" && start_daemon && says "gpu 0: what a hand-over costs was not measured: .* are not believed" && none_left &&
		[ ! -e "$TMP/sock.handover" ] && [ "$(handover_us)" = "$1" ] && stop_daemon
}
check "more than 16 times of Handover=: not believed" far_off 20 Handover=20us
check "less than a sixteenth of it: neither" far_off 400000 Handover=400ms
kept() { # what an older daemon has believed
	measured 1000 6000 && stop_daemon && rm "$TMP/log" &&
		sed -i 's/^Handover=.*/Handover=20us/' "$TMP/gpushare.conf" && start_daemon && says 'are not believed' &&
		lacks 'as measured before' "$TMP/log" && [ "$(handover_us)" = 20 ] && stop_daemon
}
check "so it is with what was written down" kept
no_driver() {
	configure 0 && sed -i "s#^Driver=.*#Driver=$TMP/no/libcuda.so.1#" "$TMP/gpushare.conf" && start_daemon &&
		says 'was not measured: .*Handover=135.0us stays' && [ "$(handover_us)" = 135 ] && none_left && stop_daemon
}
check "no driver" no_driver
PROBE=$TMP/probe
probe 'kill -SEGV $$'
check "the program crashes" failed 'ended by signal 11'
probe 'echo "it does not work"; exit 1'
check "it says why it fails" failed 'it does not work'
probe 'exit 0'
check "it does nothing" failed 'ended early'
rm "$TMP/probe"
check "there is none" failed 'No such file'

# It says no more, but runs on: the daemon does not wait for its end.
probe 'trap "" TERM; exec >/dev/null 2>&1; while :; do sleep 1; done'
check "the program closes its output" failed 'ended by signal 9'

deaf
begun() { configure 0 "$@" && start_daemon && until_true 5 any_probe; }
stopped() {
	local since
	begun || { cat "$TMP/log"; return 1; }
	since=$(ms)
	stop_daemon && none_left && between 0 $(($(ms) - since)) 3000
}
check "gpushared ends while the program hangs, and the program with it" stopped
killed() { begun && kill -9 "$(cat "$TMP/pid")" && none_left; }
check "gpushared is killed meanwhile: the same" killed
lacks_probe() { t 5 gpusharectl metrics >"$TMP/metrics" && lacks 4294967295 "$TMP/metrics"; }
changed() {
	local since
	begun "Gpu=1 Memory=256M" || return 1
	t 5 gpusharectl status --json | grep 4294967295 && lacks_probe && [ "$(t 5 gpusharectl report --json)" = '[]' ] || return 1
	sed -i 's/^MeasureHandover=.*/MeasureHandover=learn/' "$TMP/gpushare.conf"
	since=$(ms)
	kill -HUP "$(cat "$TMP/pid")" && says 'gpu 0: .* not measured: the configuration has changed' 3 && none_left &&
		between 0 $(($(ms) - since)) 3000 && lacks 'gpu 1: .*hand-over' "$TMP/log" && [ "$(handover_us)" = 135 ] && stop_daemon
}
check "a reload wants no measuring: it ends, and is in the status alone before" changed
run() { t 60 gpusharectl run --shares 100 -- "$ORDER" many 2; }
job_comes() {
	local since
	begun || return 1
	since=$(ms)
	run && says 'not measured: a job came; Handover=135.0us stays' 3 && none_left && [ "$(handover_us)" = 135 ] &&
		between 0 $(($(ms) - since)) 8000 && [ "$(t 5 gpusharectl report --json | grep -c '"job"')" = 1 ] && stop_daemon
}
check "a job comes meanwhile: it gets the whole GPU at once" job_comes
PROBE=
job_comes_soon() {
	configure 100000 && start_daemon && sleep "$1" && run && says 'a job came' 3 && none_left && stop_daemon
}
check "it comes while the programs begin" job_comes_soon 0
check "it comes while they exchange the GPU" job_comes_soon 0.7
stops_soon() { configure 100000 && start_daemon && sleep "$1" && stop_daemon && none_left; }
check "gpushared ends while they begin" stops_soon 0
check "gpushared ends while they exchange the GPU" stops_soon 0.7

# A daemon that comes back to jobs.
jobs_there() {
	local job rc=0
	MEASURE=learn configure 0 && start_daemon || return 1
	t 30 gpusharectl run -- sh -c "touch $TMP/emu/runs; sleep 3; exec '$ORDER' many 2" & job=$!
	until_true 5 test -e "$TMP/emu/runs" && kill -9 "$(cat "$TMP/pid")" || rc=1
	sed -i 's/^MeasureHandover=.*/MeasureHandover=start/' "$TMP/gpushare.conf"
	until_true 5 start_daemon && says 'was not measured: jobs have it; Handover=135.0us stays' 5 && lacks 'measured in' "$TMP/log" || rc=1
	wait $job
	stop_daemon && return $rc
}
check "jobs are there already: they are not disturbed" jobs_there

check "the program hangs: its time is limited" joined hangs
finish
