# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# Shared by the tests of device memory (sourced): a gpushared of the test's own over an emulated GPU of 520 MiB, of
# which 512 may be reserved: the rest is for the shim's own blocks.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for need in gpushared gpusharectl gpushare-mem gpushare-demo-matmul testsuite/e2e/doors; do
	[ -x "$BUILD/$need" ] || skip_all "$need was not built"
done
PATH=$BUILD:$PATH
DOORS=$BUILD/testsuite/e2e/doors
MEM=$BUILD/gpushare-mem
export GPUSHARE_SOCKET=$TMP/sock

start_daemon() { # [LINE...]
	{
		echo "Socket=$TMP/sock"
		echo "PidFile=$TMP/pid"
		echo "LogFile=$TMP/log"
		echo "ReportToSlurm=no"
		echo "AllowLocal=yes"
		echo "ShimDir=$BUILD/src/device/shim/.libs"
		echo "Driver=$BUILD/src/device/emu/.libs/libcuda.so.1"
		echo "JobEnv=GPUSHARE_EMU_DEVICE=$TMP/device"
		echo "JobEnv=GPUSHARE_EMU_MEMORY=520M"
		echo "JobEnv=GPUSHARE_EMU_SMS=2"
		echo "Gpu=0 Memory=512M"
		echo "Partition=low Priority=1"
		echo "Partition=high Priority=10"
		echo "MemoryCycle=1ms"
		printf '%s\n' "$@"
	} >"$TMP/gpushare.conf"
	: >"$TMP/log"
	t 20 gpushared --config "$TMP/gpushare.conf" || return 1
	pids=("$(cat "$TMP/pid")")
}
stop_daemon() {
	local pid
	pid=$(cat "$TMP/pid") || return 1
	kill "$pid" && until_true 5 test ! -d "/proc/$pid"
}
run() { t "$1" gpusharectl run "${@:2}"; } # SECONDS OPTION... PROGRAM...
# gpu FIELD: of `gpusharectl memory`
gpu() {
	t 5 gpusharectl memory --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$1"
}
nothing_held() {
	t 5 gpusharectl memory --json | python3 -c 'import json, sys
g = json.load(sys.stdin)[0]
sys.exit(bool(g["reserved_mb"] or g["used_mb"] or g["steps"]))'
}
none_left() { until_true 10 nothing_held; }
logged() { grep -q -- "$1" "$TMP/log"; }
