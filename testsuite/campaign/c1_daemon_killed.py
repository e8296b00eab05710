# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C1: gpushared is killed at any moment under eight programs, and started again a moment later. All are connected again within five
seconds, all are right at the end, and nothing stays reserved."""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import TMP, Daemon, Failure, Step, alive, expect_within, program, run, wait_for  # noqa: E402

RESTART_S = 5.0
daemon = Daemon()
# (partition, arguments of order): a long kernel, queues, streams, graphs, children, calls beside.
PROGRAMS = [("low", ["one", "20"]), ("low", ["many", "12"]), ("high", ["many", "6"]), ("low", ["streams"]), ("high", ["order"]),
            ("low", ["graphs", "6"]), ("high", ["fork"]), ("low", ["legacy"])]


def kill_daemon():
    pid = daemon.pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(10, "a killed gpushared is still there", lambda: not alive(pid))


def start_daemon():
    started = subprocess.run(["gpushared", "--config", os.path.join(TMP, "gpushare.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             timeout=20)
    if started.returncode:
        raise Failure("gpushared does not start again: " + started.stderr.decode(errors="replace")[-200:])


def not_connected(steps, start):
    """Those that run and are not clients of the new daemon yet."""
    log = daemon.log(start)
    return [step for step in steps if step.process.poll() is None and alive(step.pid()) and " pid %d: order on gpu" % step.pid() not in log]


def trial(seed, rng: random.Random):
    steps = [Step([program("order"), *arguments], partition, shares=10, memory="20M", env={"CUDA_DEVICE_MAX_CONNECTIONS": "13"}) for partition, arguments in PROGRAMS]
    for step in steps:
        step.connected()
    time.sleep(rng.uniform(0, 0.5))
    kill_daemon()
    down = rng.choice([0, 0, rng.uniform(0, 0.3), 1.0])
    time.sleep(down)
    running = [step for step in steps if step.process.poll() is None]
    start = daemon.log_end()
    begun = time.monotonic()
    start_daemon()
    until = begun + RESTART_S
    while time.monotonic() < until and not_connected(running, start):
        time.sleep(0.005)
    took = time.monotonic() - begun
    late = not_connected(running, start)
    for step in steps:
        step.right(step.command[1] + ": right", 60)
    expect_within(not late, "not connected again within %g s: %s" % (RESTART_S, [step.command[1:] for step in late]))
    daemon.descriptors = daemon.memory = None  # of another process
    daemon.as_before(5)
    return took


if __name__ == "__main__":
    try:
        run("C1", os.environ["ROW_SCRIPT"], trial)
    finally:
        if not os.path.exists(os.path.join(TMP, "pid")) or not alive(daemon.pid()):
            print("C1: gpushared is not there at the end", file=sys.stderr)
