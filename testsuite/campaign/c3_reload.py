# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C3: under five programs gpushared gets SIGHUP, with a configuration that has changed or has an error, or as many as come in a moment; or
SIGTERM, and is started again. No program notices, no connection is lost by a reload, and all are connected again five seconds after a start."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from restarts import CONFIGURATION, connected_again, end_daemon, start_daemon  # noqa: E402
from trials import TMP, Daemon, Step, alive, expect, program, run, wait_for  # noqa: E402

PROGRAMS = [("low", ["one", "20"]), ("low", ["many", "12"]), ("high", ["many", "6"]), ("low", ["streams"]), ("low", ["graphs", "6"])]
with open(CONFIGURATION) as original:
    FIRST = original.read()
daemon = Daemon()


def configure(text):
    with open(CONFIGURATION + ".new", "w") as file:
        file.write(text)
    os.rename(CONFIGURATION + ".new", CONFIGURATION)


def said(start, words, number=1):
    wait_for(20, "the log does not say %r" % words, lambda: daemon.log(start).count(words) >= number)


def lost(start):
    """Connections that ended while their programs went on."""
    return [line for line in daemon.log(start).splitlines() if "closed" in line]


def reload(rng, _):
    pid, start = daemon.pid(), daemon.log_end()
    configure(FIRST.replace("Policy=piv", "Policy=" + rng.choice(("rr", "fifo", "frs", "cfs"))).replace("Priority=10", "Priority=%d" % rng.randrange(2, 1000)))
    os.kill(pid, signal.SIGHUP)
    said(start, "reloaded ")
    same(pid, start)


def reload_bad(rng, _):
    """It keeps what it had."""
    pid, start = daemon.pid(), daemon.log_end()
    configure(FIRST + rng.choice(("NoSuchKey=1\n", "Policy=nonsense\n", "Partition=\n")))
    os.kill(pid, signal.SIGHUP)
    said(start, "not reloaded")
    expect("reloaded /" not in daemon.log(start).replace("not reloaded", ""), "a configuration with an error was taken")
    same(pid, start)


def reload_often(rng, _):
    pid, start = daemon.pid(), daemon.log_end()
    for _ in range(rng.randrange(20, 200)):
        os.kill(pid, signal.SIGHUP)
        time.sleep(rng.choice((0, 0, 0.001, 0.005)))
    said(start, "reloaded ")
    same(pid, start)


def same(pid, start):
    expect(daemon.pid() == pid and alive(pid), "gpushared is not the same process after a reload")
    daemon.status()
    expect(not lost(start), "a connection was lost by a reload: %s" % lost(start)[:1])


def restart(rng, steps):
    """Seconds."""
    end_daemon(daemon, signal.SIGTERM)
    expect(not os.path.lexists(os.path.join(TMP, "sock")), "a stopped gpushared has left its socket")
    time.sleep(rng.choice([0, 0, rng.uniform(0, 0.3), 1.0]))
    running = [step for step in steps if step.process.poll() is None]
    start, begun = daemon.log_end(), time.monotonic()
    start_daemon()
    log = daemon.log(start)
    expect(log.count("known from before") + log.count("which registered it, is gone") >= len(running),
           "of %d steps the new gpushared knows %d" % (len(running), log.count("known from before")))
    return connected_again(daemon, running, start, begun)


WAYS = [reload, restart, reload_bad, restart, reload_often, restart]


def trial(seed, rng: random.Random):
    configure(FIRST)
    steps = [Step([program("order"), *arguments], partition, shares=10, memory="20M", env={"CUDA_DEVICE_MAX_CONNECTIONS": "13"}) for partition, arguments in PROGRAMS]
    try:
        for step in steps:
            step.connected()
        time.sleep(rng.uniform(0, 0.4))
        took = WAYS[seed % len(WAYS)](rng, steps)
        for step in steps:
            step.right(step.command[1] + ": right", 60)
        daemon.as_before(5)
    finally:
        configure(FIRST)
        os.kill(daemon.pid(), signal.SIGHUP)
    return took


run("C3", "c3_reload.sh", trial)
