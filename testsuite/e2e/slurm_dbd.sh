#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What stays of a job in Slurm's accounting: slurmdbd with a MariaDB of its own, sacct.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
for program in slurmdbd sacct sacctmgr mariadbd mariadb mariadb-install-db python3; do
	command -v $program >/dev/null || skip_all "$program is not installed (contrib/install-deps --with-slurmdbd)"
done
need_built gpushared gpusharectl gpushare-sim gpushare-demo-triad

# --- a database and a slurmdbd of our own: a folder, a unix socket, a port that nobody uses ---

DB=$TMP/db
SQL=$DB/sql
bail() { echo "Bail out! $1"; tail -n 10 "$2" | sed 's/^/# /'; exit 1; }
mkdir -m 700 "$DB"
timeout 60 mariadb-install-db --no-defaults --datadir="$DB/data" --user=root --skip-test-db \
	--auth-root-authentication-method=socket --auth-root-socket-user=root >"$DB/install.log" 2>&1 ||
	bail "mariadb-install-db" "$DB/install.log"
mariadbd --no-defaults --datadir="$DB/data" --socket="$SQL" --skip-networking --user=root \
	--innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M >"$DB/log" 2>&1 </dev/null &
pids+=($!)
until_true 30 mariadb --no-defaults --socket="$SQL" -e 'SELECT 1' || bail "MariaDB does not start" "$DB/log"

# slurmdbd of Slurm 24.11 wants a munged as it starts, and slurmctld a slurmdbd: one of its own, with the key that the cluster is given.
mungekey --create --keyfile="$DB/key" 2>"$DB/munge.start" &&
	munged --force --key-file="$DB/key" --socket="$DB/munge" --pid-file="$DB/munge.pid" --log-file="$DB/munge.log" \
		--seed-file="$DB/munge.seed" 2>>"$DB/munge.start" || bail "munged does not start" "$DB/munge.start"
until_true 10 test -s "$DB/munge.pid" && pids+=("$(cat "$DB/munge.pid")")

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
slurmdbd_runs() { # starts it; again when somebody else took the port
	local try
	for try in 1 2 3 4 5; do
		[ -n "${1:-}" ] || port=$(free_port)
		cat >"$DB/slurmdbd.conf" <<-CONF
		AuthType=auth/munge
		AuthInfo=socket=$DB/munge
		DbdHost=localhost
		DbdPort=$port
		SlurmUser=root
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=root
		StorageLoc=slurm
		PidFile=$DB/slurmdbd.pid
		LogFile=$DB/slurmdbd.log
		CONF
		chmod 600 "$DB/slurmdbd.conf"
		: >"$DB/slurmdbd.log"
		MYSQL_UNIX_PORT=$SQL SLURM_CONF=$DB/slurm.conf slurmdbd -D >"$DB/slurmdbd.out" 2>&1 </dev/null &
		dbd=$!
		pids+=("$dbd")
		until_true 20 grep -E 'slurmdbd version .* started|in use' "$DB/slurmdbd.log"
		grep -q 'slurmdbd version .* started' "$DB/slurmdbd.log" && kill -0 "$dbd" && return 0
	done
	return 1
}
: >"$DB/slurm.conf"
slurmdbd_runs || bail "slurmdbd does not start" "$DB/slurmdbd.log"

start_cluster main MUNGE_KEY="$DB/key" GPU_MEMORY=512M GPUSHARE_EXTRA="QOS=urgent Priority=200
QOS=idle Priority=0" SLURM_EXTRA="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$port
AccountingStoragePass=$TMP/main/munge/socket
AccountingStorageTRES=gres/gpushare
AccountingStoreFlags=job_comment
PrEpPlugins=prep/script,prep/gpushare"

account() { t 10 sacct -X -n -P -j "$1" -o "$2"; }
account_is() { # JOB FIELD PATTERN
	account "$1" "$2" | tee /dev/stderr | grep -E -- "$3"
}
comment() { t 10 scontrol show job "$1" | sed -n 's/^ *AdminComment=//p' | sed 's/ *$//'; }
TRIAD='gpushare-demo-triad --elements 262144 --passes'

# --- TRES ---

tres() { t 10 sacctmgr -n -P show tres format=type,name | tee /dev/stderr | grep -x 'gres|gpushare'; }
check "slurmdbd knows gres/gpushare" until_true 10 tres
node_tres() { t 10 scontrol show node | tee /dev/stderr | grep -E 'CfgTRES=.*gres/gpushare=100'; }
check "the node's TRES have its 100 shares" until_true 10 node_tres

one=$(submit --gres=gpushare:30 --wrap "$TRIAD 300; srun --gres=gpushare:10 $TRIAD 300")
two=$(submit --gres=gpushare:10 --gpushare-mem=200M --comment=mine --wrap "$TRIAD 3000" 2>/dev/null)
check "a job with a step completes" reaches "$one" COMPLETED 60
check "so does another" reaches "$two" COMPLETED 60
check "sacct has the job's shares" until_true 10 account_is "$one" AllocTRES 'gres/gpushare=30(,|$)'
check "what --gpushare-mem raised them to" until_true 10 account_is "$two" AllocTRES 'gres/gpushare=40(,|$)'
step_tres() { t 10 sacct -n -P -j "$one.0" -o AllocTRES | tee /dev/stderr | grep -E 'gres/gpushare=10(,|$)'; }
check "a step's are those that it asked for" until_true 10 step_tres
check "scontrol shows them among the job's TRES" eval "t 10 scontrol show job $two | grep -E 'TRES=.*gres/gpushare=40'"

# --- what was really used ---

same_comment() {
	local said
	said=$(comment "$1")
	echo "scontrol: $said"
	[ -n "$said" ] && [ "$(account "$1" AdminComment | tee /dev/stderr)" = "$said" ]
}
check "sacct has the same AdminComment as scontrol" until_true 10 same_comment "$one"
check "the user's own comment is beside it" account_is "$two" Comment '^mine$'
used() { account "$1" AdminComment | grep -oE 'used=[0-9.]+s' | tr -d 'a-z='; }
measured() { # seconds that the job's steps had the GPU, by gpusharectl
	t 5 gpusharectl report --json | python3 -c 'import json, sys
print("%.3f" % (sum(r["active_ms"] for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1]) / 1e3))' "$1"
}
agrees() {
	echo "sacct: $(used "$1") s, gpusharectl: $(measured "$1") s"
	awk -v a="$(used "$1")" -v b="$(measured "$1")" 'BEGIN { exit !(a > 0 && a - b < 0.002 && b - a < 0.002) }'
}
check "the GPU-seconds that sacct shows are those that gpusharectl measured, batch step and srun's together" agrees "$one"
check "those of the other job as well" agrees "$two"
# 3000 passes against 300 and 300: beside others on two processors each may take twice as long as the other.
more() {
	echo "$(used "$two") s against $(used "$one") s"
	awk -v a="$(used "$two")" -v b="$(used "$one")" 'BEGIN { exit !(a > 1.5 * b) }'
}
check "a job of five times the work has used the GPU for half as long again at least" more
idle=$(submit --gres=gpushare:30 --wrap 'sleep 1')
check "a job that never uses its GPU completes" reaches "$idle" COMPLETED
nothing() { ! account "$idle" AdminComment | tee /dev/stderr | grep -E 'used=[0.]*[1-9]'; }
check "and has used none" nothing
check "though it had its shares" account_is "$idle" AllocTRES 'gres/gpushare=30(,|$)'

# The query of doc/admin.md, as an administrator pastes it: what the two jobs have reserved and used, their user's in one line.
sed -n '/^sacct -a -X/,/^```/p' "$SRC/doc/admin.md" | sed '$d' >"$TMP/query"
queried() {
	local want
	t 20 bash "$TMP/query" >"$TMP/usage" || return 1
	cat "$TMP/usage"
	want=$(t 10 sacct -X -n -P -j "$one,$two,$idle" -o JobID,ElapsedRaw,AllocTRES | awk -F '|' '{ split($3, tres, "gres/gpushare="); reserved += $2 * tres[2] / 100 } END { print reserved / 3600 }')
	awk -F '\t' -v reserved="$want" -v used="$(echo "$(used "$one") $(used "$two")" | awk '{ print ($1 + $2) / 3600 }')" '
		NR == 1 { good = $0 == "user\taccount\tjobs\treserved_gpu_h\tused_gpu_h\tused_pct" }
		NR == 2 { good = good && $1 == "root" && $3 == 3 && $4 - reserved < 0.001 && reserved - $4 < 0.001 && $5 - used < 0.001 && used - $5 < 0.001 && used > 0 }
		END { exit !(good && NR == 2) }' "$TMP/usage"
}
check "the query of doc/admin.md says what was reserved and used" until_true 10 queried
# slurmctld tells the database of a cancelled job's end before the job's steps have ended.
cancelled=$(submit --gres=gpushare:30 --wrap "$TRIAD 300; echo done; sleep 60")
check "a job that has used its GPU runs" until_true 60 grep -qx done "$D/out/$cancelled"
check "it is cancelled" eval "t 10 scancel $cancelled && reaches $cancelled CANCELLED"
has_used() { same_comment "$cancelled" && account_is "$cancelled" AdminComment 'used=[0.]*[1-9]'; }
check "what it has used is in sacct, too" until_true 60 has_used

# --- who may write it ---

before=$(account "$one" AdminComment)
as_nobody timeout 10 sacctmgr -i modify job where jobid="$one" set AdminComment=forged >"$TMP/forge.out" 2>&1
check "a user cannot change it in the database" test "$(account "$one" AdminComment)" = "$before"
job=$(as_nobody timeout 10 sbatch --parsable --output=/dev/null --gres=gpushare:10 --wrap "$TRIAD 100; sleep 3")
until_true 10 in_state "$job" RUNNING
check "nor in slurmctld" refused 'denied|permission|not permitted|Invalid' \
	as_nobody timeout 10 scontrol update job "$job" AdminComment=forged
check "what sacct has in the end is the daemon's" eval "reaches $job COMPLETED 30 && until_true 10 account_is $job AdminComment '^gpushare: gpu=0 share=10% used=0\.[0-9]+s '"

# --- QOS: from slurmctld, before the partition's line ---

field() { # JOB NAME: of the batch step
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if str(r["job"]) == sys.argv[1] and r["step"] == "batch"]
print(rows[0][sys.argv[2]] if rows else 0)' "$@"
}
holds() { # JOB NAME TEST
	local got
	got=$(field "$1" "$2")
	echo "$2 of job $1 is $got, wanted $3"
	awk "BEGIN { exit !($got $3) }"
}
registered() { grep -E "job $1\..*partition '$2', QOS '$3', priority $4\$" "$D/log/gpushared.log"; }
check "QOS are made" t 20 sacctmgr -i add qos urgent,idle
starts_idle() { low=$(submit -p high --qos=idle --gres=gpushare:40 --wrap "$TRIAD 40000"); }
check "slurmctld knows them too" until_true 20 starts_idle
check "a job of QOS idle in partition high has the GPU" until_true 20 holds "$low" active_ms '> 200'
check "with the priority of its QOS, below the partition's" registered "$low" high idle 0
high=$(submit -p low --qos=urgent --gres=gpushare:40 --wrap "$TRIAD 300")
check "a job of QOS urgent in partition low completes" reaches "$high" COMPLETED 60
check "with the priority of its QOS, above the partition's" registered "$high" low urgent 200
check "while the idle one still runs" in_state "$low" RUNNING
check "which it preempted" holds "$low" preemptions '>= 1'
check "and by which it was not" holds "$high" preemptions '== 0'
forged=$(SLURM_JOB_QOS=urgent submit -p low --export=ALL,SLURM_JOB_QOS=urgent --gres=gpushare:20 --wrap "$TRIAD 1")
check "a job that only says so in its environment completes" reaches "$forged" COMPLETED 60
check "with its partition's priority" registered "$forged" low 'n?o?r?m?a?l?' 1
t 10 scancel "$low"
check "the idle job is over" wait_over "$low" 20

# --- two partitions: policies and priorities of their own ---

sed -i -e '/^Partition=/d' -e '1i Class=bulk Priority=0 Policy=frs' -e '1i Class=urgent Priority=10 Policy=piv' \
	-e '1i Partition=low Priority=1 Class=bulk' -e '1i Partition=high Priority=10 Class=urgent' "$D/etc/gpushare.conf"
kill -HUP "$(cat "$D/run/gpushared.pid")"
check "two partitions get classes of two policies" until_true 10 grep ' reloaded ' "$D/log/gpushared.log"
low=$(submit -p low --gres=gpushare:40 --wrap "$TRIAD 50000") # of 18 s: slurmctld may take some to begin the other one
check "a job of the lower one has the GPU" until_true 20 holds "$low" active_ms '> 200'
high=$(submit -p high --gres=gpushare:40 --wrap "$TRIAD 10000")
check "one of the higher completes beside it" reaches "$high" COMPLETED 60
still_runs() { # and when they began, if not
	in_state "$1" RUNNING && return
	t 5 scontrol show job "$1" | grep StartTime
	t 5 scontrol show job "$2" | grep StartTime
	return 1
}
check "while it runs" still_runs "$low" "$high"
check "and then the lower one" reaches "$low" COMPLETED 120
slowdown() { sed -n 's/.* ntt=\([0-9.]*\) .*/\1/p'; }
differ() { # COMMAND: a smaller slowdown for the higher one
	local of_high of_low
	of_high=$("$@" "$high" | slowdown) of_low=$("$@" "$low" | slowdown)
	echo "high $of_high, low $of_low"
	awk -v a="$of_high" -v b="$of_low" 'BEGIN { exit !(a >= 1 && a < b) }'
}
by_sacct() { account "$1" AdminComment; }
check "their slowdowns differ, by scontrol" differ comment
check "and by sacct" until_true 10 differ by_sacct

# --- the accounting as a workload of the simulator ---

played() { # also a job that never ran and one that runs
	t 10 sacct --parsable2 --allusers --format=JobID,JobName,Partition,Submit,Start,End,Elapsed,AllocTRES,State >"$TMP/trace"
	cat "$TMP/trace"
	t 20 "$BUILD/gpushare-sim" --trace "$TMP/trace" --gpus 1 --policy frs --partition high=10 --format csv >"$TMP/played" || return 1
	cat "$TMP/played"
	# The first job may have begun and ended in one second, and took no time then.
	grep -q "^$two,40,.*,.*,.*,.*,.*,.*,[0-9]*\$" "$TMP/played" &&
		! grep -qE "^($pending|[0-9]+\.)" "$TMP/played" && grep -q '^frs,1,' "$TMP/played"
}
running=$(submit --gres=gpushare:30 --wrap "sleep 30")
pending=$(submit --hold --gres=gpushare:30 --wrap "sleep 30")
until_true 10 in_state "$running" RUNNING
t 10 scancel "$pending"
check "gpushare-sim plays what sacct prints" until_true 30 played
t 10 scancel "$running"
wait_over "$running"

# --- sreport ---

# slurmdbd sums up hours and days that are over: the three jobs are rewritten as one hour each of yesterday,
# and the cluster as one that was there then.
sql() { t 20 mariadb --no-defaults --socket="$SQL" -N slurm "$@"; }
an_hour_each() {
	local day noon cluster
	day=$(date -d yesterday +%F) && noon=$(date -d "$day 12:00" +%s) && cluster=$(sql -e "SELECT name FROM cluster_table") || return 1
	sql -e "UPDATE ${cluster}_job_table SET time_submit=$noon, time_eligible=$noon, time_start=$noon, time_end=$noon+3600 WHERE id_job IN ($one,$two,$idle);
		UPDATE ${cluster}_event_table SET time_start=$noon WHERE node_name=''" &&
		t 60 sacctmgr -i rollup "$day" "$(date +%F)"
}
check "slurmdbd sums up" an_hour_each
by_sreport() { # the shares of 30, 40 and 30, each for an hour
	t 20 bash -c "$(sed -n '/^sreport -T/p' "$SRC/doc/admin.md")" | tee /dev/stderr | grep -E ' root .* 100 *$'
}
check "sreport has the share-hours that were reserved" until_true 10 by_sreport

# --- slurmdbd goes away and comes back ---

kill "$dbd" && wait "$dbd" 2>/dev/null
job=$(submit --gres=gpushare:20 --wrap "$TRIAD 300")
check "without slurmdbd jobs run" reaches "$job" COMPLETED 60
check "slurmdbd is back" slurmdbd_runs again
check "what it missed arrives: shares and GPU-seconds" until_true 60 eval "account_is $job AllocTRES gres/gpushare=20 && agrees $job"
finish
