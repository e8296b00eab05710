#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IdleReclaim: the memory of a program that sleeps goes to one that waits, and comes back at its next call, whichever that is.
. "$(dirname "${BASH_SOURCE[0]}")/memory_lib.sh"
need_built testsuite/e2e/sleeper
SLEEPER=$BUILD/testsuite/e2e/sleeper
reclaiming() { serve IdleReclaim=${RECLAIM:-300ms} "$@"; }
trouble() { cat "$TMP"/*.out "$TMP/log" "$TMP/told" 2>/dev/null; return 1; }

# sleeper NAME MIB CALL [PARTITION]: until it sleeps; its pid in $!
sleeper() {
	rm -f "$TMP/$1"
	run 120 --shares 10 --mem $(($2 + 32))M --partition "${4:-low}" "$SLEEPER" "$2" "$3" "$TMP/$1" >"$TMP/$1.out" 2>&1 &
}
asleep() { until_true 60 test -s "$TMP/$1" || trouble; }
woke() { # NAME PID: it has ended well
	wait "$2" && grep -q "took .* s, 0 bytes wrong" "$TMP/$1.out" || trouble
}
moved() { # how many have left for being idle
	grep -c "is taken back for .*: it is idle" "$TMP/log"
}
# One row of `gpusharectl status`, by its partition: FIELD PARTITION
row() {
	t 5 gpusharectl status --json | python3 -c 'import json, sys
rows = [s for s in json.load(sys.stdin)["steps"] if s["partition"] == sys.argv[2]]
print(rows[0][sys.argv[1]])' "$1" "$2"
}

# Two that sleep on one GPU: the second has the first's memory, the first its own again when it calls CALL, and the second too.
both() { # CALL
	local a b before
	before=$(moved)
	sleeper a 300 "$1"; a=$!
	asleep a || return 1
	sleeper b 350 copy high; b=$!
	asleep b || return 1
	[ "$(moved)" = $((before + 1)) ] || trouble || return 1
	[ "$(row state low)" = moved ] && row reason low | grep -q "its memory is on the host until it uses the GPU again" || trouble || return 1
	# Nobody wants it back while it sleeps, and it does not want it itself.
	sleep 0.5
	[ "$(row state low)" = moved ] || trouble || return 1
	rm "$TMP/a" # the other one sleeps, too, and is moved out in its turn
	woke a $a || return 1
	[ "$(moved)" = $((before + 2)) ] || trouble || return 1
	grep -q "uses the GPU again, and wants its memory back" "$TMP/log" || trouble || return 1
	rm "$TMP/b"
	woke b $b
}
calls() { for call in copy launch alloc free sync query address; do both "$call" || { note "after $call"; return 1; }; done; }

# It never gives its memory up, so the other waits for its end.
keeps() { # CALL
	local a b before
	before=$(moved)
	sleeper a 300 "$1"; a=$!
	asleep a || return 1
	sleeper b 350 copy; b=$!
	sleep 1.5
	[ ! -s "$TMP/b" ] && [ "$(moved)" = "$before" ] || trouble || return 1
	rm "$TMP/a"
	woke a $a && asleep b || return 1
	rm "$TMP/b"
	woke b $b
}
busy() { # its kernel runs for long after its last call
	local a b before
	before=$(moved)
	: >"$TMP/more"
	run 120 --shares 10 --mem 300M --partition low "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/a.out" 2>&1 & a=$!
	sleep 1
	sleeper b 350 copy; b=$!
	sleep 1.5
	[ ! -s "$TMP/b" ] && [ "$(moved)" = "$before" ] || trouble || return 1
	rm "$TMP/more"
	wait $a && asleep b || trouble || return 1
	rm "$TMP/b"
	woke b $b
}
# Both wake all the time, in the middle of each other's moves as well: none hangs, and nothing is lost.
napping() {
	local a b before
	before=$(moved)
	sleeper a 300 naps; a=$!
	asleep a || return 1
	sleeper b 350 naps high; b=$!
	asleep b || return 1
	many_moves() { [ "$(moved)" -ge $((before + 12)) ]; }
	until_true 60 many_moves || trouble || return 1
	rm "$TMP/a" "$TMP/b"
	woke a $a && woke b $b
}
# It frees at once when its memory is back, before gpushared, which is stopped, knows of that: that must not stay counted.
frees() {
	local a b daemon back
	sleeper a 300 again; a=$!
	asleep a || return 1
	sleeper b 350 copy high; b=$!
	asleep b || return 1
	rm "$TMP/b"
	woke b $b || return 1
	daemon=$(cat "$TMP/pid")
	back=$(grep -c "its memory is back" "$TMP/log")
	restores() { pgrep -P "$daemon" -f restore >/dev/null || [ -e "$TMP/a.freed" ]; } # the latter: too late to see anything
	came_back() { [ "$(grep -c "its memory is back" "$TMP/log")" -gt "$back" ]; }
	rm "$TMP/a"
	until restores; do sleep 0.001; done
	kill -STOP "$daemon"
	until_true 20 test -e "$TMP/a.freed" || { kill -CONT "$daemon"; trouble; return 1; }
	kill -CONT "$daemon"
	until_true 20 came_back || trouble || return 1
	sleep 0.1 # until it is a client again
	rm "$TMP/a.freed"
	woke a $a
}
dies() { # while it is away; a program of the same step that comes then has the memory
	local a b
	sleeper a 300 copy; a=$!
	asleep a || return 1
	sleeper b 350 copy; b=$!
	asleep b || return 1
	kill -9 "$(sed 's/ready //' "$TMP/a")"
	wait $a && return 1
	rm "$TMP/b"
	woke b $b
}
restart() { # the daemon's, while it is away: it comes back once there is room
	local a b
	sleeper a 300 copy; a=$!
	asleep a || return 1
	sleeper b 350 copy; b=$!
	asleep b || return 1
	kill -9 "$(cat "$TMP/pid")"
	until_true 5 has_ended "$(cat "$TMP/pid")"
	reclaiming || return 1
	rm "$TMP/a" "$TMP/b"
	woke b $b && woke a $a
}
# The setting comes with a reload, to programs that run already.
later() {
	local a b
	sleeper a 300 launch; a=$!
	asleep a || return 1
	sleeper b 350 copy high; b=$!
	sleep 1
	[ ! -s "$TMP/b" ] && [ "$(moved)" = 0 ] || trouble || return 1
	echo "IdleReclaim=300ms" >>"$TMP/gpushare.conf"
	reload
	asleep b || return 1
	[ "$(moved)" = 1 ] || trouble || return 1
	rm "$TMP/a"
	woke a $a || return 1
	rm "$TMP/b"
	woke b $b
}

reclaiming || { echo "Bail out! gpushared does not start"; exit 1; }
check "one that sleeps gives its memory to one that waits, and has it again at its next call, whichever" calls
check "all of it is back" none_left
check "one inside a call keeps it" keeps inside
check "one with managed memory, which it may read without a call" keeps managed
check "one whose kernel runs" busy
check "all of it is back" none_left
check "two that nap, of which each wakes the other: neither hangs, nothing is lost" napping
check "all of it is back" none_left
check "one that frees before gpushared knows that it is back" frees
check "one that dies meanwhile" dies
check "the daemon is killed meanwhile" restart
check "all of it is back" none_left
check "gpushared stops" stop_daemon
serve
check "not without IdleReclaim" keeps copy
check "which may come later" later
check "all of it is back" none_left
check "gpushared stops" stop_daemon
finish
