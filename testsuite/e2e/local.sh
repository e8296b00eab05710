#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushared, the shim and the emulated device without Slurm: preemption, memory, deaths.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-demo-triad testsuite/e2e/order testsuite/e2e/until testsuite/e2e/modules .libs/modules_library.so
own_daemon
UNTIL=$BUILD/testsuite/e2e/until

configure() { # POLICY [LINE...]
	write_conf 512M LogLevel=debug "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" \
		"HistoryFile=${HISTORY:-$TMP/history.db}" "Policy=$1" "${@:2}"
}
run() { t 120 gpusharectl run "$@"; }
# report FIELD PARTITION: of the newest job of that partition.
report() {
	t 5 gpusharectl report --json |
		python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["partition"] == sys.argv[2]]
print(rows[-1][sys.argv[1]])' "$1" "$2"
}
at_most() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' "$1" "$2"; }
at_least() { at_most "$2" "$1"; }

# kernels PARTITION EXPRESSION: of the newest job of that partition; k: the kernel launched most, job: the sums.
kernels() {
	t 5 gpusharectl kernels --json --job "$(report job "$1")" | tee "$TMP/kernels.json" | python3 -c 'import json, sys
o = json.load(sys.stdin)
k, job = max(o["kernels"], key=lambda k: k["launches"]), o["jobs"][0]
assert eval(sys.argv[1]), (k, job)' "$2" || { cat "$TMP/kernels.json"; return 1; }
}

LONG=(gpushare-demo-triad --elements 262144 --passes 5000)
SHORT=(gpushare-demo-matmul --tiles 20)

run_low() { run --shares 40 --mem 128M --partition low -- "${LONG[@]}" >"$TMP/low.out" 2>&1; }
# One kernel that lasts until the test has seen enough.
run_until() {
	: >"$TMP/more"
	run --shares 40 --mem 128M --partition low -- "$UNTIL" "$TMP/more" >"$TMP/low.out" 2>&1
}
run_high() { run --shares 40 --mem 128M --partition high -- "${SHORT[@]}" >"$TMP/high.out" 2>&1; }

# A long job in low, a short one in high once the long one computes. Again where that came too late: on a busy machine the long one
# may be over by then.
two_jobs() {
	local i
	for i in 1 2 3; do
		long_and_short || return 1
		! at_least "$(report preemptions low)" 1 || return 0
	done
}
long_and_short() {
	local low last
	last=$(newest_job low)
	run_low & low=$!
	until_true 20 computes 100 "$last" low || { cat "$TMP/low.out" "$TMP/log"; return 1; }
	run_high || { cat "$TMP/high.out"; return 1; }
	wait $low || { cat "$TMP/low.out"; return 1; }
}

# A job in low and one in high, as long as it takes: what an administrator sees of them.
side_by_side() {
	local low high last out="$TMP/top.out" rc=0
	last=$(newest_job low)
	: >"$TMP/more"
	run --shares 40 --mem 128M --partition low -- "$UNTIL" "$TMP/more" >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 computes 50 "$last" low || rc=1
	last=$(newest_job high)
	run --shares 40 --mem 128M --partition high -- "$UNTIL" "$TMP/more" >"$TMP/high.out" 2>&1 & high=$!
	until_true 20 computes 20 "$last" high || rc=1
	t 30 gpusharectl top --once --interval 300ms >"$out" 2>&1 || { rc=$?; echo "top: exit status $rc"; }
	t 5 gpusharectl metrics >"$TMP/metrics.out" || rc=1
	rm "$TMP/more"
	wait $low || rc=1
	wait $high || rc=1
	grep -c . "$TMP/metrics.out" && cat "$out" "$TMP/low.out" "$TMP/high.out"
	grep -q "^ *0  *$1 " "$out" && grep -q ' low  *\(running\|waiting\|idle\) ' "$out" && grep -q ' high  *\(running\|waiting\|idle\) ' "$out" &&
		grep -q '^gpushare_gpu_clients{gpu="0",UUID=""} 2$' "$TMP/metrics.out" &&
		grep -q '^gpushare_step_active_seconds_total{.*partition="high",gpu="0",UUID=""} [0-9]' "$TMP/metrics.out" && [ $rc = 0 ]
}

# Chrome trace events, with a row for each program and somebody leaving the GPU.
traced() {
	t 5 gpusharectl trace --json "$TMP/trace.json" && python3 - "$TMP/trace.json" <<-'EOF'
	import json, sys
	events = json.load(open(sys.argv[1]))["traceEvents"]
	rows = " ".join(e["args"]["name"] for e in events if e["name"] == "thread_name")
	names = {e["name"] for e in events}
	assert "triad" in rows and "matmul" in rows, rows
	assert {"has the GPU", "waits", "leaves", "hand-over"} <= names, names
	EOF
}
plotted() {
	t 5 gpusharectl plot "$TMP/plot.svg" && grep -c 'job L[0-9]*.0 gpushare-demo-triad' "$TMP/plot.svg" &&
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$TMP/plot.svg"
}

for policy in piv frs; do
	configure $policy
	check "$policy: gpushared serves" start_daemon
	check "$policy: the short job alone" run_high
	alone=$(report turnaround_ms high)
	check "$policy: a long and a short job side by side" two_jobs
	check "$policy: the long one's results are right" grep -c ' correct: ' "$TMP/low.out"
	check "$policy: the short one's results are right" grep -c ' correct: ' "$TMP/high.out"
	check "$policy: the long one was preempted" at_least "$(report preemptions low)" 1
	check "$policy: the long one's kernels: time on the GPU, of a block-task, and to leave" kernels low \
		'k["gpu_ms"] > 100 and k["task_ns"] > 0 and k["preemptions"] >= 1 and 0 < k["evict_p50_us"] <= k["evict_p99_us"]'
	check "$policy: its registers, and that it has a variant" kernels low 'k["registers"] > 0 and k["transform"] == "persistent" and k["reason"] == "none"'
	check "$policy: and what part of it could not be preempted" kernels low \
		'job["unevictable_pct"] < 50 and job["gpu_ms"] >= k["gpu_ms"] and k["unevictable"] < k["launches"]'
	note "$policy: short: alone $alone ms, beside the long one $(report turnaround_ms high) ms"
	check "$policy: top and metrics while the two run" side_by_side $policy
	check "$policy: the trace has both jobs and the hand-overs between them" traced
	check "$policy: the picture is XML and has a row for the long one" plotted
	check "$policy: all memory and all shares are back" until_true 5 gpu_is_free
	check "$policy: gpushared stops" stop_daemon
done

configure piv EvictDeadline=60s
start_daemon
check "a program sees its reservation, and no more" run --shares 20 --mem 64M --partition low -- "$BUILD/testsuite/e2e/probe" 64
check "beyond the reservation the program gets out of memory" refused 'out of memory' run --shares 20 --mem 1M --partition low -- "${LONG[@]}"
check "the reservations of all never exceed the GPU" refused 'memory|reserv' run --shares 20 --mem 600M --partition low -- true
# The second where what earlier jobs of it took is known already.
one_wave() {
	run --shares 20 --mem 64M --partition low -- gpushare-demo-matmul --tiles 1 >"$TMP/low.out" || return 1
	kernels low 'k["unevictable"] == k["launches"] >= 1 and k["launch_reason"].startswith(("its grid fits", "is short")) and job["unevictable"] >= 1'
}
check "why a launch could not leave" one_wave
of_a_library() {
	run --shares 20 --mem 64M --partition low -- "$BUILD/testsuite/e2e/modules" library "$BUILD/.libs/modules_library.so" >"$TMP/low.out" || return 1
	kernels low 'k["transform"] == "persistent" and k["gpu_ms"] > 0 and job["launches"] == 2'
}
check "the kernels of a shared library get variants, too" of_a_library
# allows LINE THREES FIVES: the forms of what the library's file has and of what the library loads from memory, where gpushare.conf has LINE.
allows() {
	configure piv EvictDeadline=60s "$1" && reload && of_a_library_as "$2" "$3"
}
of_a_library_as() {
	run --shares 20 --mem 64M --partition low -- "$BUILD/testsuite/e2e/modules" library "$BUILD/.libs/modules_library.so" >"$TMP/low.out" || return 1
	t 5 gpusharectl kernels --json --job "$(report job low)" | tee "$TMP/kernels.json" | python3 -c 'import json, sys
form = {k["kernel"]: k["transform"] if k["reason"] == "none" else k["reason"] for k in json.load(sys.stdin)["kernels"]}
assert [form["threes"], form["fives"]] == sys.argv[1:], form' "$@" || { cat "$TMP/kernels.json"; return 1; }
}
NO_LIBRARY='its module comes from a shared library, and MachineCode=no'
NOT_BUILT='has no variant yet: none was worth building, or one is being built'
check "with MachineCode=no those in a library's file stay as they are" allows MachineCode=no "$NO_LIBRARY" persistent
check "with MachineCode=all they do not" allows MachineCode=all persistent persistent
check "nor with MachineCode=verified" allows MachineCode=verified persistent persistent
VARIANT_MIN=2h check "with VariantMin=2h no kernel gets a variant" allows MachineCode=verified "$NOT_BUILT" "$NOT_BUILT"
configure piv EvictDeadline=60s
check "the daemon goes back to what it had" reload
# Who is alone tells of few launches at once, and of the others when it ends; of the few, the daemon may miss some.
short_ones() {
	run --shares 20 --mem 64M --partition low -- "$BUILD/testsuite/e2e/order" short 3000 >"$TMP/low.out" || return 1
	kernels low '2900 <= k["launches"] <= 3000 and k["unevictable"] == k["launches"] and job["launches"] == 3000'
}
check "short launches that go without marks are counted" short_ones
launches_are() { [ "$(report kernels low)" = "$1" ]; }
told_anew() {
	local low rc=0
	: >"$TMP/more"
	run --shares 20 --mem 64M --partition low -- "$BUILD/testsuite/e2e/order" short 300 "$TMP/more" >"$TMP/low.out" 2>&1 & low=$!
	until_true 10 launches_are 300 || rc=1
	kill -9 "$(cat "$TMP/pid")"
	start_daemon && until_true 10 launches_are 300 || rc=1
	rm "$TMP/more"
	wait $low || rc=1
	report kernels low
	cat "$TMP/low.out"
	return $rc
}
check "and by a new gpushared, which has not seen them" told_anew
check "exit status is the program's" bash -c 'gpusharectl run -- sh -c "exit 7"; [ $? = 7 ]'

# Graphs are left as they are: of 40 of them, enqueued at once, only a few are in front of the next program.
ORDER=$BUILD/testsuite/e2e/order
behind_graphs() { # on a busy machine that may take the time of many of them: again
	local i
	for i in 1 2 3 4; do
		[ $i = 1 ] || echo "again"
		waits_for_few && return
	done
	return 1
}
waits_for_few() {
	local low rc=0
	run --shares 40 --mem 64M --partition low -- "$ORDER" graphs 40 >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 bash -c 'gpusharectl status | grep -q "pid [0-9]* order"' || rc=1
	sleep 0.3
	run --shares 40 --mem 64M --partition high -- "$ORDER" many 1 || rc=1
	wait $low || { cat "$TMP/low.out"; rc=1; }
	graphs="$(report active_ms low) ms, the kernel that came meanwhile waited $(report waiting_ms high) ms"
	echo "$graphs"
	# Behind all of them it would wait for nine tenths of that; on a busy machine a few of them last long.
	[ $rc = 0 ] && python3 -c 'import sys; sys.exit(not float(sys.argv[1]) < float(sys.argv[2]) / 2)' \
		"$(report waiting_ms high)" "$(report active_ms low)"
}
check "a queue of graphs yields within a few of them" behind_graphs
note "the graphs: $graphs"

# The process that holds the GPU.
holder_pid() { t 5 gpusharectl status | sed -n 's/.* pid \([0-9]*\) \(gpushare-demo-triad\|until\).*/\1/p'; }

# kill -9 of a program in the middle of its kernel.
kill_in_kernel() {
	local low pid last
	last=$(newest_job low)
	run --shares 40 --mem 300M --partition low -- "${LONG[@]}" >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 computes 100 "$last" low || return 1
	pid=$(holder_pid)
	[ -n "$pid" ] || { t 5 gpusharectl status; return 1; }
	kill -KILL "$pid"
	wait $low
	# Its share and its memory are back: a job that needs both runs.
	run --shares 90 --mem 400M --partition high -- "${SHORT[@]}" || return 1
}
check "kill -9 in the middle of a kernel: the next job gets its memory and runs" kill_in_kernel

# As scontrol suspend does it: well before EvictDeadline (60 s) the other one has the GPU.
stopped_holder() {
	local low pid last rc=0
	last=$(newest_job low)
	run_until & low=$!
	until_true 20 computes 100 "$last" low && pid=$(holder_pid) && [ -n "$pid" ] || { cat "$TMP/low.out"; return 1; }
	kill -STOP "$pid"
	t 30 gpusharectl run --shares 40 --mem 128M --partition high -- "${SHORT[@]}" || rc=1
	kill -CONT "$pid"
	rm "$TMP/more"
	wait $low || rc=1
	cat "$TMP/low.out"
	grep -qx 'until: right' "$TMP/low.out" && [ $rc = 0 ]
}
check "a stopped job keeps nobody waiting, and goes on" stopped_holder

# kill -9 of the daemon: jobs live, and are managed again by the next one.
daemon_killed() {
	local low last
	last=$(newest_job low)
	run_until & low=$!
	until_true 20 computes 100 "$last" low || return 1
	kill_daemon && start_daemon || return 1
	until_true 20 managed || return 1
	run_high || { cat "$TMP/high.out"; return 1; }
	rm "$TMP/more"
	wait $low || { cat "$TMP/low.out"; return 1; }
	grep -x 'until: right' "$TMP/low.out"
}
managed() { [ -n "$(holder_pid)" ]; }
check "kill -9 of gpushared: the job goes on and is managed again" daemon_killed
# A program of one launch: what that took is known when the next job starts it, which is measured as well.
learned() { # ROWS
	t 20 python3 -c 'import sqlite3, sys
n, = sqlite3.connect(sys.argv[1]).execute("select count(*) from learned where tpt_ps > 0").fetchone()
print(n, "learned")
sys.exit(n != int(sys.argv[2]))' "$TMP/once.db" "$1"
}
only_kernel() { # of the newest job
	local job
	job=$(t 5 gpusharectl report --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[-1]["job"])')
	t 5 gpusharectl kernels --job "$job" --json | python3 -c 'import json, sys
k = json.load(sys.stdin)["kernels"]
print(k)
sys.exit(not (len(k) == 1 and k[0]["launches"] == 1 and k[0]["alone_ms"] > 0))'
}
# On a busy machine the emulated device may be 10 ms late with the event that a launch is timed by, and that one is not.
timed_launch() {
	local i
	for i in {1..10}; do
		run --shares 20 --mem 64M -- gpushare-demo-matmul --tiles 12 || return 1
		! only_kernel || return 0
	done
	return 1
}
one_launch() {
	HISTORY=$TMP/once.db configure sjf
	start_daemon || return 1
	timed_launch && stop_daemon && learned 1 || return 1
	start_daemon || return 1
	timed_launch && stop_daemon && learned 1
}
# Of a program whose only launch was preempted nobody has the time alone: it is learned as the daemon saw it, and
# the next job's launch is predicted from its beginning.
cut_launch() {
	local i rc=1
	HISTORY=$TMP/cut.db configure piv
	start_daemon || return 1
	two_jobs && at_least "$(report preemptions low)" 1 && stop_daemon && start_daemon || return 1
	# The daemon has it from its history's helper, which on a busy machine begins later than the job: again.
	for i in 1 2 3; do
		[ $rc = 0 ] || ! predicted || rc=0
	done
	stop_daemon && return $rc
}
predicted() {
	local low last rc=0
	last=$(newest_job low)
	run_low & low=$!
	until_true 20 computes 50 "$last" low && kernels low 'k["gpu_ms"] < k["alone_ms"] < 60000' || rc=1
	kill -KILL "$(holder_pid)" # nobody wants its result
	wait $low
	return $rc
}
check "gpushared stops" stop_daemon
if grep -qs "define HAVE_SQLITE 1" "$BUILD/config.h"; then
	check "what the only launch of a program took is learned" one_launch
	check "so is what one took that was preempted" cut_launch
fi
configure piv
check "gpushared serves again" start_daemon

# All jobs of this script, by all of its daemons, also those that were killed.
reported() {
	t 10 gpusharectl report --since 1h --by partition --json | tee "$TMP/by.json" | python3 -c 'import json, sys
rows = {r["partition"]: r for r in json.load(sys.stdin)}
assert rows["low"]["steps"] >= 6 and rows["high"]["steps"] >= 6, rows
assert rows["low"]["preemptions"] >= 2 and rows["low"]["antt"] >= 1, rows
assert 0 < rows["high"]["jain"] <= 1 and rows["high"]["active_ms"] > 0, rows' || { cat "$TMP/by.json"; return 1; }
	t 10 gpusharectl report --user "$(id -un)" --partition high | grep -c ' high '
}
check "the history has the jobs of all daemons, by partition and user" reported
# A file that has 100,000 steps: the report is of the latest, and says so; sums are of all.
grow() {
	"$PYTHON" - "$TMP/history.db" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1], timeout=20)
	columns = ",".join(r[1] for r in db.execute("PRAGMA table_info(step)") if r[1] != "id")
	n = db.execute("SELECT count(*) FROM step").fetchone()[0]
	while n < 100000:
	    n += db.execute(f"INSERT INTO step({columns}) SELECT {columns} FROM step ORDER BY id LIMIT {100000 - n}").rowcount
	db.commit()
	END
}
of_the_latest() {
	t 60 gpusharectl report --since 1h --json | python3 -c 'import json, sys
n = len(json.load(sys.stdin))
assert n == 20000, n' || return 1
	t 60 gpusharectl report --since 1h 2>&1 >/dev/null | grep 'these are the latest 20000 job steps'
}
of_all() {
	t 60 gpusharectl report --since 1h --by gpu --json | python3 -c 'import json, sys
assert sum(r["steps"] for r in json.load(sys.stdin)) >= 100000'
}
if "$PYTHON" -c 'import sqlite3' 2>/dev/null; then
	check "a history that is full" grow
	check "a report of it has the latest steps, and says so" of_the_latest
	check "sums are of all steps" of_all
fi
check "a report by nonsense is a usage error" bash -c 'gpusharectl report --by colour; [ $? = 2 ]'
for when in yesterday 2026-13-01 -3h 5x 99999999999999999999d; do
	check "--since $when is refused" bash -c "gpusharectl report --since=$when; [ \$? = 2 ]"
done
check "gpushared stops at the end" stop_daemon
finish
