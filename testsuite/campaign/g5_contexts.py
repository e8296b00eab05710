# SPDX-License-Identifier: GPL-2.0-or-later
"""Row G5: several programs make and end contexts, each of which is charged with ContextMemory; the programs' accounts, what they are told,
and gpushared's figures are the same (contexts.c). ContextMemory is another one in each trial."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, expect, run, wait_for  # noqa: E402

MIB, GPU_MIB, KEPT = 1 << 20, 512, 0.001  # gpushared says thousandths of a MiB
PROGRAM = os.path.join(BUILD, "testsuite/campaign/contexts")
daemon = Daemon()


def configure(cost):
    """ContextMemory for who connects from now on; 0: no such line."""
    path = os.path.join(TMP, "gpushare.conf")
    with open(path) as file:
        lines = [line for line in file if not line.startswith("ContextMemory=")]
    with open(path + ".new", "w") as file:
        file.write("".join(lines) + ("ContextMemory=%d\n" % cost if cost else ""))
    os.rename(path + ".new", path)
    end = daemon.log_end()
    os.kill(daemon.pid(), signal.SIGHUP)
    wait_for(20, "the configuration was not read again", lambda: "reloaded /" in daemon.log(end))


def figures():
    answer = subprocess.run(["gpusharectl", "memory", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return json.loads(answer.stdout)[0]


def has(step):
    expect(step.process.poll() is None, "it ended too soon: " + step.words())
    found = re.search(r"^has (\d+) ", step.text(), re.M)
    return int(found.group(1)) if found else None


def trial(seed, rng):
    n = rng.randrange(1, 9)
    mib = GPU_MIB // n
    cost = rng.choice([0, rng.randrange(MIB, 8 * MIB), rng.randrange(1, 4) * MIB, rng.randrange(mib // 4, mib) * MIB])
    configure(cost)
    hold = os.path.join(TMP, "hold")
    with open(hold, "w"):
        pass
    steps = [Step([PROGRAM, str(seed * 8 + i), str(cost), hold], memory="%dM" % mib, shares=10, env={"GPUSHARE_QUIET": "1"}) for i in range(n)]
    for step in steps:
        wait_for(60, "a program did not come to its end", lambda: has(step) is not None)
    every = sorted(has(step) for step in steps)
    gpu = figures()
    said = sorted(row["used_mb"] for row in gpu["steps"])
    expect(len(said) == n and all(abs(a / MIB - b) <= KEPT for a, b in zip(every, said)) and abs(gpu["used_mb"] - sum(every) / MIB) <= n * KEPT,
           "with contexts of %d bytes the programs have %s, gpushared says %s MiB, and %s of all" % (cost, every, said, gpu["used_mb"]))
    os.unlink(hold)
    for step in steps:
        step.right("contexts: right")
    daemon.as_before()


if __name__ == "__main__":
    run("G5", os.environ["ROW_SCRIPT"], trial)
