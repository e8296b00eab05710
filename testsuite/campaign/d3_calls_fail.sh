#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row D3: a trial is one system call of gpushared, or of the shim in a program, that fails, is interrupted or does half, or 200 that fail
# one after the other. torture.py says what is expected then.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row D3 s "the two sessions of a trial" "$@"
export ORDER=$BUILD/testsuite/e2e/order
need gpushared gpusharectl testsuite/e2e/order .libs/inject.so
own_daemon
write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" "HistoryFile=$TMP/history.db" "MetricsFile=$TMP/metrics.prom"
head -c 256 /dev/zero >"$TMP/control"
t 20 env GPUSHARE_INJECT="$TMP/control" LD_PRELOAD="$BUILD/.libs/inject.so" gpushared --config "$TMP/gpushare.conf" || cannot "gpushared does not start"
pids=("$(cat "$TMP/pid")")
read -r row_tried row_failed row_worst < <(python3 "$SRC/testsuite/campaign/torture.py" "$TMP/control" "${pids[0]}" --trials "$trials_n" \
	--seed "$seed" --injector "$BUILD/.libs/inject.so")
[ -n "$row_worst" ] && [ "$row_tried" -gt 0 ] || { echo "D3: no trial was made"; exit 1; }
over
