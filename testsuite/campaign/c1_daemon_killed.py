# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C1: gpushared is killed at any moment under eight programs, and started again a moment later. All are connected again within five
seconds, all are right at the end, and nothing stays reserved."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from restarts import connected_again, end_daemon, start_daemon  # noqa: E402
from trials import TMP, Daemon, Step, alive, program, run  # noqa: E402

daemon = Daemon()
# (partition, arguments of order): a long kernel, queues, streams, graphs, children, calls beside.
PROGRAMS = [("low", ["one", "20"]), ("low", ["many", "12"]), ("high", ["many", "6"]), ("low", ["streams"]), ("high", ["order"]),
            ("low", ["graphs", "6"]), ("high", ["fork"]), ("low", ["legacy"])]


def trial(seed, rng: random.Random):
    steps = [Step([program("order"), *arguments], partition, shares=10, memory="20M", env={"CUDA_DEVICE_MAX_CONNECTIONS": "13"}) for partition, arguments in PROGRAMS]
    for step in steps:
        step.connected()
    time.sleep(rng.uniform(0, 0.5))
    end_daemon(daemon, signal.SIGKILL)
    time.sleep(rng.choice([0, 0, rng.uniform(0, 0.3), 1.0]))
    running = [step for step in steps if step.process.poll() is None]
    start, begun = daemon.log_end(), time.monotonic()
    start_daemon()
    took = connected_again(daemon, running, start, begun)
    for step in steps:
        step.right(step.command[1] + ": right", 60)
    daemon.as_before(5)
    return took


if __name__ == "__main__":
    try:
        run("C1", os.environ["ROW_SCRIPT"], trial)
    finally:
        if not os.path.exists(os.path.join(TMP, "pid")) or not alive(daemon.pid()):
            print("C1: gpushared is not there at the end", file=sys.stderr)
