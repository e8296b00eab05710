# SPDX-License-Identifier: GPL-2.0-or-later
"""Row A6: a kernel of one program fails beside two neighbours.

The seed says how it fails, in which of its blocks, and whether the program ends then or stays with its failed context. It gets what it
gets without gpushare, from each later call as well. One neighbour's kernel is on the GPU, or has been evicted from it, all the time; the
other one is some program: both end as they do alone. A new program is served within a second.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from h_results import e2e_cases, native, timeless  # noqa: E402
from trials import TMP, Daemon, Step, expect, expect_within, program, run, wait_for  # noqa: E402

KINDS = ["bounds", "misaligned", "trap", "assert"]
BLOCKS = 4096  # e2e/fault.c
SERVED_S, END_S = 1.0, 60
daemon = Daemon()


def lines_of(step):
    """What it printed, without the line of Step's shell."""
    return timeless(step.text())


def as_alone(step, what):
    status, lines = native(step.command)
    got = step.end(END_S)
    expect((got, lines_of(step)) == (status, lines), "%s ended with %d and printed %r, alone with %d and %r" % (
        what, got, lines_of(step)[-3:], status, lines[-3:]))


def file_of(name):
    path = os.path.join(TMP, name)
    with open(path, "w"):
        return path


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def serves(memory):
    """Seconds from a new program's connection to its end."""
    new = Step([program("order"), "many", "1"], "high", 20, memory)
    new.began()
    begun = time.monotonic()
    new.right("many: right", END_S)
    took = time.monotonic() - begun
    expect_within(took <= SERVED_S, "a new program took %.1f s after the fault" % took)
    return took


def fails_beside(seed, rng, more, stay):
    kind = KINDS[seed % len(KINDS)]
    block = str(rng.choice([0, BLOCKS - 1, rng.randrange(BLOCKS)]))
    stays = rng.random() < 0.5
    runs = Step([program("until"), more], "low", 20)
    some = Step(rng.choice(e2e_cases()), rng.choice(["low", "high"]), 20)
    page = runs.connected()
    some.began()
    wait_for(20, "the neighbour's kernel was not launched", lambda: page.has("RUNNING", "READY", "TOEVICT"))
    start = daemon.log_end()
    command = [program("fault"), kind, block]
    victim = Step(command + ([stay] if stays else []), rng.choice(["low", "high"]), 20, "100M")
    wait_for(END_S, "a kernel with %s in block %s has not failed" % (kind, block),
             lambda: "fault: " in victim.text() or victim.process.poll() is not None)
    expect(runs.process.poll() is None, "the neighbour whose kernel runs has ended: " + runs.words())
    if stays:
        took = serves("50M")
        os.unlink(stay)
    victim.command = command
    as_alone(victim, " ".join(command[1:]))
    daemon.gone_after(victim.pid(), time.time(), start)
    if not stays:
        took = serves("100M")
    os.unlink(more)
    runs.right("until: right", END_S)
    as_alone(some, "%s beside %s in block %s" % (" ".join(some.command[-2:]), kind, block))
    return took


def trial(seed, rng):
    more, stay = file_of("more"), file_of("stay")
    try:
        took = fails_beside(seed, rng, more, stay)
    finally:
        for step in list(Step.every):
            step.close()
        remove(more)
        remove(stay)
    daemon.as_before(5)
    return took


if __name__ == "__main__":
    run("A6", os.environ["ROW_SCRIPT"], trial)
