#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A data-parallel program with shares of three GPUs, a rank on each, beside another job on each GPU: its kernels wait for those of the
# other ranks on the GPU. Two such jobs on the same GPUs besides, each with a rank on each. No run may stop for ever. On the emulated device, without Slurm (slurm_ranks.sh has Slurm's way).
# RUNS: how many of the default policy in contexts (default 4; 1000 in make check-long); each other way gets a tenth of it, at least two.
# WAYS="contexts mps:rr ...": isolations with policies (default: a few; in make check-long every policy in both isolations, where a
# stand-in is MPS's control program: the emulated device runs kernels of several programs at once, as MPS does).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/ranks testsuite/e2e/order
own_daemon
RANKS=$BUILD/testsuite/e2e/ranks
RUNS=${RUNS:-$(usual_or_long 4 1000)}
STEPS=${STEPS:-10}
all_ways() {
	local isolation policy policies
	policies=$(gpusharectl policy --help | sed -n 's/^  \([a-z]*\)\t.*/\1/p')
	[ "$(wc -w <<<"$policies")" -ge 10 ] || { echo "Bail out! gpusharectl policy --help does not list the policies"; kill $$; }
	for isolation in contexts mps; do
		echo $isolation
		for policy in $policies; do echo "$isolation:$policy"; done
	done
}
read -ra ways <<<"${WAYS:-$(usual_or_long "contexts contexts:piv contexts:rr contexts:fifo mps mps:rr" "$(all_ways | xargs)")}"
PATH=$(realpath "$SRC/testsuite/stubs"):$PATH
mkdir "$TMP/mps"
# gpushared has no MPS for a driver with the emulated device's name.
sed 's/gpushare emulated device/an emulated one with MPS/g' "$BUILD/src/device/emu/.libs/libcuda.so.1" >"$TMP/mps/libcuda.so.1"

# A GPU's emulated device is its own file.
configure() { # LINE...
	LEAVE_WITHIN=300us write_conf 256M "Gpu=0 Memory=256M" "Gpu=1 Memory=256M" "Gpu=2 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" "$@"
	sed -i "s#^JobEnv=GPUSHARE_EMU_DEVICE=.*#&-%g#" "$TMP/gpushare.conf"
	[[ "$*" != *Driver=* ]] || sed -i '0,/^Driver=/{/^Driver=/d}' "$TMP/gpushare.conf"
}
# A neighbour on each GPU: one program after the other, until its file is gone.
neighbours=()
begin_neighbours() { # PARTITION
	local gpu
	touch "$TMP/neighbours"
	for gpu in 0 1 2; do
		t 3600 gpusharectl run --gpu $gpu --shares 40 --mem 64M --partition "$1" -- \
			bash -c "while [ -e '$TMP/neighbours' ]; do '$BUILD/testsuite/e2e/order' many 10 | grep -qx 'many: right' || exit 1; done" >"$TMP/neighbour.$gpu" 2>&1 &
		neighbours+=($!)
	done
}
end_neighbours() {
	local pid rc=0
	rm "$TMP/neighbours"
	for pid in "${neighbours[@]}"; do wait "$pid" || rc=1; done
	neighbours=()
	cat "$TMP"/neighbour.*
	return $rc
}
# begin_job FILE RANKS: each rank is a job of its own; 60 s is for ever here.
ranks=()
begin_job() {
	local rank
	rm -f "$TMP/$1"
	for ((rank = 0; rank < $2; rank++)); do
		t 60 gpusharectl run --gpu $rank --shares 40 --mem 64M --partition low -- "$RANKS" "$TMP/$1" "$2" $rank "$STEPS" >"$TMP/rank.$1.$rank" 2>&1 &
		ranks+=($!)
	done
}
end_jobs() {
	local pid n=${#ranks[@]} rc=0
	for pid in "${ranks[@]}"; do wait "$pid" || rc=1; done
	ranks=()
	[ $rc = 0 ] && [ "$(cat "$TMP"/rank.* | grep -c ', right$')" = "$n" ]
}
one_run() {
	begin_job shared 3
	end_jobs
}
# Job one may be held back on GPU 0 while job two is held back on GPU 1.
two_jobs() {
	rm -f "$TMP"/rank.*
	begin_job one 2
	begin_job two 2
	end_jobs && rm "$TMP"/rank.*
}
runs() { # N
	local i
	for ((i = 1; i <= $1; i++)); do
		one_run || { echo "run $i"; cat "$TMP"/rank.*; t 5 gpusharectl status; return 1; }
	done
}
for way in "${ways[@]}"; do
	name=${way/:/, }
	lines=("Isolation=${way%:*}")
	[ "${way%:*}" = contexts ] || lines+=("MpsDir=$TMP/mps" "Driver=$TMP/mps/libcuda.so.1")
	[ "$way" = "${way%:*}" ] && name+=", the default policy" || lines+=("Policy=${way#*:}")
	rm -f "$TMP/log"
	configure "${lines[@]}"
	check "$name: gpushared serves three GPUs" start_daemon
	[ "$way" = contexts ] && n=$RUNS || n=$((RUNS < 20 ? 2 : RUNS / 10))
	check "$name: three ranks end alone" runs 1
	check "$name: two jobs of two ranks end beside each other" two_jobs
	begin_neighbours low
	check "$name: beside equals on each GPU, $n times" runs "$n"
	check "$name: the equals have computed right" end_neighbours
	begin_neighbours high
	# Each step may wait for a moment in which none of the three has work.
	STEPS=3 check "$name: beside more urgent jobs, that leave the GPU now and then" runs $(((n + 3) / 4))
	check "$name: those, too" end_neighbours
	check "$name: all of the GPU is free" until_true 20 gpu_is_free
	check "$name: gpushared stops" stop_daemon
done
finish
