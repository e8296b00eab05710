#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RBDM's Table 2 with a real workload: twenty matrix products of its sizes, scaled to the device, on one GPU.
#
# usage: table2.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree (make all check TESTS=); DRIVER the libcuda.so.1 (default: the system's)
# environment, with what it is without:
#   SUBMIT=run      gpusharectl run; sbatch: jobs of a private Slurm cluster (root; contrib/private-cluster)
#   MEMORY=134400   MiB of the GPU that may be reserved; the paper's 4800 MB are scaled to them
#   CONTEXT=1200    MiB of each task's reservation that its matrices leave free
#   PART=1          of the rest, the part that they fill
#   DEPTH=600       tiles along a product's side for each tile that is summed over: less computes longer
#   CYCLE=250ms     between the arrivals of two tasks, and of one reserve operation
#   MODES="fcfs:fifo rbdm-strict:hpfw"  admission and wake-up policy of each run (fcfs, rbdm-strict, rbdm; fifo, hpfw, smhpfw)
#   LIMIT=60        seconds for each of them
# OUT.csv gets one line per task: arrival_s is when gpushared knows of it (submit_s before it was submitted: Slurm's
# part), response_s from then to its admission, start_s to its first kernel, completion_s to its end.
# Exit status 1: a product was wrong or did not end, or the order was not as it must be.
set -uo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \?//; 3,/^[^#]/p' "$0"; exit 2; }
build=$(realpath "$1") out=$2 driver=${3:-}
src=$(realpath "$(dirname "$0")/../..")
submit=${SUBMIT:-run} memory=${MEMORY:-134400} cycle=${CYCLE:-250ms} limit=${LIMIT:-60}
PATH=$build:$PATH
tmp=$(mktemp -d)
chmod 755 "$tmp"
daemon=
cluster=

stop() {
	if [ -n "$cluster" ]; then
		timeout 60 "$src/contrib/private-cluster" "$cluster" stop
		cluster=
	fi
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null
		for _ in $(seq 100); do
			[ -d "/proc/$daemon" ] || break
			sleep 0.05
		done
		daemon=
	fi
}
finish() {
	stop
	rm -rf "$tmp"
}
trap finish EXIT

job_env() { [ -z "${GPUSHARE_EMU_DEVICE:-}" ] || env | sed -n 's/^GPUSHARE_EMU_/JobEnv=&/p'; }

start() { # LINE...: as SUBMIT says; sets log
	stop
	if [ "$submit" = sbatch ]; then
		cluster=$tmp/cluster
		rm -rf "$cluster"
		DRIVER=$driver BUILD=$build CPUS=24 PARTITIONS="low=1 middle=2 high=3" GPU_MEMORY=${memory}M \
			GPUSHARE_EXTRA="$(printf '%s\n' MemoryQueue=node "$@")"$'\n'"$(job_env)" \
			timeout 90 "$src/contrib/private-cluster" "$cluster" start || return 1
		eval "$("$src/contrib/private-cluster" "$cluster" env)"
		log=$cluster/log/gpushared.log
		return 0
	fi
	export GPUSHARE_SOCKET=$tmp/sock
	log=$tmp/log
	rm -f "$log"
	{
		printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$log" ReportToSlurm=no AllowLocal=yes VariantMin=0 \
			"ShimDir=$build/src/device/shim/.libs" "Gpu=0 Memory=${memory}M" "Partition=low Priority=1" \
			"Partition=middle Priority=2" "Partition=high Priority=3" "$@"
		[ -z "$driver" ] || echo "Driver=$driver"
		job_env
	} >"$tmp/conf"
	timeout 20 gpushared --config "$tmp/conf" || return 1
	daemon=$(cat "$tmp/pid")
}

tasks() { grep '^t[0-9]' "$src/testsuite/workloads/rbdm-table2.csv"; }

# shape MIB: tiles of a product's side and of what is summed over, so that its matrices fill their part.
shape() {
	python3 - "$1" "${CONTEXT:-1200}" "${PART:-1}" "${DEPTH:-600}" <<'P'
import sys
mib, context, part, depth = map(float, sys.argv[1:])
words = max(mib - context, 1) * part * 2**20 / 4 / 256     # tiles of n x n, and two of n x k
tiles = max(int((words / (1 + 2 / depth)) ** 0.5), 1)
while tiles > 1 and tiles * (tiles + 2 * max(round(tiles / depth), 1)) > words:
    tiles -= 1
print(tiles, max(round(tiles / depth), 1))
P
}

write_job() { # FILE TILES INNER
	cat >"$1" <<END
#!/bin/bash
echo "\$EPOCHREALTIME begun \${SLURM_JOB_ID:-\${GPUSHARE_JOB_ID:-}}"
timeout $limit '$build/gpushare-demo-matmul' --tiles $2 --inner $3 --rows 4 2>&1 |
	while IFS= read -r line; do echo "\$EPOCHREALTIME \$line"; done
echo "\$EPOCHREALTIME ended \${PIPESTATUS[0]}"
END
	chmod 755 "$1"
}

submit() { # NAME PARTITION MIB: its output goes to $dir/NAME.out
	if [ "$submit" = sbatch ]; then
		timeout 10 sbatch --parsable --job-name="$1" --output="$dir/$1.out" --partition="$2" \
			--gres=gpushare:5 --gpushare-mem="$3M" "$dir/$1.sh" >"$dir/$1.id" || return 1
	else
		timeout "$limit" gpusharectl run --shares 5 --mem "$3M" --partition "$2" "$dir/$1.sh" >"$dir/$1.out" 2>&1 &
		job+=($!)
	fi
}

await() { # until each has ended
	local end=$((SECONDS + limit))
	until [ "$(cat "$dir"/*.out 2>/dev/null | grep -c ' ended ')" = 20 ]; do
		if [ $SECONDS -ge $end ]; then
			echo "not all have ended within $limit s" >&2
			gpusharectl memory >&2
			return 1
		fi
		sleep 0.1
	done
}

one_mode() { # ADMISSION:WAKE
	local name prio mb mib tiles inner job=() rc=0 period
	dir=$tmp/$1
	mkdir "$dir" && chmod 1777 "$dir"
	period=$(python3 -c 'import sys; t = sys.argv[1]; print(float(t[:-2]) / 1000 if t.endswith("ms") else float(t.rstrip("s")))' "$cycle")
	start "MemoryAdmission=${1%:*}" "MemoryParameters=cycle=$cycle,wake=${1#*:}" || return 1
	while IFS=, read -r name _ _ prio mb; do
		read -r tiles inner < <(shape $((mb * memory / 4800)))
		write_job "$dir/$name.sh" "$tiles" "$inner"
	done < <(tasks)
	while IFS=, read -r name _ _ prio mb; do
		mib=$((mb * memory / 4800))
		echo "$name,$prio,$mib,$EPOCHREALTIME" >>"$dir/arrivals"
		submit "$name" "$(echo low middle high | cut -d' ' -f"$prio")" "$mib" || rc=1
		sleep "$period"
	done < <(tasks)
	await || rc=1
	for name in ${job[@]+"${job[@]}"}; do wait "$name" || rc=1; done
	collect "$1" "$dir" "$log" >>"$out" || rc=1
	return $rc
}

# What the daemon's log says of admissions, and the tasks' outputs of the rest.
collect() { # MODE FOLDER LOG
	python3 - "$@" <<'P'
import datetime, re, sys
mode, folder, log = sys.argv[1:]
arrived, admitted, bad = {}, {}, 0
for line in open(log, errors="replace"):
    m = re.match(r"(\S+) .*job (\d+)\.\S+ uid \d+ pid \d+: \d+ shares|(\S+) .*job (\d+)\.\S+: admitted to \d+ MiB of gpu", line)
    if m:
        at = datetime.datetime.fromisoformat((m[1] or m[3]).replace("Z", "+00:00")).timestamp()
        if m[1]:
            arrived.setdefault(int(m[2]), (len(arrived) + 1, at))
        else:
            admitted[int(m[4])] = (len(admitted) + 1, at)
first = None
for row in open(folder + "/arrivals"):
    name, prio, mib, submitted = row.strip().split(",")
    submitted = float(submitted)
    first = first or submitted
    try:
        text = open("%s/%s.out" % (folder, name)).read()
        job = int(re.search(r" begun (\d+)", text)[1])
        start = float(re.search(r"^(\S+) .*: computing", text, re.M)[1])
        end, status = re.search(r"^(\S+) ended (\d+)", text, re.M).groups()
        took = re.search(r"blocks took ([\d.]+) ms", text)[1]
        came, at = arrived[job]
        order, since = admitted[job]
    except (OSError, TypeError, KeyError):
        sys.stderr.write("%s %s did not end well: %s\n" % (mode, name, text[-300:] if "text" in dir() else ""))
        bad = 1
        continue
    if status != "0" or "correct:" not in text:
        sys.stderr.write("%s %s: %s\n" % (mode, name, text[-300:]))
        bad = 1
    print("%s,%s,%s,%s,%d,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%s" % (mode, name, prio, mib, came, order, at - first, at - submitted,
          since - at, float(start) - at, float(end) - at, float(took) / 1000, status))
sys.exit(bad)
P
}

# Sums per priority (equations 3 and 4); under FCFS they come in the order of their arrival.
summary() {
	python3 - "$1" <<'P'
import csv, sys
rows, bad, response = list(csv.DictReader(l for l in open(sys.argv[1]) if l[0] != "#")), 0, {}
print("mode,priority,tasks,response_s,completion_s")
for mode in dict.fromkeys(r["mode"] for r in rows):
    of_mode = [r for r in rows if r["mode"] == mode]
    for prio in "321":
        of = [r for r in of_mode if r["priority"] == prio]
        response[mode, prio] = sum(float(r["response_s"]) for r in of)
        print("%s,%s,%d,%.3f,%.3f" % (mode, prio, len(of), response[mode, prio], sum(float(r["completion_s"]) for r in of)))
    print("%s: all over after %.1f s; order of admission: %s" % (mode, max(float(r["arrival_s"]) + float(r["completion_s"]) for r in of_mode),
          " ".join(r["task"] for r in sorted(of_mode, key=lambda r: int(r["order"])))))
    if len(of_mode) != 20:
        bad = 1
    if mode == "fcfs:fifo" and any(r["order"] != r["came"] for r in of_mode):
        print("first come was not first served")
        bad = 1
if ("fcfs:fifo", "3") in response and ("rbdm-strict:hpfw", "3") in response:
    first = response["fcfs:fifo", "3"]
    if not first:
        sys.exit("under first come first served nobody of high priority waited: too much memory (MEMORY) for a comparison")
    ratio = response["rbdm-strict:hpfw", "3"] / first
    print("response of high priority under RBDM with HPFW: %.2f of first come first served's" % ratio)
    bad |= ratio >= 1
sys.exit(bad)
P
}

case $submit in run | sbatch) ;; *) echo "SUBMIT is run or sbatch" >&2; exit 2 ;; esac
if [ "$submit" = sbatch ] && [ -z "$driver" ]; then
	echo "SUBMIT=sbatch needs the DRIVER: private-cluster takes the emulated device otherwise" >&2
	exit 2
fi
{
	echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no GPU")," \
		"$(date +%F): SUBMIT=$submit MEMORY=$memory CONTEXT=${CONTEXT:-1200} PART=${PART:-1} DEPTH=${DEPTH:-600} CYCLE=$cycle table2.sh"
	echo "mode,task,priority,memory_mib,came,order,arrival_s,submit_s,response_s,start_s,completion_s,kernel_s,status"
} >"$out"
failures=0
for mode in ${MODES:-fcfs:fifo rbdm-strict:hpfw}; do
	one_mode "$mode" || failures=1
done
stop
summary "$out" || failures=1
exit $failures
