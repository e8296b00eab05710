#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row F8: a user's job has everything in its environment by which a program loads a library or writes a file, and runs programs that are
# setuid root, with gpushare's libraries and without; or it is moved out of the GPU's memory by root's gpushare-mem. What the user's library
# leaves beside it says who has loaded it: never root. And root writes no file that the environment names.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row F8 - "programs of root's in a user's environment" "$@"
[ "$(id -u)" = 0 ] || cannot "it needs root, to install a setuid program"
need gpushared gpusharectl gpushare-mem gpushare-demo-matmul testsuite/campaign/secure testsuite/e2e/entries .libs/evil.so
cp "$BUILD/testsuite/campaign/secure" "$BUILD/.libs/evil.so" "$TMP/" || cannot "nothing can be copied to $TMP"
stage_build || cannot "cannot copy the build tree to $TMP"
own_daemon
mkdir -m 1777 "$TMP/evil" && mkdir -m 755 "$TMP/roots" && cp "$TMP/secure" "$TMP/plain" && chmod 4755 "$TMP/secure" && chmod 755 "$TMP/plain"
for name in evil.so libcuda.so.1 libnvidia-ml.so.1 libmunge.so.2 libjansson.so.4 libevent-2.1.so.7 libdl.so.2; do cp "$TMP/evil.so" "$TMP/evil/$name" && chmod 755 "$TMP/evil/$name"; done
# With mounts of its own a user's step is in a user namespace, where no program is setuid.
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" MemoryPreempt=checkpoint MountShim=no \
	"MemoryParameters=cycle=1ms,program=$BUILD/gpushare-mem"
: >"$TMP/device" && chmod 666 "$TMP/device" && mkdir "$TMP/job"
start_daemon || cannot "gpushared does not start"
as_nobody "$TMP/secure" | grep -q '^euid=0 secure=1 ' || cannot "setuid programs do not work in $TMP"

# Every variable by itself in half of the trials, in an order of the seed's.
hostile_environment() {
	local all=("LD_PRELOAD=$TMP/evil/evil.so" "LD_LIBRARY_PATH=$TMP/evil" "LD_AUDIT=$TMP/evil/evil.so" "GPUSHARE_DRIVER=$TMP/evil/libcuda.so.1"
		"GPUSHARE_NVML=$TMP/evil/libnvidia-ml.so.1" "GPUSHARE_LOG=$TMP/roots/log" "GPUSHARE_SUMMARY=$TMP/roots/summary" "GPUSHARE_FORCE_EVICT_MS=1"
		"PATH=$TMP/evil:$PATH" "GPUSHARE_CACHE=$TMP/roots/cache" "GPUSHARE_SOCKET=$TMP/evil/sock" "XDG_CACHE_HOME=$TMP/roots") word
	hostile=()
	for word in "${all[@]}"; do [ $((RANDOM % 4)) = 0 ] || hostile+=("$word"); done
}
run_as_user() { # COMMAND...: in a step, with that environment
	(cd / && t 60 setpriv --reuid=nobody --regid=nogroup --clear-groups gpusharectl run --shares 20 --mem 64M --partition low -- env "${hostile[@]}" "$@") >"$TMP/out" 2>"$TMP/err"
}
is_secure() { # OPEN: the setuid program has run with root's rights, and has mapped nothing of the user's
	grep -q "^euid=0 secure=1 open=$1" "$TMP/out" || went_wrong "it said: $(head -n 1 "$TMP/out") $(tail -n 1 "$TMP/err")" || return
	! grep -F "$TMP/evil/" "$TMP/out" >"$TMP/mapped" || went_wrong "a setuid program has mapped $(head -n 1 "$TMP/mapped")"
}
untouched() {
	run_as_user "$TMP/secure" && is_secure 0 || went_wrong "${row_reason:-a setuid program failed: $(tail -n 1 "$TMP/err")}" || return
	! grep -E '/shim/|libcuda' "$TMP/out" || went_wrong "a setuid program that has nothing to do with CUDA has gpushare's library"
}
with_shim() {
	run_as_user "$TMP/secure" "$BUILD/src/device/shim/.libs/libcuda.so.1" cuInit
	is_secure 1
}
with_nvml() {
	run_as_user "$TMP/secure" "$BUILD/src/device/shim/.libs/libnvidia-ml.so.1" nvmlInitWithFlags
	is_secure 1
}
# In the mounts of a job, whose folder has a file that is the user's own, while gpushared is away.
in_a_job() { # PROGRAM
	t 60 unshare --mount --propagation private bash -c 'mount -t tmpfs gpushare "$1/job" && cd "$1/job" && echo "$1/nosuch/sock" >socket && echo GPUSHARE_JOB_ID=1 >job &&
		printf "GPUSHARE_DRIVER=%s\n" "$1/evil/libcuda.so.1" >environment && chown nobody environment && cd / &&
		exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$2" "$3" cuInit' job "$TMP" "$1" "$BUILD/src/device/shim/.libs/libcuda.so.1" >"$TMP/out" 2>"$TMP/err"
}
with_job_folder() {
	in_a_job "$TMP/plain"
	compgen -G "$TMP/evil/loaded.$(id -u nobody).*" >/dev/null || went_wrong "the file of the job's folder was not even read by its user: $(tail -n 1 "$TMP/err")" || return
	rm -rf "$TMP"/evil/loaded.*
	in_a_job "$TMP/secure"
	is_secure 1
}
# The program that holds the memory has this environment; root's program works on it.
moved_out() {
	local low rc=0 before
	before=$(grep -c 'are on the host, after' "$TMP/log")
	rm -f "$TMP/evil/held"
	(cd / && exec setpriv --reuid=nobody --regid=nogroup --clear-groups timeout 60 gpusharectl run --shares 10 --mem 400M --partition low -- env \
		"LD_PRELOAD=$TMP/evil/evil.so" "$BUILD/testsuite/e2e/entries" keep 350 "$TMP/evil/held") >"$TMP/low.out" 2>&1 &
	low=$!
	until_true 30 test -s "$TMP/evil/held" || went_wrong "a program gets no memory: $(tail -n 1 "$TMP/low.out")" || rc=1
	[ $rc = 1 ] || t 60 gpusharectl run --shares 10 --mem 300M --partition high -- gpushare-demo-matmul --tiles 4 >"$TMP/out" 2>&1 || went_wrong "the urgent step failed: $(tail -n 1 "$TMP/out")" || rc=1
	[ $rc = 1 ] || [ "$(grep -c 'are on the host, after' "$TMP/log")" -gt "$before" ] || went_wrong "nothing was moved out: this shows nothing" || rc=1
	rm -f "$TMP/evil/held"
	[ $rc = 0 ] || kill $low 2>/dev/null
	wait $low
	return $rc
}
# The same library is loaded where it may be; else a trial shows nothing.
control() {
	hostile=("LD_PRELOAD=$TMP/evil/evil.so")
	run_as_user "$TMP/plain"
	compgen -G "$TMP/evil/loaded.$(id -u nobody).*" >/dev/null || went_wrong "the user's library was not even loaded as the user's"
}
cases=(untouched with_shim with_nvml with_job_folder with_shim with_nvml untouched moved_out)
trial() {
	rm -rf "$TMP"/evil/loaded.*
	control || return
	hostile_environment
	"${cases[$(($1 % ${#cases[@]}))]}" || return
	! compgen -G "$TMP/evil/loaded.0.*" || went_wrong "${cases[$(($1 % ${#cases[@]}))]}: root has loaded the user's library: ${hostile[*]}" || { rm -rf "$TMP"/evil/loaded.*; return 1; }
	[ -z "$(ls -A "$TMP/roots")" ] || went_wrong "root has written where the user said: $(ls -A "$TMP/roots")" || { rm -rf "$TMP"/roots/*; return 1; }
	! grep -F "$TMP/evil/" "/proc/${pids[0]}/maps" || went_wrong "gpushared has mapped a file of the user's"
}
trials trial
