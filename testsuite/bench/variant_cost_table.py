#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What variants cost by the ways to tell them to leave, as variant_cost_gpu.sh has measured it.

usage: variant_cost_table.py OUT-FOLDER SIGNAL...
Reads OUT-FOLDER/SIGNAL/contexts-cost.json (gpusharectl kernels --json) and prints CSV: each kernel that was compared with its variant
and whose blocks take 20 us or more, with its ratio by each signal, and the difference in us; then the mean and the worst of each signal.
"""
import json
import os
import statistics
import sys

LONG_BLOCK_US = 20.0


def compared(path):
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["kernels"]
    except (OSError, ValueError, KeyError):
        return {}
    return {row["kernel"]: row for row in rows if row.get("cost") and (row.get("block_us") or 0) >= LONG_BLOCK_US}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    signals = sys.argv[2:]
    found = {signal: compared(os.path.join(sys.argv[1], signal, "contexts-cost.json")) for signal in signals}
    print("kernel,waves,block_us,alone_ms," + ",".join(f"{signal},{signal}_us" for signal in signals))
    for kernel in sorted({kernel for rows in found.values() for kernel in rows}):
        first = next(rows[kernel] for rows in found.values() if kernel in rows)
        cells = []
        for signal in signals:
            row = found[signal].get(kernel)
            cells.append(f"{row['cost']:.4f},{(row['cost'] - 1) * (row['alone_ms'] or 0) * 1e3:.1f}" if row else ",")
        print(f"\"{kernel[:100]}\",{first['waves'] or 0:.1f},{first['block_us']:.1f},{first['alone_ms'] or 0:.3f}," + ",".join(cells))
    for signal in signals:
        costs = [row["cost"] for row in found[signal].values()]
        if costs:
            print(f"{signal}: {len(costs)} kernels, mean {statistics.mean(costs):.4f}, worst {max(costs):.4f}")
        else:
            print(f"{signal}: nothing was compared")


main()
