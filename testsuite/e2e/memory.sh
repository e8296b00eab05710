#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Device memory: every entry at the limit, neighbours, several processes of a step, deaths, admission.
# RANDOM_OPS: operations of each of the eight random processes, KILLS: processes killed before each of them.
. "$(dirname "${BASH_SOURCE[0]}")/memory_lib.sh"
OPS=${RANDOM_OPS:-12500} # of eight processes: 100,000
HISTORY=HistoryFile=$TMP/history.db

# Every entry of this device, two processes of a step, an import, and contexts.
limits() { # TIMES
	# shellcheck disable=SC2016
	run 120 --shares 50 bash -c '"$0" limit "$1" && "$0" pair "$1" && "$0" contexts "$1" && "$0" frames "$1"' \
		"$ENTRIES" "$1" >"$TMP/limit" 2>"$TMP/limit.err" || {
		cat "$TMP/limit" "$TMP/limit.err"
		return 1
	}
	[ "$(grep -c ",$1,$1,$1\$" "$TMP/limit")" = 20 ] && [ "$(grep -c "not on this device" "$TMP/limit")" = 3 ]
}
# A neighbour's own bytes are always there, whatever the first one is doing.
beside() { # COMMAND...
	local rc=0 pid
	rm -f "$TMP/over"
	run 120 --shares 50 "$ENTRIES" neighbour "$TMP/over" >"$TMP/neighbour" 2>&1 &
	pid=$!
	"$@" || rc=1
	: >"$TMP/over"
	wait $pid || rc=1
	cat "$TMP/neighbour"
	return $rc
}

# Two processes of one step are told the same, and share what there is.
same_everywhere() {
	local a b
	# shellcheck disable=SC2016
	run 60 --shares 50 bash -c '"$0" info >"$1.a"; "$0" info >"$1.b" & wait $!' "$ENTRIES" "$TMP/info" || return 1
	a=$(cat "$TMP/info.a")
	b=$(cat "$TMP/info.b")
	echo "$a / $b"
	[ "$a" = "$b" ] && [ "$a" = "268435456 268435456 268435456" ]
}

# Eight processes of two steps, and more that are killed in the middle.
randoms() { # OPERATIONS-OF-EACH
	local rc=0 pid step=() watcher
	rm -f "$TMP/over" "$TMP/seen"
	t 600 "$SRC/testsuite/e2e/watch_used" "$TMP/over" "$TMP/seen" >"$TMP/random.looks" 2>&1 &
	watcher=$!
	for s in 1 2; do
		run 600 --shares 50 "$SRC/testsuite/e2e/random_four" "$ENTRIES" "$1" "$s" "$TMP/random.$s" "${KILLS:-1}" "$TMP/seen" &
		step+=($!)
	done
	for pid in "${step[@]}"; do wait "$pid" || rc=1; done
	: >"$TMP/over"
	wait $watcher || rc=1
	cat "$TMP"/random.?.[1-4] "$TMP/random.looks"
	[ $rc = 0 ] && [ "$(cat "$TMP"/random.?.[1-4] | grep -c " operations in .* 0 failed otherwise")" = 8 ]
}

price() { run 60 --shares 50 "$ENTRIES" price 2000 | tee "$TMP/price"; }

# One who lives on its lease tells the daemon of no allocation: its page does. The context is the one that it asks for.
live_figures() {
	local pid rc
	rm -f "$TMP/live"
	run 60 --shares 50 --mem 500M "$ENTRIES" keep 200 "$TMP/live" >"$TMP/live.out" 2>&1 &
	pid=$!
	until_true 20 test -s "$TMP/live" || return 1
	t 5 gpusharectl report --json >"$TMP/report" && t 5 gpusharectl status --json >"$TMP/status" &&
		t 5 gpusharectl metrics >"$TMP/metrics" && t 5 gpusharectl memory --json >"$TMP/memory"
	python3 - "$TMP" <<'END'
import json, re, sys
def of(name): return json.load(open(sys.argv[1] + "/" + name))
found = [of("report")[-1]["memory_mb"], of("status")["steps"][-1]["memory_mb"], of("memory")[0]["steps"][0]["used_mb"],
         float(re.findall(r"^gpushare_step_memory_peak_bytes.* (\S+)$", open(sys.argv[1] + "/metrics").read(), re.M)[-1]) / 2**20]
print(found)
sys.exit(found != [204] * 4)
END
	rc=$?
	rm "$TMP/live"
	wait $pid && [ $rc = 0 ]
}

# More than half of an idle GPU: at once, and nobody is told of a wait.
at_once() {
	run 60 --shares 10 --mem 308M "$ENTRIES" info >"$TMP/once" 2>"$TMP/once.err" || return 1
	cat "$TMP/once" "$TMP/once.err"
	grep -q "^322961408 322961408" "$TMP/once" && logged "admitted to 308 MiB of gpu 0 after 0\.00" && ! grep -q waiting "$TMP/once.err"
}

# A byte more than the GPU has is refused at once, in words that say so.
beyond() { refused '513 MiB do not fit: GPU 0 has 512 MiB to reserve' run 20 --shares 10 --mem $(((512 << 20) + 1)) "$ENTRIES" info; }

# A step waits until there is room, and is then as any other.
queued_first() { t 5 gpusharectl memory | grep "waiting.*number 1 of 1 that wait for memory"; }
waits_its_turn() {
	local big rc
	rm -f "$TMP/held"
	run 60 --shares 10 --mem 400M "$ENTRIES" keep 64 "$TMP/held" >"$TMP/big" 2>&1 &
	big=$!
	until_true 10 test -s "$TMP/held" || return 1
	run 60 --shares 10 --mem 300M "$ENTRIES" info >"$TMP/waiter" 2>"$TMP/waiter.err" &
	local waiter=$!
	until_true 10 queued_first || return 1
	[ ! -s "$TMP/waiter.err" ] || return 1 # not in the first second
	until_true 10 grep -q "still waiting for 300 MiB of GPU memory after 1 s: other jobs hold it" "$TMP/waiter.err" || return 1
	[ ! -s "$TMP/waiter" ] || return 1
	rm "$TMP/held"
	wait $big && wait $waiter
	rc=$?
	cat "$TMP/big" "$TMP/waiter"
	[ $rc = 0 ] && grep -q "0 words wrong" "$TMP/big" && grep -q "^314572800 314572800" "$TMP/waiter"
}

# Each GPU has its own queue: 0's is empty, and on 1 one has memory and one waits for it.
queues_apart() {
	t 5 gpusharectl memory --json >"$TMP/gpus"
	python3 -c 'import json, sys
a, b = json.load(open(sys.argv[1]))
assert (a["reserved_mb"], len(a["steps"])) == (0, 0), a
assert (b["reserved_mb"], [s["state"] for s in b["steps"]]) == (400, ["admitted", "waiting"]), b' "$TMP/gpus"
}
two_gpus() {
	local pid=() g rc=0 waiter
	stop_daemon && serve "$HISTORY" "Gpu=1 Memory=512M" || return 1
	for g in 0 1; do
		rm -f "$TMP/held$g"
		run 60 --gpu $g --shares 10 --mem 400M "$ENTRIES" keep 16 "$TMP/held$g" >"$TMP/gpu$g" 2>&1 &
		pid+=($!)
	done
	until_true 10 test -s "$TMP/held0" -a -s "$TMP/held1" || return 1
	run 60 --gpu 1 --shares 10 --mem 300M "$ENTRIES" info >"$TMP/waiter" 2>"$TMP/waiter.err" &
	waiter=$!
	until_true 10 grep -q "waiting for 300 MiB" "$TMP/waiter.err" || return 1
	rm "$TMP/held0"
	wait "${pid[0]}" || rc=1
	until_true 10 queues_apart || queues_apart || rc=1
	rm "$TMP/held1"
	wait "${pid[1]}" && wait $waiter && [ $rc = 0 ] && grep -q "^314572800" "$TMP/waiter"
}

# By what it took before, also after a restart; another argument is another program.
auto() {
	run 60 --shares 50 --mem auto "$ENTRIES" keep 100 "$TMP/auto" >/dev/null 2>&1 &
	until_true 10 test -s "$TMP/auto" || return 1
	rm "$TMP/auto"
	wait $! || return 1
	cp "$TMP/log" "$TMP/log.before" && stop_daemon && serve "$HISTORY" || return 1
	run 60 --shares 50 --mem auto "$ENTRIES" keep 100 "$TMP/auto" &
	until_true 10 test -s "$TMP/auto" || return 1
	gpu reserved_mb | tee "$TMP/reserved"
	rm "$TMP/auto"
	wait $! && [ "$(cat "$TMP/reserved")" = 110.0 ] &&
		grep -q "256 MiB, by its shares" "$TMP/log.before" && logged "110 MiB, by earlier runs" || return 1
	run 60 --shares 50 --mem auto "$ENTRIES" info | tee "$TMP/other"
	grep -q "^268435456 " "$TMP/other"
}

serve ContextMemory=4M "$HISTORY" || { echo "Bail out! gpushared does not start"; exit 1; }
check "each entry a hundred times at the limit, the neighbour has its own throughout" beside limits 100
sed 's/^/# /' "$TMP/limit"
note "the neighbour: $(tail -n 1 "$TMP/neighbour")"
check "all of it is back" none_left
check "report, status and metrics have what a program holds that asks no more" live_figures
check "all of it is back" none_left
check "gpushared stops" stop_daemon
serve "$HISTORY"
check "a job of 60 % of an idle GPU has its memory at once" at_once
check "every process of a step is told the same" same_everywhere
check "eight processes, $((OPS * 8)) random operations, kill -9 among them" randoms "$OPS"
sed '/begun/d; s/^/# /' "$TMP"/random.?.[1-4] "$TMP/random.looks"
check "all of it is back" none_left
check "an accounted call" price
note "ns per allocation, release: $(cat "$TMP/price")"
check "more than the GPU has is refused" beyond
check "a step waits until its memory is there" waits_its_turn
check "all of it is back" none_left
check "each GPU has its own queue" two_gpus
if grep -qs "define HAVE_SQLITE 1" "$BUILD/config.h"; then
	check "memory by earlier runs of the same program" auto
fi
check "gpushared stops" stop_daemon
finish
