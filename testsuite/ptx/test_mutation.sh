#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each deliberate bug of equiv/mutations.def must be caught by the equivalence run of its kernel,
# which passes without it; a line says how each shows.
set -u
here=${srcdir:-.}/testsuite/ptx
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
driver=${DRIVER:-./src/device/emu/.libs/libcuda.so.1}
limit=4 # seconds of a processor for a kernel that waits for ever, and spins; without the bug it takes at most one, on a busy machine too
status=0 count=0

GPUSHARE_EMU_DEVICE=$work/device
GPUSHARE_EMU_SMS=2
GPUSHARE_EMU_BLOCKS_PER_SM=2
GPUSHARE_EMU_MEMORY=268435456
export GPUSHARE_EMU_DEVICE GPUSHARE_EMU_SMS GPUSHARE_EMU_BLOCKS_PER_SM GPUSHARE_EMU_MEMORY

# equiv ARGUMENT...: 124 if it would never end.
equiv() {
	(ulimit -t "$limit" && exec timeout 120 ./ptx_equiv --sync-aware "$@" > "$work/out" 2>&1)
	rc=$?
	case $rc in 137 | 152) rc=124 ;; esac # SIGKILL, SIGXCPU
	return $rc
}

./ptx_equiv --list-mutations > "$work/list" || exit 1
for kernel in $(cut -d ' ' -f 2 "$work/list" | sort -u); do
	equiv "$driver" "$here" "$kernel" ||
		{ echo "FAIL: $kernel, without any bug:"; cat "$work/out"; exit 1; }
done
while read -r name kernel words; do
	count=$((count + 1))
	# What shows only if an eviction comes at the right time may not on a busy machine.
	for try in 1 2 3 4 5 6 7 8; do
		equiv --mutation "$name" "$driver" "$here" "$kernel"
		rc=$?
		[ $rc = 0 ] || break
	done
	how=$(grep -m 1 '^FAIL' "$work/out")
	case $rc in
	0) echo "FAIL: $name ($words) is not seen in $try runs"; status=1 ;;
	124) echo "$name: caught, $kernel never ends" ;;
	1)
		case $how in
		*"is not in the variant"* | *module_load* | *"no such kernel"* | "")
			echo "FAIL: $name does not fit the variant's code any more: $how"; status=1 ;;
		*) echo "$name: caught, ${how#FAIL: }" ;;
		esac ;;
	*) echo "FAIL: $name: status $rc"; cat "$work/out"; status=1 ;;
	esac
done < "$work/list"
[ "$count" -ge 8 ] || { echo "FAIL: only $count deliberate bugs"; status=1; }
exit $status
