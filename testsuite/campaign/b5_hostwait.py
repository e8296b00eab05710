# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B5: a kernel that spins on a word which its host writes later, beside a neighbour.

In the middle of its steps the kernel cannot go on until the neighbour has ended: a neighbour that had to wait for it would wait for ever. It
is on the GPU within EvictDeadline and a second, ends, and is right; then the kernel goes on, and has done each of its steps once and in its order. The
seed says how the kernel and its host depend on each other (hostwait.c), and how urgent the neighbour is.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, expect, expect_within, program, run, wait_for  # noqa: E402

HOSTWAIT = os.path.join(BUILD, "testsuite/campaign/hostwait")
WAYS = ["one", "many", "mutex"]
NEIGHBOURS = ["high", "low"]
DEADLINE_S, DETECT_S = 0.5, 1.0  # the first is EvictDeadline of the row's script
daemon = Daemon()


def beside(how, partition, rng, held):
    waits = Step([HOSTWAIT, how, held], "low")
    page = waits.connected()
    wait_for(20, "the kernel was not launched", lambda: page.has("RUNNING") and page.started())
    time.sleep(rng.uniform(0, 0.3))  # it comes to its middle, or does not
    neighbour = Step([program("order"), "many", "1"], partition)
    its = neighbour.connected()
    begun = time.monotonic()
    wait_for(DEADLINE_S + DETECT_S + 10, "beside '%s' the neighbour in %s was never on the GPU" % (how, partition),
             lambda: its.has("RUNNING", "DONE") or neighbour.process.poll() is not None)
    took = time.monotonic() - begun
    expect_within(took < DEADLINE_S + DETECT_S, "beside '%s' the neighbour in %s was on the GPU only after %.1f s" % (how, partition, took))
    neighbour.right("many: right")
    expect(waits.process.poll() is None, "'%s' ended before its host let it: %s" % (how, waits.words()))
    os.unlink(held)
    waits.right("hostwait %s: right" % how)
    return took


def trial(seed, rng):
    how, partition = WAYS[seed % len(WAYS)], NEIGHBOURS[seed // len(WAYS) % len(NEIGHBOURS)]
    held = os.path.join(TMP, "held")
    with open(held, "w"):
        pass
    try:
        took = beside(how, partition, rng, held)
    finally:
        for step in list(Step.every):
            step.close()
        if os.path.exists(held):
            os.unlink(held)
    daemon.as_before(5)
    return took


if __name__ == "__main__":
    run("B5", os.environ["ROW_SCRIPT"], trial)
