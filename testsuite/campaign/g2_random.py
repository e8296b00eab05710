# SPDX-License-Identifier: GPL-2.0-or-later
"""Row G2: eight programs allocate and free at random at the limits of their steps, and some are killed meanwhile; what gpushared says that
they have is looked at all the time, and all of it is back in the end."""
import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Failure, Step, alive, expect, program, run, wait_for  # noqa: E402

CLIENTS, OPERATIONS, GPU_MIB = 8, 10000, 512
VICTIMS = 10 ** 6  # operations, far more than it comes to before it is killed; but it does not go on for ever where the row is killed
SHELL = '''e=$1 out=$2; shift 2; while [ $# -gt 0 ]; do "$e" random $1 $2 >"$out.$2" 2>&1 & echo "client $2 $!"; shift 2; done; wait
while [ -e "$out.stay" ]; do sleep 0.02; done'''
NATIVE = {"GPUSHARE_EMU_DEVICE": os.path.join(TMP, "device"), "GPUSHARE_EMU_MEMORY": "520M", "GPUSHARE_EMU_SMS": "2",
          "LD_LIBRARY_PATH": os.path.join(BUILD, "src/device/emu/.libs")}
daemon = Daemon()
counted = {"operations": 0, "killed": 0, "looks": 0, "refused": 0}


def device_free():
    """Bytes, as the device itself says to who goes around gpushare."""
    answer = subprocess.run([program("entries"), "info"], stdout=subprocess.PIPE, timeout=60, check=True, env=dict(os.environ, **NATIVE))
    return int(answer.stdout.split()[1])


def figures():
    answer = subprocess.run(["gpusharectl", "memory", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return json.loads(answer.stdout)[0]


def look():
    """MiB that all have together, as gpushared says; nothing may be too much, and nothing below zero."""
    gpu = figures()
    held = [(s["used_mb"], s["memory_mb"]) for s in gpu["steps"]]
    expect(0 <= gpu["used_mb"] <= gpu["reserved_mb"] <= gpu["memory_mb"] == GPU_MIB and all(0 <= used <= of for used, of in held),
           "gpushared says %s MiB of %s, by step %s" % (gpu["used_mb"], gpu["reserved_mb"], held))
    counted["looks"] += 1
    return gpu["used_mb"]


class Looks(threading.Thread):
    """One after another, until it is over."""

    def __init__(self):
        super().__init__(daemon=True)
        self.over, self.most, self.wrong = threading.Event(), 0.0, None
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                self.most = max(self.most, look())
        except (Failure, OSError, subprocess.SubprocessError, ValueError) as why:
            self.wrong = why

    def end(self):
        self.over.set()
        self.join()
        if self.wrong:
            raise self.wrong


def output(out, seed):
    try:
        with open("%s.%d" % (out, seed)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def begin(out, seeds, victims, steps):
    """Eight and the victims, in so many steps that have all of the memory together; whose process is which."""
    every = seeds + victims
    for i in range(steps):
        arguments = []
        for seed in every[i::steps]:
            arguments += [str(VICTIMS if seed in victims else OPERATIONS // CLIENTS), str(seed)]
        Step(["sh", "-c", SHELL, "sh", program("entries"), out] + arguments, shares=100 // steps, memory="%dM" % (GPU_MIB // steps),
             env={"GPUSHARE_QUIET": "1"})

    return wait_for(30, "not all programs have begun", lambda: len(clients()) == len(every) and clients())


def clients():
    """Process by seed, as the steps say it."""
    found = {}
    for step in Step.every:
        for line in step.text().splitlines():
            if line.startswith("client "):
                found[int(line.split()[1])] = int(line.split()[2])
    return found


def end_clients():
    """After a failure; the shell that started them would leave them behind."""
    for pid in clients().values():
        if alive(pid):
            os.kill(pid, 9)
    forget(os.path.join(TMP, "random"), ["stay"])


def forget(out, names):
    for name in names:
        if os.path.exists("%s.%s" % (out, name)):
            os.unlink("%s.%s" % (out, name))


def kill(out, victim, pid, after):
    """In the middle of its allocations."""
    def has_begun():
        expect(alive(pid), "a program does not begin: " + output(out, victim))
        return "begun" in output(out, victim)
    wait_for(60, "a program has not begun", has_begun)
    time.sleep(after)
    os.kill(pid, 9)
    counted["killed"] += 1


def all_well(out, seeds):
    for s in seeds:
        words = output(out, s).split("\n")[-2:][0]
        expect(words.endswith(" 0 failed otherwise"), "a program ended so: " + output(out, s)[-200:])
        counted["operations"] += int(words.split()[0])
        counted["refused"] += int(words.split()[7])


def trial(seed, rng):
    free = device_free()
    out = os.path.join(TMP, "random")
    names = rng.sample(range(1, 10 ** 6), CLIENTS + 3)
    seeds, victims = names[:CLIENTS], names[CLIENTS:CLIENTS + rng.randrange(1, 4)]
    steps = rng.choice([1, 2, 4, 8])
    forget(out, names)
    with open(out + ".stay", "w"):
        pass
    looks = Looks()
    try:
        pids = begin(out, seeds, victims, steps)
        for victim in victims:
            kill(out, victim, pids[victim], rng.uniform(0, 0.1))
        wait_for(120, "the programs do not end", lambda: not any(alive(pid) for pid in pids.values()), 0.02)
        wait_for(5, "the steps have not all of their memory back while they last", lambda: len(figures()["steps"]) == steps and figures()["used_mb"] == 0, 0.05)
        forget(out, ["stay"])
        for step in list(Step.every):
            step.end()
    except BaseException:
        end_clients()
        raise
    finally:
        looks.end()
    all_well(out, seeds)
    forget(out, names)
    expect(looks.most > 0, "nothing was ever seen")
    daemon.as_before(5)
    wait_for(5, "the device itself has not all of its memory back", lambda: device_free() == free, 0.1)
    return looks.most


if __name__ == "__main__":
    run("G2", os.environ["ROW_SCRIPT"], trial)
    print("G2: %s" % ", ".join("%s %d" % pair for pair in counted.items()), file=sys.stderr)
