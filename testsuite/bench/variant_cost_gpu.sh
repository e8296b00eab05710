#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a guarded variant that is never evicted costs on a real GPU, and what part of its launch that is: first with kernels of the
# bench's own (variant_cost.c says what is what), then with kernels of PyTorch's, cuBLAS's and cuDNN's under gpushare with the watcher
# where gpushare would have it (auto), with it everywhere (proxy) and nowhere (memop).
#
# usage: variant_cost_gpu.sh BUILD OUT-FOLDER [DRIVER]
#   BUILD   the build tree (make all); DRIVER the emulated device's libcuda.so.1, for a look at whether it works (default: the system's)
# environment, with what it is without:
#   LIMIT=145      seconds for all of it; a signal that would have less than LEAST=20 of them is left out
#   SIGNALS="auto proxy memop"; SIGNALS= : no libraries' kernels; so it is without PyTorch
#   ONLY=...       the libraries' kernels, names of library_kernels.py with commas in between; RUNS=10 of each
# Writes parts.csv, and of each signal a folder as library_gpu.sh does and a log, into OUT-FOLDER; prints parts.csv, and a table of the
# costs of kernels by the three signals. "in pairs" against "guard" and "end" says how much of a cost is the old comparison's, "place"
# and the difference of proxy and memop how much is the watcher's.
# Exit status 1: a part did not run.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,17s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") out=$2 driver=${3:-} end=$((SECONDS + ${LIMIT:-145})) bad=0
mkdir -p "$out" && out=$(realpath "$out")
PATH=$build:$PATH
export ONLY=${ONLY:-norm 2^30,argmax 2^30,standard deviation 2^30,cuBLAS fp32 6144,cuBLAS fp32 6144 a turned,cuBLAS fp64 4096,cuBLAS fp64 4096 b turned,cuDNN convolution fp32}
left() { echo $((end > SECONDS ? end - SECONDS : 0)); }
within() { timeout -k 5 "$(($1 < $(left) ? $1 : $(left) + 1))" "${@:2}"; } # SECONDS COMMAND...

parts=(variant_cost)
[[ "$driver" != */emu/* ]] || parts=(gpushare-emu --sms 4 variant_cost --quick)
within 60 "${parts[@]}" >"$out/parts.csv" || { echo "FAIL: variant_cost: exit status $?" && bad=1; }
cat "$out/parts.csv"

signals=${SIGNALS-auto proxy memop}
if [[ "$driver" = */emu/* ]] || { [ -n "$signals" ] && ! within 30 python3 -c "import torch; torch.zeros(1, device='cuda')" 2>"$out/torch.log"; }; then
	echo "no PyTorch on this device: the libraries' kernels are left out"
	signals=
fi
remaining=$(wc -w <<<"$signals")
for signal in $signals; do
	share=$(($(left) / remaining)) && remaining=$((remaining - 1))
	# Two programs, each with PyTorch to load, come one after the other.
	[ "$share" -ge "${LEAST:-20}" ] || { echo "FAIL: $signal: no time is left" && bad=1 && continue; }
	PARTS=cost RUNS=${RUNS:-10} LIMIT=$((share / 2)) SIGNAL=$signal timeout $((share + 2)) "$here/library_gpu.sh" "$build" "$out/$signal" \
		>"$out/$signal.log" 2>&1 || { echo "FAIL: $signal: $(tail -1 "$out/$signal.log")" && bad=1; }
done
[ -z "$signals" ] || "$here/variant_cost_table.py" "$out" $signals
exit $bad
