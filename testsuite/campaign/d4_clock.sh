#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D4: the wall clock is set by an hour, by a year and to 1970, all the time, for gpushared and all programs; it runs at another rate; CLOCK_MONOTONIC has a year or
# ten years on it. A long and a short program share the GPU: both are right, nobody is killed by EvictDeadline, no figure has an hour, and it takes no longer.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D4 s "two programs side by side" "$@"
need gpushared gpusharectl gpushare-demo-triad gpushare-demo-matmul .libs/clock_steps.so
own_daemon
STEPS=$BUILD/.libs/clock_steps.so

# under STEP MONOTONIC COMMAND...: STEP: of the wall clock, or 0; MONOTONIC: on that clock, or 0.
under() {
	local step=$1 offset=$2 in=()
	shift 2
	[ "$offset" = 0 ] || in=(unshare --time --fork --monotonic "$offset" --boottime "$offset")
	[ "$step" = 0 ] || in+=(env "LD_PRELOAD=$STEPS" "GPUSHARE_CLOCK_STEP=$step")
	t 60 "${in[@]}" "$@"
}
figures() {
	python3 -c 'import json, sys
def each(o, at=""):
    for k, v in o.items() if isinstance(o, dict) else enumerate(o) if isinstance(o, list) else ():
        yield from each(v, f"{at}.{k}")
    if isinstance(o, float) and at.endswith("_ms"):
        yield at, o
figures = dict(each(json.load(sys.stdin)))
wrong = {k: v for k, v in figures.items() if not 0 <= v < 120e3}
print(wrong) if wrong or len(figures) < 4 else None
sys.exit(bool(wrong) or len(figures) < 4)'
}
one() { # STEP MONOTONIC
	local low begun at=("$1" "$2")
	write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" EvictDeadline=2s EvictOverdue=kill MemoryWait=20s "HistoryFile=$TMP/history.db"
	[ "$1" = 0 ] || printf '%s\n' "JobEnv=LD_PRELOAD=$STEPS" "JobEnv=GPUSHARE_CLOCK_STEP=$1" >>"$TMP/gpushare.conf"
	# --fork of unshare would be the daemon's parent.
	under "${at[@]}" gpushared --config "$TMP/gpushare.conf" || went_wrong "gpushared does not start" || return
	until_true 5 test -s "$TMP/pid"
	pids=("$(cat "$TMP/pid")")
	begun=$(now_us)
	under "${at[@]}" gpusharectl run --shares 40 --mem 64M --partition low -- gpushare-demo-triad --elements 262144 --passes 600 >"$TMP/low.out" 2>&1 & low=$!
	sleep 0.3
	under "${at[@]}" gpusharectl run --shares 40 --mem 64M --partition high -- gpushare-demo-matmul --tiles 8 >"$TMP/high.out" 2>&1 ||
		went_wrong "the urgent program: $(tail -n 1 "$TMP/high.out")" || { wait $low; return 1; }
	wait $low || went_wrong "the long program: $(tail -n 1 "$TMP/low.out")" || return
	measured "$(seconds_since "$begun")"
	[ $(($(now_us) - begun)) -lt 30000000 ] || went_wrong "they took $(seconds_since "$begun") s" || return
	under "${at[@]}" gpusharectl report --json >"$TMP/report" && figures <"$TMP/report" >"$TMP/figures" || went_wrong "figures: $(cat "$TMP/figures")" || return
	! grep -qE 'is killed|have not left|terminated' "$TMP/log" || went_wrong "the log: $(grep -E 'is killed|have not left|terminated' "$TMP/log" | head -n 1)" || return
	stop_daemon || went_wrong "gpushared does not end"
}
trial() { # SEED
	local steps=("3600 0" "-3600 0" "31536000 0" "-31536000 0" "-$EPOCHSECONDS 0" "1 0" "0 31536000" "0 315360000" "-3600 31536000") rc=0
	if [[ "${steps[$(($1 % 9))]}" == *" "[1-9]* ]] && ! unshare --time --fork --monotonic 5 true 2>/dev/null; then
		echo "D4: no time namespace may be made here: trial $1 has the step alone"
		steps=("-3600 0")
	fi
	# shellcheck disable=SC2086
	one ${steps[$(($1 % ${#steps[@]}))]} || rc=1
	[ ! -e "$TMP/pid" ] || kill_daemon
	rm -rf "$TMP/log" "$TMP/pid" "$TMP"/sock* "$TMP"/history.db*
	return $rc
}
trials trial
