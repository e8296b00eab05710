#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What people get wrong in their first hour, and how they are told.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-demo-triad
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10"
check "gpushared starts" start_daemon

# --- a daemon that hangs ---

check "ping of one that serves" t 5 gpusharectl ping
hangs() {
	local rc=0
	kill -STOP "$(cat "$TMP/pid")"
	refused 'gpusharectl: gpushared does not answer within 0.3 s: it hangs, or is stopped$' t 5 gpusharectl ping --timeout 300ms || rc=1
	kill -CONT "$(cat "$TMP/pid")"
	return $rc
}
check "ping of one that hangs says so" hangs
check "and of one that is not there that" refused 'does not answer at /nonexistent/sock: No such file' t 5 gpusharectl --socket /nonexistent/sock ping

# --- names that there are not ---

nobody() { t 5 gpusharectl report --user nosuchuser 2>&1 | grep -x 'gpusharectl: there is no such job step'; }
check "report says that there is no such job step" nobody
check "a user without a name is no user" refused "a user's name is wanted" t 5 gpusharectl report --user ""
check "nor is a name too long for a report that nobody has" refused "there is no user 'a-name-of-more-than-thirty-two-characters'" \
	t 5 gpusharectl report --user a-name-of-more-than-thirty-two-characters
check "policy --help names them" eval "t 5 gpusharectl policy --help | grep -E '^  fifo\s' && t 5 gpusharectl policy --help | grep -E '^  piv\s'"
check "policy without a name says which there is, and among whom it chooses" \
	eval "t 5 gpusharectl policy | grep -x 'GPU 0: frs among jobs of one priority; those of a higher Priority= go first'"
check "and so does a change" eval "t 5 gpusharectl policy rr | grep '^GPU 0: rr among jobs of one priority' && t 5 gpusharectl policy frs"
check "policy of one GPU wants a name" refused 'which policy' t 5 gpusharectl policy --gpu 0

# --- a program without enough memory ---

poor() { # VARIABLE=VALUE...: a step of 24 MiB, whose program wants more
	env "$@" timeout 60 gpusharectl run --shares 10 --mem 24M -- gpushare-demo-triad --elements 8388608 --passes 1 >"$TMP/poor" 2>&1
	[ $? != 0 ] && cat "$TMP/poor"
}
says_why() { poor A=b && [ "$(grep -cE '^gpushare\[[0-9]+\] 20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}: not enough GPU memory: 32.0 MiB more do not fit into the 24.0 MiB that this job step has reserved, of which [0-9.]* are in use; more with --gpushare-mem=SIZE' "$TMP/poor")" = 1 ]; }
check "out of memory comes with the reservation, and how to have more, once" says_why
is_quiet() { poor GPUSHARE_QUIET=1 && ! grep 'not enough GPU memory' "$TMP/poor"; }
check "unless GPUSHARE_QUIET=1" is_quiet
insists() { # one that goes on after it was refused, and asks again
	t 20 gpusharectl run --shares 10 --mem 24M -- "$PYTHON" -I -S -c 'import ctypes
cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
assert [cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64 << 20)) for i in range(3)] == [2, 2, 2]' >"$TMP/insists" 2>&1
	local rc=$?
	cat "$TMP/insists"
	[ $rc = 0 ] && [ "$(grep -c 'not enough GPU memory' "$TMP/insists")" = 1 ]
}
check "and only the first time" insists

# --- partitions that there are not ---

printf '%s\n' 'ClusterName=c' 'PartitionName=DEFAULT MaxTime=60' 'PartitionName=low,other Nodes=ALL' 'PartitionName=High Nodes=ALL' >"$TMP/slurm.conf"
looks() { t 40 gpusharectl check --config "$TMP/gpushare.conf" --slurm-conf "$TMP/slurm.conf" --json >"$TMP/looks"; [ $? = 1 ]; }
finds() { # those that check calls by that finding
	looks && python3 - "$1" "$2" "$TMP/looks" <<-'EOF'
	import json, sys
	said = " ".join(c["text"] for c in json.load(open(sys.argv[3]))["checks"] if c["check"] == "partitions" and c["finding"] == sys.argv[1])
	sys.exit(sys.argv[2] not in said or "Partition=low" in said)
	EOF
}
check "check finds a partition that Slurm does not have" finds wrong "Partition=high, and $TMP/slurm.conf no such partition"
daemon_check() { SLURM_CONF=$TMP/slurm.conf t 10 gpushared --check --config "$TMP/gpushare.conf" 2>&1; }
check "so does gpushared --check" eval "daemon_check | grep 'warning: .*Partition=high, and $TMP/slurm.conf no such partition' && daemon_check | grep ': good'"
sed -i 's/PartitionName=High/PartitionName=high/' "$TMP/slurm.conf"
check "which is silent when Slurm has all" eval "! daemon_check | grep warning"
check "and is content when it has all" finds good "Slurm has each partition"

# --- a setting that does nothing ---

of_idle() { # LINE...: what check says of memory, with these lines
	(cat "$TMP/gpushare.conf"; printf '%s\n' "$@") >"$TMP/idle.conf"
	t 40 gpusharectl check --config "$TMP/idle.conf" --slurm-conf "$TMP/slurm.conf" >"$TMP/idle.said" # other things are wrong here
	grep ' memory ' "$TMP/idle.said"
}
check "check doubts IdleReclaim where nobody waits on the node" eval "of_idle IdleReclaim=10m | grep -E '^doubtful.*without MemoryQueue=node'"
check "but not where somebody may" eval "! of_idle IdleReclaim=10m MemoryQueue=node"

# --- nodes, as slurm.conf lists them ---

knows() { # FINDING NODE NAMES: what check says of the node, where NodeName= has these names
	(cat "$TMP/gpushare.conf"; echo "NodeName=$2") >"$TMP/node.conf"
	printf '%s\n' 'ClusterName=c' 'GresTypes=gpushare' "NodeName=$3 Gres=gpushare:100" >"$TMP/node.slurm"
	t 40 gpusharectl check --config "$TMP/node.conf" --slurm-conf "$TMP/node.slurm" >"$TMP/node.said"
	grep -E "^$1 +node " "$TMP/node.said"
}
check "check finds a node in a list" eval "knows good n12 'm,n[1-3,10-12]' && knows good n01 'n[01-16]' && knows good n100 'n[01-120]' && knows good n1-a 'n[1-4]-a'"
check "but none of another width, or with another end" eval "knows wrong n01 'n[1-16]' && knows wrong n1 'n[01-16]' && knows wrong n1 'n[1-4]-a' && knows wrong n5-a 'n[1-4]-a'"

# What gpushare.conf would have said is not known: munge's socket, and where slurm.conf is.
cp "$TMP/gpushare.conf" "$TMP/broken.conf" && echo "NoSuchKey=1" >>"$TMP/broken.conf"
blames() { # those that check calls wrong
	t 40 gpusharectl check --config "$TMP/broken.conf" "$@" --json | python3 -c 'import json, sys
print(",".join(sorted({c["check"] for c in json.load(sys.stdin)["checks"] if c["finding"] == "wrong"})))'
}
check "check blames nothing else for a gpushare.conf that is wrong" eval 'unset SLURM_CONF; [ "$(blames)" = configuration ]'
check "but a slurm.conf that was named and is not there" eval '[ "$(blames --slurm-conf /nonexistent/slurm.conf)" = configuration,slurm.conf ]'

# --- quickstart ---

check "quickstart refuses a policy that there is not before it installs anything" \
	refused "there is no policy 'nosuch'; there are: fifo " t 10 "$SRC/contrib/quickstart" --policy nosuch --build "$TMP/quick"
check "and has begun nothing" test ! -e "$TMP/quick"
# The slowdown is the daemon's, so it is never below 1, however the host's speed changes.
slowdown() {
	mkdir "$TMP/jobs" && echo 1 >"$TMP/jobs/low" && echo 2 >"$TMP/jobs/high" && echo "correct: 1" | tee "$TMP/jobs/1.out" >"$TMP/jobs/2.out"
	cat >"$TMP/jobs/report.json" <<-'EOF'
	[{"job": 1, "start": 1, "end": 3, "partition": "low", "active_ms": 800, "waiting_ms": 200, "turnaround_ms": 1000, "ntt": 1.25, "preemptions": 1, "memory_mb": 3},
	 {"job": 2, "start": 2, "end": 2.2, "partition": "high", "active_ms": 200, "waiting_ms": 0, "turnaround_ms": 200, "ntt": 1, "preemptions": 0, "memory_mb": 3}]
	EOF
	"$SRC/contrib/quickstart-table" "$TMP/jobs" | tee /dev/stderr | grep -E '^ *1 +low +800 +200 +1000 +1.25 +1 +3 +yes$'
}
check "quickstart's table: the time with the GPU, the waiting, both, and the slowdown that follows" slowdown

unserved() {
	sed -i 's/"active_ms": 200, "waiting_ms": 0, "turnaround_ms": 200, "ntt": 1,/"active_ms": 0, "waiting_ms": 200, "turnaround_ms": 200, "ntt": null,/' "$TMP/jobs/report.json"
	"$SRC/contrib/quickstart-table" "$TMP/jobs" | tee /dev/stderr | grep -E '^ *2 +high +0 +200 +200 +- +0 +3 +yes$'
}
check "none of a job that never had the GPU" unserved

# exits STATUS EXPRESSION OPTION...: the table's exit status when sed has changed the report so.
exits() {
	local status=$1 rc=0
	rm -rf "$TMP/changed"
	cp -r "$TMP/jobs" "$TMP/changed" && sed -i "$2" "$TMP/changed/report.json"
	shift 2
	"$SRC/contrib/quickstart-table" "$TMP/changed" "$@" || rc=$?
	[ $rc = "$status" ]
}
nobody_waited='s/"waiting_ms": 200/"waiting_ms": 0.02/; s/"preemptions": 1/"preemptions": 0/'
check "a short job that began when the long one had ended is another try" exits 3 's/"end": 3/"end": 2/'
check "so is one whose program was there but whose kernel came later" exits 3 "$nobody_waited"
check "which is nothing unusual where the driver shares the GPU" exits 0 "$nobody_waited" --policy srt
check "one that waited and was not let in is a failure" exits 1 's/"preemptions": 1/"preemptions": 0/'

check "gpushared stops" stop_daemon

# --- which GPU a program of run computes on ---

write_conf 512M "Gpu=0 Memory=512M" "Gpu=1 Memory=512M"
check "gpushared starts with two GPUs that have no File=" start_daemon
sees() { # GPU OPTION...
	local gpu=$1
	shift
	[ "$(t 20 gpusharectl run --shares 10 "$@" -- sh -c 'echo "$GPUSHARE_GPU $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"')" = "$gpu $gpu PCI_BUS_ID" ]
}
check "a program of run sees the GPU on which it is counted" eval "sees 1 --gpu 1 && sees 0 --gpu 0 && sees 0"
site_says() {
	echo 'JobEnv=CUDA_VISIBLE_DEVICES=MIG-%g' >>"$TMP/gpushare.conf"
	reload && [ "$(t 20 gpusharectl run --shares 10 --gpu 1 -- printenv CUDA_VISIBLE_DEVICES)" = MIG-1 ]
}
check "unless the administrator says otherwise" site_says
check "gpushared stops again" stop_daemon
finish
