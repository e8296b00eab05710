# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows B1 and B2: a program has the GPU and does not give it back when a more urgent one comes. That one ends within EvictDeadline
and a second; the log says what happened, and under EvictOverdue=kill the program is killed, and nobody else."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import raw_client  # noqa: E402
from trials import Daemon, Step, expect, expect_within, program, run, wait_for  # noqa: E402

DEADLINE_S, DETECT_S = 0.5, 1.0  # the first is EvictDeadline of the rows' scripts
daemon = Daemon()
kills = os.environ.get("OVERDUE") == "kill"


def holder(how):
    if how in ("stay", "stopped"):
        victim = Step([program("order"), "stay"] if how == "stay" else [program("order"), "one", "400"])
        page = victim.connected()
        wait_for(20, "the victim's kernel was not launched", lambda: page.has("RUNNING") and page.started())
        if how == "stopped":
            victim.signal(signal.SIGSTOP)
        else:  # until its blocks have begun: one of which none has begun leaves at once
            ticks = os.sysconf("SC_CLK_TCK") // 2
            wait_for(20, "the victim's blocks have not begun", lambda: processor_ticks(victim.pid()) > ticks, 0.02)
        return victim
    victim = Step([sys.executable, "-I", "-S", "-B", os.path.join(raw_client.HERE, "raw_client.py"), "hold", how])
    wait_for(20, "the victim has not got the GPU", lambda: "it has the GPU" in victim.text() or victim.process.poll() is not None)
    expect(victim.process.poll() is None, "the victim ended: " + victim.words())
    return victim


def processor_ticks(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return sum(int(word) for word in stat.read().rsplit(")", 1)[1].split()[11:13])


def trial(seed, rng):
    ways = {"B1": ["stay"], "B2": ["running", "torun", "stopped", "running_plain", "deaf"]}[os.environ["ROW"]]
    how = ways[seed % len(ways)]
    start = daemon.log_end()
    victim = holder(how)
    time.sleep(rng.uniform(0, 0.1))
    asked = time.monotonic()
    neighbour = Step([program("order"), "many", "1"], "high")
    page = neighbour.connected()
    begun = time.monotonic()  # a process takes its time to begin, whoever has the GPU
    try:
        neighbour.process.wait(DEADLINE_S + DETECT_S + 10)
    except subprocess.TimeoutExpired:
        pass
    took = time.monotonic() - begun
    expect_within(neighbour.process.poll() is not None and took < DEADLINE_S + DETECT_S, "beside '%s' the neighbour took %.1f s: %s" % (
        how, took, [name for name in ("READY", "TORUN", "RUNNING") if page.has(name)]))
    neighbour.right("many: right")
    log = daemon.log(start)
    if how == "stay":
        wait_for(2, "the log has no line about the kernel that stays", lambda: "have not left after" in daemon.log(start), 0.02)
        if kills:
            status = victim.end(5)
            expect(status == 137, "the victim ended with %d" % status)
            log = daemon.log(start)
            expect("is killed: kernel" in log, "the log does not say why the victim is killed")
            expect(time.monotonic() - asked < 30, "it took too long")
    if how != "stay" or not kills:
        expect(victim.process.poll() in (None, 137), "the victim ended with %s: %s" % (victim.process.poll(), victim.words()))
        if not kills:
            expect(victim.process.poll() is None, "the victim was killed without EvictOverdue=kill")
    victim.close()
    daemon.as_before()
    return took


if __name__ == "__main__":
    run(os.environ["ROW"], os.environ["ROW_SCRIPT"], trial)
