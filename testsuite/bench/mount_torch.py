# SPDX-License-Identifier: GPL-2.0-or-later
"""A small PyTorch program whose GPU waits for its launches.

For a line of standard input each, it opens the driver, as importing PyTorch would, and prints the milliseconds that this took;
imports PyTorch and prints `there`; and prints the milliseconds to its first result.  Then for each line it prints the
microseconds of an operation in a batch, and at the end `shim` or `driver` after what is mapped into the process.  Its main
thread keeps to the last of its processors after the first result, as the one beside which it is timed.
"""
import ctypes
import os
import sys
import time

WARM, BATCH = 50, 500


def ms_since(begin):
    return (time.perf_counter() - begin) * 1e3


def say(text):
    print(text, flush=True)


def mapped_library():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return "shim" if any("/job/real/" in line for line in maps) else "driver"


def main():
    sys.stdin.readline()
    begin = time.perf_counter()
    ctypes.CDLL("libcuda.so.1")
    say(f"{ms_since(begin):.4f}")
    sys.stdin.readline()
    import torch  # pylint: disable=import-outside-toplevel

    say("there")
    sys.stdin.readline()
    begin = time.perf_counter()
    x = torch.zeros(64, device="cuda")
    if x[0].item() != 0:
        sys.exit("mount_torch: the first result is wrong")
    say(f"{ms_since(begin):.4f}")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    count = 0
    for _ in sys.stdin:
        for _ in range(WARM):
            x.add_(1)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(BATCH):
            x.add_(1)
        torch.cuda.synchronize()
        say(f"{ms_since(begin) * 1e3 / BATCH:.5f}")
        count += WARM + BATCH
    if x[0].item() != count:  # exact as a float up to 16 million
        sys.exit("mount_torch: the last result is wrong")
    say(mapped_library())


main()
