# SPDX-License-Identifier: GPL-2.0-or-later
"""A small PyTorch program whose GPU waits for its launches.

usage: mount_torch.py SECONDS

Prints `there` once PyTorch is imported, which opens no driver, and begins when it reads a line.  Then it prints the
milliseconds to its first result, the microseconds of an operation (the median of batches, over SECONDS), and `shim` or
`driver` after what is mapped into the process.
"""
import sys
import time

import torch

BATCH = 500


def mapped():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return [line for line in maps if "libcuda.so" in line]


def main():
    seconds = float(sys.argv[1])
    early = mapped()
    print("there", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    ones = torch.ones(64, 64, device="cuda")
    if (ones @ ones).sum().item() != 64.0 ** 3:
        sys.exit("mount_torch: the first result is wrong")
    first = (time.perf_counter() - begin) * 1e3
    if early:
        print("mount_torch: importing PyTorch has opened the driver: what that takes is not measured", file=sys.stderr)
    x = torch.zeros(64, device="cuda")
    took, count = [], 0
    end = time.perf_counter() + seconds
    while not took or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(BATCH):
            x.add_(1)
        torch.cuda.synchronize()
        took.append((time.perf_counter() - begin) * 1e6 / BATCH)
        count += BATCH
    if x[0].item() != min(count, 1 << 24):  # a float counts no further by ones
        sys.exit("mount_torch: the last result is wrong")
    took.sort()
    kind = "shim" if any("/job/real/" in line for line in mapped()) else "driver"
    print(f"{first:.4f} {took[len(took) // 2]:.5f} {kind}", flush=True)


main()
