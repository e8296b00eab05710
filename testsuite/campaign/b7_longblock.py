# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B7: a kernel of blocks that take 100, 200 or 500 ms is told to leave at any moment, and has left when these blocks are over.

The time is that of the launch's states in the page: from TOEVICT until it is something else. It is at most a block's time and a tenth, on a
machine that is not busy. The report says what the kernel took to leave, which is its own doing, and the program is right.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, Busy, Daemon, Step, expect, expect_within, program, run, wait_for  # noqa: E402

LONGBLOCK = os.path.join(BUILD, "testsuite/campaign/longblock")
BLOCKS_MS = [100, 200, 500]
MORE = 0.1  # of a block's time
LOOK_S = 0.0005
EVICTIONS = 44  # word of the first slot: it may be back on the GPU before it is looked at
daemon = Daemon()


def kernel():
    answer = subprocess.run(["gpusharectl", "kernels", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return next((k for k in json.loads(answer.stdout)["kernels"] if k["kernel"] == "longblock"), None)


def leaves(page, urgent):
    """Seconds from TOEVICT to the next state; 0: it was gone at the first look."""
    until = time.monotonic() + 20
    while not page.has("TOEVICT"):
        expect_within(page.has("RUNNING", "TOEVICT", "READY", "TORUN") and time.monotonic() < until, "the kernel was not told to leave before its end")
        if page.has("READY") or page.words[EVICTIONS]:
            break
        time.sleep(LOOK_S)
    told = time.monotonic()
    wait_for(30, "the kernel was told to leave, and did not", lambda: not page.has("TOEVICT"), LOOK_S)
    took = time.monotonic() - told
    expect_within(page.has("READY") or page.words[EVICTIONS], "the kernel was not seen to leave: it is in %s; the urgent program: %s" % (page.states(), urgent.words()))
    return took


def trial(seed, rng):
    block = BLOCKS_MS[seed % len(BLOCKS_MS)] / 1000
    victim = Step([LONGBLOCK, "%d" % (block * 1000)], "low")
    page = victim.connected()
    wait_for(20, "the kernel was not launched", lambda: page.has("RUNNING") and page.started())
    time.sleep(rng.uniform(0.1 * block, 2 * block))
    urgent = Step([program("order"), "many", "1"], "high")
    took = leaves(page, urgent)
    expect_within(took <= block * (1 + MORE), "a kernel of blocks of %g ms took %.1f ms to leave" % (block * 1000, took * 1000))
    urgent.right("many: right")
    said = wait_for(5, "the report does not say that the kernel has left", lambda: [k["evict_p99_us"] for k in [kernel()] if k and k["preemptions"]], 0.02)[0]
    expect_within(said / 1e6 <= block * (1 + MORE), "the report says %.1f ms of blocks of %g ms" % (said / 1000, block * 1000))
    expect(abs(said / 1e6 - took) < 0.2 * block or said / 1e6 < block, "it took %.1f ms to leave, and the report says %.1f" % (took * 1000, said / 1000))
    victim.right("longblock: right")
    daemon.as_before(5)
    return took / block


if __name__ == "__main__":
    Busy.LAG_S, Busy.LOAD = 0.01, 1  # what is judged here is as short as a tenth of a block
    run("B7", os.environ["ROW_SCRIPT"], trial)
