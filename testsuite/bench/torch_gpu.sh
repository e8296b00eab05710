#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A PyTorch training step alone: natively and under gpushare, in turn (torch_pairs.py).
#
# usage: torch_gpu.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree; DRIVER the libcuda.so.1 (default: the system's)
# environment: PAIRS (8: of processes, at most 10), EAGER, GRAPH and LARGE (20, 4, 4: turns of each), SECONDS_EACH (0.15: of a turn)
# Without PyTorch: status 77.
set -euo pipefail
build=$(realpath "$1") out=$2 driver=${3:-}
here=$(realpath "$(dirname "$0")")
python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' || { echo "no PyTorch with a GPU here"; exit 77; }
PATH=$build:$PATH
tmp=$(mktemp -d)
daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	rm -rf "$tmp"
}
trap finish EXIT
export GPUSHARE_SOCKET=$tmp/sock
cat >"$tmp/conf" <<END
Socket=$tmp/sock
PidFile=$tmp/pid
LogFile=$tmp/log
ReportToSlurm=no
AllowLocal=yes
MeasureHandover=learn
ShimDir=$build/src/device/shim/.libs
${driver:+Driver=$driver}
Gpu=0 Memory=80G
Partition=low Priority=1
END
timeout 20 gpushared --config "$tmp/conf"
daemon=$(cat "$tmp/pid")

timeout 200 python3 "$here/torch_pairs.py" "${PAIRS:-8}" "${EAGER:-20}" "${GRAPH:-4}" "${LARGE:-4}" "${SECONDS_EACH:-0.15}" \
	gpusharectl run --shares 10 --mem 7G --partition low -- >"$out"
grep -E '^(ratio|spread|error),' "$out"
