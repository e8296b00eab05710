# SPDX-License-Identifier: GPL-2.0-or-later
"""Row G1: a program takes all of its reservation by one way to allocate, and asks for more; beside it a neighbour gets all of its own, and
gpushared's figures are what the program has (at_limit.c)."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, expect, program, run, wait_for  # noqa: E402

# Those of testsuite/e2e/entries_list.c that the emulated device has; it has neither mipmaps nor memory of graphs.
ENTRIES = ["linear", "pitched", "managed", "ordered", "pool", "vmm", "mapped", "array", "array3d", "heap", "stack", "printf", "module",
         "library", "module file", "library file", "frames", "context", "two processes"]
GPU_MIB, MIB = 512, 1 << 20
CONTEXT = int(sys.argv[3]) * MIB
daemon = Daemon()


def figures():
    answer = subprocess.run(["gpusharectl", "memory", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return json.loads(answer.stdout)[0]


def has_filled(step):
    expect(step.process.poll() is None, "it ended too soon: " + step.words())
    return next((int(line.split()[2]) for line in step.text().splitlines() if line.startswith("at limit ")), 0)


def one_entry(entry, seed, mib):
    """By how many percent gpushared's figure is beside what the program has."""
    hold = os.path.join(TMP, "hold")
    with open(hold, "w"):
        pass
    step = Step([os.path.join(BUILD, "testsuite/campaign/at_limit"), entry, str(seed), hold, str(CONTEXT)], memory="%dM" % mib,
                env={"GPUSHARE_QUIET": "1"})
    has = wait_for(60, "%s: the reservation was not full" % entry, lambda: has_filled(step))
    expect(has == mib * MIB, "%s: it could allocate %d bytes of %d MiB" % (entry, has, mib))
    gpu = figures()
    row = gpu["steps"][-1]
    beside = abs(row["used_mb"] * MIB - has) / has * 100
    expect(beside <= 1 and abs(gpu["used_mb"] - row["used_mb"]) < 0.1 and row["memory_mb"] == gpu["reserved_mb"] == mib,
           "%s: it has %d bytes, gpushared says %s MiB of %s, and %s on the GPU" % (entry, has, row["used_mb"], row["memory_mb"], gpu["used_mb"]))
    # It looks whether the file is there after its first round.
    neighbour = Step([program("entries"), "neighbour", hold], memory="%dM" % (GPU_MIB - mib))
    neighbour.right("1 rounds of %d bytes" % ((GPU_MIB - mib) * MIB - CONTEXT))
    expect(step.process.poll() is None, "it ended too soon: " + step.words())
    os.unlink(hold)
    step.right("at_limit: right")
    return beside


def trial(seed, rng):
    entry = ENTRIES[seed % len(ENTRIES)]
    beside = 0.0
    if entry == "two processes":  # of one step, and what one of them imports
        step = Step([program("entries"), "pair", "3"], memory="%dM" % rng.randrange(32, 96), env={"GPUSHARE_QUIET": "1"})
        step.right("two processes,3,3,3")
        expect("ipc,3,3,3" in step.text(), step.words())
    else:
        beside = one_entry(entry, seed, rng.randrange(24, 96))
    daemon.as_before()
    return beside


if __name__ == "__main__":
    run("G1", os.environ["ROW_SCRIPT"], trial)
