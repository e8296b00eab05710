#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why an MPS server ends, on a real GPU: which servers and clients there are, of which users, while programs of two users come and go.
#
# usage: mps_why.sh BUILD OUT-FOLDER   (as root)
#   BUILD   the build tree (make all)
# environment: CONF (further lines of gpushare.conf), OTHER=nobody (the second user), STEPS="root other both order killed"
# Writes why.txt (a line four times a second: servers with their users, their clients), gpushared's and MPS's logs into OUT-FOLDER; about 30 s.
set -uo pipefail
build=$(realpath "$1") out=$2
mkdir -p "$out" && out=$(realpath "$out")
other=${OTHER:-nobody}
tmp=$(mktemp -d)
daemon= watcher=
[ "$(id -u)" = 0 ] || { echo "the clients are of two users: this needs root"; exit 77; }

say() { echo "$(date +%T.%3N) $*" | tee -a "$out/why.txt"; }
finish() {
	[ -z "$watcher" ] || kill "$watcher" 2>/dev/null
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	for _ in $(seq 100); do [ -d "/proc/${daemon:-none}" ] || break; sleep 0.1; done
	cp "$tmp/log" "$out/gpushared.log" 2>/dev/null
	cp "$tmp"/mps/log/* "$tmp/mps/output" "$out/" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT
chmod 755 "$tmp"
mkdir "$tmp/bin" "$tmp/shim"
cp "$build"/gpusharectl "$build"/gpushare-demo-triad "$tmp/bin/"
cp -P "$build"/src/device/shim/.libs/libcuda.so* "$tmp/shim/"
chmod -R a+rX "$tmp/bin" "$tmp/shim"
export GPUSHARE_SOCKET=$tmp/sock PATH=$tmp/bin:$build:$PATH
: >"$out/why.txt"

for program in "$(command -v nvidia-cuda-mps-control)" /usr/bin/nvidia-cuda-mps-control /usr/local/nvidia/bin/nvidia-cuda-mps-control; do
	[ ! -x "$program" ] || break
done
control() { echo "$*" | CUDA_MPS_PIPE_DIRECTORY=$tmp/mps timeout 5 "$program" 2>&1; }
user_of() { stat -c %U "/proc/$1" 2>/dev/null || echo gone; }
look() { # what there is, in one line
	local s c line=
	for s in $(control get_server_list); do
		line+=" server $s ($(user_of "$s")):"
		for c in $(control get_client_list "$s"); do line+=" $c"; [[ $c != *[!0-9]* ]] && line+="($(user_of "$c"))"; done
	done
	echo "${line:- no server}"
}
watch_it() {
	local now last=
	while sleep 0.25; do
		now=$(look)
		[ "$now" = "$last" ] || say "  $now"
		last=$now
	done
}
as_root() { timeout 20 gpusharectl run --mem 4G "$@"; }
as_other() { timeout 20 su -s /bin/bash "$other" -c "cd / && GPUSHARE_SOCKET=$tmp/sock PATH=$tmp/bin:\$PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} HOME=/ gpusharectl run --mem 4G $*"; }
triad="--shares 40 -- gpushare-demo-triad --elements ${ELEMENTS:-16777216} --passes ${PASSES:-20000} --repeats"
report() { # NAME STATUS FILE
	say "$1 ended with status $2: $(tail -n 1 "$3")"
}

"$program" -h >"$out/help.txt" 2>&1 </dev/null
control help >>"$out/help.txt"
printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$tmp/log" ReportToSlurm=no AllowLocal=yes VariantMin=0 MemoryAdmission=fcfs \
	"ShimDir=$tmp/shim" "Gpu=0 Memory=32G" Policy=rr PolicyParameters=rr_quantum=5ms Isolation=mps "MpsDir=$tmp/mps" "${CONF:-}" >"$tmp/conf"
timeout 40 gpushared --config "$tmp/conf" || { say "gpushared does not start"; cat "$tmp/log"; exit 1; }
daemon=$(cat "$tmp/pid")
say "begun:$(look)"
watch_it &
watcher=$!

step_root() { as_root $triad 100 >"$tmp/one" 2>&1; report root "$?" "$tmp/one"; }
step_other() { as_other "$triad 100" >"$tmp/two" 2>&1; report "$other" "$?" "$tmp/two"; }
step_both() { # root first
	as_root $triad 200 >"$tmp/one" 2>&1 & local one=$!
	sleep 1
	as_other "$triad 100" >"$tmp/two" 2>&1
	report "$other" "$?" "$tmp/two"
	wait $one
	report root "$?" "$tmp/one"
}
step_order() { # the other user first
	as_other "$triad 200" >"$tmp/two" 2>&1 & local two=$!
	sleep 1
	as_root $triad 100 >"$tmp/one" 2>&1
	report root "$?" "$tmp/one"
	wait $two
	report "$other" "$?" "$tmp/two"
}
program_below() { # PID: of the demo among its descendants
	local p
	for p in $(pgrep -P "$1"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != gpushare-demo-t ] || echo "$p"
		program_below "$p"
	done
}
step_killed() { # one of two is killed while its kernels run
	local two pid
	as_root $triad 200 >"$tmp/one" 2>&1 & local one=$!
	as_other "$triad 200" >"$tmp/two" 2>&1 & two=$!
	sleep 1
	pid=$(program_below $two)
	say "killing ${pid:-nobody}"
	[ -z "$pid" ] || kill -9 "$pid"
	wait $two
	report "$other" "$?" "$tmp/two"
	wait $one
	report root "$?" "$tmp/one"
	as_root $triad 20 >"$tmp/one" 2>&1
	report "root again" "$?" "$tmp/one"
}

for step in ${STEPS:-root other both order killed}; do
	say "step $step"
	"step_$step"
	sleep 0.6
done
say "MPS in gpushared's log:"
grep -i mps "$tmp/log" | tail -n 60 | tee -a "$out/why.txt"
