#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Isolation=mps on a real GPU: clients of two users on one server, a client that does not leave, and what a hand-over costs.
#
# usage: mps_gpu.sh BUILD OUT-FOLDER   (as root)
#   BUILD   the build tree (make all)
# environment: CONF (further lines of gpushare.conf), STEPS="users stuck stop bench", OTHER=nobody (the second user),
#   REPEATS=200 (of root's kernels, 12 ms each on an H200); ELEMENTS, MATMULS (less: shorter); STUCK=1000000 (passes of the kernels that cannot leave: 2 ms)
# Writes mps.txt (what was seen), handover.csv, pair.csv, gpushared.log and MPS's logs into OUT-FOLDER; takes less than a minute.
# Exit status 1: something was not as it must be.
set -uo pipefail
build=$(realpath "$1") out=$2
mkdir -p "$out" && out=$(realpath "$out")
other=${OTHER:-nobody}
tmp=$(mktemp -d)
daemon=
failures=0
[ "$(id -u)" = 0 ] || { echo "the clients are of two users: this needs root"; exit 77; }

say() { echo "$(date +%T) $*" | tee -a "$out/mps.txt"; }
bad() {
	say "NOT AS IT MUST BE: $*"
	failures=$((failures + 1))
}
good_if() { # WORDS COMMAND...
	local words=$1
	shift
	if "$@"; then say "good: $words"; else bad "$words"; fi
}
gone() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ -d "/proc/$1" ] || return 0
		sleep 0.05
	done
	return 1
}
stop_daemon() {
	[ -n "$daemon" ] || return 0
	kill "$daemon" 2>/dev/null
	gone "$daemon" || kill -9 "$daemon"
	daemon=
}
finish() {
	stop_daemon
	cp "$tmp/log" "$out/gpushared.log" 2>/dev/null
	cp "$tmp"/mps/log/* "$tmp/mps/output" "$out/" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT

# Everybody must be able to read what the second user runs.
chmod 755 "$tmp"
mkdir "$tmp/bin" "$tmp/shim"
cp "$build"/gpusharectl "$build"/gpushare-demo-triad "$build"/gpushare-demo-matmul "$tmp/bin/"
cp -P "$build"/src/device/shim/.libs/libcuda.so* "$tmp/shim/"
chmod -R a+rX "$tmp/bin" "$tmp/shim"
export GPUSHARE_SOCKET=$tmp/sock PATH=$tmp/bin:$build:$PATH
: >"$out/mps.txt"

for control_program in "$(command -v nvidia-cuda-mps-control)" /usr/bin/nvidia-cuda-mps-control /usr/local/nvidia/bin/nvidia-cuda-mps-control; do
	[ ! -x "$control_program" ] || break
done

start_daemon() { # EVICT-DEADLINE
	printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$tmp/log" ReportToSlurm=no AllowLocal=yes VariantMin=0 \
		"ShimDir=$tmp/shim" "Gpu=0 Memory=32G" "Partition=low Priority=1" "Partition=high Priority=10" \
		Policy=rr PolicyParameters=rr_quantum=5ms "EvictDeadline=$1" Isolation=mps "MpsDir=$tmp/mps" "${CONF:-}" >"$tmp/conf"
	timeout 40 gpushared --config "$tmp/conf" || return 1
	daemon=$(cat "$tmp/pid")
	servers=$(control get_server_list)
	say "MPS's servers: $servers"
}
control() { # COMMAND: MPS's answer
	echo "$*" | CUDA_MPS_PIPE_DIRECTORY=$tmp/mps timeout 10 "$control_program"
}
run() { timeout 30 gpusharectl run --mem 4G "$@"; }
as_other() { # COMMAND LINE
	timeout 30 su -s /bin/bash "$other" -c "cd / && GPUSHARE_SOCKET=$tmp/sock PATH=$tmp/bin:\$PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} HOME=/ gpusharectl run --mem 4G $1"
}
preemptions() { timeout 5 gpusharectl report --json | python3 -c 'import json, sys; print(sum(r["preemptions"] for r in json.load(sys.stdin)))'; }

say "starting gpushared with Isolation=mps"
start_daemon 10s || { bad "gpushared starts"; cat "$tmp/log" "$tmp/mps/output" 2>/dev/null; exit 1; }
say "status: $(timeout 5 gpusharectl status | sed -n 3,4p)"

step_users() { # both compute at once, on one server, and are right
	local one two clients i s seen=0
	run --shares 40 --partition low -- gpushare-demo-triad --elements "${ELEMENTS:-16777216}" --passes 20000 --repeats "${REPEATS:-200}" >"$tmp/one" 2>&1 & one=$!
	as_other "--shares 40 --partition low -- gpushare-demo-matmul --tiles 64 --repeats ${MATMULS:-2000}" >"$tmp/two" 2>&1 & two=$!
	for ((i = 0; i < 60; i++)); do
		clients=0
		for s in $(control get_server_list); do
			clients=$((clients + $(control get_client_list "$s" 2>/dev/null | grep -c '[0-9]')))
		done
		[ "$clients" -gt "$seen" ] && seen=$clients
		[ "$seen" -ge 2 ] && break
		sleep 0.1
	done
	good_if "two clients on one MPS server (seen: $seen)" [ "$seen" -ge 2 ]
	say "MPS's servers: $(control get_server_list | tr '\n' ' ')"
	good_if "still one server" [ "$(control get_server_list)" = "$servers" ]
	good_if "root's program is right" wait $one
	good_if "$other's program is right" wait $two
	tail -n 2 "$tmp/one" "$tmp/two" | tee -a "$out/mps.txt"
	say "preemptions: $(preemptions)"
}

# A grid of less than a wave has no preemption point; its kernels take longer than the deadline: MPS ends the client, the other one is right.
step_stuck() {
	local one two rc
	stop_daemon
	start_daemon 1ms || { bad "gpushared starts again"; return; }
	run --shares 40 --partition low -- gpushare-demo-triad --elements 4096 --passes "${STUCK:-1000000}" --repeats 4000 >"$tmp/one" 2>&1 & one=$!
	sleep 3
	as_other "--shares 40 --partition high -- gpushare-demo-matmul --tiles 64 --repeats ${MATMULS:-400}" >"$tmp/two" 2>&1 & two=$!
	good_if "the neighbour of a terminated client is right" wait $two
	wait $one
	rc=$?
	say "the client that did not leave ended with status $rc: $(tail -n 1 "$tmp/one")"
	tail -n 2 "$tmp/two" | tee -a "$out/mps.txt"
	good_if "gpushared had it terminated" grep -q ': terminated in MPS' "$tmp/log"
	as_other "--shares 40 -- gpushare-demo-matmul --tiles 16" >"$tmp/two" 2>&1
	good_if "a new client works" [ $? = 0 ]
	grep -i 'mps\|overdue\|have not left' "$tmp/log" | tail -n 8 | tee -a "$out/mps.txt"
}

step_stop() {
	local pid
	pid=$(cut -d' ' -f1 "$tmp/mps/gpushared.control")
	stop_daemon
	good_if "MPS's control daemon ends with gpushared" gone "$pid"
	good_if "its server too" gone "$servers"
	tail -n 2 "$tmp/log" | tee -a "$out/mps.txt"
}

step_bench() {
	local line=()
	[ -z "${CONF:-}" ] || while read -r l; do line+=(--conf "$l"); done <<<"$CONF"
	timeout 25 "$build/gpushare-bench" handover --isolation mps --count 60 --length 1 --shim "$tmp/shim" "${line[@]}" --output "$out/handover" 2>&1 | tee -a "$out/mps.txt"
	[ "${PIPESTATUS[0]}" = 0 ] || bad "gpushare-bench handover --isolation mps"
	timeout 25 "$build/gpushare-bench" pair --isolation mps --count 150 --together 3 --shim "$tmp/shim" "${line[@]}" --output "$out/pair" 2>&1 | tee -a "$out/mps.txt"
	[ "${PIPESTATUS[0]}" = 0 ] || bad "gpushare-bench pair --isolation mps"
}

for step in ${STEPS:-users stuck stop bench}; do
	say "step $step"
	"step_$step"
done
say "$failures not as they must be"
[ "$failures" = 0 ]
