#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two equal programs under MPS on a real GPU: what CoRun=smk brings, beside turns, for programs that compute and that wait for memory.
#
# usage: corun_gpu.sh BUILD OUT-FOLDER [DRIVER]
#   BUILD   the build tree (make all); DRIVER the machine's libcuda.so.1 (default: the system's)
# environment: PAIRS="compute+memory compute+compute matmul+memory matmul+compute", LIMIT=60 (seconds for a pair), SECONDS_EACH=6 (of a program
#   alone, about), CONF (further lines of gpushare.conf)
# Writes corun-live.csv: seconds that both need, and the same over the sum of what each needs alone; and gpushared's logs. Prints both.
# Exit status 1: a program was not right, or beside each other both need more than 1.03 of what they need in turns; 77: no driver.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '5,11p' "$0"; exit 2; }
build=$(realpath "$1")
mkdir -p "$2" && out=$(realpath "$2")
driver=${3:-}
for d in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
	[ -n "$driver" ] || [ ! -e "$d/libcuda.so.1" ] || driver=$d/libcuda.so.1
done
[ -e "$driver" ] || { echo "no driver"; exit 77; }
limit=${LIMIT:-60}
tmp=$(mktemp -d)
pid=
failures=0
export PATH=$build:$PATH:/usr/bin:/usr/local/nvidia/bin LD_LIBRARY_PATH=${driver%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
stop_daemon() {
	[ -z "$pid" ] || { kill "$pid" && timeout 20 tail --pid="$pid" -f /dev/null; }
	pid=
}
trap 'stop_daemon; rm -rf "$tmp"' EXIT
start_daemon() { # WAY
	printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$out/$1.log" ReportToSlurm=no AllowLocal=yes VariantMin=0 "Driver=$driver" \
		"ShimDir=$build/src/device/shim/.libs" "Gpu=0 Memory=64G" "Partition=main Priority=10" Isolation=mps "MpsDir=$tmp/mps" "CoRun=$1" "${CONF:-}" >"$tmp/conf"
	timeout 40 gpushared --config "$tmp/conf" || return 1
	pid=$(cat "$tmp/pid")
}
each=${SECONDS_EACH:-6}
program() { # NAME: its command
	case $1 in
	compute*) echo gpushare-demo-triad --elements 16777216 --passes 5000 --repeats $((340 * each)) ;;
	memory*) echo gpushare-demo-triad --elements 268435456 --passes 1 --repeats $((1200 * each)) ;;
	matmul*) echo gpushare-demo-matmul --tiles 256 --rows 8 --repeats $((40 * each)) ;;
	esac
}
# What counts is the time that the program says, without its start.
begin() { # NAME FILE
	# shellcheck disable=SC2046
	timeout -k 5 "$limit" gpusharectl --socket "$tmp/sock" run --shares 40 --mem 8G --partition main -- $(program "$1") >"$tmp/$2" 2>&1 &
}
took() { sed -nE 's/.* ([0-9.]+) ms.*/\1/p' "$tmp/$1" | head -n 1; }
bad() {
	echo "NOT AS IT MUST BE: $*"
	failures=$((failures + 1))
}

echo "way,first,second,first_alone_s,second_alone_s,both_s,per_sum" >"$out/corun-live.csv"
declare -A alone together
start_daemon no || { cat "$out/no.log"; exit 1; }
for name in compute memory matmul; do
	begin $name alone
	wait $! || bad "$name alone: $(tail -n 2 "$tmp/alone")"
	alone[$name]=$(took alone)
	echo "$name alone: $(head -n 1 "$tmp/alone")"
done
stop_daemon
for way in no smk; do
	start_daemon $way || { cat "$out/$way.log"; exit 1; }
	for pair in ${PAIRS:-compute+memory compute+compute matmul+memory matmul+compute}; do
		one=${pair%+*} two=${pair#*+}
		began=$(date +%s.%N)
		begin "$one" one
		first=$!
		begin "$two" two
		wait $first || bad "$one beside $two: $(tail -n 2 "$tmp/one")"
		wait $! || bad "$two beside $one: $(tail -n 2 "$tmp/two")"
		ended=$(date +%s.%N)
		read -r both per <<<"$(awk -v a="${alone[$one]}" -v b="${alone[$two]}" -v x="$(took one)" -v y="$(took two)" \
			'BEGIN { m = x > y ? x : y; printf "%.2f %.3f\n", m / 1e3, m / (a + b) }')"
		together[$way$pair]=$both
		echo "$way,$one,$two,$(awk "BEGIN { printf \"%.2f,%.2f\", ${alone[$one]} / 1e3, ${alone[$two]} / 1e3 }"),$both,$per" | tee -a "$out/corun-live.csv"
		echo "  $one $(took one) ms, $two $(took two) ms, $(awk "BEGIN { print $ended - $began }") s with their starts"
	done
	stop_daemon
	grep -E 'parts of the GPU' "$out/$way.log" | sed 's/.*gpushared: info: //'
done
for pair in ${PAIRS:-compute+memory compute+compute matmul+memory matmul+compute}; do
	awk "BEGIN { exit !(${together[smk$pair]} <= 1.03 * ${together[no$pair]}) }" || bad "$pair: ${together[smk$pair]} s on parts, ${together[no$pair]} s in turns"
done
[ "$failures" = 0 ]
