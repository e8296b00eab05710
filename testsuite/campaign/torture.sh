#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every call of gpushared fails in turn while users work: it goes on (row D3 of the campaign). On the emulated device, without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

export ORDER=$BUILD/testsuite/e2e/order
need_built gpushared gpusharectl testsuite/e2e/order .libs/inject.so
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" "HistoryFile=$TMP/history.db" "MetricsFile=$TMP/metrics.prom"
head -c 256 /dev/zero >"$TMP/control"
tortured_daemon() { t 20 env GPUSHARE_INJECT="$TMP/control" LD_PRELOAD="$BUILD/.libs/inject.so" gpushared --config "$TMP/gpushare.conf" && pids=("$(cat "$TMP/pid")"); }
torture() { # ARGUMENT...: what failed is in $TMP/torture.out
	t 7200 python3 "$SRC/testsuite/campaign/torture.py" "$TMP/control" "$(cat "$TMP/pid")" "$@" >"$TMP/torture.out" 2>&1
	local rc=$?
	sed 's/^/# /' "$TMP/torture.out" >&3
	return $rc
}
exec 3>&1
EVERY=$(usual_or_long 60 1)
check "gpushared serves" tortured_daemon
check "each call fails" torture --every "$EVERY"
check "each call is interrupted" torture --mode interrupted --every "$EVERY"
check "each read and write does half" torture --mode short --every "$EVERY"
check "all calls fail for a while" torture --lasting 200 --every $((EVERY * 5))
check "each call fails, those of the libraries too" torture --libraries --every $((EVERY * 20))
check "gpushared stops" stop_daemon
finish
