#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F7: what the processes of a job step have sent to gpushared is sent again, by others and by root. f7_replay.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row F7 - "sessions that are played again" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to register steps"
need gpushared
for program in munged mungekey munge; do command -v $program >/dev/null || cannot "$program is not installed"; done
own_daemon
mkdir -m 755 "$TMP/munge"
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1" "MungeSocket=$TMP/munge/socket"
sed -i 's/^AllowLocal=.*/AllowLocal=no/' "$TMP/gpushare.conf"
mungekey --create --keyfile="$TMP/munge/key" || cannot "mungekey makes no key"
munged_begins() {
	t 20 munged --force --key-file="$TMP/munge/key" --socket="$TMP/munge/socket" --pid-file="$TMP/munge/pid" --log-file="$TMP/munge/log" \
		--seed-file="$TMP/munge/seed" >/dev/null 2>&1
}
trap '(exit $?); munged_ends; row_cleanup' EXIT
munged_ends() {
	local status=$? pid
	if pid=$(cat "$TMP/munge/pid" 2>/dev/null); then kill "$pid" && until_true 10 has_ended "$pid"; fi
	return $status
}
munged_begins || cannot "munged does not start"
start_daemon || cannot "gpushared does not start"
trials_of f7_replay.py
