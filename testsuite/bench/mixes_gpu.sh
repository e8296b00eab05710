#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every mix of programs that a bar is set for: one mix on each GPU, all GPUs of a machine at the same time.
#
# usage: mixes_gpu.sh BUILD OUT-FOLDER   (as root; PyTorch; MPS's programs)
#   BUILD   the build tree (make all)
# environment: STEPS="ddp pair equals requests even ddp-mps", in this order:
#     ddp       two data-parallel jobs, every policy, contexts: on two GPUs, with nothing beside them (5 minutes); ddp-mps: the same in mps
#     pair      gpushare-bench pair, contexts and mps, with nothing beside it (1 minute)
#     equals    gpt+gpt, gpt+big, flood, long2 (6 minutes on one GPU)
#     requests  request-graph and request-eager beside gpt and big, every way (15 minutes on one GPU)
#     even      gpt+gpt, big+big and long2 for 20 s after the first 10 (6 minutes on one GPU)
#   LIMIT=590     seconds for all of it: what would not end in time is cut short, and what has not begun is named
#   GPUS="0 1"    these (default: all)
#   POLICIES=all  of ddp and ddp-mps: a few alone are nearer in time to their references, which differed by up to 11 % within five minutes
#   CONF=...      further lines of gpushare.conf, for a trial
#   QUIET=yes     one mix at a time: a request's 99th percentile is worse beside another mix's processes
# Writes NAME.csv and NAME.txt of each run into OUT-FOLDER, and bars.txt: which bars are met, which are missed, which are void,
# of the runs of this call.
# Exit status 1: a run failed or was cut short, or a bar is not met.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,20s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") build=$(realpath "$1")
mkdir -p "$2" && out=$(realpath "$2") || exit 2
export PATH=$build:$PATH NCCL_NVLS_ENABLE=0
read -ra gpus <<<"${GPUS:-$(nvidia-smi -L | sed -n 's/^GPU \([0-9]*\):.*/\1/p' | xargs)}"
[ ${#gpus[@]} != 0 ] || { echo "mixes_gpu.sh: there is no GPU here"; exit 1; }
[ -z "${QUIET:-}" ] || gpus=("${gpus[0]}")
end=$((SECONDS + ${LIMIT:-590}))
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
common=(--shim "$build/src/device/shim/.libs")
[ -z "${CONF:-}" ] || while read -r line; do common+=(--conf "$line"); done <<<"$CONF"
scripts=(--scripts "$here/../../src/gpushare/bench")

# run NAME SECONDS COMMAND...: bounded by what is left; a run that would have less than half of SECONDS is not begun.
run() {
	local name=$1 began=$SECONDS left=$((end - SECONDS)) rc
	if [ $left -lt $(($2 / 2)) ]; then echo "$name: not begun, no time is left" | tee -a "$tmp/failed"; return; fi
	echo "$out/$name.txt" >>"$tmp/ran"
	timeout -k 10 $(($2 * 2 < left ? $2 * 2 : left)) "${@:3}" --output "$out/$name" >"$out/$name.txt" 2>&1
	rc=$?
	echo "$(date +%T) $name: exit status $rc, $((SECONDS - began)) s"
	[ $rc = 0 ] || echo "$name: exit status $rc" >>"$tmp/failed"
}
# mix NAME SECONDS GPUS OPTION... MIX
mix() { run "$1" "$2" gpushare-bench mixes --gpu "$3" "${common[@]}" "${scripts[@]}" --rounds 1 "${@:4}"; }

# later NAME SECONDS OPTION... MIX: as soon as a GPU is free.
later() { printf '%s\n' "$*" >>"$tmp/later"; }
take() { # the next line of the list
	local line
	{
		flock 9
		line=$(head -n 1 "$tmp/later") && sed -i 1d "$tmp/later"
	} 9>"$tmp/lock"
	echo "$line"
}
work_off() { # GPU
	local line
	while line=$(take) && [ -n "$line" ]; do
		read -ra line <<<"$line"
		mix "${line[0]}" "${line[1]}" "$1" "${line[@]:2}"
	done
}
on_all_gpus() {
	local gpu workers=()
	for gpu in "${gpus[@]}"; do work_off "$gpu" & workers+=($!); done
	wait "${workers[@]}"
}

data_parallel() { # NAME WAY
	if [ ${#gpus[@]} -lt 2 ]; then echo "$1: one GPU, not run" | tee -a "$tmp/failed"; return; fi
	mix "$1" 300 "${gpus[0]},${gpus[1]}" --ways "time-slicing,$2" -p "${POLICIES:-all}" ddp
}
step_ddp() { data_parallel ddp contexts; }
step_ddp-mps() { data_parallel ddp-mps gpushare-mps; }
step_pair() {
	run pair-contexts 30 gpushare-bench pair -i none,contexts "${common[@]}"
	run pair-mps 30 gpushare-bench pair -i none,mps "${common[@]}"
}
step_equals() {
	later gpt-gpt 145 --ways time-slicing,mps,contexts,gpushare-mps gpt+gpt
	later gpt-big 110 --ways time-slicing,contexts,gpushare-mps gpt+big
	later flood 75 --ways time-slicing,contexts,gpushare-mps flood
	later long2 50 --ways time-slicing,contexts long2
}
step_requests() {
	local request other
	for other in gpt big; do
		for request in eager graph; do
			later "$request-$other" 230 --seconds 20 --ways time-slicing,mps-priorities,contexts,gpushare-mps "request-$request+$other"
		done
	done
}
step_even() {
	local each=(--skip 10 --seconds 20 --ways contexts,gpushare-mps)
	later even-gpt 125 "${each[@]}" gpt+gpt
	later even-big 110 "${each[@]}" big+big
	later even-long 100 "${each[@]}" long2
}

: >"$tmp/later" && : >"$tmp/failed" && : >"$tmp/ran"
for step in ${STEPS:-ddp pair equals requests even ddp-mps}; do
	# What has the machine to itself waits for all others.
	case $step in ddp | ddp-mps | pair) on_all_gpus ;; esac
	"step_$step" || exit 2
done
on_all_gpus
# OUT-FOLDER may have those of an earlier call, too.
mapfile -t ran <"$tmp/ran"
grep -hE '(met|SHORT|void)(: .*)?$' "${ran[@]}" /dev/null | grep -vE '^([0-9]|gpushare)' | sort -u >"$out/bars.txt"
cat "$out/bars.txt" "$tmp/failed"
[ ! -s "$tmp/failed" ] && ! grep -qE '(SHORT|void)(: .*)?$' "$out/bars.txt"
