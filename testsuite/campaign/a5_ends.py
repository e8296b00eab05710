# SPDX-License-Identifier: GPL-2.0-or-later
"""Row A5: programs that end themselves in a hook, in a handler or at the end, with kernels out, beside a neighbour (ends.c)."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, Daemon, Step, TooLate, expect, program, run  # noqa: E402

PLACES = ["main", "hostfunc", "callback", "thread", "signal", "atexit", "destructor", "dlclose"]
WAYS = {"exit": 3, "_exit": 4, "abort": 134}
END_S = 20
daemon = Daemon()


def trial(seed, rng):
    place = PLACES[seed % len(PLACES)]
    way = list(WAYS)[seed // len(PLACES) % len(WAYS)]
    us = rng.randrange(20000)
    neighbour = Step([program("order"), "many", "3"]) if seed % 2 else None
    begun = time.monotonic()
    step = Step([os.path.join(BUILD, "testsuite/campaign/ends"), place, way, str(us)])
    try:
        status = step.end(END_S)
    except TooLate:
        raise TooLate("%s in %s after %d us: it did not end within %d s: %s" % (way, place, us, END_S, step.words())) from None
    took = time.monotonic() - begun
    expect(status == WAYS[way], "%s in %s after %d us: status %d instead of %d: %s" % (way, place, us, status, WAYS[way], step.words()))
    if neighbour:
        neighbour.right("many: right")
    daemon.as_before()
    return took


if __name__ == "__main__":
    run("A5", os.environ["ROW_SCRIPT"], trial)
