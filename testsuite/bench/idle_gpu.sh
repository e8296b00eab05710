#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IdleReclaim on a real GPU, as testsuite/e2e/idle.sh shows it on the emulated one. A notebook sleeps, its memory goes to a neighbour for
# which there is no room beside it, and the notebook has it again when it wakes, while the neighbour sleeps in its turn.
#
# usage: idle_gpu.sh BUILD OUT-FOLDER [DRIVER]   (as root; PyTorch for CASES=torch, nvcc or PROGRAM= for CASES=nvcc)
#   BUILD   the build tree (make all); DRIVER the libcuda.so.1 (default: the system's)
# environment, with what it is without:
#   CASES="nvcc torch"  the programs: idle_notebook.cu with CUDA's shared runtime, idle_notebook.py
#   MIB=4096            what each fills; MORE=2048 MiB on top of that are reserved for its context and its libraries
#   IDLE=3              IdleReclaim=, in seconds
#   LIMIT=88            seconds for all of it
#   PROGRAM             idle_notebook.cu compiled already; ARCH=native (nvcc's)
# Writes idle.csv, status.txt (what `gpusharectl status` said meanwhile), the daemon's log and the programs' output into OUT-FOLDER, and a
# table to standard output last. Exit status 1: something was not as it must be.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,16s/^# \{0,1\}//p' "$0"; exit 2; }
build=$(realpath "$1") out=$2 driver=${3:-}
here=$(realpath "$(dirname "$0")")
mkdir -p "$out" && out=$(realpath "$out")
PATH=$build:$PATH:/usr/local/cuda/bin
mib=${MIB:-4096} idle=${IDLE:-3} end=$((SECONDS + ${LIMIT:-88}))
reserved=$((mib + ${MORE:-2048}))
room=$((reserved * 3 / 2)) # for one of the two
tmp=$(mktemp -d)
chmod 755 "$tmp"
export GPUSHARE_SOCKET=$tmp/sock
failures=0 jobs=() emulated=
[[ "$driver" != */emu/* ]] || emulated=compute_75 # and PTX for it

finish() {
	local pid
	for pid in ${jobs[@]+"${jobs[@]}"} $(cat "$tmp/pid" 2>/dev/null); do kill "$pid" 2>/dev/null; done
	for pid in ${jobs[@]+"${jobs[@]}"}; do wait "$pid" 2>/dev/null; done
	rm -rf "$tmp"
}
trap finish EXIT
say() { echo "$(date +%T) $*"; }
bad() {
	say "NOT AS IT MUST BE: $*"
	failures=$((failures + 1))
}
until_true() { # COMMAND...: within the time that is left
	until "$@"; do
		[ $SECONDS -lt $end ] || { bad "no time left until: $*"; return 1; }
		sleep 0.02
	done 2>/dev/null
}
since() { awk -v from="$1" -v now="$EPOCHREALTIME" 'BEGIN { printf "%.2f", now - from }'; }

serve() {
	{
		printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$out/gpushared.log" ReportToSlurm=no AllowLocal=yes \
			"IdleReclaim=${idle}s" "ShimDir=$build/src/device/shim/.libs" "Gpu=0 Memory=${room}M" "Partition=low Priority=1" "Partition=high Priority=10" \
			"MemoryParameters=program=$build/gpushare-mem"
		[ -z "$driver" ] || echo "Driver=$driver"
		env | sed -n 's/^GPUSHARE_EMU_/JobEnv=&/p'
	} >"$tmp/conf"
	rm -f "$out/gpushared.log"
	timeout 20 gpushared --config "$tmp/conf"
}
# The value of COLUMN of the newest step of PARTITION.
row() { # COLUMN PARTITION
	timeout 5 gpusharectl "${3:-status}" --json | python3 -c 'import json, sys
rows = json.load(sys.stdin)
rows = [r for r in (rows["steps"] if isinstance(rows, dict) else rows) if r["partition"] == sys.argv[2]]
print(rows[-1][sys.argv[1]] if rows else "")' "$1" "$2"
}
says_idle() { [[ "$(row reason low)" == *idle\ since* ]]; }
state_is() { [ "$(row state "$1")" = "$2" ]; } # PARTITION STATE
show() {
	echo "--- $*"
	timeout 5 gpusharectl status
	! command -v nvidia-smi >/dev/null || echo "of the GPU's memory in use: $(nvidia-smi --query-gpu=memory.used --format=csv,noheader)"
} >>"$out/status.txt" 2>&1

notebook() { # PARTITION COMMAND...
	mkdir "$tmp/$1"
	timeout "${LIMIT:-88}" gpusharectl run --shares 10 --mem "${reserved}M" --partition "$1" -- "${@:2}" "$mib" "$tmp/$1" >>"$out/$1.out" 2>&1 &
	jobs+=($!)
}
# ends PARTITION PID: with right results; they are in $woke and $wrong then
ends() {
	wait "$2" || bad "the program in $1 ended with status $?: $(tail -n 2 "$out/$1.out")"
	woke=none wrong=none
	[ ! -s "$tmp/$1/done" ] || read -r woke wrong of <"$tmp/$1/done"
	[ "$wrong" = 0 ] || bad "$wrong results of the program in $1 are wrong"
}

# The sequence of idle.sh's `both`.
sequence() { # NAME COMMAND...
	local name=$1 low high begun waited moved_s back_s low_woke low_wrong
	shift
	rm -rf "$tmp/low" "$tmp/high"
	jobs=()
	notebook low "$@"
	low=${jobs[-1]}
	until_true test -s "$tmp/low/ready" || return 1
	until_true says_idle || return 1
	show "$name: the notebook sleeps"
	begun=$EPOCHREALTIME
	notebook high "$@"
	high=${jobs[-1]}
	until_true test -s "$tmp/high/ready" || return 1
	waited=$(since "$begun")
	show "$name: the neighbour has the memory"
	state_is low moved || bad "$name: the notebook is $(row state low) while the neighbour has the memory"
	: >"$tmp/low/wake" # the neighbour sleeps by now, too
	until_true test -s "$tmp/low/done" || return 1
	show "$name: the notebook has woken"
	moved_s=$(row to_host_s low report) back_s=$(row to_device_s low report)
	ends low "$low"
	low_woke=$woke low_wrong=$wrong
	: >"$tmp/high/wake"
	until_true test -s "$tmp/high/done" || return 1
	ends high "$high"
	echo "$name,$mib,$(cat "$tmp/low/ready"),$waited,$(cat "$tmp/high/ready"),$moved_s,$back_s,$low_woke,$low_wrong,$woke,$wrong,$of" >>"$out/idle.csv"
}

case_torch() {
	python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' || { say "torch: no PyTorch with a GPU here"; return; }
	sequence torch python3 "$here/idle_notebook.py"
}
case_nvcc() {
	local program=${PROGRAM:-$tmp/idle_notebook} runtime
	[ -n "${PROGRAM:-}" ] || {
		command -v nvcc >/dev/null || { say "nvcc: there is none here, and no PROGRAM="; return; }
		nvcc -std=c++17 -cudart shared -arch="${ARCH:-${emulated:-native}}" -o "$program" "$here/idle_notebook.cu" || { bad "idle_notebook.cu does not compile"; return; }
	}
	runtime=${LD_LIBRARY_PATH:-}
	if [ -n "$emulated" ]; then
		runtime=$build/src/device/cudart/.libs:$runtime
	elif command -v nvcc >/dev/null; then
		runtime=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")/lib64:$runtime
	fi
	LD_LIBRARY_PATH=$runtime sequence nvcc "$program"
}

echo "program,mib,notebook_first_call_s,neighbour_ready_s,neighbour_first_call_s,to_host_s,to_device_s,woke_s,wrong,neighbour_woke_s,neighbour_wrong,results" >"$out/idle.csv"
: >"$out/status.txt"
: >"$out/low.out"
: >"$out/high.out"
serve || { echo "gpushared does not start"; exit 1; }
for c in ${CASES:-nvcc torch}; do
	"case_$c"
done
echo
cat "$out/status.txt"
grep -E "idle|its memory|is back|goes on|is on the host" "$out/gpushared.log"
[ $failures = 0 ] || cat "$out/low.out" "$out/high.out"
echo
[ "$(wc -l <"$out/idle.csv")" -gt 1 ] || bad "nothing was measured"
python3 -c 'import csv, sys
print("IdleReclaim=%s s" % sys.argv[2])
line = "%-8s %7s %13s %10s %12s %11s %13s %16s"
print(line % ("program", "MiB", "to the host s", "and back s", "neighbour s", "next call s", "results wrong", "neighbours wrong"))
for r in csv.DictReader(open(sys.argv[1])):
    print(line % (r["program"], r["mib"], r["to_host_s"], r["to_device_s"], r["neighbour_ready_s"], r["woke_s"], r["wrong"], r["neighbour_wrong"]))' "$out/idle.csv" "$idle"
say "$failures not as they must be"
exit $((failures != 0))
