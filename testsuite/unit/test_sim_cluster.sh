#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-sim --trace: a cluster from Slurm's accounting; bad rows; what must hold of every schedule.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
[ -x "$BUILD/gpushare-sim" ] || skip_all "gpushare-sim was not built"
SIM=$BUILD/gpushare-sim
MAKE=$SRC/testsuite/bench/make_trace.py

cat >"$TMP/four.txt" <<'EOF'
JobID|JobName|Partition|Submit|Start|Elapsed|AllocTRES|State
1|a|low|2026-11-20T08:00:00|x|01:00:00|cpu=4,gres/gpushare=50|COMPLETED
1.batch|batch|||y||cpu=4|COMPLETED
2|b|high|2026-11-20T08:10:00|x|30:00|cpu=4,gres/gpushare=50|COMPLETED
3|c|high|2026-11-20T08:20:00|x|1-00:00:00|gres/gpu:h200=1,gres/gpu=1|COMPLETED
4|d|high|2026-11-20T08:30:00|x|00:10:00|cpu=1|COMPLETED
5|e|high|2026-11-20T08:30:00|x|00:00:00|gres/gpu=1|CANCELLED
EOF
# By hand: 2 comes ten minutes after 1 to the same GPU; 3 wants a whole one.
piv() {
	t 20 "$SIM" --trace "$TMP/four.txt" --gpus 1 --policy piv --partition high=9 --format csv >"$TMP/out" || return 1
	cat "$TMP/out"
	grep -qx '1,50,0.000,0.000,5400.000,3600.000,1.5000,1800.000,1' "$TMP/out" &&
		grep -qx '2,50,600.000,600.000,2400.000,1800.000,1.0000,0.000,0' "$TMP/out" &&
		grep -qx '3,100,1200.000,5400.000,91800.000,86400.000,1.0486,4200.000,0' "$TMP/out"
}
check "piv: the priority evicts, a whole GPU waits until all is free" piv
fifo() {
	t 20 "$SIM" --trace "$TMP/four.txt" --gpus 2 --policy fifo --format csv >"$TMP/out" || return 1
	cat "$TMP/out"
	grep -qx '2,50,600.000,3600.000,5400.000,1800.000,2.6667,3000.000,0' "$TMP/out" &&
		grep -qx '3,100,1200.000,1200.000,87600.000,86400.000,1.0000,0.000,0' "$TMP/out"
}
check "fifo: shares are packed onto the fullest GPU, whole ones get an empty one" fifo
# One object, which says what the CSV does.
same_json() {
	local from=(t 20 "$SIM" --trace "$TMP/four.txt" --gpus 2 --policy all)
	"${from[@]}" --format json >"$TMP/out.json" && "${from[@]}" --format csv >"$TMP/out" || return 1
	python3 - "$TMP/out.json" "$TMP/out" <<-'EOF'
	import json, sys
	policies = json.load(open(sys.argv[1]))["policies"]
	rows, summaries = [], ["policy,gpus,jobs,antt,dntt,stp,jain,wait_s,makespan_s,busy,handovers"]
	number = lambda v, digits: "%.*f" % (digits, v)
	for p in policies:
	    rows += ["# policy " + p["policy"], "job,shares,submit_s,start_s,finish_s,alone_s,ntt,waiting_s,preemptions"]
	    for j in p["jobs"]:
	        assert len(j) == 9, j
	        rows.append(",".join([j["job"], str(j["shares"])] + [number(j[k], 3) for k in ("submit_s", "start_s", "finish_s", "alone_s")] +
	                             [number(j["ntt"], 4), number(j["waiting_s"], 3), str(j["preemptions"])]))
	    summaries.append(",".join([p["policy"], str(p["gpus"]), str(len(p["jobs"]))] + [number(p[k], 4) for k in ("antt", "dntt", "stp", "jain")] +
	                              [number(p["wait_s"], 3), number(p["makespan_s"], 3), number(p["busy"], 4), str(p["handovers"])]))
	assert rows + summaries == open(sys.argv[2]).read().splitlines(), rows + summaries
	EOF
}
check "JSON says the same as CSV" same_json
no_picture() { ! t 20 "$SIM" --trace "$TMP/four.txt" --gpus 2 --policy fifo --format svg 2>"$TMP/err" && grep 'formats csv, json and table only' "$TMP/err"; }
check "there is no picture of a cluster" no_picture
counted() {
	t 20 "$SIM" --trace "$TMP/four.txt" --gpus 2 --policy fifo | tee "$TMP/out"
	grep '^3 jobs on 2 GPUs; passed over: 1 steps, 1 without a GPU, 1 that never ran$' "$TMP/out"
}
check "steps, jobs without a GPU and jobs that never ran are counted" counted

# Where AccountingStorageTRES has only types, or a type comes before the sum.
typed() {
	cat >"$TMP/typed.txt" <<-'END'
	JobID|Submit|Elapsed|AllocTRES
	1|2026-11-20T08:00:00|01:00:00|cpu=4,gres/gpushare:h200=25,gres/gpushare:a100=5
	2|2026-11-20T08:00:00|01:00:00|gres/gpu:a100=1,gres/gpu:h200=1
	3|2026-11-20T08:00:00|01:00:00|gres/gpu:h200=1,gres/gpu=2
	END
	t 20 "$SIM" --trace "$TMP/typed.txt" --gpus 5 --policy fifo --format csv >"$TMP/out" || return 1
	cat "$TMP/out"
	[ "$(sed -n 's/^\([0-9],[0-9]*\),.*/\1/p' "$TMP/out" | tr '\n' ' ')" = "1,30 2,200 3,200 " ]
}
check "types are summed where there is no sum of them" typed

generated() {
	python3 "$MAKE" 3000 40 7 >"$TMP/trace.txt" &&
		t 50 "$SIM" --trace "$TMP/trace.txt" --gpus 40 --policy all --partition high=9 --partition normal=5 --format csv >"$TMP/out" || return 1
	python3 - "$TMP/out" "$SRC/src/gpushare/sched/policies.def" <<-'EOF'
	import csv, re, sys
	names = re.findall(r"^POLICY\((\w+)", open(sys.argv[2]).read(), re.M)
	blocks, summary = {}, []
	for line in open(sys.argv[1]):
	    if line.startswith("# policy "):
	        rows = blocks.setdefault(line.split()[2], [])
	    elif line.startswith("policy,"):
	        rows = summary
	        rows.append(line)
	    else:
	        rows.append(line)
	assert names and sorted(blocks) == sorted(names), (sorted(blocks), names)
	work = None
	for policy, lines in blocks.items():
	    rows = list(csv.DictReader(lines))
	    assert len(rows) > 2500, len(rows)
	    for r in rows:
	        submit, start, finish, alone = (float(r[k]) for k in ("submit_s", "start_s", "finish_s", "alone_s"))
	        assert submit <= start <= finish and finish - submit >= alone - 0.001, (policy, r)
	        if policy == "fifo":
	            assert r["preemptions"] == "0", r
	    done = sum(int(r["shares"]) * float(r["alone_s"]) for r in rows)
	    assert work in (None, done), policy
	    work = done
	antt = {r["policy"]: float(r["antt"]) for r in csv.DictReader(summary)}
	assert antt["srt"] < antt["rr"] and antt["frs"] < antt["fifo"], antt
	EOF
}
check "a synthetic trace under every policy: nobody is lost, nobody gets more than there is" generated

refused() { # FILE'S LINES... PATTERN
	local pattern=${*: -1}
	printf '%s\n' "${@:1:$#-1}" >"$TMP/bad.txt"
	t 10 "$SIM" --trace "$TMP/bad.txt" --gpus 1 --policy fifo 2>"$TMP/err"
	[ $? = 1 ] && grep -E "bad.txt:$pattern" "$TMP/err"
}
head='JobID|Submit|Elapsed|AllocTRES'
good='1|2026-11-20T08:00:00|01:00:00|gres/gpu=1'
check "a field that is missing in the first line" refused 'JobID|Submit|Elapsed' "$good" '1:1: .*AllocTRES'
check "too few fields" refused "$head" "$good" '2|2026-11-20T08:00:00' '3:22: fewer fields'
check "too many fields" refused "$head" "$good|x" '2:43: more fields'
check "no time" refused "$head" '1|Unknown|01:00:00|gres/gpu=1' "2:3: 'Unknown' is not a time"
check "a time of nonsense" refused "$head" '1|2026-11-20T08:00:00|an hour|gres/gpu=1' "2:23: 'an hour' is not a time"
check "a negative elapsed time" refused "$head" '1|2026-11-20T08:00:00|-1:00:00|gres/gpu=1' '2:23: '
check "more than a year" refused "$head" '1|2026-11-20T08:00:00|400-00:00:00|gres/gpu=1' '2:23: .*more than a year'
check "an absurd number of GPUs" refused "$head" '1|2026-11-20T08:00:00|01:00:00|gres/gpu=99999999' '2:32: '
check "an absurd number of a type" refused "$head" '1|2026-11-20T08:00:00|01:00:00|gres/gpu:a=6000,gres/gpu:b=6000' '2:32: more than 10000'
check "a type without a number" refused "$head" '1|2026-11-20T08:00:00|01:00:00|gres/gpu:a=' '2:32: '
check "an empty id" refused "$head" '|2026-11-20T08:00:00|01:00:00|gres/gpu=1' "2:1: a job's id"
check "no job at all" refused "$head" '1:1: no job'
too_many() {
	printf '%s\n' "$head" '1|2026-11-20T08:00:00|01:00:00|gres/gpu=4' >"$TMP/bad.txt"
	t 10 "$SIM" --trace "$TMP/bad.txt" --gpus 3 --policy fifo 2>"$TMP/err"
	[ $? = 1 ] && grep 'bad.txt:2: job 1 wants 4 GPUs of 3' "$TMP/err"
}
check "more GPUs than there are" too_many
# A thousand years of one GPU: more than the clock counts.
too_long() {
	{ echo 'JobID|Submit|ElapsedRaw|AllocTRES' && seq 1000 | sed 's/$/|2026-11-20T08:00:00|31536000|gres\/gpu=1/'; } >"$TMP/long.txt"
	t 20 "$SIM" --trace "$TMP/long.txt" --gpus 1 --policy fifo >"$TMP/out" 2>"$TMP/err"
	[ $? = 1 ] && grep 'more than 292 years' "$TMP/err" && t 20 "$SIM" --trace "$TMP/long.txt" --gpus 4 --policy fifo
}
check "more work than fits on the simulated clock" too_long
# The bar is 5 minutes on one core; the CPU time of the run, not of the machine's other work.
big() {
	python3 "$MAKE" 100000 10000 >"$TMP/big.txt" || return 1
	(ulimit -t 60; t 280 "$SIM" --trace "$TMP/big.txt" --gpus 10000 --policy frs) | tee "$TMP/out"
	grep -E '^frs ' "$TMP/out"
}
check "100,000 jobs on 10,000 GPUs within a minute of CPU time" big
finish
