# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C2: gpushared is killed at each call by which it reads, writes or replaces its state file: before it, in the middle of writing, and
after it; while a step begins, while one ends, at its own end, and at its start. The file is then the old or the new one, and the next daemon
has the steps that it names. In every fifth trial the file is damaged by hand instead: the next daemon sets it aside, says so, and starts."""
import mmap
import os
import signal
import stat
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Closed  # noqa: E402
from state_file import ALL_LINES, STATE, Holder, clean, daemon, end_daemon, has_steps, new_step_is_saved, next_daemon, saved_jobs, start  # noqa: E402
from trials import BUILD, TMP, Failure, alive, expect, run, wait_for  # noqa: E402

CONTROL = struct.Struct("=IIII")  # struct killer (killer.c)
BEFORE, HALFWAY, AFTER = range(3)
# Calls on the file: to save it, it removes an old new one, makes a new one, writes and renames it; at its start it opens and closes it first.
POINTS = {"begins": 4, "ends": 4, "stops": 4, "starts": 6}
ACTIONS = [*POINTS, "damaged"]


class Killer:
    def __init__(self):
        self.path = os.path.join(TMP, "killer")
        with open(self.path, "wb") as file:
            file.write(bytes(CONTROL.size))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), CONTROL.size)

    def set(self, at, when):
        self.map[:] = CONTROL.pack(at, when, 0, 0)

    def has_killed(self):
        return CONTROL.unpack(self.map[:])[3]


killer = Killer()
WITH_KILLER = {"GPUSHARE_KILLER": killer.path, "LD_PRELOAD": os.path.join(BUILD, ".libs/killer.so")}


def kill_at(action, k, when, holders):
    old = saved_jobs()
    if action == "starts":
        end_daemon(signal.SIGKILL)
    killer.set(k, when)
    new, dead = old, None
    if action == "begins":
        holders.append(Holder(70000 + len(holders), wait=False))
    elif action == "ends":
        dead = holders.pop(0)
        new = [job for job in old if job != dead.job]
        dead.close()
    elif action == "stops":
        os.kill(daemon(), signal.SIGTERM)
    else:
        expect(start(**WITH_KILLER), "a daemon that is killed at its start says that it serves")
    pid = daemon()
    wait_for(20, "gpushared did not come to call %d" % k, killer.has_killed)
    wait_for(20, "gpushared is still there", lambda: not alive(pid))
    killer.set(0, 0)
    now = saved_jobs()
    if action == "begins":
        holders[-1].read()
        expect(now == old or len(now) == len(old) + 1 and set(old) <= set(now), "the file has %s, and had %s" % (now, old))
    else:
        expect(now in (old, new), "the file has %s, the old one %s, the new one %s" % (now, old, new))
    expect(now == old or k >= POINTS[action], "the new file is there before its name was changed")
    log, took = next_daemon(**WITH_KILLER)
    expect("no sense" not in log and "ignored" not in log and not os.path.lexists(STATE + ".corrupt"), "the next daemon could not read the file")
    has_steps(len(now) - (dead is not None and dead.job in now))
    return took


def damage(rng, text):
    """(content, how many steps can be read; None: any number). The first line is the header, then so many for each step."""
    lines = text.splitlines(keepends=True)
    steps = (len(lines) - 1) // ALL_LINES
    way = rng.randrange(6)
    if way == 0:
        return b"", 0
    if way == 1:
        return rng.randbytes(rng.randrange(1, 5000)), 0
    if way == 2:
        return bytes(rng.randrange(1, 5000)), 0
    if way == 3:
        return text[:rng.randrange(3, len(lines[0]) - 50)], 0  # in the middle of the header's first words
    if way == 4:
        at = 1 + ALL_LINES * rng.randrange(steps)  # a step's first line is cut
        return b"".join(lines[:at]) + lines[at][:rng.randrange(1, 30)] + b"\n" + b"".join(lines[at + ALL_LINES:]), steps - 1
    return text + b"a line of nobody's\n" + b"x" * rng.randrange(2000) + b"\n", steps


def damaged(rng, holders):
    end_daemon(signal.SIGKILL)
    with open(STATE, "rb") as file:
        text = file.read()
    content, steps = damage(rng, text)
    folder = rng.randrange(7) == 0
    if folder:
        os.unlink(STATE)
        os.mkdir(STATE)
        steps = 0
    else:
        with open(STATE, "wb") as file:
            file.write(content)
    log, took = next_daemon(**WITH_KILLER)
    expect("set aside as .corrupt" in log, "the log does not say that the file was set aside: %r, %s" % (content[:60], log[-300:]))
    if folder:
        expect(os.path.isdir(STATE + ".corrupt"), "the folder was not set aside")
    else:
        with open(STATE + ".corrupt", "rb") as file:
            expect(file.read() == content, "what was set aside is not what was there")
    has_steps(steps)
    if folder or steps == 0:
        for holder in holders:
            holder.close()
        holders.clear()
    new_step_is_saved(holders)
    expect(stat.S_IMODE(os.stat(STATE).st_mode) == 0o600, "the new state file may be read by others")
    return took


def trial(seed, rng):
    action = ACTIONS[seed % len(ACTIONS)]
    when, k = divmod(seed // len(ACTIONS), POINTS.get(action, 1))
    holders = []
    try:
        why = start(**WITH_KILLER)
        expect(not why, "gpushared does not start: " + why)
        for i in range(rng.randrange(1, 5)):
            holders.append(Holder(70000 + i))
        if action == "damaged":
            return damaged(rng, holders)
        took = kill_at(action, k + 1, when % 3, holders)
        new_step_is_saved(holders)
        return took
    except (Closed, LookupError) as why:
        raise Failure("%s: %s" % (type(why).__name__, why)) from None
    finally:
        killer.set(0, 0)
        clean(holders)


run("C2", "c2_state.sh", trial)
