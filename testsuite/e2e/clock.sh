#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The wall clock is set by an hour, forwards and back, all the time, for gpushared, the shim, the emulated device and
# gpusharectl: nothing waits for it, and no figure comes from it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ORDER=$BUILD/testsuite/e2e/order
STEPS=$BUILD/.libs/clock_steps.so
need_built gpushared gpusharectl gpushare-demo-triad gpushare-demo-matmul testsuite/e2e/order .libs/clock_steps.so
own_daemon
write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" "Policy=piv" "HistoryFile=$TMP/history.db" \
	"JobEnv=LD_PRELOAD=$STEPS"

# The control.
steps() { t 5 env LD_PRELOAD="$STEPS" python3 -c 'import sys, time; t = [time.time() for i in range(3)]; sys.exit(max(t) - min(t) < 7000)'; }
serves() { t 20 env LD_PRELOAD="$STEPS" gpushared --config "$TMP/gpushare.conf" && pids=("$(cat "$TMP/pid")"); }
run() { t 100 gpusharectl run --shares 40 --mem 128M "$@"; }

check "the wall clock of a preloaded program jumps" steps
check "gpushared serves" serves
# In streams that wait for values in memory, which is how a kernel that was evicted holds its stream.
check "order of streams, evicted every 3 ms" run --force-evict-ms 3 -- "$ORDER" order
check "streams, evicted every 3 ms" run --force-evict-ms 3 -- env CUDA_DEVICE_MAX_CONNECTIONS=13 "$ORDER" streams

active() { t 5 gpusharectl report --json | python3 -c 'import json, sys; sys.exit(not any(r["partition"] == "low" and r["active_ms"] > 100 for r in json.load(sys.stdin)))'; }
side_by_side() {
	local low rc=0
	run --partition low -- gpushare-demo-triad --elements 262144 --passes 9000 >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 active || rc=1
	run --partition high -- gpushare-demo-matmul --tiles 20 || rc=1
	wait $low || rc=1
	cat "$TMP/low.out"
	return $rc
}
check "a long and a short job side by side" side_by_side

# No figure is near the hour of a step.
figures() {
	t 10 env LD_PRELOAD="$STEPS" gpusharectl "$@" --json >"$TMP/figures.json" && python3 - "$TMP/figures.json" <<-'EOF'
	import json, sys
	def each(o, at=""):
	    for k, v in o.items() if isinstance(o, dict) else enumerate(o) if isinstance(o, list) else ():
	        yield from each(v, f"{at}.{k}")
	    if isinstance(o, float) and at.endswith("_ms"):
	        yield at, o
	figures = dict(each(json.load(open(sys.argv[1]))))
	assert len(figures) > 3, figures
	wrong = {k: v for k, v in figures.items() if not 0 <= v < 600e3}
	assert not wrong, wrong
	EOF
}
check "figures of the report" figures report
check "figures of the kernels" figures kernels --job "$(gpusharectl report --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[-1]["job"])')"
check "the long one was preempted" eval "gpusharectl report --noheader -o partition,preemptions | awk '\$1 == \"low\" && \$2 > 0' | grep -c ."
traced() {
	t 5 gpusharectl trace --json "$TMP/trace.json" && python3 - "$TMP/trace.json" <<-'EOF'
	import json, sys
	spans = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
	first, last = min(e["ts"] for e in spans), max(e["ts"] + e["dur"] for e in spans)
	assert len(spans) > 10 and last - first < 600e6, (len(spans), last - first)
	EOF
}
check "the trace is of minutes, not hours" traced
long_job() { t 5 gpusharectl report --json | python3 -c 'import json, sys; print(next(r["job"] for r in json.load(sys.stdin) if r["partition"] == "low"))'; }
drawn() {
	local job rows
	job=$(long_job) && t 5 gpusharectl plot "$TMP/all.svg" && t 5 gpusharectl plot --job "$job" "$TMP/one.svg" || return 1
	rows=$(grep -c 'text-anchor="end"' "$TMP/one.svg")
	[ "$rows" = 1 ] && [ "$(grep -c 'text-anchor="end"' "$TMP/all.svg")" -gt 1 ] || { echo "$rows rows"; return 1; }
	# A clock's face, in local time, and today's date.
	grep -E '>[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?<' "$TMP/all.svg" >/dev/null && grep -F ">$(date +%Y-%m-)" "$TMP/all.svg"
}
check "plot --job draws one job, with clock times" drawn
since() { t 5 gpusharectl plot --since "$(date -d '1 hour' +%Y-%m-%dT%H:%M)" "$TMP/none.svg" && lacks 'text-anchor="end"' "$TMP/none.svg"; }
check "plot --since leaves out what was before" since
check "a job that never was has no picture" refused 'nothing of job 4000000' t 5 gpusharectl plot --job 4000000 "$TMP/never.svg"
check "and no file" test ! -e "$TMP/never.svg"
page() {
	t 5 gpusharectl report --html "$TMP/page.html" && grep -c '<svg' "$TMP/page.html" && grep '<h2>Memory' "$TMP/page.html" &&
		grep "<td class=l>$(id -un)</td>" "$TMP/page.html" && lacks '<script|https?:|src=' <(sed 's#xmlns="http://www.w3.org/2000/svg"##' "$TMP/page.html")
}
check "report --html is one file that needs no other" page
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
seen() { # what a browser made of it: nothing was repaired or lost
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$TMP/browser" --dump-dom "file://$TMP/page.html" >"$TMP/dom" 2>"$TMP/browser.err" || { cat "$TMP/browser.err"; return 1; }
	[ "$(grep -o '<tr' "$TMP/dom" | wc -l)" = "$(grep -o '<tr' "$TMP/page.html" | wc -l)" ] && grep '<svg' "$TMP/dom" | head -c 200 && grep -c '</html>' "$TMP/dom"
}
if [ -n "$browser" ]; then
	check "a browser reads it" seen
else
	note "no browser has read the page: none is installed"
fi
check "gpushared stops" stop_daemon
finish
