#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row C7: a second gpushared while one serves, two that start at once, an old pid file of a process that lives, a socket that an ended
# daemon left, and a folder in the socket's place. One serves; whoever does not says why; nobody is disturbed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row C7 s "a daemon that is refused, to its end" "$@"
need gpushared gpusharectl
own_daemon
write_conf 256M "Gpu=0 Memory=256M"

serves() { t 5 gpusharectl status >/dev/null 2>&1; }
# launch NAME: it daemonizes, or fails; its words in $TMP/NAME.err.
launch() { t 20 gpushared --config "$TMP/gpushare.conf" 2>"$TMP/$1.err"; }
refused_well() { # NAME: it said a line
	grep -qE 'gpushared' "$TMP/$1.err" || went_wrong "the daemon that was refused said nothing"
}
start_or() { start_daemon 2>"$TMP/start.err" && serves || went_wrong "the first daemon does not serve: $(tail -n 1 "$TMP/start.err")"; }
second_one() {
	local first begun
	start_or || return
	first=$(cat "$TMP/pid")
	begun=$(now_us)
	! launch second || went_wrong "a second daemon started" || return
	measured "$(seconds_since "$begun")"
	refused_well second || return
	[ "$(cat "$TMP/pid")" = "$first" ] && serves || went_wrong "the first daemon does not serve any more"
}
both_at_once() {
	local a b begun good=0 locked
	begun=$(now_us)
	launch one & a=$!
	launch two & b=$!
	wait $a && good=$((good + 1))
	wait $b && good=$((good + 1))
	measured "$(seconds_since "$begun")"
	pids=("$(cat "$TMP/pid" 2>/dev/null)")
	locked=$(pgrep -cf "gpushared --config $TMP/gpushare.conf\$")
	[ $good = 1 ] && [ "$locked" = 1 ] || went_wrong "of two daemons at once $good said that they serve, $locked are there" || return
	serves || went_wrong "neither of two daemons serves"
}
old_pid_file() { # of a process that lives and is no daemon
	echo $$ >"$TMP/pid"
	start_or
}
old_socket() {
	start_or && kill_daemon || return
	[ -S "$TMP/sock" ] || went_wrong "a daemon that was killed has no socket any more: this shows nothing" || return
	start_or
}
folder_in_its_place() {
	mkdir "$TMP/sock" && touch "$TMP/sock/file"
	! launch refused || went_wrong "a daemon started with a folder in the socket's place" || return
	refused_well refused || return
	[ -e "$TMP/sock/file" ] || went_wrong "the folder in the socket's place is gone"
	rm -r "$TMP/sock"
}
cases=(second_one both_at_once old_pid_file old_socket folder_in_its_place)
trial() {
	local rc=0 pid
	"${cases[$(($1 % ${#cases[@]}))]}" || rc=1
	for pid in $(pgrep -f "gpushared --config $TMP/gpushare.conf\$"); do kill -KILL "$pid" && until_true 5 has_ended "$pid"; done
	pids=()
	rm -rf "$TMP/pid" "$TMP/sock" "$TMP/state"
	return $rc
}
trials trial
