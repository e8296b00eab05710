# SPDX-License-Identifier: GPL-2.0-or-later
"""For the rows C1, C3 and D5: the daemon that lib.sh has started ends while programs run, and begins again."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import TMP, Failure, alive, expect_within, wait_for  # noqa: E402

CONFIGURATION = os.path.join(TMP, "gpushare.conf")
RESTART_S = 5.0


def end_daemon(daemon, number):
    pid = daemon.pid()
    os.kill(pid, number)
    wait_for(10, "gpushared is still there after signal %d" % number, lambda: not alive(pid))
    daemon.descriptors = daemon.memory = None  # those of the next process are others


def start_daemon():
    started = subprocess.run(["gpushared", "--config", CONFIGURATION], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20)
    if started.returncode:
        raise Failure("gpushared does not start again: " + started.stderr.decode(errors="replace")[-200:])


def not_connected(daemon, steps, start):
    """Those that run and are not clients of the daemon whose log begins there."""
    log = daemon.log(start)
    return [step for step in steps
            if step.process.poll() is None and alive(step.pid()) and " pid %d: %s on gpu" % (step.pid(), os.path.basename(step.command[0])) not in log]


def connected_again(daemon, steps, start, begun):
    """Seconds from then until all that run are clients again."""
    while time.monotonic() < begun + RESTART_S and not_connected(daemon, steps, start):
        time.sleep(0.005)
    took = time.monotonic() - begun
    late = not_connected(daemon, steps, start)
    expect_within(not late, "not connected again within %g s: %s" % (RESTART_S, [step.command[1:] for step in late]))
    return took
