#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What library_gpu.sh has measured, against the bars of preemptible machine code.

usage: library_bars.py OUT-FOLDER
Reads contexts-*.json and mps-*.json (gpusharectl kernels --json) and prints
  * for each file, how much of the GPU time of long kernels with more than one wave can leave (bar: 0.95), and why the rest cannot;
  * the cost of variants whose blocks take 20 us and more, as it was measured while they ran (bars: 1.005 in the mean, 1.03 at most);
  * for each kernel, the median and the 99th percentile of the time from the order to leave until it is gone, less that of one block (bars: 60 us, 150 us).
It judges nothing: the exit status is 1 only if there is nothing to read.
Kernels that synchronise the grid, take part in programmatic dependent launch, or are in graphs do not count in the first of these.
"""
import glob
import json
import os
import statistics
import sys

LONG_MS, LONG_BLOCK_US = 1.0, 20.0
APART = ("synchronises the whole grid", "programmatic dependent launch", "is a graph")


def rows(path):
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    # The daemon also lists kernels of earlier steps and of the step beside this one. The last step with more than ten kernels is this one.
    of = {row["job"]: sum(other["job"] == row["job"] for other in said["kernels"]) for row in said["kernels"]}
    last = max((job for job in of if of[job] > 10), default=None)
    return [row for row in said["kernels"] if row["job"] == last]


def is_long(row):
    return (row["alone_ms"] or 0) >= LONG_MS and (row["waves"] or 0) > 1 and not any(word in (row["reason"] or "") for word in APART)


def has_variant(row):
    return row["transform"] not in (None, "", "-", "as is")


def short(name):
    return name if len(name) <= 60 else name[:57] + "..."


def can_leave(name, kernels):
    chosen = [row for row in kernels if is_long(row)]
    all_ms, ms = sum(row["gpu_ms"] for row in chosen), sum(row["gpu_ms"] for row in chosen if has_variant(row))
    print("%-14s %d long kernels, %.0f ms: %.3f of it can leave" % (name, len(chosen), all_ms, ms / all_ms if all_ms else 0))
    for row in sorted(chosen, key=lambda row: -row["gpu_ms"]):
        if not has_variant(row):
            print("    stays: %7.1f ms  %s: %s" % (row["gpu_ms"], short(row["kernel"]), row["reason"]))


def costs(kernels):
    found = {row["kernel"]: row["cost"] for row in kernels if has_variant(row) and (row["block_us"] or 0) >= LONG_BLOCK_US and row["cost"]}
    if not found:
        print("cost, blocks of 20 us and more: nothing was measured")
    else:
        print("cost, blocks of 20 us and more: %d kernels, mean %.4f, worst %.4f" % (len(found), statistics.mean(found.values()), max(found.values())))
        for kernel, cost in sorted(found.items(), key=lambda item: -item[1])[:5]:
            print("    %.4f  %s" % (cost, short(kernel)))


def gone(name, kernels):
    for row in kernels:
        if has_variant(row) and row["preemptions"] >= 20:
            beyond = [row[of] - (row["block_us"] or 0) for of in ("evict_p50_us", "evict_p99_us")]
            print("%-14s gone beyond a block of %7.1f us: p50 %7.1f, p99 %7.1f us (%d evictions, %.1f waves)  %s" %
                  (name, row["block_us"] or 0, *beyond, row["preemptions"], row["waves"] or 0, short(row["kernel"])))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files = sorted(glob.glob(os.path.join(sys.argv[1], "contexts-*.json")) + glob.glob(os.path.join(sys.argv[1], "mps-*.json")))
    if not files:
        sys.exit("library_bars.py: there is nothing of library_gpu.sh in " + sys.argv[1])
    every = {os.path.basename(path)[:-5]: rows(path) for path in files}
    for name, kernels in every.items():
        can_leave(name, kernels)
    costs(every.get("contexts-cost", []))
    for name, kernels in every.items():
        gone(name, kernels)


main()
