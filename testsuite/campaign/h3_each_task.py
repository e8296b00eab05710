# SPDX-License-Identifier: GPL-2.0-or-later
"""Row H3: a kernel leaves after its k-th block-task, and again after k more, for each k of its grid, and leaves the memory that it leaves natively.

A trial is one of the launches of testsuite/ptx/equiv/cases.def with a small grid, as a program makes it (image.c): with the shim, and its
plan of evictions (shim/session/force_plan.h). The device has one multiprocessor for two blocks. The shim's summary says how often the kernel
left: at k = 1 a kernel that can leave does so behind each block-task, or the trial fails, too.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, TooLate, expect, run  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../ptx")
IMAGE = os.path.join(BUILD, "testsuite/campaign/image")
DRIVER = os.path.join(BUILD, "src/device/emu/.libs/libcuda.so.1")
SHIM = os.path.join(BUILD, "src/device/shim/.libs/libcuda.so.1")
SUMMARY = os.path.join(TMP, "summary")
STRIDE = 71  # has no factor in common with the number of launches, so that a few trials are of all kinds
END_S = 20
# As the programs of testsuite/e2e have it, but for the size: one worker claims the block-tasks, so that the k-th is known.
DEVICE = {"GPUSHARE_EMU_SMS": "1", "GPUSHARE_EMU_BLOCKS_PER_SM": "2", "GPUSHARE_EMU_MEMORY": "268435456", "GPUSHARE_EMU_DEVICE": os.path.join(TMP, "device")}
# Which cannot leave: they call through function pointers, are sliced, or have one block-task.
STAY = ["through_pointers", "virtual_calls", "calls", "plain", "none_read", "scan_top", "lud_diagonal"]
left = []


def image(number, k=None):
    """What the launch leaves, in a word; with k also how often its kernel has left the device."""
    environment = {name: value for name, value in os.environ.items() if name != "GPUSHARE_SOCKET"}
    environment.update(DEVICE)
    if k is not None:
        environment.update(GPUSHARE_CACHE="", GPUSHARE_FORCE_EVICT_TASKS=str(k), GPUSHARE_DRIVER=DRIVER, GPUSHARE_SUMMARY=SUMMARY)
    try:
        done = subprocess.run([IMAGE, DRIVER if k is None else SHIM, FOLDER, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=END_S, env=environment)
    except subprocess.TimeoutExpired:
        raise TooLate("launch %d, evicted after every %s block-tasks, did not end within %d s" % (number, k, END_S)) from None
    said = done.stdout.decode(errors="replace").split()
    expect(done.returncode == 0 and len(said) == 3, "launch %d, evicted after every %s block-tasks, ended with %d: %s" % (
        number, k, done.returncode, done.stderr.decode(errors="replace")[-300:]))
    times = 0
    if k is not None:
        with open(SUMMARY) as file:
            times = sum(int(line.split()[2]) for line in file)
        os.unlink(SUMMARY)
    return said, times


def trial(seed, rng):
    count = int(subprocess.run([IMAGE, DRIVER, FOLDER], stdout=subprocess.PIPE, check=True).stdout)
    number = seed * STRIDE % count
    want, _ = image(number)
    name, tasks = want[0], int(want[1])
    for k in range(1, max(tasks, 2)):
        got, times = image(number, k)
        expect(got == want, "%s, evicted after every %d of %d block-tasks, leaves %s, natively %s" % (name, k, tasks, got[2], want[2]))
        expect(k > 1 or times > 0 or name in STAY, "%s has never left the device" % name)
        left.append(times)


if __name__ == "__main__":
    run("H3", os.environ["ROW_SCRIPT"], trial)
    print("H3: the kernels left the device %d times in %d runs" % (sum(left), len(left)), file=sys.stderr)
