#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A PyTorch training step alone: natively and under gpushare, in turn (torch_pairs.py).
#
# Each pair has a gpushared of its own: a client beside others that have used the GPU within seconds is not alone, launches
# with marks and keeps no more than 4 ms in front of who may come, which costs 2 % of what keeps the GPU busy (doc/measurements/h200-overhead-markers.csv).
#
# usage: torch_gpu.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree; DRIVER the libcuda.so.1 (default: the system's)
# environment: PAIRS (of processes, at most 10; 8, fewer on a GPU that has no room for them), EAGER, GRAPH and LARGE (110, 12, 12: turns of
# each; of a kind with none a process has no network: LARGE=0 GRAPH=0 leaves room for twice as many pairs), SECONDS_EACH (0.025: of a turn);
# INSTEAD: what runs one of each pair instead of gpushare, such as "env CUDA_MODULE_LOADING=EAGER": how much of it is that
# Without PyTorch: status 77.
set -euo pipefail
build=$(realpath "$1") out=$2 driver=${3:-}
here=$(realpath "$(dirname "$0")")
python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' || { echo "no PyTorch with a GPU here"; exit 77; }
PATH=$build:$PATH
pairs=${PAIRS:-$(python3 -c 'import torch; print(max(1, min(8, torch.cuda.mem_get_info()[1] // (14 << 30))))')} # each of two has at most the --mem below
tmp=$(mktemp -d)
finish() {
	for pid in "$tmp"/*/pid; do
		[ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
	done
	rm -rf "$tmp"
}
trap finish EXIT
for ((k = 0; k < pairs; k++)); do
	[ -z "${INSTEAD:-}" ] || break
	own=$tmp/$k
	mkdir "$own"
	cat >"$own/conf" <<END
Socket=$own/sock
PidFile=$own/pid
LogFile=$own/log
ReportToSlurm=no
AllowLocal=yes
ShimDir=$build/src/device/shim/.libs
${driver:+Driver=$driver}
Gpu=0 Memory=8G
Partition=low Priority=1
END
	timeout 20 gpushared --config "$own/conf"
done

export GPUSHARE_BENCH_TMP=$tmp
run=(bash -c 'GPUSHARE_SOCKET=$GPUSHARE_BENCH_TMP/$PAIR/sock exec gpusharectl run --shares 10 --mem 7G --partition low -- "$@"' run)
if [ -n "${INSTEAD:-}" ]; then
	read -ra run <<<"$INSTEAD"
	export OTHER=$INSTEAD
fi
timeout 200 python3 "$here/torch_pairs.py" "$pairs" "${EAGER:-110}" "${GRAPH:-12}" "${LARGE:-12}" "${SECONDS_EACH:-0.025}" \
	"${run[@]}" >"$out"
grep -E '^(ratio|mean|spread|error),' "$out"
