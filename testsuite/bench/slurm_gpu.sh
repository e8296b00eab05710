#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm on a real GPU: jobs of two users under gres/shard and under gres/gpushare, side by side in one run.
#
# usage: slurm_gpu.sh PACK OUT-FOLDER [DRIVER]   (as root)
#   PACK    what testsuite/bench/pack-slurm packed, unpacked; root/ in it goes to / if there is no slurmctld
#   DRIVER  the libcuda.so.1 (default: /usr/local/nvidia/lib64/libcuda.so.1)
# environment, with what it is without:
#   USERS="nobody daemon"     whose jobs
#   LONG="gpushare-demo-triad --elements 134217728 --passes 34500"    a kernel takes about 100 ms on an H200
#   KERNELS=20                of the long program when it is measured; LOW=70 when a high job runs beside it
#   SHORT="gpushare-demo-matmul --tiles 100 --repeats 200", RUNS=5     the high job: about 1 ms a kernel
#   MEMORY=nvidia-smi's       MiB that the GPU has; POLICY=frs; LIMIT=115 seconds for all of it
#   STEPS="shard gpushare mps"; ddp: data-parallel programs on two GPUs by the two ways of doc/admin.md (PyTorch; LIMIT=240)
# Writes h200-slurm-gpu.csv, h200-slurm-transcript.txt and the logs into OUT-FOLDER.
# Exit status 1: a bar was missed or something went wrong.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,17s/^# \{0,1\}//p' "$0"; exit 2; }
pack=$(realpath "$1") out=$2 driver=${3:-/usr/local/nvidia/lib64/libcuda.so.1}
mkdir -p "$out" && out=$(realpath "$out")
[ "$(id -u)" = 0 ] || { echo "the jobs are of two users: this needs root"; exit 77; }
[ -r "$driver" ] || { echo "there is no $driver"; exit 77; }
PATH=$PATH:/usr/sbin:/usr/local/sbin
export LC_ALL=C
read -r -a users <<<"${USERS:-nobody daemon}"
long=${LONG:-gpushare-demo-triad --elements 134217728 --passes 34500}
short=${SHORT:-gpushare-demo-matmul --tiles 100 --repeats 200}
kernels=${KERNELS:-20} low=${LOW:-70} runs=${RUNS:-5} policy=${POLICY:-frs} limit=${LIMIT:-115}
csv=$out/h200-slurm-gpu.csv transcript=$out/h200-slurm-transcript.txt
failures=0 recorded=no native=- pids=() dbd_port='' cluster='' accounting=''
W=$(mktemp -d /tmp/slurm_gpu.XXXXXX)
chmod 755 "$W" && mkdir -m 1777 "$W/out" "$W/emu"
SECONDS=0

say() { echo "$(printf '%3d' $SECONDS) s: $*" | tee -a "$out/slurm_gpu.log"; }
row() { echo "$*" | tee -a "$csv"; }
bad() {
	say "NOT AS IT MUST BE: $*"
	failures=$((failures + 1))
}
stop_cluster() {
	[ -n "$cluster" ] || return 0
	mkdir -p "$out/logs" && for log in "$cluster"/log/*.log; do cp "$log" "$out/logs/${cluster##*/}-${log##*/}"; done
	timeout 30 "$W/build/private-cluster" "$cluster" stop || bad "${cluster##*/} does not stop"
	cluster=
}
# Whatever happens, nothing is left running.
finish() {
	local status=$? pid
	trap - EXIT INT TERM
	stop_cluster
	for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null; done
	for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" 2>/dev/null; done
	cp "$W"/db/*.log "$out/logs/" 2>/dev/null
	rm -rf "$W"
	exit $status
}
trap finish EXIT
trap 'bad "ended after $SECONDS s"; exit 1' INT TERM
(
	sleep "$limit" &
	trap 'kill %1; exit' TERM
	wait $! && kill -TERM $$
) 2>/dev/null &
pids+=($!)

until_true() { # SECONDS COMMAND...
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ ${EPOCHREALTIME/./} -lt $end ] || return 1
		sleep 0.05
	done
}

# --- what the machine lacks ---

install_root() {
	if [ -d "$pack/root" ] && ! command -v slurmctld >/dev/null; then
		cp -a "$pack/root/." /
		say "Slurm and munge are in place"
	fi
	# Older libraries than the machine's own would be put before them: only those that it lacks.
	if [ -d /opt/slurmlibs ]; then
		for library in /opt/slurmlibs/*.so*; do
			ldconfig -p | grep -qF "$(basename "$library") " && rm -f "$library"
		done
		. /opt/slurmlibs/env
	fi
	cp -r "$pack/build" "$W/build" && chmod -R a+rX "$W/build"
	export PATH=$W/build:$PATH
}

# A database and slurmdbd, for sacct.
start_accounting() {
	command -v slurmdbd sacct mariadbd >/dev/null || { say "no slurmdbd here: no accounting"; return 1; }
	mkdir -m 700 "$W/db"
	if [ -d /opt/slurmdb ]; then
		cp -r /opt/slurmdb "$W/db/data"
	else
		timeout 30 mariadb-install-db --no-defaults --datadir="$W/db/data" --user=root --skip-test-db \
			--auth-root-authentication-method=socket --auth-root-socket-user=root >"$W/db/install.log" 2>&1 || return 1
	fi
	mariadbd --no-defaults --datadir="$W/db/data" --socket="$W/db/sql" --skip-networking --user=root --innodb-log-file-size=4M \
		--innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M >"$W/db/mariadb.log" 2>&1 </dev/null &
	pids+=($!)
	until_true 20 test -S "$W/db/sql" || return 1
	dbd_port=$((20000 + RANDOM % 12000))
	cat >"$W/db/slurmdbd.conf" <<-CONF
	AuthType=auth/munge
	AuthInfo=socket=$W/gpushare/munge/socket
	DbdHost=localhost
	DbdAddr=127.0.0.1
	DbdPort=$dbd_port
	SlurmUser=root
	StorageType=accounting_storage/mysql
	StorageHost=localhost
	StorageUser=root
	StorageLoc=slurm
	PidFile=$W/db/slurmdbd.pid
	LogFile=$W/db/slurmdbd.log
	CONF
	chmod 600 "$W/db/slurmdbd.conf"
	: >"$W/db/slurm.conf"
	MYSQL_UNIX_PORT=$W/db/sql SLURM_CONF=$W/db/slurm.conf slurmdbd -D >"$W/db/out.log" 2>&1 </dev/null &
	pids+=($!)
	until_true 20 grep -E 'slurmdbd version .* started' "$W/db/slurmdbd.log" || { tail "$W/db/slurmdbd.log" "$W/db/out.log"; return 1; }
	accounting="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd_port
AccountingStoragePass=$W/gpushare/munge/socket
AccountingStorageTRES=gres/gpushare"
}

# start_cluster NAME [VARIABLE=VALUE...]
start_cluster() {
	cluster=$W/$1
	shift
	timeout 60 env BUILD="$W/build" DRIVER="$driver" GPU_MEMORY="${reservable}M" CPUS=16 GPUSHARE_EXTRA=ReportInterval=2s "$@" "$W/build/private-cluster" "$cluster" start 2>&1 |
		tee -a "$out/slurm_gpu.log" || { bad "the cluster ${cluster##*/} does not start"; return 1; }
	eval "$("$W/build/private-cluster" "$cluster" env)"
}

# --- jobs ---

cat >"$W/job" <<'END'
#!/bin/bash
# job TAG PARTNER NATIVE COMMAND...: runs COMMAND when PARTNER (if not -) is there too; each line with its time.
tag=$1 partner=$2 native=$3
shift 3
: >"$OUT/$tag.ready"
for ((i = 0; i < 1500; i++)); do
	[ "$partner" = - ] || [ -e "$OUT/$partner.ready" ] && break
	sleep 0.02
done
# Under gres/shard nobody leads to the driver.
[ "$native" = - ] || export LD_LIBRARY_PATH=$native
for ((i = 0; i < ${RUNS:-1}; i++)); do
	"$@" 2>&1 | while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done
	[ "${PIPESTATUS[0]}" = 0 ] || exit 1
done
END
chmod 755 "$W/job"

as() { # USER COMMAND...
	local user=$1
	shift
	(cd / && timeout 15 setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups "$@")
}
# submit USER TAG PARTNER RUNS OPTIONS... -- COMMAND...: prints the job's id; its output is out/TAG.
submit() {
	local user=$1 tag=$2 partner=$3 count=$4 options=() id
	shift 4
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f "$W/out/$tag" "$W/out/$tag.ready"
	id=$(OUT=$W/out RUNS=$count as "$user" sbatch --parsable --output="$W/out/$tag" "${options[@]}" "$W/job" "$tag" "$partner" "$native" "$@") || return 1
	[ "$recorded" = no ] || printf '%s$ sbatch %s job %s\nSubmitted batch job %s\n\n' "$user" "${options[*]}" "$*" "$id" >>"$transcript"
	echo "$id"
}
state() { timeout 10 scontrol show job "$1" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p'; }
over() { [[ "$(state "$1")" =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
completes() { # JOB TAG
	until_true 40 over "$1"
	[ "$(state "$1")" = COMPLETED ] && grep -q 'correct: ' "$W/out/$2" && return 0
	bad "job $1 ($2) is $(state "$1"): $(tail -n 1 "$W/out/$2" 2>/dev/null)"
	return 1
}
computing() { grep -q computing "$W/out/$1" 2>/dev/null; }
took() { sed -n 's/.* took \([0-9.]*\) ms.*/\1/p' "$W/out/$1"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
at_most() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && a <= b) }' && say "$1: $2, at most $3" || bad "$1: $2, the bar is $3"; }

# Both users' long programs, each alone and then together: (last end - first start) against the sum of the two alone.
pair() { # NAME GRES
	local name=$1 gres=$2 user job jobs=() id
	for user in "${users[@]}"; do
		job=$(submit "$user" "$name-alone-$user" - 1 -p low --gres="$gres" -- "${command[@]}" --repeats "$kernels")
		completes "$job" "$name-alone-$user" || return 1
		row "$name,alone,$user,ms_per_kernel,$(awk -v t="$(took "$name-alone-$user")" -v n="$kernels" 'BEGIN { printf "%.2f", t / n }')"
	done
	jobs=("$(submit "${users[0]}" "$name-a" "$name-b" 1 -p low --gres="$gres" -- "${command[@]}" --repeats "$kernels")"
		"$(submit "${users[1]}" "$name-b" "$name-a" 1 -p low --gres="$gres" -- "${command[@]}" --repeats "$kernels")")
	completes "${jobs[0]}" "$name-a" && completes "${jobs[1]}" "$name-b" || return 1
	python3 - "$name" "$kernels" "${users[@]}" "$W/out" <<-'P' | tee -a "$csv"
	import re, sys
	name, n, users, out = sys.argv[1], int(sys.argv[2]), sys.argv[3:5], sys.argv[5]
	def read(tag):
	    text = open(out + "/" + tag).read()
	    return (float(re.search(r"^([\d.]+) .*computing", text, re.M)[1]), float(re.search(r"took ([\d.]+) ms", text)[1]) / 1e3)
	alone = sum(read("%s-alone-%s" % (name, u))[1] for u in users)
	(s1, t1), (s2, t2) = read(name + "-a"), read(name + "-b")
	span = max(s1 + t1, s2 + t2) - min(s1, s2)
	both = min(s1 + t1, s2 + t2) - max(s1, s2)
	for u, t in zip(users, (t1, t2)):
	    print("%s,together,%s,ms_per_kernel,%.2f" % (name, u, t / n * 1e3))
	print("%s,together,both,overlap,%.3f" % (name, both / span))
	print("%s,together,both,of_the_sum,%.4f" % (name, span / alone))
	P
}

# The high job alone and beside the low one; every run is a process of its own.
high_beside_low() { # NAME GRES
	local name=$1 gres=$2 id of high
	id=$(submit "${users[1]}" "$name-high-alone" - "$runs" -p high --gres="$gres" -- "${brief[@]}")
	completes "$id" "$name-high-alone" || return 1
	row "$name,alone,high,ms,$(took "$name-high-alone" | median)"
	of=$(submit "${users[0]}" "$name-low" - 1 -p low --gres="$gres" -- "${command[@]}" --repeats "$low")
	until_true 20 computing "$name-low" || { bad "the low job does not compute"; return 1; }
	sleep 0.3
	high=$(submit "${users[1]}" "$name-high" - "$runs" -p high --gres="$gres" -- "${brief[@]}")
	lows+=("$of" "$high")
	[ "$name" != gpushare ] || { sleep 1; snapshot "$of"; }
	completes "$high" "$name-high" || return 1
	[ "$(state "$of")" = RUNNING ] && ! grep -q took "$W/out/$name-low" || bad "$name: the low job ended before the high one; LOW= more"
	row "$name,beside,high,ms,$(took "$name-high" | median)"
	row "$name,beside,high,slowdown,$(awk -v a="$(took "$name-high" | median)" -v b="$(took "$name-high-alone" | median)" 'BEGIN { printf "%.3f", a / b }')"
	completes "$of" "$name-low" || return 1
}

# --- the transcript ---

show() { # COMMAND...
	{
		echo "$ $*"
		timeout 10 "$@" 2>&1 | sed "s|$W/||g"
		echo
	} >>"$transcript"
}
snapshot() { # JOB: while both run
	show squeue -o '%i %u %P %T %b %M'
	show scontrol show job -d "$1"
	show gpusharectl status
}

# --- steps ---

# Too much memory: under gres/shard the program finds out.
step_shard() {
	local id
	native=$(dirname "$driver")
	start_cluster shard GRES=shard || return 1
	pair shard shard:40
	high_beside_low shard shard:40
	id=$(RUNS=1 submit "${users[0]}" shard-memory - 1 --gres=shard:10 -- entries keep $((memory + 1024)) "$W/out/never")
	until_true 30 over "$id"
	row "shard,memory,more than the GPU has,submission,accepted"
	row "shard,memory,more than the GPU has,program,$(state "$id"): $(cut -d' ' -f2- "$W/out/shard-memory" | tail -n 1 | tr , ' ')"
	stop_cluster
}

step_gpushare() {
	local said rc=0
	native=-
	start_accounting && say "slurmdbd runs" || bad "no accounting"
	if ! start_cluster gpushare POLICY="$policy" GPUS=1 SLURM_EXTRA="$accounting"; then
		accounting=
		start_cluster gpushare POLICY="$policy" GPUS=1 || return 1
	fi
	{
		echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo 'emulated device'), $(slurmctld -V), $(date -u +%F); commit $(cat "$W/build/commit")"
		echo "# testsuite/bench/slurm_gpu.sh: jobs of the users ${users[*]}, policy $policy"
		echo
	} >>"$transcript"
	show gpusharectl check
	pair gpushare gpushare:40
	recorded=yes
	high_beside_low gpushare gpushare:40
	recorded=no
	said=$(as "${users[0]}" sbatch --gres=gpushare:10 --gpushare-mem=$((memory + 1024))M --wrap true 2>&1) || rc=$?
	[ $rc != 0 ] && grep -q 'more than a whole GPU has' <<<"$said" || bad "too much memory at submission: status $rc, $said"
	row "gpushare,memory,more than the GPU has,submission,refused: $(tr ',\n' ' ' <<<"$said")"
	{
		echo "${users[0]}\$ sbatch --gres=gpushare:10 --gpushare-mem=$((memory + 1024))M --wrap true"
		echo "$said"
		echo
	} >>"$transcript"
	for id in "${lows[@]: -2}"; do show scontrol show job "$id"; done
	until_true 12 told_node || bad "the node's Extra has no report"
	show scontrol show node
	show gpusharectl report
	if [ -n "$accounting" ]; then
		until_true 10 accounted "${lows[-1]}"
		show sacct -X -a --format=JobID,User,Partition,State,Elapsed,AllocTRES%60
		show sacct -X -a -P --format=JobID,AdminComment
		accounted "${lows[-1]}" || bad "sacct does not have the report of job ${lows[-1]}"
	fi
	for id in "${lows[@]: -2}"; do
		timeout 10 scontrol show job "$id" | grep -q 'AdminComment=gpushare: .*ntt=' || bad "scontrol does not have the report of job $id"
	done
	stop_cluster
}
told_node() { timeout 10 scontrol show node | grep 'Extra=gpushare: gpu0 .*shares=0/'; }
accounted() { timeout 10 sacct -X -n -P -j "$1" -o AllocTRES,AdminComment | grep -q 'gres/gpushare=40.*gpushare: .*used='; }

step_mps() {
	[ $SECONDS -lt $((limit - 35)) ] || { say "mps: no time left"; return 0; }
	native=-
	start_cluster mps POLICY="$policy" GPUS=1 GPUSHARE_EXTRA="Isolation=mps
MpsDir=$W/mps/mps${CONF:+
$CONF}" || return 1
	high_beside_low mps gpushare:40
	stop_cluster
}

# train.sh is doc/admin.md's, and python train.py in it is ddp_train.py.
ranks_right() { # NAME RANKS FILE...
	local name=$1 ranks=$2 line
	shift 2
	until_true 80 eval "[ \"\$(cat $* | grep -c ', right\$')\" = $ranks ]" || { tail -n 5 "$@"; return 1; }
	cat "$@" | grep ', right$' | while read -r line; do row "ddp,$name,rank,said,\"$line\""; done
}
step_ddp() {
	native=-
	mkdir -p "$W/train/bin" && cp "$pack/build/train.sh" "$W/train/" && cp "$pack/build/ddp_train.py" "$W/train/train.py" && chmod 755 "$W/train/train.sh" || return 1
	command -v python >/dev/null || printf '#!/bin/sh\nexec python3 "$@"\n' >"$W/train/bin/python"
	[ ! -e "$W/train/bin/python" ] || chmod 755 "$W/train/bin/python"
	start_cluster ddp POLICY="$policy" GPUS=2 GPU_TYPES="g0 g1" ${CONF:+GPUSHARE_EXTRA="$CONF"} || return 1
	data_parallel || bad "a data-parallel job was not submitted"
	timeout 10 gpusharectl report >>"$transcript"
	cd / && stop_cluster
}
data_parallel() {
	local rank array program files=()
	cd "$W/train" || return 1
	array=$(PATH=$W/train/bin:$PATH timeout 15 sbatch --parsable --output="$W/out/array.%a" --array=0-1 --gres=gpushare:51 train.sh) || return 1
	ranks_right "an array of more than half of a GPU each" 2 "$W/out/array.0" "$W/out/array.1" || bad "array $array"
	for program in a b; do
		for rank in 0 1; do
			PATH=$W/train/bin:$PATH timeout 15 sbatch --parsable --output="$W/out/$program.$rank" --gres=gpushare:g$rank:40 \
				--export=ALL,RANK=$rank,WORLD_SIZE=2,MASTER_PORT=$([ $program = a ] && echo 29600 || echo 29601) train.sh >/dev/null || return 1
			files+=("$W/out/$program.$rank")
		done
	done
	ranks_right "two programs by types" 4 "${files[@]}" || bad "two programs by types"
}

value() { sed -n "s/^$1,//p" "$csv"; }
bars() {
	[[ " $steps " != *" shard "* ]] || say "two users under gres/shard: $(value shard,together,both,of_the_sum) of the sum"
	[[ " $steps " != *" gpushare "* ]] || {
		at_most "two users under gres/gpushare, of the sum" "$(value gpushare,together,both,of_the_sum)" 1.02
		at_most "the high job's slowdown (contexts)" "$(value gpushare,beside,high,slowdown)" 1.35
	}
	[ -z "$(value mps,beside,high,slowdown)" ] || at_most "the high job's slowdown (mps)" "$(value mps,beside,high,slowdown)" 1.1
}

steps=${STEPS:-shard gpushare mps} lows=()
unset STEPS # sbatch hands it on, and ddp_train.py would take it for its own
read -r -a command <<<"$long"
read -r -a brief <<<"$short"
memory=${MEMORY:-$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1)}
reservable=$((memory > 16384 ? memory - 4096 : memory))
export GPUSHARE_EMU_DEVICE=$W/emu/device GPUSHARE_EMU_MEMORY=${memory}M
: >"$transcript"
rm -f "$out/slurm_gpu.log"
{
	echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo 'emulated device'), $(date -u +%F), commit $(cat "$pack/build/commit")"
	echo "# testsuite/bench/slurm_gpu.sh; long: $long --repeats $kernels; short: $short"
	echo "resource,setting,who,measure,value"
} >"$csv"
install_root
for step in $steps; do
	say "step $step"
	"step_$step" || bad "step $step"
done
bars
say "$failures not as they must be"
[ $failures = 0 ]
