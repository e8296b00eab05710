#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D6: a call of NVML does not return. The log says so within 30 s, meanwhile everything is served, and so it goes on once it returns; and a daemon that
# is told to end meanwhile ends.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D6 s "an answer of gpushared while NVML hangs" "$@"
need gpushared gpusharectl gpushare-demo-matmul .libs/fake_nvml.so
own_daemon
export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))" FAKE_NVML_HANGS=$TMP/hangs
: >"$FAKE_NVML"
write_conf 512M "Gpu=0 Memory=512M" "Partition=main Priority=1" "MemoryParameters=check=1s,nvml=$BUILD/.libs/fake_nvml.so"

answers() { # soon, on a machine that others use as well
	local begun
	begun=$(now_us)
	t 20 gpusharectl status >/dev/null || went_wrong "gpushared does not answer while NVML hangs" || return
	measured "$(seconds_since "$begun")"
	[ $(($(now_us) - begun)) -lt 5000000 ] || went_wrong "an answer took $(seconds_since "$begun") s"
}
until_said() { # WORDS: gpushared answers meanwhile
	local end=$((SECONDS + 30))
	until grep -qF "$1" "$TMP/log"; do
		[ $SECONDS -lt $end ] || went_wrong "the log does not say '$1'" || return
		answers || return
		sleep 0.2
	done
}
one() { # SEED
	# At the first question, or at a later one.
	[ $(($1 % 3)) != 0 ] || { start_daemon || went_wrong "gpushared does not start" || return; }
	touch "$TMP/hangs"
	[ $(($1 % 3)) = 0 ] || start_daemon || went_wrong "gpushared does not start while NVML hangs" || return
	t 60 gpusharectl run --shares 20 --mem 64M -- gpushare-demo-matmul --tiles 4 >"$TMP/program" 2>&1 || went_wrong "a program fails: $(tail -n 1 "$TMP/program")" || return
	until_said "has not answered NVML's questions" || return
	if [ $(($1 % 2)) = 0 ]; then
		rm "$TMP/hangs"
		until_said "answers NVML's questions again" || return
	fi
	stop_daemon || went_wrong "gpushared does not end within 5 s"
}
trial() {
	local rc=0
	one "$1" || rc=1
	rm -f "$TMP/hangs"
	[ ! -e "$TMP/pid" ] || kill_daemon
	rm -f "$TMP/log" "$TMP/pid" "$TMP/sock"
	return $rc
}
trials trial
