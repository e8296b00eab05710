#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs with periods and deadlines: what is refused, what the reports and the log say, and that edf
# lets them go first. On the emulated device, without Slurm. How long things take is the machine's
# affair, which may be busy: only counts are judged, and times that cannot be shorter.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PERIODIC=$BUILD/testsuite/e2e/periodic
need_built gpushared gpusharectl testsuite/e2e/periodic testsuite/e2e/until
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Policy=edf"
check "gpushared serves" start_daemon

for bad in soon 0 -20ms 99us 25h; do
	check "--period=$bad is refused" refused '--period: .*(duration|between 0.1ms and a day|longer than a day)' gpusharectl run --period="$bad" -- true
	check "--deadline=$bad too" refused '--deadline: .*(duration|between 0.1ms and a day|longer than a day)' gpusharectl run --deadline="$bad" -- true
done

# run OPTION... -- PROGRAM...: its output; then $TMP/row is what the report says of the step.
run() {
	local rc
	t 100 gpusharectl run --shares 20 --mem 64M "$@" >"$TMP/out" 2>&1
	rc=$?
	cat "$TMP/out"
	t 5 gpusharectl report --json >"$TMP/report"
	python3 -c 'import json, sys; print(json.dumps(max(json.load(open(sys.argv[1])), key=lambda r: r["job"]), indent=1))' "$TMP/report" >"$TMP/row"
	return $rc
}
# row EXPRESSION: it holds for the step that ran last.
row() { cat "$TMP/row"; python3 -c 'import json, sys; r = json.load(open(sys.argv[2])); sys.exit(not eval(sys.argv[1]))' "$1" "$TMP/row"; }

check "a program without any" run -- "$PERIODIC" 3 20
check "has none in its report" row 'all(r[k] is None for k in ("period_ms", "deadline_ms", "bursts", "missed", "response_p50_ms", "jitter_max_ms"))'
check "one with a period" run --period 80ms -- "$PERIODIC" 12 80
# Fewer where the machine keeps gpushared from looking for a whole pause.
check "has a burst for each period" row '10 <= r["bursts"] <= 12 and r["period_ms"] == r["deadline_ms"] == 80'
check "of which each took time, and the GPU for most of it" row '0 < r["response_p50_ms"] <= r["response_p99_ms"] <= r["response_max_ms"] and r["occupying_p50_ms"] > 0'
check "one that can never be in time" run --period 80ms --deadline 0.1ms -- "$PERIODIC" 12 80
check "misses all its deadlines" row 'r["missed"] == r["bursts"] >= 10 and r["tardiness_p50_ms"] > 0 and r["deadline_ms"] == 0.1'
check "which the log says" grep -E 'job L[0-9]+\.0 uid [0-9]+: missed [0-9]+ deadlines; in all [0-9]+ of [0-9]+ bursts' "$TMP/log"
check "in few lines" test "$(grep -c ': missed ' "$TMP/log")" -le 15
check "one that has a deadline and no period" run --deadline 80ms -- "$PERIODIC" 6 80
check "has no jitter" row 'r["period_ms"] is None and r["jitter_p50_ms"] is None and r["bursts"] >= 4'

# Beside a kernel that lasts for ever, of a program without a deadline.
beside() {
	local other rc=0
	: >"$TMP/more"
	t 200 gpusharectl run --shares 20 --mem 64M -- "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/other" 2>&1 & other=$!
	until_true 20 runs || rc=1
	run --period 80ms -- "$PERIODIC" 12 80 || rc=1
	rm "$TMP/more"
	wait $other || rc=1
	cat "$TMP/other"
	return $rc
}
runs() { t 5 gpusharectl status --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["gpus"][0]["holder"] is None)'; }
check "beside one that never ends, under edf" beside
check "each period has its burst all the same" row '10 <= r["bursts"] <= 12'
yields() { t 5 gpusharectl report --json | python3 -c 'import json, sys; sys.exit(not any(r["preemptions"] >= 6 for r in json.load(sys.stdin) if r["bursts"] is None))'; }
check "and the other one has left for most of them" yields
metrics() { t 5 gpusharectl metrics >"$TMP/metrics" && ! grep '^gpushare_step_bursts_total' "$TMP/metrics"; }
check "no step with a period is left in the metrics" metrics
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
check "gpushared stops" stop_daemon
finish
