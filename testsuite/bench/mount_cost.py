# SPDX-License-Identifier: GPL-2.0-or-later
"""What MountShim=node costs programs of no step: pairs of one with the driver's own file and one with the shim in its place.

usage: mount_cost.py OUT.csv PAIRS SECONDS LEFT FREE BOUND PROGRAM [TORCH]
  FREE, BOUND  processes in whose mount namespaces the programs run: without the mounts, and with them
  LEFT         no pair begins after so many seconds
  PROGRAM      mount_cost, started anew each time; its start counts from before it is started
  TORCH        mount_torch.py: its processes import PyTorch all at once before, and one begins at a time; its start counts
               from there

The first pair of each is not counted.  Writes rows program,pair,mode,start_ms,launch_us, and prints for each program the
pairs' medians with their quartiles: how much later the first result comes, and the ratio of the times of a launch.
Exit status 1: the bars do not hold, 5 ms and 1 %; 2: it failed.
"""
import statistics
import subprocess
import sys
import time

MODES = ("free", "bound")
LIBRARY = {"free": "driver", "bound": "shim"}
START_MS, LAUNCH_RATIO = 5.0, 1.01
LIMIT = 60


class Failed(Exception):
    pass


def parse(mode, line):
    words = line.split()
    if len(words) != 3:
        raise Failed(f"{mode}: no figures: {line!r}")
    if words[2] != LIBRARY[mode]:
        raise Failed(f"{mode}: the program had the {words[2]} for its driver")
    return float(words[0]), float(words[1])


def order(pair):
    return MODES if pair % 2 else MODES[::-1]


def enter(pids, mode):
    return ["timeout", "-k", "1", "180", "nsenter", "-m", "-t", pids[mode], "--"]


def run_program(pids, mode, program, seconds):
    command = enter(pids, mode) + [program, str(time.monotonic_ns()), seconds]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        raise Failed(f"{mode}: {program} ended with status {done.returncode}")
    return parse(mode, done.stdout)


class Importers:
    """Processes that have imported PyTorch and wait."""

    def __init__(self, pids, script, seconds, pairs):
        self.waiting = {
            (pair, mode): subprocess.Popen(enter(pids, mode) + [sys.executable, script, seconds], text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for pair in range(pairs) for mode in MODES}

    def ready(self):
        for (pair, mode), process in self.waiting.items():
            if process.stdout.readline().strip() != "there":
                raise Failed(f"{mode}: PyTorch's process {pair} ended with status {process.wait(LIMIT)}")

    def run(self, pair, mode):
        process = self.waiting[pair, mode]
        out, _ = process.communicate("begin\n", timeout=LIMIT)
        if process.returncode != 0:
            raise Failed(f"{mode}: PyTorch's process {pair} ended with status {process.returncode}")
        return parse(mode, out)

    def end(self):
        for process in self.waiting.values():
            process.terminate()
            process.wait()


def measure(name, pairs, until, run, out):
    """`run` gives (start_ms, launch_us) of a pair's process of that mode."""
    starts, ratios = [], []
    for pair in range(pairs + 1):
        if time.monotonic() > until:
            break
        got = {mode: run(pair, mode) for mode in order(pair)}
        if pair == 0:
            continue
        for mode in MODES:
            print(f"{name},{pair},{mode},{got[mode][0]:.4f},{got[mode][1]:.5f}", file=out, flush=True)
        starts.append(got["bound"][0] - got["free"][0])
        ratios.append(got["bound"][1] / got["free"][1])
    return starts, ratios


def conclude(name, starts, ratios):
    if len(starts) < 3:
        print(f"mount cost, {name:<9} {len(starts)} pairs only: the time is over")
        return False
    first, second = (statistics.quantiles(values, n=4) for values in (starts, ratios))
    good = first[1] <= START_MS and second[1] <= LAUNCH_RATIO
    print(f"mount cost, {name:<9} {len(starts)} pairs: first result {first[1]:+.2f} ms ({first[0]:+.2f} to {first[2]:+.2f}),"
          f" launch x {second[1]:.4f} ({second[0]:.4f} to {second[2]:.4f}): {'good' if good else 'BAD'}")
    return good


def main():
    path, pairs, seconds, until = sys.argv[1], int(sys.argv[2]), sys.argv[3], time.monotonic() + float(sys.argv[4])
    pids, program, scripts = dict(zip(MODES, sys.argv[5:7])), sys.argv[7], sys.argv[8:]
    failed, importers, results = False, None, []
    try:
        with open(path, "w", encoding="ascii") as out:
            print("program,pair,mode,start_ms,launch_us", file=out, flush=True)
            results.append(("C", *measure("C", pairs, until, lambda _, mode: run_program(pids, mode, program, seconds), out)))
            if scripts:
                importers = Importers(pids, scripts[0], seconds, pairs + 1)
                importers.ready()
                results.append(("PyTorch", *measure("PyTorch", pairs, until, importers.run, out)))
    except (Failed, subprocess.TimeoutExpired) as error:
        print(f"mount cost: {error}")
        failed = True
    finally:
        if importers:
            importers.end()
    good = all([conclude(*result) for result in results])
    sys.exit(2 if failed else 0 if good else 1)


main()
