#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kernels of libraries on a real GPU: evicted every 0.2, 1 and 10 ms, hardly ever, and under MPS; every result is compared with the native one.
#
# usage: library_gpu.sh BUILD OUT-FOLDER   (PyTorch needed; Triton, CuPy and JAX where there are)
#   BUILD   the build tree (make all)
# environment: RUNS=30 of each; PARTS="alone contexts cost mps" (mps-0.2: of mps only the evictions by the shim)
#   ONLY="norm 2^30,argmax 2^30", only these kernels; SIGNAL=memop, another eviction_signal= for contexts and cost; LIMIT=300 seconds for each program
# Writes runs.csv (a line for each kernel and period) and contexts-MS.json, mps-MS.json (gpusharectl kernels) into OUT-FOLDER; takes three minutes, six
# with RUNS=100, without the 0.2 ms under MPS, which nobody has timed yet. library_bars.py OUT-FOLDER then says how much of the GPU time can leave, what variants cost, and
# how soon they are gone.
# Exit status 1: a result was wrong, or a part did not run.
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") out=$2 runs=${RUNS:-30} limit=${LIMIT:-300}
mkdir -p "$out" && out=$(realpath "$out")
tmp=$(mktemp -d)
driver=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
shim=$build/src/device/shim/.libs
PATH=$build:$PATH
daemon=
bad=0

down() {
	[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
	daemon=
}
trap 'down; rm -rf "$tmp"' EXIT
up() { # LINE...
	printf '%s\n' Socket="$tmp/sock" PidFile="$tmp/pid" LogFile="$out/gpushared.log" ReportToSlurm=no AllowLocal=yes MountShim=no \
		"ShimDir=$shim" "Driver=$driver" "Gpu=0 Memory=75G" "$@" >"$tmp/conf"
	gpushared --foreground --config "$tmp/conf" &
	daemon=$!
	for ((i = 0; i < 100; i++)); do
		[ -e "$tmp/pid" ] && return
		sleep 0.1
	done
}
under() { # MS LABEL FILE
	GPUSHARE_SOCKET=$tmp/sock timeout "$limit" gpusharectl run --mem 70G --shares 90 --force-evict-ms "$1" -- \
		python3 "$here/library_kernels.py" compare "$tmp/known" "$runs" "$2" "$out/$3" >>"$out/runs.csv" || bad=1
}

echo "label,kernel,runs,wrong,ms,native_ms" >"$out/runs.csv"
timeout "$limit" python3 "$here/library_kernels.py" reference "$tmp/known" 5 >>"$out/runs.csv" || bad=1
part() { [[ " ${PARTS:-alone contexts cost mps} " = *" $1 "* ]]; }
# The daemon forces evictions once a ms at most; the shim does so every 0.2 ms where no daemon is told of the program.
by_the_shim() { # LABEL [VARIABLE=VALUE]
	(export ${2:+"$2"} GPUSHARE_FORCE_EVICT_MS=0.2 GPUSHARE_DRIVER="$driver" LD_LIBRARY_PATH="$shim"
	timeout "$limit" python3 "$here/library_kernels.py" compare "$tmp/known" "$runs" "$1") >>"$out/runs.csv" || bad=1
}
! part alone || by_the_shim alone-0.2
up ${SIGNAL:+"PolicyParameters=eviction_signal=$SIGNAL"}
if part contexts; then
	for ms in 1 10 1000; do
		under "$ms" "contexts-$ms" "contexts-$ms.json"
	done
fi
# The shim compares variants with the kernels as written only while another program uses the GPU and does not wait for it.
if part cost; then
	: >"$tmp/on"
	GPUSHARE_SOCKET=$tmp/sock timeout "$limit" gpusharectl run --mem 4G --shares 9 -- python3 -c "import os, time, torch
x = torch.ones(1, device='cuda')
while os.path.exists('$tmp/on'):
    x.add_(1)
    torch.cuda.synchronize()
    time.sleep(0.5)" &
	guest=$!
	GPUSHARE_SOCKET=$tmp/sock timeout "$limit" gpusharectl run --mem 60G --shares 90 -- \
		python3 "$here/library_kernels.py" compare "$tmp/known" "$runs" contexts-cost "$out/contexts-cost.json" >>"$out/runs.csv" || bad=1
	rm -f "$tmp/on"
	wait "$guest" || bad=1
fi
down
if part mps || part mps-0.2; then
	up Isolation=mps "MpsDir=$tmp/mps"
	by_the_shim mps-0.2 "CUDA_MPS_PIPE_DIRECTORY=$tmp/mps"
	for ms in $(part mps && echo 1 10); do
		under "$ms" "mps-$ms" "mps-$ms.json"
	done
	down
fi
"$here/library_bars.py" "$out"
awk -F, 'NR > 1 { all += $3; wrong += $4 } END { print all " runs, " wrong + 0 " wrong"; exit wrong > 0 }' "$out/runs.csv" && exit $bad
