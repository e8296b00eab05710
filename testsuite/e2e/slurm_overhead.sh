#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What gpushare's plugins cost Slurm, side by side with a cluster without them and with gres/shard:
# sbatch, and slurmctld's scheduling cycles with many pending jobs.
#   JOBS=N     pending jobs (default 1000)
#   CYCLES=N   cycles of slurmctld's to look at, at least (default 15)
#   CSV=FILE   write the figures there as well
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
for program in sdiag python3; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
JOBS=${JOBS:-1000}
CYCLES=${CYCLES:-15}
scheduling='SchedulerParameters=default_queue_depth=2000,sched_interval=3,sched_min_interval=2000000,bf_interval=4,bf_max_job_test=2000,bf_continue,batch_sched_delay=0'

# tune CLUSTER [SED-SCRIPT]: another scheduling, other plugins; slurmctld and slurmd start anew with them.
tune() {
	local conf=$TMP/$1/etc/slurm.conf daemon
	sed -i -e "s/^SchedulerParameters=.*/$scheduling/" ${2:+-e "$2"} "$conf"
	for daemon in slurmd slurmctld; do
		kill "$(pid_in "$TMP/$1/run/$daemon.pid")"
		until_true 20 test ! -e "$TMP/$1/run/$daemon.pid" || return 1
	done
	SLURM_CONF=$conf slurmctld -f "$conf" && SLURM_CONF=$conf slurmd -f "$conf"
	SLURM_CONF=$conf until_true 20 node_is idle
}
start_cluster with WITH_DAEMON=0 GPUS=1 GPU_MEMORY=80G "SPANK_ARGS=timeout=500ms absent=run"
check "a cluster with gpushare's plugins" tune with
start_cluster without WITH_DAEMON=0 GPUS=1 GPU_MEMORY=80G
: >"$TMP/without/etc/plugstack.conf"
# Without cores Slurm does not look which GPU has room: it would do less.
sed -i 's/^Name=gpu .*/& Cores=0-7/' "$TMP/without/etc/gres.conf"
echo "Name=shard Count=100" >>"$TMP/without/etc/gres.conf"
check "a cluster without them, with gres/shard" tune without \
	"s#^PluginDir=[^:]*:#PluginDir=#;/^JobSubmitPlugins/d;/^PrEpPlugins/d;s/gpushare:100/shard:100/;s/^GresTypes=.*/GresTypes=gpu,shard/"
unset GPUSHARE_SOCKET GPUSHARE_CONF
in_cluster() { local name=$1; shift; SLURM_CONF=$TMP/$name/etc/slurm.conf "$@"; }
gres_of() { [ "$1" = with ] && echo gpushare || echo shard; }
plain() { ! in_cluster without timeout 10 sbatch --help | grep gpushare && ! in_cluster without timeout 10 scontrol show config | grep -i gpushare.so; }
check "gpushare has no part in that one" plain

for name in with without; do
	in_cluster $name timeout 10 sbatch --parsable --output=/dev/null --gres="$(gres_of $name):100" --wrap 'exec sleep 1000' >/dev/null
	in_cluster $name until_true 20 in_state 1 RUNNING || { echo "Bail out! the job that takes the whole GPU does not run"; exit 1; }
done

# --- sbatch, in turns ---

# Submits JOBS jobs to each, a job at a time; who goes first may find colder caches: they take turns in that, too.
# Writes the microseconds of each sbatch and those of the processor in it.
submit_all() {
	timeout 1200 python3 - "$JOBS" "$TMP" <<-'PY'
	import os, subprocess, sys, time
	jobs, tmp = int(sys.argv[1]), sys.argv[2]
	gres = {"with": "gpushare:10", "without": "shard:10"}
	wall = {name: open(tmp + "/wall." + name, "w") for name in gres}
	cpu = {name: open(tmp + "/cpu." + name, "w") for name in gres}
	def submit(name, *options):
	    begun = time.monotonic()
	    p = subprocess.Popen(["sbatch", "--quiet", "--output=/dev/null", "--time=1", "--gres=" + gres[name], *options, "--wrap", "true"],
	                         env=dict(os.environ, SLURM_CONF=tmp + "/" + name + "/etc/slurm.conf"), stdout=subprocess.DEVNULL)
	    _, status, used = os.wait4(p.pid, 0)
	    took = time.monotonic() - begun
	    if status != 0:
	        sys.exit("sbatch fails in the cluster " + name)
	    return took, used.ru_utime + used.ru_stime
	for name in gres:
	    submit(name, "--hold")
	for n in range(jobs):
	    for name in sorted(gres, reverse=n % 2):
	        took, used = submit(name)
	        print(round(took * 1e6), file=wall[name])
	        print(round(used * 1e6), file=cpu[name])
	PY
}
# What a machine does that others use at the same time is in the upper part of the figures: the lower quartile is compared.
quartile() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 3) / 4)] }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
compare() { # NAME BAR WITH-FILE WITHOUT-FILE
	local a b ratio
	a=$(quartile <"$3") b=$(quartile <"$4")
	ratio=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", a / b }')
	note "$1: lower quartile with $a us, without $b us; median $(median <"$3") and $(median <"$4") us; $(wc -l <"$3") and $(wc -l <"$4") figures"
	echo "$1,$a,$b,$(median <"$3"),$(median <"$4"),$(wc -l <"$3"),$ratio,$2" >>"$TMP/csv"
	check "$1: $ratio x, at most $2 x" awk -v r="$ratio" -v bar="$2" 'BEGIN { exit !(r > 0 && r <= bar) }'
}
check "sbatch, $JOBS times in each" submit_all
[ $failures = 0 ] || finish
compare "sbatch" 1.05 "$TMP/wall.with" "$TMP/wall.without"
compare "processor time of sbatch" 1.05 "$TMP/cpu.with" "$TMP/cpu.without"
pending() { in_cluster "$1" timeout 20 squeue -h -t PD -o %i --array | wc -l; }
all_pend() { [ "$(pending with)" -ge "$JOBS" ] && [ "$(pending without)" -ge "$JOBS" ]; }
check "$JOBS jobs pend in each" all_pend

# --- slurmctld's cycles, at the same time under the same load ---

# watch CLUSTER: appends each cycle's length, as sdiag has them, once.
watch() {
	local kind when last old_main= old_backfill=
	while :; do
		while read -r kind when last; do
			local -n old=old_$kind
			[ "$when" != "$old" ] && [ "$last" -gt 0 ] && [ -n "$old" ] && echo "$last" >>"$TMP/$kind.$1"
			old=$when
		done < <(in_cluster "$1" timeout 20 sdiag | awk '/^Main schedule/ { at = "main" } /^Backfilling stats/ { at = "backfill" }
			/Last cycle:/ { last[at] = $3 } /Total cycles:/ { n[at] = $3 }
			END { for (at in last) print at, n[at] + 0, last[at] + 0 }')
		sleep 0.5
	done
}
enough() { [ "$(cat "$TMP/$1.with" 2>/dev/null | wc -l)" -ge "$CYCLES" ] && [ "$(cat "$TMP/$1.without" 2>/dev/null | wc -l)" -ge "$CYCLES" ]; }
watched() {
	local watchers=() rc
	watch with & watchers+=($!)
	watch without & watchers+=($!)
	until_true $((CYCLES * 20)) eval "enough main && enough backfill"
	rc=$?
	kill "${watchers[@]}"
	wait "${watchers[@]}" 2>/dev/null
	return $rc
}
check "both schedulers go through their queues, $CYCLES times and more" watched
compare "main schedule cycle of $JOBS pending jobs" 1.10 "$TMP/main.with" "$TMP/main.without"
compare "backfill cycle of $JOBS pending jobs" 1.10 "$TMP/backfill.with" "$TMP/backfill.without"
all_tested() { in_cluster with timeout 10 sdiag | awk '/^Backfilling stats/ { b = 1 } b && /Last depth cycle:/ { print; exit !($4 + 0 >= n) }' n="$JOBS"; }
check "backfill looked at all of them" all_tested

if [ -n "${CSV:-}" ]; then
	{
		echo "# $(date -u +%Y-%m-%d), $(scontrol --version), $(nproc) cores, make check-slurm-overhead JOBS=$JOBS"
		echo "# with gpushare's plugins against a cluster without them and with gres/shard; microseconds; submissions in turns, cycles at the same time"
		echo "measure,lower quartile with,lower quartile without,median with,median without,figures,ratio of the quartiles,bar"
		cat "$TMP/csv"
	} >"$CSV"
fi
finish
