#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that loads, launches and unloads again and again takes no more memory after ten thousand times. On the emulated device.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/reloads
own_daemon
ROUNDS=$(usual_or_long 2000 10000)
# What is noise: a launch that has not been reclaimed yet keeps its record.
MOST=$((64 << 10))

serve() { # VARIANT_MIN
	VARIANT_MIN=$1 write_conf 256M "Gpu=0 Memory=256M" "Partition=low Priority=1" Policy=piv MemoryAdmission=fcfs
	start_daemon
}
grows_not() { # CASE ROUNDS
	t 300 gpusharectl run --shares 30 --mem 128M --partition low -- "$BUILD/testsuite/e2e/reloads" "$1" "$2" >"$TMP/out" || { cat "$TMP/out"; return 1; }
	cat "$TMP/out"
	[ "$(cut -d ' ' -f 2 "$TMP/out")" -lt $MOST ]
}

# Of 200 modules 50 launches each, most of them without a slot: the last one of a slot may not be seen.
all_are_listed() {
	# shellcheck disable=SC2016
	t 100 gpusharectl run --shares 30 --mem 128M --partition low -- bash -c '"$1" often 200 && sleep 2 && gpusharectl kernels --json >"$2"' - \
		"$BUILD/testsuite/e2e/reloads" "$TMP/json" || return 1
	python3 -c 'import json, sys; n = sum(k["launches"] for k in json.load(sys.stdin)["kernels"]); print(n); sys.exit(not 9950 <= n <= 10000)' <"$TMP/json"
}

check "gpushared serves" serve 5ms
check "the launches of what is gone are listed" all_are_listed
for case in same other library kernel context graph; do
	check "$case: no growth in $ROUNDS rounds" grows_not $case "$ROUNDS"
done
check "gpushared stops" stop_daemon
check "gpushared serves, and each kernel gets a variant at its first launch" serve 0
for case in same other library kernel context; do
	check "$case: no growth with variants" grows_not $case "$ROUNDS"
done
check "gpushared stops at the end" stop_daemon
finish
