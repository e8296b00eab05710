# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# Shared by the tests of device memory (sourced): a gpushared of the test's own over an emulated GPU of 520 MiB, of
# which 512 may be reserved: the rest is for the shim's own blocks.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-mem gpushare-demo-matmul testsuite/e2e/entries
ENTRIES=$BUILD/testsuite/e2e/entries
MEM=$BUILD/gpushare-mem
own_daemon

serve() { # [LINE...]; MORE: further parameters of memory, each with a comma before it
	write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" \
		"MemoryParameters=cycle=1ms,program=$MEM${MORE:-}" "$@"
	: >"$TMP/log"
	start_daemon
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
