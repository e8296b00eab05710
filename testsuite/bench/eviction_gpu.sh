#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the time of an eviction goes, on a real GPU: `gpushare-bench eviction` with one setting changed at a time.
#
# usage: eviction_gpu.sh BUILD OUT-FOLDER [DRIVER]
#   BUILD   the build tree (make all); DRIVER the libcuda.so.1 (default: the system's)
# environment: COUNT=150 (evictions of each length), TASKS=1us,10us (lengths of block-tasks), CONF (a further line for all),
#   VARIANTS="default lead0 lead20 memop norealtime"
# Writes NAME.csv for each variant and eviction.txt into OUT-FOLDER; about 8 s each on an H200.
set -uo pipefail
build=$(realpath "$1") out=$2 driver=${3:-}
mkdir -p "$out" && out=$(realpath "$out")
failures=0

{
	uname -a
	nproc
	cat /sys/devices/system/cpu/cpuidle/current_driver /sys/devices/system/cpu/cpuidle/current_governor 2>/dev/null
	ls -l /dev/cpu_dma_latency 2>&1
} | tee "$out/eviction.txt"

variant() { # NAME [CONF-LINE]...
	local name=$1 line=() began=$SECONDS
	shift
	for l in "$@" ${CONF:+"$CONF"}; do line+=(--conf "$l"); done
	echo "== $name: $*" | tee -a "$out/eviction.txt"
	PATH=$build:$PATH timeout 40 gpushare-bench eviction --task "${TASKS:-1us,10us}" --count "${COUNT:-150}" --shim "$build/src/device/shim/.libs" \
		${driver:+--driver "$driver"} --conf MemoryAdmission=fcfs "${line[@]}" --output "$out/$name" 2>&1 | tee -a "$out/eviction.txt"
	[ "${PIPESTATUS[0]}" = 0 ] || failures=$((failures + 1))
	echo "$((SECONDS - began)) s" | tee -a "$out/eviction.txt"
}

for v in ${VARIANTS:-default lead0 lead20 memop norealtime}; do
	case $v in
	default) variant default ;;
	lead0) variant lead0 PolicyParameters=handover_lead=0 ;;
	lead20) variant lead20 PolicyParameters=handover_lead=20us ;;
	memop) variant memop PolicyParameters=eviction_signal=memop,handover_lead=0 ;;
	norealtime) variant norealtime RealTime=no PolicyParameters=handover_lead=0 ;;
	*) echo "no such variant: $v"; exit 2 ;;
	esac
done
[ "$failures" = 0 ]
