# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C2: gpushared is killed at each call by which it reads, writes or replaces its state file: before it, in the middle of writing, and
after it; while a step begins, while one ends, at its own end, and at its start. The file is then the old or the new one, and the next daemon
has the steps that it names. In every fifth trial the file is damaged by hand instead: the next daemon sets it aside, says so, and starts."""
import json
import mmap
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Closed, Connection, become, step  # noqa: E402
from trials import BUILD, TMP, Failure, alive, expect, run, wait_for  # noqa: E402

SOCKET, STATE = os.path.join(TMP, "sock"), os.path.join(TMP, "sock.state")
CONTROL = struct.Struct("=IIII")  # struct killer (killer.c)
BEFORE, HALFWAY, AFTER = range(3)
# Calls on the file: to save it, it removes an old new one, makes a new one, writes and renames it; at its start it opens and closes it first.
POINTS = {"begins": 4, "ends": 4, "stops": 4, "starts": 6}
ACTIONS = [*POINTS, "damaged"]
LINES_OF_A_STEP = {"step": 1, "had": 1, "copied": 3}
ALL_LINES = sum(LINES_OF_A_STEP.values())


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


def start():
    """Returns what is wrong, or "" and the daemon's number is in its file."""
    env = dict(os.environ, GPUSHARE_KILLER=killer.path, LD_PRELOAD=os.path.join(BUILD, ".libs/killer.so"))
    done = subprocess.run(["gpushared", "--config", os.path.join(TMP, "gpushare.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=env, timeout=20)
    return done.stderr.decode(errors="replace")[-200:] or "status %d" % done.returncode if done.returncode else ""


def daemon():
    try:
        with open(os.path.join(TMP, "pid")) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def end_daemon(number):
    pid = daemon()
    if pid and alive(pid):
        os.kill(pid, number)
        wait_for(20, "gpushared did not end", lambda: not alive(pid))


class Holder:
    """A process that has a step, or asked for one, and lives until it is told to end."""

    def __init__(self, uid, wait=True):
        ends = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                become(uid)
                owner, job = step(SOCKET, shares=10, memory=20 << 20, partition="main")
                os.write(ends[1], b"%d\n" % (job if owner else 0))
            except (Closed, OSError):
                os.write(ends[1], b"0\n")
            finally:
                signal.pause()
                os._exit(0)
        os.close(ends[1])
        self.answer = ends[0]
        self.job = self.read() if wait else 0
        expect(self.job or not wait, "no step was made")

    def read(self):
        return int(os.read(self.answer, 64))

    def close(self):
        if self.pid:
            os.close(self.answer)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.pid = 0


def saved_jobs():
    """The jobs in the file, which is whole. No file: none."""
    try:
        with open(STATE) as file:
            text = file.read()
    except FileNotFoundError:
        return []
    lines = text.split("\n")
    expect(lines.pop() == "" and lines[0].startswith("gpushare state "), "the state file is torn: %r" % text[-100:])
    found = {}
    for line in lines[1:]:
        kind, job = line.split()[:2]
        found.setdefault(int(job), []).append(kind)
    for job, kinds in found.items():
        expect({kind: kinds.count(kind) for kind in kinds} == LINES_OF_A_STEP, "of job %d the state file has %s" % (job, kinds))
    return sorted(found)


def log_from(at):
    with open(os.path.join(TMP, "log"), errors="replace") as file:
        file.seek(at)
        return file.read()


def known():
    """(jobs, shares taken, MiB reserved) of the daemon that runs."""
    status = json.loads(Connection(SOCKET).query())
    gpu = status["gpus"][0]
    return sorted(int(s["job"]) if str(s["job"]).isdigit() else s["job"] for s in status["steps"]), gpu["shares_taken"], gpu["reserved_mb"]


def next_daemon():
    """(its log, seconds)"""
    at, begun = os.path.getsize(os.path.join(TMP, "log")), time.monotonic()
    why = start()
    expect(not why, "the next daemon does not start: " + why)
    return log_from(at), time.monotonic() - begun


def has_steps(number):
    jobs, shares, mib = known()
    expect((len(jobs), shares, mib) == (number, 10 * number, 20 * number),
           "the daemon has %d steps with %d shares and %d MiB, not %d" % (len(jobs), shares, mib, number))


def new_step_is_saved(holders):
    before = saved_jobs()
    holders.append(Holder(70009))
    after = saved_jobs()
    expect(after == sorted(before + [holders[-1].job]), "with a new step the file has %s, and had %s" % (after, before))


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
        expect(start(), "a daemon that is killed at its start says that it serves")
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
    log, took = next_daemon()
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
    log, took = next_daemon()
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


def clean(holders):
    killer.set(0, 0)
    for holder in holders:
        holder.close()
    end_daemon(signal.SIGKILL)
    for name in ("pid", "sock", "sock.state", "sock.state.new", "sock.state.corrupt", "log"):
        path = os.path.join(TMP, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)


def trial(seed, rng):
    action = ACTIONS[seed % len(ACTIONS)]
    when, k = divmod(seed // len(ACTIONS), POINTS.get(action, 1))
    holders = []
    try:
        why = start()
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
        clean(holders)


run("C2", "c2_state.sh", trial)
