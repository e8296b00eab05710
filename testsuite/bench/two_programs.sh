#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A long and a short program on one GPU: under the driver's own sharing and under gpushare, side by side in one run.
#
# usage: two_programs.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree; DRIVER the libcuda.so.1 (default: the system's)
# environment: LONG, SHORT (commands), ROUNDS (3), POLICIES ("piv frs"), DELAY (0.3: seconds that the long one computes before the short one starts)
set -euo pipefail
build=$(realpath "$1") out=$2 driver=${3:-}
PATH=$build:$PATH
tmp=$(mktemp -d)
daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	rm -rf "$tmp"
}
trap finish EXIT
read -r -a long <<<"${LONG:-gpushare-demo-triad --elements 67108864 --passes 20000}"
read -r -a short <<<"${SHORT:-gpushare-demo-matmul --tiles 128 --repeats 20}"
rounds=${ROUNDS:-3}
[ -z "$driver" ] || native_path=$(dirname "$driver")
row() { echo "$*" | tee -a "$out"; }

took() { sed -n 's/.* took \([0-9.]*\) ms.*/\1/p' "$1"; }
native() { timeout 120 env ${native_path:+LD_LIBRARY_PATH=$native_path} "$@"; }
shared() { timeout 120 gpusharectl run --shares 40 --mem 4G --partition "$@"; }

# The long one has been on the GPU for DELAY seconds.
computing() {
	local i
	for ((i = 0; i < 600; i++)); do
		grep -q computing "$tmp/long" && break
		sleep 0.05
	done
	sleep "${DELAY:-0.3}"
}

# pair MODE: the long one, DELAY later the short one; both must be right.
pair() {
	local mode=$1 policy=$2 job
	if [ "$mode" = native ]; then
		: >"$tmp/long"
		native "${long[@]}" >"$tmp/long" & job=$!
		computing
		native "${short[@]}" >"$tmp/short" || { cat "$tmp/short"; exit 1; }
	else
		: >"$tmp/long"
		shared low -- "${long[@]}" >"$tmp/long" & job=$!
		computing
		shared high -- "${short[@]}" >"$tmp/short" || { cat "$tmp/short"; exit 1; }
	fi
	wait $job || { cat "$tmp/long"; exit 1; }
	row "$mode,$policy,pair,long,ms,$(took "$tmp/long")"
	row "$mode,$policy,pair,short,ms,$(took "$tmp/short")"
}

alone() {
	local mode=$1 policy=$2 which=$3
	shift 3
	if [ "$mode" = native ]; then native "$@" >"$tmp/one"; else shared low -- "$@" >"$tmp/one"; fi ||
		{ cat "$tmp/one"; exit 1; }
	row "$mode,$policy,alone,$which,ms,$(took "$tmp/one")"
}

report() {
	timeout 5 gpusharectl report --json | python3 -c '
import json, sys
for r in json.load(sys.stdin)[-2:]:
    for k in ("ntt", "waiting_ms", "turnaround_ms", "active_ms", "preemptions", "evict_p50_us", "evict_p99_us"):
        print("gpushare,%s,pair,%s,%s,%s" % (sys.argv[1], r["partition"], k, r[k]))' "$1" | tee -a "$out"
}

start_daemon() {
	export GPUSHARE_SOCKET=$tmp/sock
	cat >"$tmp/conf" <<-END
	Socket=$tmp/sock
	PidFile=$tmp/pid
	LogFile=$tmp/log
	ReportToSlurm=no
	AllowLocal=yes
	VariantMin=0
	ShimDir=$build/src/device/shim/.libs
	${driver:+Driver=$driver}
	JobEnv=GPUSHARE_EMU_DEVICE=$tmp/device
	Gpu=0 Memory=${MEMORY:-16G}
	Partition=low Priority=1
	Partition=high Priority=10
	Policy=$1
	END
	timeout 20 gpushared --config "$tmp/conf"
	daemon=$(cat "$tmp/pid")
}

: >"$out"
row "mode,policy,setting,program,measure,value"
for ((i = 0; i < rounds; i++)); do
	alone native driver long "${long[@]}"
	alone native driver short "${short[@]}"
	pair native driver
done
for policy in ${POLICIES:-piv frs}; do
	start_daemon "$policy"
	for ((i = 0; i < rounds; i++)); do
		alone gpushare "$policy" long "${long[@]}"
		alone gpushare "$policy" short "${short[@]}"
		pair gpushare "$policy"
		report "$policy"
	done
	kill "$daemon" && daemon=
	sleep 0.5
	[ -z "${KEEP_LOG:-}" ] || cp "$tmp/log" "$KEEP_LOG.$policy"
done
