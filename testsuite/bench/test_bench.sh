#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The verbs of gpushare-bench but mix, on the emulated device: each measures, prints a table and writes CSV.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

need_built gpushare-bench gpushared gpusharectl
PATH=$BUILD:$PATH
export TMPDIR=$TMP GPUSHARE_EMU_SMS=2 GPUSHARE_EMU_MEMORY=256M

bench() { # VERB ARGUMENT...: its CSV is $TMP/VERB.csv
	local verb=$1
	shift
	t 120 gpushare-bench "$verb" --driver "$BUILD/src/device/emu/.libs/libcuda.so.1" --shim "$BUILD/src/device/shim/.libs" \
		--conf PolicyParameters=leave_within=1s --output "$TMP/$verb" "$@"
}
# columns VERB EXPRESSION: of each row r (numbers as floats), and all rows.
columns() {
	python3 - "$TMP/$1.csv" "$2" <<-'EOF'
	import csv, sys
	def number(x):
	    try: return float(x)
	    except ValueError: return x
	lines = list(open(sys.argv[1]))
	assert lines[0].startswith("# gpushare emulated device") and lines[1].startswith("# gpushare-bench "), lines[:2]
	rows = [{k: number(v) for k, v in r.items()} for r in csv.DictReader(l for l in lines if not l.startswith("#"))]
	print(rows)
	for r in rows:
	    assert eval(sys.argv[2]), r
	EOF
}

# A copy engine of 500 MiB/s each way.
export GPUSHARE_EMU_COPY_MIB_S=500
check "copies" bench copies --kind pinned --small 256K --large 16M --largest 1M --every 20 --count 20 --pairs 1 --sharing driver,no,priority --conf CopyChunk=1M
check "copies' figures" columns copies 'len(rows) == 2 * 2 * 2 * 3 + 3 * (2 + 1) and all(x["alone_p50_ms"] > 0 and 0 < x["p50_ms"] <= x["p99_ms"] and x["kept"] > 0 for x in rows if x["measure"] == "beside")'
check "copies alone: of 4 KiB, 64 KiB and 1 MiB by programs in turns, and through the shim and past it" columns copies '{(x["measure"], x["bytes"]) for x in rows if x["direction"] == "to-host"} >= {(m, float(4096 * 16 ** i)) for m in ("alone", "within") for i in range(3)} and all(0.5 < x["kept"] < 2 and abs(x["gib_s"] * x["p50_ms"] / 1e3 * 2 ** 30 / x["bytes"] - 1) < 0.1 for x in rows if x["measure"] in ("alone", "within"))'
check "a small copy waits less beside large ones with CopyPolicy=priority" columns copies 'sum(x["p50_ms"] for x in rows if x["measure"] == "beside" and x["sharing"] == "priority") < sum(x["p50_ms"] for x in rows if x["measure"] == "beside" and x["sharing"] == "no")'
# A low program's copy takes 80 ms, and under time slicing another copy in that direction waits for all of it.
export GPUSHARE_EMU_COPY_MIB_S=200
check "periodic" bench periodic --task 1 --every 60 --kernel 3 --copy 1M --deadline 30 --count "$(usual_or_long 8 40)" --low kernels,copies --low-kernel 40 --low-copy 16M --conf CopyChunk=1M
check "periodic's figures" columns periodic '[(x["low"], x["isolation"], x["policy"]) for x in rows] == [("-", "none", "alone")] + [(low, i, p) for i, p in (("none", "driver"), ("contexts", "frs"), ("contexts", "edf")) for low in ("kernels", "copies")] and r["frames"] == rows[0]["frames"] >= 8 and 0 < r["response_p50_ms"] <= r["response_p99_ms"] and r["jitter_p50_ms"] <= r["jitter_p99_ms"] <= r["jitter_max_ms"] + 0.001 and (r["low"] == "-") == (r["low_kept"] == "") and (r["low"] == "-" or r["low_kept"] > 0)'
check "time slicing is what the others are divided by" columns periodic 'r["policy"] != "driver" or r["jitter_ratio"] == 1 and r["pending_ratio"] == (1 if r["pending_p99_ms"] else "")'
# Under edf only the deadline says who goes first, for copies as well.
check "beside copies a frame waits less under either policy than under time slicing" columns periodic 'r["low"] != "copies" or r["policy"] == "driver" or 2 * r["pending_p50_ms"] < [x for x in rows if x["low"] == "copies" and x["policy"] == "driver"][0]["pending_p50_ms"]'
unset GPUSHARE_EMU_COPY_MIB_S
check "frames that take longer than their period" bench periodic --task 1 --every 0.5 --kernel 10 --copy 0 --count 10 --low short --low-kernel 8 --low-short 4 --policy edf --isolation contexts --conf CopyPolicy=no --keep
check "none is left out, and their lateness adds up" columns periodic 'len(rows) == 2 and r["frames"] == 10 == r["missed"] and r["tardiness_max_ms"] > 4 * r["jitter_p50_ms"] and r["jitter_ratio"] == ""'
deadline_known() { cat "$TMP"/gpushare-bench.*/log && grep "missed [0-9]* deadlines" "$TMP"/gpushare-bench.*/log && rm -r "$TMP"/gpushare-bench.*; }
check "under edf gpushared knows the deadline" deadline_known
check "pair" bench pair --task 1 --short 3 --every 15 --long 40 --count "$(usual_or_long 10 20)" --together 2
check "pair's figures" columns pair 'len(rows) == 2 and 0 < r["short_p50_ms"] <= r["short_p99_ms"] and r["long_kept"] > 0 and r["together_per_sum"] > 0'
check "handover" bench handover --task 1 --length 5 --count 8
check "handover's figures" columns handover 'len(rows) == 6 and r["p50_us"] <= r["p99_us"] and r["handovers"] > 0'
check "eviction" bench eviction --task 1,3 --long 60 --short 3 --every 15 --count "$(usual_or_long 10 20)"
check "eviction's figures" columns eviction 'len(rows) == 2 and r["evictions"] >= 5 and 0 < r["p50_us"] <= r["p99_us"] and abs(r["p50_us"] - r["task_us"] - r["beyond_p50_us"]) < 0.01'
# The parts are medians, so they add up in no order but each must be there.
check "where an eviction's time goes" columns eviction 'r["asked_p50_us"] > 0 and r["told_p50_us"] > 0 and 0 < r["left_p50_us"] <= r["left_p99_us"] and r["left_p50_us"] <= r["p99_us"] and abs(r["seen_p50_us"]) < r["p99_us"] + r["clock_error_us"]'
check "eviction of guarded kernels" bench eviction --guarded --task 3 --long 60 --short 3 --every 15 --count 10
check "its figures" columns eviction 'len(rows) == 1 and r["evictions"] >= 5 and 0 < r["p50_us"] <= r["p99_us"] and 0.1 < r["alone_of_native"] < 10'
check "launch" bench launch --count 200
check "launch's figures" columns launch '[x["call"] for x in rows] == ["as-is", "as-is-past", "evictable"] * 2 and 0 < r["p50_ns"] <= r["p99_ns"]'
check "memory" bench memory --count 400
check "memory's figures" columns memory '[x["call"] for x in rows] == ["alloc", "alloc-past", "free", "free-past"] * 2 and 0 < r["p50_ns"] <= r["p99_ns"]'
check "overhead" bench overhead --kernels "$SRC/testsuite/ptx/kernels" --only a --length 2 --turns 3
check "overhead's figures" columns overhead 'len(rows) == 16 and r["original_ms"] > 0 and abs(r["managed_ms"] / r["original_ms"] - r["ratio"]) < 0.01 and 0 <= r["evictable"] <= r["launches"]'
check "overhead: the first launches, whose length nobody knows, could be evicted" columns overhead 'all(x["evictable"] > 0 for x in rows)'
# The times are this machine's and may be anything. No block ends within a microsecond.
check "slices" bench slices --kernels "$SRC/testsuite/ptx/kernels" --only vector --length 2 --runs 4 --targets 500us,1us
check "slices' figures" columns slices '[(x["kernel"], x["target_ms"]) for x in rows] == [(k, t) for k in ("spmv_vector", "vector_add") for t in (0.5, 0.001)] and r["right"] == "yes" and 1 <= r["blocks"] and 1 <= r["slices"] and 0 < r["slice_ms"] and all(r[way] > 0 for way in ("as_written_ms", "one_slice", "in_stream", "with_check"))'
check "a target shorter than a block is marked" columns slices 'r["target_ms"] != 0.001 or r["note"].startswith("target not reachable: one block takes ")'
refused_variant() { # a kernel that is refused the sliced variant: it waits for the one before it
	mkdir -p "$TMP/kernels" && sed '/^.visible .entry vector_add(/,/^{/s/^{/{\n\tgriddepcontrol.wait;/' "$SRC/testsuite/ptx/kernels/frs.ptx" >"$TMP/kernels/frs.ptx" &&
		bench slices --kernels "$TMP/kernels" --only vector_add --targets 1ms
}
check "slices of a kernel that has no such variant" refused_variant
check "it is listed with the reason" columns slices 'len(rows) == 1 and r["note"] == "no sliced variant: it uses programmatic dependent launch" and r["right"] == r["blocks"] == ""'
check "slices: what takes too long" bench slices --kernels "$SRC/testsuite/ptx/kernels" --only vector_add --length 20 --runs 99 --limit 1 --targets 5ms
check "is left out, and counted" columns slices 'len(rows) == 1 and r["note"].startswith("left out: it would take ") and "# 1 of 1 rows were left out to end within 1 s (--limit)\n" in lines'
slices_usage() { # PATTERN ARGUMENT...: refused with status 2
	local pattern=$1
	shift
	bench slices "$@" 2>"$TMP/err"
	[ $? = 2 ] && grep -- "$pattern" "$TMP/err"
}
check "slices: a target that is no time" slices_usage "'soon' is not a duration" --targets 1ms,soon
check "slices: a target of nothing" slices_usage "a target of nothing" --targets 0
check "slices: no runs" slices_usage "0 is not between 1 and 99" --runs 0
check "slices: too many targets" slices_usage "at most 16 lengths" --targets 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
check "slices: no kernel of that name" refused "no kernel's name has 'nosuch' in it" bench slices --kernels "$SRC/testsuite/ptx/kernels" --only nosuch
check "slices: no such folder" refused "/nonexistent/shoc.ptx: cannot open" bench slices --kernels /nonexistent
# Where a block of the emulated device runs does not matter to its speed, so only sums that must be so are asked for.
check "corun" bench corun --kernels "$SRC/testsuite/ptx/kernels" --only sgemm,vector_add --length 2 --span 20
check "corun's figures" columns corun '[(x["kernels"], x["way"], x["sms"]) for x in rows if x["way"] != "blocks"][:2] == [("vector_add+sgemm", "slices", "2+2"), ("vector_add+sgemm", "left-over", "2+2")] and min(map(float, r["progress"].split("+"))) > 0 and abs(sum(map(float, r["progress"].split("+"))) - r["stp"]) < 0.001 and 0 < r["fairness"] <= 1 and 0 < r["antt"]'
check "each has multiprocessors of its own" columns corun '[x["sms"] for x in rows if x["way"] == "spart"] == ["1+1"] and (r["way"] != "spart" or min(map(int, r["workers"].split("+"))) >= 1)'
check "no launch is counted that did nothing" columns corun 'r["stp"] < 2.5'
check "corun: a kernel that does not exist" refused "is no kernel" bench corun --kernels "$SRC/testsuite/ptx/kernels" --only sgemm,vector_add,nosuch
check "corun: a kernel alone" refused "two kernels at least, not 1" bench corun --kernels "$SRC/testsuite/ptx/kernels" --only sgemm
# Two multiprocessors cannot be divided among three kernels.
check "corun: three kernels at once" bench corun --kernels "$SRC/testsuite/ptx/kernels" --only sgemm,vector_add,options,path_finder --size 3 --groups 2 --length 1 --span 10
check "two groups of three" columns corun 'len({x["kernels"] for x in rows}) == 2 and len(r["kernels"].split("+")) == len(r["progress"].split("+")) == 3 and r["way"] in ("slices", "left-over", "blocks") and {x["way"] for x in rows} >= {"slices", "left-over"}'
check "corun: too few kernels for a group" refused "no group of 3 of 2 kernels" bench corun --kernels "$SRC/testsuite/ptx/kernels" --only sgemm,vector_add --size 3
corun_span() { bench corun --length 10 --span 20 2>"$TMP/err"; [ $? = 2 ] && grep "a span of less than four lengths" "$TMP/err"; }
check "corun: a short span" corun_span
check "daemon" bench daemon --clients 4 --task 0.2 --kernel 4 --for "$(usual_or_long 500ms 1500ms)"
# A daemon that polls takes most of a processor; one that sleeps can take more than 10 on a busy machine, where each of its wakes is a cold one.
check "daemon's figures" columns daemon 'sorted(x["policy"] for x in rows) == ["frs", "rr"] and r["launches_per_s"] > 0 and r["wakes_per_s"] > 0 and 0 < r["cpu_percent"] < 30'
by_itself() { # without flags: the shim of the build tree, the driver of gpushare.conf
	printf 'Driver=%s\nGpu=0 Memory=64M\n' "$BUILD/src/device/emu/.libs/libcuda.so.1" >"$TMP/found.conf"
	GPUSHARE_CONF=$TMP/found.conf t 60 gpushare-bench launch --count 50 --output "$TMP/launch"
}
check "the driver and the shim are found without flags" by_itself
check "and are the right ones" columns launch 'len(rows) == 6'
in_a_job() { GPUSHARE_CONF=/nonexistent GPUSHARE_DRIVER=$BUILD/src/device/emu/.libs/libcuda.so.1 t 60 gpushare-bench launch --count 50; }
check "a job's environment names the driver" in_a_job
if ! python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; then
	check "where there is none, the message names the emulated device" refused "no driver .*--driver; gpushare's emulated device is $BUILD/src/device/emu/.libs/libcuda.so.1" \
		env GPUSHARE_CONF=/nonexistent timeout 20 gpushare-bench launch --count 50
fi
no_mps() { # the emulated device has none; the reason is gpushared's
	! t 20 gpushare-bench handover --driver "$BUILD/src/device/emu/.libs/libcuda.so.1" --shim "$BUILD/src/device/shim/.libs" \
		--task 1 --length 5 --count 8 --isolation mps --output "$TMP/mps" 2>"$TMP/err" && grep "emulated device's, which has no MPS\|there is no nvidia-cuda-mps-control" "$TMP/err"
}
check "MPS on the emulated device is refused with the reason" no_mps
unknown_verb() { t 10 gpushare-bench nosuch 2>"$TMP/err"; [ $? = 2 ] && grep "'nosuch' is no verb" "$TMP/err"; }
check "an unknown verb is refused" unknown_verb
nothing_left() { [ -z "$(find "$TMP" -maxdepth 1 -name 'gpushare-bench.*')" ]; }
check "the private folders are gone" nothing_left
finish
