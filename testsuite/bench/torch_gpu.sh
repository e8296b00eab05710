#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A PyTorch training step alone: natively and under gpushare, in turn.
#
# usage: torch_gpu.sh BUILD OUT.csv [DRIVER]
#   BUILD   the build tree; DRIVER the libcuda.so.1 (default: the system's)
# environment: ROUNDS (2), SECONDS_EACH (3: of each kind of step in each run)
# Rows: mode,round,kind,median_ms,p90_ms,loss; then ratio,kind,VALUE (of the smallest medians).  Without PyTorch: status 77.
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
Gpu=0 Memory=64G
Partition=low Priority=1
END
timeout 20 gpushared --config "$tmp/conf"
daemon=$(cat "$tmp/pid")

steps() { timeout 60 "$@" python3 "$here/torch_step.py" "${SECONDS_EACH:-3}"; }
echo "mode,round,kind,median_ms,p90_ms,loss" >"$out"
for ((i = 0; i < ${ROUNDS:-2}; i++)); do
	steps env -u GPUSHARE_SOCKET | sed "s/^/native,$i,/" >>"$out"
	steps gpusharectl run --shares 50 --mem 32G --partition low -- | sed "s/^/gpushare,$i,/" >>"$out"
done
awk -F, 'NR > 1 { k = $1 "," $3; if (!(k in m) || $4 < m[k]) m[k] = $4 }
	END { for (k in m) if (k ~ /^native/) { sub("native,", "", k); print "ratio," k "," m["gpushare," k] / m["native," k] } }' "$out" | tee -a "$out.ratio"
cat "$out.ratio" >>"$out"
rm -f "$out.ratio"
