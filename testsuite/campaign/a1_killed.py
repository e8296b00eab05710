# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows A1 and A2: a program beside two neighbours gets a signal while its launch is in a state, which is read from its page.

The seed says which state, and for A2 which signal. The state is read again after its death: where it was not the one that was
wanted, the program was too quick, and another one is tried.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import STATES, TMP, Daemon, Step, TooLate, expect, expect_within, program, run, wait_for  # noqa: E402

DETECT_S = 1.0
TRIES = 12
KERNELS = "5"  # of a neighbour: so many that it is there all the time, and no more
SIGNALS = {"A1": [signal.SIGKILL], "A2": [signal.SIGSEGV, signal.SIGTERM, signal.SIGSTOP]}
daemon = Daemon()
counted = dict.fromkeys(STATES, 0)


class TooQuick(Exception):
    """It is not in the state any more."""


def neighbours(partition="low"):
    pair = [Step([program("order"), "many", KERNELS], partition) for _ in range(2)]
    for one in pair:
        one.connected()
    return pair


def is_in(page, state):
    if state == "PREP":
        return not page.has("READY", "TORUN", "RUNNING", "TOEVICT", "DONE")
    if state == "READY":
        return page.has("READY") and not page.has("TORUN", "RUNNING", "TOEVICT")
    return page.has(state)


def is_stopped(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


def spin_until(seconds, victim, condition):
    """Without a pause: the states pass in microseconds."""
    until = time.monotonic() + seconds
    while not condition():
        if victim.process.poll() is not None or time.monotonic() > until:
            raise TooQuick()


def hold(victim, page, state):
    """Stop it in that state, if it takes many attempts."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        spin_until(5, victim, lambda: is_in(page, state))
        victim.signal(signal.SIGSTOP)
        wait_for(5, "a program that was stopped goes on", lambda: victim.process.poll() is not None or is_stopped(victim.pid()), 0.0005)
        if is_in(page, state):
            return
        victim.signal(signal.SIGCONT)
    raise TooQuick()


def begin(state, rng):
    """The victim, in that state, and its neighbours. A stopped victim stays in its state, whatever the daemon does."""
    if state in ("TOEVICT", "RUNNING"):
        victim = Step([program("order"), "one", "400"])
        page = victim.connected()
        wait_for(20, "the victim's kernel was not launched", lambda: page.has("RUNNING") and page.started())
        if state == "TOEVICT":
            victim.signal(signal.SIGSTOP)
            others = neighbours("high")
            wait_for(5, "the victim was not told to leave", lambda: page.has("TOEVICT") or not page.has("RUNNING"))
        else:
            others = neighbours()
            time.sleep(rng.uniform(0, 0.05))
        return victim, page, others
    others = neighbours("high" if state == "READY" else "low")
    # A thread that the machine lets run last leaves TORUN and DONE late enough to be met there.
    late = ["chrt", "--idle", "0"] if state in ("TORUN", "DONE") else []
    victim = Step([*late, program("order"), "many", "20"])
    page = victim.connected()
    if state == "DONE" or (state != "TORUN" and rng.random() < 0.5):
        hold(victim, page, state)
    else:  # the daemon gives TORUN to no program that is stopped
        spin_until(5, victim, lambda: is_in(page, state))
    return victim, page, others


def met(page, state):
    """Was it in that state when the signal came? The daemon takes TORUN back from a program that has ended or is stopped."""
    if state == "TORUN":
        return not page.has("RUNNING", "TOEVICT", "DONE")
    return is_in(page, state)


def killed(state, number, rng):
    """Seconds to the next holder."""
    start = daemon.log_end()
    victim, page, others = begin(state, rng)
    at = time.time()
    victim.signal(number)
    victim.signal(signal.SIGCONT)  # where it was stopped
    status = victim.end(10)
    found = met(page, state)
    took = daemon.gone_after(victim.pid(), at, start, DETECT_S)
    expect(status == 128 + number, "the victim ended with %d instead of %d" % (status, 128 + number))
    if state in ("TORUN", "RUNNING", "TOEVICT"):
        wait_for(DETECT_S, "no neighbour has the GPU after the victim's death in %s" % state,
                 lambda: any(o.process.poll() is not None or o.connected().has("RUNNING", "DONE") for o in others))
        took = max(took, time.time() - at)
        expect_within(took <= DETECT_S, "a neighbour had the GPU only %.1f s after the victim's death in %s" % (took, state))
    for other in others:
        other.right("many: right")
    return took, found


def stopped(state, rng):
    """A2: it is stopped for longer than EvictDeadline; its neighbours are not, and it ends right after SIGCONT."""
    victim, page, others = begin(state, rng)
    victim.signal(signal.SIGSTOP)
    found = met(page, state)
    at = time.monotonic()
    for other in others:
        other.right("many: right", 20)
    took = time.monotonic() - at
    time.sleep(max(0.0, 2 - took))
    victim.signal(signal.SIGCONT)
    victim.right("one: right" if "one" in victim.command else "many: right")
    return took, found


def trial(seed, rng):
    numbers = SIGNALS[row]
    state = STATES[seed // len(numbers) % len(STATES)]
    number = numbers[seed % len(numbers)]
    for _ in range(TRIES):
        try:
            took, found = stopped(state, rng) if number == signal.SIGSTOP else killed(state, number, rng)
        except (TooQuick, ProcessLookupError):
            found, took = False, 0
        for step in list(Step.every):
            step.close()
        daemon.as_before()
        if found:
            counted[state] += 1
            return took
    raise TooLate("the program was never in %s when the signal came" % state)


if __name__ == "__main__":
    row = os.environ["ROW"]
    run(row, os.environ["ROW_SCRIPT"], trial)
    print("%s: by state: %s" % (row, ", ".join("%s %d" % pair for pair in counted.items())), file=sys.stderr)
