#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Contexts and modules that come and go under the shim, on a device that ends whoever uses what is gone. Without Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CHURN=$BUILD/testsuite/e2e/churn
need_built gpushared gpusharectl gpushare-emu testsuite/e2e/churn testsuite/e2e/order
own_daemon
export TMPDIR=$TMP
CASES=(turns alternate pending primary threads modules)
ROUNDS=$(usual_or_long 8 24)

# Without a daemon: left alone, and evicted as often as can be.
emulated() { # MS CASE ROUNDS
	GPUSHARE_FORCE_EVICT_MS=$1 GPUSHARE_EMU_STRICT=1 GPUSHARE_EMU_DEVICE=$TMP/own GPUSHARE_EMU_SMS=2 GPUSHARE_EMU_MEMORY=256M \
		GPUSHARE_DRIVER=$BUILD/src/device/emu/.libs/libcuda.so.1 GPUSHARE_SUMMARY=$TMP/summary \
		LD_LIBRARY_PATH=$BUILD/src/device/shim/.libs t 100 env -u GPUSHARE_SOCKET "$CHURN" "$2" "$3"
}
# The third word of a kernel's line is how often it has left with work remaining.
evicted() {
	rm -f "$TMP/summary"
	emulated "$@" && awk '{ n += $3 } END { print n " evictions"; exit n < 3 }' "$TMP/summary"
}
for case in "${CASES[@]}"; do
	check "without evictions: $case" emulated 0 "$case" "$ROUNDS"
	check "evicted again and again: $case" evicted 0.2 "$case" "$ROUNDS"
done

# In turns with a program that always has kernels to run.
beside_another() { # CASE
	local other rc=0
	run "$BUILD/testsuite/e2e/order" many 25 >"$TMP/other.out" 2>&1 & other=$!
	run "$CHURN" "$1" "$ROUNDS" || rc=1
	wait $other || { cat "$TMP/other.out"; rc=1; }
	return $rc
}
run() { t 100 gpusharectl run --shares 20 --mem 64M --partition low -- "$@"; }
write_conf 512M "Gpu=0 Memory=512M" ContextMemory=2M "Partition=low Priority=1" Policy=rr PolicyParameters=rr_quantum=3ms
check "gpushared serves" start_daemon
for case in "${CASES[@]}"; do
	check "alone: $case" run "$CHURN" "$case" "$ROUNDS"
	check "beside another: $case" beside_another "$case"
done
check "all memory and all shares are back" until_true 5 gpu_is_free
check "gpushared stops" stop_daemon
finish
