#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ways past the shim under `gpusharectl run`, for root and, where users may have user namespaces, for a user.
# slurm_bypass.sh has them in jobs.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_built gpushared gpusharectl testsuite/e2e/bypass testsuite/e2e/bypass_rpath testsuite/e2e/bypass_runpath
stage_build || skip_all "cannot copy the build tree to $TMP"
mkdir "$TMP/driver" "$TMP/bin"
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.580.1"
ln -s libcuda.so.580.1 "$TMP/driver/libcuda.so.1"
cp "$BUILD"/testsuite/e2e/bypass{,_rpath,_runpath} "$TMP/bin/"
own_daemon
write_conf 1G "Gpu=0 Memory=1G"
sed -i "s#^Driver=.*#Driver=$TMP/driver/libcuda.so.1#" "$TMP/gpushare.conf"
: >"$TMP/device" && chmod 666 "$TMP/device"
start_daemon || { cat "$TMP/log"; exit 1; }

# run OPTIONS...: a program that asks for 512 of its 256 MiB.
as=()
managed() {
	(cd / && timeout 30 "${as[@]}" gpusharectl run --mem 256M -- "$@" 512 </dev/null) >"$TMP/out" 2>&1
	cat "$TMP/out"
	grep -q '^total=256 alloc=refused ' "$TMP/out"
}
ways() { # WHO
	check "$1: as it is" managed "$TMP/bin/bypass"
	check "$1: DT_RPATH" managed env -u LD_LIBRARY_PATH "$TMP/bin/bypass_rpath"
	check "$1: DT_RUNPATH" managed env -u LD_LIBRARY_PATH "$TMP/bin/bypass_runpath"
	check "$1: LD_LIBRARY_PATH overwritten" managed env LD_LIBRARY_PATH="$TMP/driver" "$TMP/bin/bypass"
	check "$1: env -i" managed env -i "$TMP/bin/bypass_rpath"
	check "$1: LD_PRELOAD of the driver" managed env LD_PRELOAD="$TMP/driver/libcuda.so.580.1" "$TMP/bin/bypass"
	check "$1: env -i in a worker that nobody waits for" managed sh -c "setsid -f env -i $TMP/bin/bypass_rpath \$0 2>&1 | cat"
	check "$1: dlopen by its path" managed sh -c "exec $TMP/bin/bypass \$0 $TMP/driver/libcuda.so.1"
}
if [ "$(id -u)" = 0 ]; then
	ways root
	cp -a "$TMP/driver" "$TMP/compat"
	sed -i "\$acover $TMP/compat/libcuda.so.1" "$TMP/sock.mounts/plan"
	check "a cuda-compat folder's driver is covered, too" managed env LD_LIBRARY_PATH="$TMP/compat" "$TMP/bin/bypass"
	below() { # the driver that such a program has below the shim is the folder's
		rm -f "$TMP/fifo" && mkfifo "$TMP/fifo"
		gpusharectl run --mem 256M -- sh -c "LD_LIBRARY_PATH=$TMP/compat $TMP/bin/bypass 1 <$TMP/fifo & exec 9>$TMP/fifo; sleep 1; cat /proc/\$!/maps; exec 9>&-; wait" >"$TMP/out" 2>&1
		grep -m 3 libcuda "$TMP/out"
		grep -qF "/job/real$TMP/compat/libcuda.so.580.1" "$TMP/out" && ! grep -F "/job/real$TMP/driver/" "$TMP/out"
	}
	check "and is what the shim passes on to" below
	check "the node has its driver where it was" cmp "$TMP/driver/libcuda.so.1" "$BUILD/src/device/emu/.libs/libcuda.so.1"
	as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
if (cd / && "${as[@]}" unshare -rm true) 2>/dev/null; then
	ways user
else
	note "users may have no user namespaces here: gpusharectl run goes by LD_LIBRARY_PATH"
fi
finish
