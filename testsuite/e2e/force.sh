#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpusharectl run --force-evict-ms: programs that have the GPU to themselves are evicted all the same,
# print what they print otherwise, and the reports count it. On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order testsuite/e2e/until
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Policy=piv"

check "gpushared serves" start_daemon
# run [OPTION...] -- PROGRAM...: output in $TMP/out; then `job` is its number, `preemptions` what it had.
run() {
	t 200 gpusharectl run --shares 20 --mem 64M "$@" >"$TMP/out" 2>"$TMP/err"
	local rc=$?
	cat "$TMP/out" "$TMP/err"
	read -r job preemptions < <(t 5 gpusharectl report --json | python3 -c 'import json, sys
row = json.load(sys.stdin)[-1]
print(row["job"], row["preemptions"])')
	echo "exit status $rc, $preemptions preemptions"
	return $rc
}
undisturbed() { run -- "$ORDER" many 25 && [ "$preemptions" = 0 ]; }
check "without it, who is alone is not evicted" undisturbed

forced_once() { # MS LEAST CASE...
	run -- "$ORDER" "${@:3}" || return 1
	mv "$TMP/out" "$TMP/plain"
	run --force-evict-ms "$1" -- "$ORDER" "${@:3}" && cmp "$TMP/plain" "$TMP/out" && [ "$preemptions" -ge "$2" ] && by_kernel
}
# A launch goes out as the program wrote it, and nothing of the program leaves meanwhile, if another thread is in a call that must not meet
# a blocked kernel, or if the variant seems to take half as long again: on a busy machine the times that this is judged by are chance.
# A run whose launches were evictable and stayed is wrong; one that spent a quarter of its time on others shows nothing: again.
forced() {
	local i
	for i in 1 2 3 4 5; do
		forced_once "$@" && return
		as_written || return 1
		echo "again"
	done
	return 1
}
as_written() {
	t 5 gpusharectl kernels --json --job "$job" | tee "$TMP/kernels" | python3 -c 'import json, sys
job = json.load(sys.stdin)["jobs"][0]
sys.exit(not job["unevictable_ms"] > 0.25 * job["gpu_ms"])' && grep -E '"launch_reason": "(a call was under way|its variant takes longer)' "$TMP/kernels"
}
by_kernel() {
	t 5 gpusharectl kernels --json --job "$job" | python3 -c 'import json, sys
rows = json.load(sys.stdin)["kernels"]
assert sum(r["preemptions"] for r in rows) == int(sys.argv[1]), rows' "$preemptions"
}
check "every ms: a queue of kernels" forced 1 20 many 25
check "every 10 ms: the same" forced 10 4 many 25
for case in order legacy fork; do
	check "every 3 ms: $case" forced 3 3 $case
done
# Of the driver's connections one stream may hold a kernel, and whatever is launched beside it goes out as it is.
connected() { # NUMBER COMMAND...
	local -x CUDA_DEVICE_MAX_CONNECTIONS=$1
	"${@:2}"
}
check "every 3 ms: streams, all of which may hold a kernel" connected 13 forced 3 3 streams
check "every 3 ms: streams, of which one may" connected 8 forced 3 0 streams
never() { forced_once 3 0 streams && [ "$preemptions" = 0 ]; }
check "every 3 ms: streams, of which none may" connected 7 never
# Its launches beside calls that must not meet a held kernel go out as they are.
check "every 3 ms: calls" forced 3 0 calls
# In turns with one that nobody forces.
beside() {
	local other rc=0
	t 200 gpusharectl run --shares 20 --mem 64M -- "$ORDER" many 25 >"$TMP/other" 2>&1 & other=$!
	run --force-evict-ms 2 -- "$ORDER" order || rc=1
	wait $other || rc=1
	cat "$TMP/other"
	return $rc
}
check "so it is beside another program" beside
status() { t 5 gpusharectl status --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["gpus"][0]["evictions"] < 30)'; }
check "gpusharectl status counts them, too" status
check "0 is never" run --force-evict-ms 0 -- "$ORDER" many 5
check "none came of that" test "$preemptions" = 0
for bad in x -1 1.5 86400001; do
	check "--force-evict-ms=$bad is refused" refused 'between 0 and 86400000|number' gpusharectl run --force-evict-ms="$bad" -- true
done

# A period outlives the daemon, as the step does.
restarted() {
	local step
	: >"$TMP/more"
	t 200 gpusharectl run --shares 20 --mem 64M --force-evict-ms 2 -- "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/out" 2>&1 & step=$!
	until_true 20 evicted_since_start || return 1
	kill_daemon && start_daemon && until_true 20 evicted_since_start || return 1
	rm "$TMP/more"
	wait $step
	cat "$TMP/out"
	grep -qx 'until: right' "$TMP/out"
}
evicted_since_start() { t 5 gpusharectl report --json | python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)[-1]["preemptions"] >= 3)'; }
check "a daemon that is started again goes on with it" restarted
check "no kernel was waited for in vain" lacks 'have not left' "$TMP/log"
check "gpushared stops" stop_daemon
finish
