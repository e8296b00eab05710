#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the bars of the issues need of a real GPU, measured step by step in little time, and which bars are met.
#
# usage: bars_gpu.sh [--limit SECONDS] BUILD OUT-FOLDER [DRIVER] [STEP...]
#        bars_gpu.sh --list [STEP...]
#   BUILD   the build tree (make all check TESTS=; for programs: testsuite/programs/bin compiled for this GPU, or nvcc)
#   DRIVER  the libcuda.so.1, with a / in it (default: the system's)
#   STEP    steps, issue4, issue5, issue7 and issue37 (what an issue needs), or call1 to call4 (each ends within ten minutes on an H200)
#   --limit SECONDS  what would not end within them is not begun (570)
# environment: MORE (further options of gpushare-bench's verbs but mix), PROGRAMS_BIN (compiled programs), SLURM_PACK (what
#   pack-slurm packed, unpacked: its root/ goes to / where there is no slurmctld; root), MPS_BIN (where nvidia-cuda-mps-control is)
# Each step leaves its files in OUT-FOLDER when it ends, all else in OUT-FOLDER/STEP, and a line in steps.csv; a step that takes half as
# long again as expected and 20 s more is ended. What was measured in several folders: bars.py FOLDER FOLDER...
# Exit status: 1 if a bar that was measured is not met or a step failed, 2 for a wrong argument.
set -uo pipefail
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
src=$(cd "$bench/../.." && pwd)

# step|seconds on an H200|call|issues|the files that it leaves, or FILE=KEPT-AS|command
table() {
	cat <<'END'
entries|76|1|7|entries.csv=allocations.csv|ENTRIES="limit pair contexts" memory entries
frames|88|1|7|entries.csv=local-memory.csv|FRAMES=100 ENTRIES_LIMIT=190 ENTRIES=frames memory entries
checkpoint|40|1|7|checkpoint.csv|memory checkpoint
random|20|1|7|random.txt|memory random
copies|98|1|37|copies.csv|verb copies
periodic|70|3|37|periodic.csv|verb periodic -i none,contexts --deadline 15 --count 80
price|13|1|4 7|price.csv|memory price
table2-slurm|60|1|7|table2-slurm.csv|slurm && table2 sbatch
table2|40|1|7|table2.csv|table2 run
mix-mps|30|2|5|mix-mps.csv mix-mps.svg|ROUNDS_MPS=140 POLICIES_MPS=srt mix mps
mix-frs|30|1|5|mix-frs.csv mix-frs.svg|ROUNDS_FRS=70 mix frs
mix-frs600|190|4|5|mix-frs.csv=mix-frs600.csv|ROUNDS_FRS=600 POLICIES_FRS="frs frsp" mix frs
mix-mps1500|240|2|5|mix-mps.csv=mix-mps1500.csv mix-mps.svg=mix-mps1500.svg|ROUNDS_MPS=1500 POLICIES_MPS=frs mix mps
mix-all|130|2|5|mix-all.csv mix-all.svg|ROUNDS=60 mix all
mix-effisha|70|2|5|mix-effisha.csv mix-effisha.svg|ROUNDS_EFFISHA=4 POLICIES_EFFISHA="fifo piv dprr sjf srt rr cfs frs" mix effisha
decide|5|2|5|decide.csv|"$build/sched_bench" >"$into/decide.csv"
handover|25|3|4|handover.csv|verb handover -i none,contexts,mps --count 150
pair|20|3|4|pair.csv|verb pair
mps-pair|21|3|4|mps-pair.csv|verb pair -i none,mps
eviction|25|3|4|eviction.csv|verb eviction --count 250
launch|15|3|4|launch.csv|verb launch
overhead|45|3|4|overhead.csv|verb overhead --kernels "$src/testsuite/ptx/kernels"
daemon|14|3|4|daemon.csv|verb daemon
torch|165|3|4|torch.csv|"$bench/torch_gpu.sh" "$build" "$into/torch.csv" "$driver"
programs|118|3|4|programs.csv|programs
END
}

# --- what the commands of the table are made of; they run in a bash of their own ---

verb() { # VERB OPTION...
	export LD_LIBRARY_PATH=${driver%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # of MPS's server
	# shellcheck disable=SC2086
	gpushare-bench "$@" --driver "$driver" --shim "$build/src/device/shim/.libs" --conf MemoryAdmission=fcfs --output "$into/$step" ${MORE:-}
}
memory() { STEPS=$1 "$bench/memory_gpu.sh" "$build" "$into" "$driver"; }
# It writes what it has when its time is over.
mix() { MORE='' DRIVER=$driver TOTAL=$((limit > 25 ? limit - 10 : 15)) STEPS=$1 "$bench/mix_gpu.sh" "$build" "$into"; }
table2() { # run|sbatch
	SUBMIT=$1 MEMORY=${MEMORY:-90000} "$bench/table2.sh" "$build" "$into/$step.csv" "$driver"
}
programs() {
	"$src/testsuite/programs/run-all" --driver "$driver" --build "$build" ${PROGRAMS_BIN:+--bin "$PROGRAMS_BIN"} --periods "1 10 100" \
		--timeout 40 --jobs 8 --csv "$into/programs.csv"
}
slurm() { # 77: there is none here
	local library
	PATH=$PATH:/usr/sbin:/usr/local/sbin
	if ! command -v slurmctld >/dev/null && [ -d "${SLURM_PACK:-}/root" ]; then
		cp -a "$SLURM_PACK/root/." / || return 1
	fi
	# Of the packed libraries only those that the machine lacks.
	if [ -r /opt/slurmlibs/env ]; then
		for library in /opt/slurmlibs/*.so*; do
			! ldconfig -p | grep -qF "$(basename "$library") " || rm -f "$library"
		done
		. /opt/slurmlibs/env
	fi
	command -v slurmctld slurmd sbatch munged >/dev/null || { echo "there is no Slurm here (SLURM_PACK)"; return 77; }
	[ "$(id -u)" = 0 ] || { echo "a Slurm cluster of its own needs root"; return 77; }
}
export -f verb memory mix table2 programs slurm

# --- choosing ---

usage() { sed -n '3,/^# Exit status/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
wrong() {
	echo "bars_gpu.sh: $* (--help)" >&2
	exit 2
}

# chosen WORD...: the table's lines that they name, each once and in its order; all without a word.
chosen() {
	table | awk -F'|' -v words="$*" '
		BEGIN { n = split(words, w, " "); for (k = 1; k <= n; k++) unknown[w[k]] = asked[w[k]] = 1 }
		{
			names = $1 " call" $3
			m = split($4, i, " ")
			for (k = 1; k <= m; k++) names = names " issue" i[k]
			yes = !n
			m = split(names, i, " ")
			for (k = 1; k <= m; k++) if (i[k] in asked) { yes = 1; delete unknown[i[k]] }
		}
		yes
		END { for (k in unknown) { print "bars_gpu.sh: there is no step \047" k "\047 (--list)" >"/dev/stderr"; exit 2 } }'
}

list=no total=570
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=yes; shift ;;
	--limit)
		[[ ${2:-} =~ ^[0-9]+$ ]] || wrong "--limit takes seconds"
		total=$2
		shift 2 ;;
	-h | --help) usage; exit 0 ;;
	-*) wrong "there is no option $1" ;;
	*) break ;;
	esac
done
if [ $list = yes ]; then
	lines=$(chosen "$@") || exit 2
	awk -F'|' 'BEGIN { print "step             seconds  call  issues  command" }
		{ s += $2; command = $0; for (k = 1; k < 6; k++) sub(/[^|]*\|/, "", command); printf "%-16s %7d %5d  %-6s  %s\n", $1, $2, $3, $4, command }
		END { printf "%-16s %7d\n", NR " in all", s }' <<<"$lines"
	exit 0
fi
[ $# -ge 2 ] || wrong "BUILD and OUT-FOLDER must be given"
[ -x "$1/gpushare-bench" ] || wrong "there is no gpushare-bench in $1"
build=$(realpath "$1") out=$2
shift 2
driver=
[[ ${1:-} != */* ]] || { driver=$1; shift; }
lines=$(chosen "$@") || exit 2
for d in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
	[ -n "$driver" ] || [ ! -e "$d/libcuda.so.1" ] || driver=$d/libcuda.so.1
done
[ -r "$driver" ] || wrong "there is no driver ${driver:-here}"
driver=$(realpath -s "$driver")
mkdir -p "$out" && out=$(realpath "$out") || exit 2

# What gpushared runs as its own MPS.
PATH=$build:$PATH
for d in "${MPS_BIN:-}" /usr/bin /usr/local/nvidia/bin; do
	[ -z "$d" ] || [ ! -x "$d/nvidia-cuda-mps-control" ] || { PATH=$PATH:$d; break; }
done
export bench src build driver PATH

# --- running ---

say() { echo "$(date +%T) $*"; }

# left_of MARK: the processes of a step, its daemons and their jobs among them.
left_of() { grep -lsazx "BARS_STEP=$1" /proc/[0-9]*/environ | cut -d/ -f3; }
# What a script has not ended itself when it is over.
end_step() { # MARK
	local how i pids
	for how in 0:6 TERM:6 KILL:6; do
		for ((i = 0; i < ${how#*:}; i++)); do
			pids=$(left_of "$1")
			[ -n "$pids" ] || return 0
			# shellcheck disable=SC2086
			[ $i != 0 ] || kill -"${how%:*}" $pids 2>/dev/null
			sleep 0.5
		done
	done
}

keep() { # FILES: of the step's folder, into OUT-FOLDER
	local file
	for file in $1; do
		[ ! -s "$into/${file%=*}" ] || cp "$into/${file%=*}" "$out/${file#*=}"
	done
}

# What an earlier run of the step left must not pass for this one's.
forget() { # FILES
	local file
	rm -rf "$into"
	for file in $1; do rm -f "$out/${file#*=}"; done
	[ -e "$out/steps.csv" ] || echo "step,status,seconds,expected" >"$out/steps.csv"
	sed -i "/^$step,/d" "$out/steps.csv"
}

running=
stopped=no
stop() {
	stopped=yes
	[ -z "$running" ] || kill "$running" 2>/dev/null
}
trap stop INT TERM

one() { # EXPECTED FILES COMMAND: the step's status
	local status began=$SECONDS mark=$$.$step
	forget "$2"
	mkdir -p "$into" || return 1
	limit=$(($1 * 3 / 2 + 20))
	[ $limit -lt $((total - SECONDS)) ] || limit=$((total - SECONDS))
	export step into limit
	# A script that is told to end stops its daemons, and is waited for.
	BARS_STEP=$mark timeout -k 20 "$limit" bash -c "trap : TERM; $3" >"$into/log" 2>&1 </dev/null &
	running=$!
	wait $running
	status=$?
	running=
	end_step "$mark"
	keep "$2"
	echo "$step,$status,$((SECONDS - began)),$1" >>"$out/steps.csv"
	return $status
}

SECONDS=0
count=$(wc -l <<<"$lines")
n=0 failed=() late=()
{ # for the first lines of what is committed
	date -u '+%F %H:%M UTC'
	git -C "$src" rev-parse --short HEAD 2>/dev/null
	! command -v nvidia-smi >/dev/null || timeout 20 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
} >"$out/machine.txt"
while IFS='|' read -r -u 3 step expected _ _ files command; do
	n=$((n + 1)) into=$out/$step began=$SECONDS
	if [ $((SECONDS + expected)) -gt "$total" ]; then
		say "step $n of $count: $step: not begun, its $expected s would end after the $total s"
		late+=("$step")
		continue
	fi
	say "step $n of $count: $step, about $expected s ($SECONDS of $total s are over)"
	one "$expected" "$files" "$command"
	status=$?
	say "step $n of $count: $step: $((SECONDS - began)) s, status $status"
	case $status in
	0) ;;
	77) tail -n 1 "$into/log" ;;
	*)
		failed+=("$step")
		tail -n 5 "$into/log" | sed 's/^/    /' ;;
	esac
	[ $stopped = no ] || break
done 3<<<"$lines"
say "$SECONDS s; not begun: ${late[*]:-none}; failed: ${failed[*]:-none}"
"$bench/bars.py" "$out"
bars=$?
[ $stopped = no ] && [ ${#failed[@]} = 0 ] && [ $bars = 0 ]
