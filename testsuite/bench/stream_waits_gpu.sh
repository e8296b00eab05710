#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Does a process whose streams wait for a word give up the driver's time slices?  What the launch barrier rests on (stream_waits.cu).
#
# usage: stream_waits_gpu.sh OUT.csv   (a GPU, nvcc; 30 s)
# OUT.csv: a graph of twenty kernels of 60 us every 8 ms, alone and beside kernels of another process; ms.
set -euo pipefail
[ $# = 1 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") out=$(realpath -m "$1")
tmp=$(mktemp -d /dev/shm/stream_waits.XXXXXX)
low=
trap '[ -z "$low" ] || kill "$low" 2>/dev/null || :; rm -rf "$tmp"' EXIT
nvcc -O2 -arch=native -o "$tmp/stream_waits" "$here/stream_waits.cu" -lcuda

word() { printf '%b' "\\x0$2\\0\\0\\0" | dd of="$tmp/page" bs=4 seek="$1" conv=notrunc status=none; } # INDEX VALUE
is_ready() { [ "$(od -An -tu4 -j8 -N4 "$tmp/page" | tr -d ' ')" = 1 ]; }
beside() { # LABEL low's: plain|waits US AHEAD  high's: 0|1
	rm -f "$tmp/page"
	truncate -s 4096 "$tmp/page"
	word 0 1
	timeout 30 "$tmp/stream_waits" low "$tmp/page" "$2" "$3" "$4" >"$tmp/low" &
	low=$!
	for ((i = 0; i < 200; i++)); do is_ready && break; sleep 0.05; done
	is_ready || { echo "stream_waits_gpu.sh: the other process has not begun: $(cat "$tmp/low")" >&2; exit 1; }
	line=$(timeout 20 "$tmp/stream_waits" high "$tmp/page" "$5" 200)
	word 1 1
	wait "$low"
	low=
	echo "$1,$3,$4,$line,$(sed 's/[^.0-9]//g' "$tmp/low")" | tee -a "$out"
}
echo "# stream_waits_gpu.sh, $(date -u +%F): $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)
beside,kernel_us,queued,p50_ms,p99_ms,max_ms,other_computes" >"$out"
truncate -s 4096 "$tmp/page"
echo "alone,,,$(timeout 20 "$tmp/stream_waits" high "$tmp/page" 0 200)," | tee -a "$out"
for kernels in "300 2" "100 5" "50 20" "50 100"; do
	read -r us ahead <<<"$kernels"
	beside "time slices" plain "$us" "$ahead" 0
	beside "waits that stop nothing" waits "$us" "$ahead" 0
	beside "waits that stop it" waits "$us" "$ahead" 1
done
