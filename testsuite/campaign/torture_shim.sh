#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every call of the shim fails in turn: the program may fail, as it would where the driver fails, but neither hangs, nor dies, nor computes
# anything wrong (row D3 of the campaign). On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

export ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order .libs/inject.so
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1"
head -c 256 /dev/zero >"$TMP/control"
torture() { # EVERY CASE...
	t 7200 python3 "$SRC/testsuite/campaign/torture.py" "$TMP/control" "$(cat "$TMP/pid")" --shim "$BUILD/.libs/inject.so" \
		--every "$1" --case "${@:2}" >"$TMP/torture.out" 2>&1
	local rc=$?
	sed 's/^/# /' "$TMP/torture.out" >&3
	return $rc
}
exec 3>&1
check "gpushared serves" start_daemon
check "one kernel after another" torture "$(usual_or_long 30 1)" many 3
check "a graph" torture "$(usual_or_long 60 2)" graphs 3
[ -z "${CHECK_LONG:-}" ] || CUDA_DEVICE_MAX_CONNECTIONS=13 check "streams, all of which may hold a kernel" torture 20 streams
[ -z "${CHECK_LONG:-}" ] || check "all kinds of calls" torture 10 calls
check "gpushared stops" stop_daemon
finish
