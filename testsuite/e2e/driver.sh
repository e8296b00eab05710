#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The shim and the driver below it: missing, broken, with an error of its own, prepared for; and
# programs that never call it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

USER_OF=$BUILD/testsuite/e2e/driver_user
CALLS=$BUILD/testsuite/e2e/driver_calls
need_built src/device/shim/.libs/libcuda.so.1 testsuite/e2e/driver_user testsuite/e2e/driver_calls
SHIM=$TMP/shim
mkdir "$SHIM" && ln -s "$BUILD/src/device/shim/.libs/libcuda.so.1" "$SHIM/libcuda.so.1"
SAYING=$BUILD/.libs/driver_saying.so
unset GPUSHARE_SOCKET GPUSHARE_FORCE_EVICT_MS GPUSHARE_LOG

# With DRIVER below the shim; words in $TMP/out, notices in $TMP/err.
over() { # DRIVER [VARIABLE=VALUE...] PROGRAM...
	t 20 env LD_LIBRARY_PATH="$SHIM${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}" GPUSHARE_DRIVER="$1" "${@:2}" >"$TMP/out" 2>"$TMP/err"
	local rc=$?
	cat "$TMP/out" "$TMP/err"
	return $rc
}
mkdir "$TMP/plain" && ln -s "$SAYING" "$TMP/plain/libcuda.so.1"
seq 200 >"$TMP/text"

# What cuDriverGetVersion is documented to say where there is no driver.
no_driver() { # DRIVER REASON
	over "$1" "$USER_OF" init || return 1
	grep -qx 'version 0: 0' "$TMP/out" && grep -qx 'init: 34' "$TMP/out" &&
		[ "$(grep -c 'no CUDA driver found' "$TMP/err")" = 1 ] && grep -q "no CUDA driver found: .*$2" "$TMP/err"
}
check "a driver that is not there: its version is 0, and why is said once" no_driver /nonexistent/libcuda.so.1 '/nonexistent/libcuda.so.1: No such file'
check "a file that is none: the same, with the linker's reason" no_driver "$TMP/text" "$TMP/text: .*ELF"
check "the shim below itself: the same" no_driver "$BUILD/src/device/shim/.libs/libcuda.so.1" "gpushare's own"
errs() { over "$SAYING" "$USER_OF" init && grep -qx 'version 12345: 0' "$TMP/out" && grep -qx 'init: 100' "$TMP/out" && [ ! -s "$TMP/err" ]; }
check "a driver's own version and error are the program's, unchanged" errs

# By dlsym, as a program's loader does it.
newer() { # NAME RESULT
	over "$SAYING" python3 -c 'import ctypes, sys
print(getattr(ctypes.CDLL("libcuda.so.1"), sys.argv[1])(*(ctypes.c_long(n) for n in range(1, 8))))' "$1" && grep -qx "$2" "$TMP/out"
}
check "a function of a newer driver is there, and reaches the driver with all it is given" newer cuGraphAddNode_v3 7654321
check "one that this driver has not says so" newer cuMemGetLocationInfo 801

# cudart's own words without a driver, with the shim and without.
if command -v nvcc >/dev/null && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
	cat >"$TMP/count.cu" <<-'END'
	#include <cstdio>
	int main()
	{
		int n;
		cudaError_t rc = cudaGetDeviceCount(&n);
		printf("%d: %s\n", (int)rc, cudaGetErrorString(rc));
		return 0;
	}
	END
	cudart() { # shared, static
		t 100 nvcc -cudart "$1" -o "$TMP/count" "$TMP/count.cu" || return 1
		t 20 env -u LD_LIBRARY_PATH "$TMP/count" >"$TMP/native" || return 1
		cat "$TMP/native"
		over /nonexistent "$TMP/count" && cmp "$TMP/native" "$TMP/out" && over "$TMP/text" "$TMP/count" && cmp "$TMP/native" "$TMP/out"
	}
	check "a program with cudart in it gets the error that it gets without gpushare" cudart static
else
	note "cudart was not asked: no nvcc here, or a driver"
fi

prepared() { # CUDA_MODULE_LOADING [VARIABLE=VALUE...]
	over "$SAYING" CUDA_MODULE_LOADING=LAZY CUDA_DEVICE_MAX_CONNECTIONS=3 "${@:2}" "$USER_OF" init || return 1
	grep -qx "driver: CUDA_MODULE_LOADING=$1" "$TMP/out" && grep -qx 'driver: CUDA_DEVICE_MAX_CONNECTIONS=3' "$TMP/out"
}
check "under a daemon the driver has the program's number of connections, and loads as the program says" \
	prepared LAZY GPUSHARE_SOCKET="$TMP/nobody" SAYING_VERSION=13000
check "by then the process is registered for membarrier" grep -qx 'driver: membarrier works' "$TMP/out"
check "so it does where evictions are forced" prepared LAZY GPUSHARE_FORCE_EVICT_MS=10 SAYING_VERSION=13010
check "an older driver, of which it is not known what waits, loads eagerly" prepared EAGER GPUSHARE_SOCKET="$TMP/nobody"
check "there, too" prepared EAGER GPUSHARE_FORCE_EVICT_MS=10 SAYING_VERSION=12090
# What a managed program has set is what the driver gets, nothing is said of it, and the shim counts with the same.
connections() { # OWN COUNTS [GETS [VARIABLE=VALUE...]]; OWN unset: as written here; GETS: OWN unless it is given
	local own=(CUDA_DEVICE_MAX_CONNECTIONS="$1")
	[ "$1" != unset ] || own=(-u CUDA_DEVICE_MAX_CONNECTIONS)
	local gets=${3:-${1/#unset/(not set)}}
	rm -f "$TMP/shim.log"
	t 20 env "${own[@]}" "${@:4}" LD_LIBRARY_PATH="$SHIM${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}" GPUSHARE_DRIVER="$SAYING" GPUSHARE_SOCKET="$TMP/nobody" \
		GPUSHARE_LOG="$TMP/shim.log" SAYING_VERSION=13000 "$USER_OF" init >"$TMP/out" 2>"$TMP/err" || return 1
	cat "$TMP/out" "$TMP/err" "$TMP/shim.log"
	grep -qx "driver: CUDA_DEVICE_MAX_CONNECTIONS=$gets" "$TMP/out" && ! grep -q CUDA_DEVICE_MAX_CONNECTIONS "$TMP/err" &&
		[ "$(grep -c 'a context has' "$TMP/shim.log")" = 1 ] && grep -q "a context has $2 connections" "$TMP/shim.log"
}
for own in 1 7 8 13 32; do
	check "connections: a program that sets $own has them" connections "$own" "$own"
done
check "connections: a program that sets none has the driver's" connections unset 8
for own in "" 0 33 -1 20x 99999999999999999999; do
	check "connections: of a program that sets '$own' it is not known how many it has, and nothing is evicted" connections "$own" 1
done
set_late() {
	rm -f "$TMP/shim.log"
	(unset CUDA_DEVICE_MAX_CONNECTIONS
	over "$SAYING" GPUSHARE_SOCKET="$TMP/nobody" GPUSHARE_LOG="$TMP/shim.log" SAYING_VERSION=13000 "$USER_OF" late) || return 1
	cat "$TMP/out" "$TMP/shim.log"
	grep -qx 'entry found: 0' "$TMP/out" && grep -qx 'driver: CUDA_DEVICE_MAX_CONNECTIONS=5' "$TMP/out" && grep -q 'a context has 5 connections' "$TMP/shim.log"
}
check "connections: what is set after entry points were asked for counts, as it does for the driver" set_late
mkdir "$TMP/mps"
check "connections: without a control daemon's pipes there is no MPS" connections unset 8 "(not set)" CUDA_MPS_PIPE_DIRECTORY="$TMP/mps"
: >"$TMP/mps/control"
check "connections: a client of MPS has 13 where it says nothing" connections unset 13 13 CUDA_MPS_PIPE_DIRECTORY="$TMP/mps"
check "connections: one that sets fewer has them, and none of its kernels is evicted" connections 8 1 8 CUDA_MPS_PIPE_DIRECTORY="$TMP/mps"
check "connections: one that sets more has them" connections 16 16 16 CUDA_MPS_PIPE_DIRECTORY="$TMP/mps"
loading() { # OWN GETS VERSION
	over "$SAYING" CUDA_MODULE_LOADING="$1" GPUSHARE_SOCKET="$TMP/nobody" SAYING_VERSION="$3" "$USER_OF" init || return 1
	grep -qx "driver: CUDA_MODULE_LOADING=$2" "$TMP/out" &&
		[ "$(grep -c "CUDA_MODULE_LOADING" "$TMP/err")" = "$([ "$1" = "$2" ] && echo 0 || echo 1)" ] &&
		{ [ "$1" = "$2" ] || grep "CUDA_MODULE_LOADING=$1 is $2 here: " "$TMP/err"; }
}
check "loading: a program's EAGER is the driver's" loading EAGER EAGER 13000
check "loading: so is its LAZY" loading LAZY LAZY 13000
check "loading: not so with an older driver, and the program is told so once" loading LAZY EAGER 12080
check "loading: there its EAGER is nothing to speak of" loading EAGER EAGER 12080
check "a program that is not gpushare's keeps its own settings" prepared LAZY

# What a program does to the system with the shim in it and never called, beyond what it does without.
untouched() { # VARIABLE=VALUE PROGRAM...: with that the program gets the shim
	local rc=0
	rm -rf "$TMP/log" "$TMP/cache" "$TMP/summary"
	t 20 "$CALLS" env LD_LIBRARY_PATH="$TMP/plain" "${@:2}" >"$TMP/without" || return 1
	t 20 env GPUSHARE_SOCKET="$TMP/nobody" GPUSHARE_DRIVER="$SAYING" GPUSHARE_LOG="$TMP/log" GPUSHARE_CACHE="$TMP/cache" \
		GPUSHARE_SUMMARY="$TMP/summary" "$CALLS" env "$1" "${@:2}" >"$TMP/with" || rc=1
	diff "$TMP/without" "$TMP/with"
	grep 'file .*/libcuda\.so\.1$' "$TMP/with" || rc=1 # it was there
	grep -v '^file .*\.so\(\.[0-9.]*\)\?$' "$TMP/with" | grep -vxFf "$TMP/without" && rc=1
	! grep -e "$SAYING" -e /cuda -e nvidia "$TMP/with" && [ ! -e "$TMP/log" ] && [ ! -e "$TMP/cache" ] && [ ! -e "$TMP/summary" ] && [ $rc = 0 ]
}
called() { ! untouched LD_LIBRARY_PATH="$SHIM" "$USER_OF" init; }
if "$CALLS" true >"$TMP/out" && grep -q '^file .*libc\.so' "$TMP/out"; then
	check "a program without CUDA, the shim preloaded: no thread, no socket, no file" untouched LD_PRELOAD="$SHIM/libcuda.so.1" true
	check "a program that is linked with the driver and does not call it: the same" untouched LD_LIBRARY_PATH="$SHIM" "$USER_OF"
	check "when it does, that is seen" called
else
	note "what constructors do was not looked at: no program may be traced here"
fi
finish
