# SPDX-License-Identifier: GPL-2.0-or-later
"""For the rows C2 and C6: daemons that start one after the other over one state file, and processes that have steps."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Closed, Connection, become, step  # noqa: E402
from trials import TMP, alive, expect, wait_for  # noqa: E402

SOCKET, STATE = os.path.join(TMP, "sock"), os.path.join(TMP, "sock.state")
LINES_OF_A_STEP = {"step": 1, "had": 1, "copied": 3}
ALL_LINES = sum(LINES_OF_A_STEP.values())


def start(command=(), **env):
    """What is wrong, or ""; the daemon's number is in its file then."""
    done = subprocess.run([*command, "gpushared", "--config", os.path.join(TMP, "gpushare.conf")], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=dict(os.environ, **env), timeout=20)
    return done.stderr.decode(errors="replace")[-300:] or "status %d" % done.returncode if done.returncode else ""


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


def next_daemon(*command, **env):
    """(its log, seconds)"""
    at, begun = os.path.getsize(os.path.join(TMP, "log")), time.monotonic()
    why = start(command, **env)
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


def clean(holders):
    for holder in holders:
        holder.close()
    end_daemon(signal.SIGKILL)
    for name in ("pid", "sock", "other", "sock.state", "sock.state.new", "sock.state.corrupt", "log"):
        path = os.path.join(TMP, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
