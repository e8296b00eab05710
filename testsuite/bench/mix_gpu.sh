#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The mixes of FRS (nine lengths, Table I) and of EffiSha (eleven, Table 3, group priorities), live, beside the driver's
# time slicing and MPS in the same run, and each policy beside the simulator.
#
# usage: mix_gpu.sh BUILD OUT-FOLDER
#   BUILD   the build tree (make all)
# environment: STEPS="all mps effisha", of
#     all      every policy, the driver and MPS, ROUNDS=60
#     mps      Isolation=mps: POLICIES_MPS="frs srt", ROUNDS_MPS=80
#     effisha  POLICIES_EFFISHA="piv frs dprr srt", the driver and MPS, ROUNDS_EFFISHA=12
#     frs      POLICIES_FRS="frs srt" alone, ROUNDS_FRS=120: with less chance in the spread of the slowdowns (40 rounds leave it uncertain by 0.04)
#   DRIVER (a libcuda.so.1), CONF (further lines of gpushare.conf), SCALE=1 (of the lengths and arrivals),
#   TOTAL=150 (seconds; a step that is not over by then writes what it has), MORE (further options of gpushare-bench mix)
# Writes mix-all, mix-mps, mix-effisha and mix-frs with .csv, -kernels.csv, .svg and -trace.json, and mix.txt, into OUT-FOLDER.
# Exit status 1: a step failed or was cut short.
set -uo pipefail
build=$(realpath "$1")
mkdir -p "$2" && out=$(realpath "$2")
workloads=$(realpath "$(dirname "$0")/../workloads")
scale=${SCALE:-1}
failures=0
: >"$out/mix.txt"
export PATH=$build:$PATH
# gpushared runs as its own MPS what this names.
for folder in "${MPS_BIN:-}" /usr/bin /usr/local/nvidia/bin; do
	[ -n "$folder" ] && [ -x "$folder/nvidia-cuda-mps-control" ] && { PATH=$PATH:$folder; break; }
done

say() { echo "$(date +%T) $*" | tee -a "$out/mix.txt"; }

conf=(--conf MemoryAdmission=fcfs) # nobody waits for memory here
[ -z "${CONF:-}" ] || while read -r line; do conf+=(--conf "$line"); done <<<"$CONF"
if [ -n "${DRIVER:-}" ]; then
	conf+=(--driver "$DRIVER")
	LD_LIBRARY_PATH=${DRIVER%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # of MPS's server
	export LD_LIBRARY_PATH
fi
beside=()
if command -v nvidia-cuda-mps-control >/dev/null; then beside=(--mps); else say "no nvidia-cuda-mps-control: nothing beside MPS"; fi

mix() { # NAME WORKLOAD GAP OPTION...: gap in ms, of the unscaled workload
	local name=$1 workload=$2 gap=$3 began=$SECONDS left=$((${TOTAL:-150} - SECONDS))
	shift 3
	[ "$left" -ge 10 ] || { say "$name: no time left"; failures=$((failures + 1)); return; }
	# shellcheck disable=SC2086
	timeout -k 20 "$left" gpushare-bench mix --shim "$build/src/device/shim/.libs" --workload "$workloads/$workload" \
		--scale "$scale" --gap "$(awk "BEGIN { print $gap * $scale }")" --output "$out/$name" "${conf[@]}" ${MORE:-} "$@" 2>&1 | tee -a "$out/mix.txt"
	[ "${PIPESTATUS[0]}" = 0 ] || { say "$name FAILED"; failures=$((failures + 1)); }
	say "$name took $((SECONDS - began)) s"
}
commas() { local IFS=,; echo "$*"; }

# shellcheck disable=SC2086
step_frs() { mix mix-frs frs-table1.csv 1 --shuffle --rounds "${ROUNDS_FRS:-120}" --isolation contexts --policy "$(commas ${POLICIES_FRS:-frs srt})"; }
step_all() { mix mix-all frs-table1.csv 1 --shuffle --rounds "${ROUNDS:-60}" --isolation none,contexts "${beside[@]}"; }
# In the table's order, as in the paper: its priorities are part of the experiment.
# shellcheck disable=SC2086
step_effisha() { mix mix-effisha effisha-group.csv 3 --rounds "${ROUNDS_EFFISHA:-12}" --isolation none,contexts "${beside[@]}" --policy "$(commas ${POLICIES_EFFISHA:-piv frs dprr srt})"; }
# shellcheck disable=SC2086
step_mps() { mix mix-mps frs-table1.csv 1 --shuffle --rounds "${ROUNDS_MPS:-80}" --isolation mps --policy "$(commas ${POLICIES_MPS:-frs srt})"; }

for step in ${STEPS:-all mps effisha}; do
	say "step $step"
	"step_$step"
done
say "$failures failed, $SECONDS s in all"
[ "$failures" = 0 ]
