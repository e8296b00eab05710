# SPDX-License-Identifier: GPL-2.0-or-later
"""What MountShim=node costs programs of no step: pairs of one with the driver's own file and one with the shim in its place.

usage: mount_cost.py OUT.csv PAIRS TURNS LEFT FREE BOUND PROGRAM [TORCH]
  FREE, BOUND  processes in whose mount namespaces the programs run: without the mounts, and with them
  TURNS        of each program, batches of launches: those of a pair take turns, on the same processor
  LEFT         no pair begins after so many seconds
  PROGRAM      mount_cost; its start counts from before it is started
  TORCH        mount_torch.py: its processes open the driver one at a time, import PyTorch all at once, which is not timed, and
               go on one at a time

Whoever is first in one pair, and in one turn, is second in the next one.  The first pair of each is not counted.  Writes rows
program,pair,mode,start_ms,launch_us, and prints for each program the pairs' medians with their quartiles: how much later the
first result comes, and the ratio of the times of a launch, which in a pair is the median of its turns.
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


def order(number):
    return MODES if number % 2 else MODES[::-1]


class Program:
    def __init__(self, mode, pid, command):
        self.mode = mode
        enter = ["timeout", "-k", "1", "180", "nsenter", "-m", "-t", pid, "--"]
        self.process = subprocess.Popen(enter + command, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hear(self):
        line = self.process.stdout.readline().strip()
        if not line:
            raise Failed(f"{self.mode}: the program ended with status {self.process.wait(LIMIT)}")
        return line

    def ask(self):
        try:
            self.process.stdin.write("\n")
        except BrokenPipeError:
            pass  # what is heard says so
        return self.hear()

    def finish(self):
        out, _ = self.process.communicate(timeout=LIMIT)
        if self.process.returncode != 0 or out.strip() != LIBRARY[self.mode]:
            raise Failed(f"{self.mode}: it had '{out.strip()}' for its driver, status {self.process.returncode}")

    def end(self):
        self.process.kill()
        self.process.communicate()


def started(pids, program, pair):
    """A pair of C programs and their times to the first result."""
    programs, starts = {}, {}
    for mode in order(pair):
        programs[mode] = Program(mode, pids[mode], [program, str(time.monotonic_ns())])
        starts[mode] = float(programs[mode].hear())
    return programs, starts


class Importers:
    """Pairs of processes that have opened the driver and imported PyTorch."""

    def __init__(self, pids, script, pairs):
        self.pairs = [{mode: Program(mode, pids[mode], [sys.executable, script]) for mode in MODES} for _ in range(pairs)]
        self.opened = [{mode: float(programs[mode].ask()) for mode in order(k)} for k, programs in enumerate(self.pairs)]
        everyone = [program for programs in self.pairs for program in programs.values()]
        for program in everyone:
            program.process.stdin.write("\n")
        for program in everyone:
            program.hear()

    def started(self, pair):
        programs = self.pairs[pair]
        return programs, {mode: self.opened[pair][mode] + float(programs[mode].ask()) for mode in order(pair)}

    def end(self):
        for programs in self.pairs:
            for program in programs.values():
                program.end()


def take_turns(programs, turns):
    took = {mode: [] for mode in MODES}
    for number in range(turns):
        for mode in order(number):
            took[mode].append(float(programs[mode].ask()))
    for mode in MODES:
        programs[mode].finish()
    return took


def measure(name, pairs, turns, until, start, out):
    later, ratios = [], []
    for pair in range(pairs + 1):
        if time.monotonic() > until:
            break
        programs, starts = start(pair)
        try:
            took = take_turns(programs, turns)
        finally:
            for program in programs.values():
                program.end()
        if pair == 0:
            continue
        for mode in MODES:
            print(f"{name},{pair},{mode},{starts[mode]:.4f},{statistics.median(took[mode]):.5f}", file=out, flush=True)
        later.append(starts["bound"] - starts["free"])
        ratios.append(statistics.median(b / f for b, f in zip(took["bound"], took["free"])))
    return later, ratios


def conclude(name, later, ratios):
    if len(later) < 3:
        print(f"mount cost, {name:<9} {len(later)} pairs only: the time is over")
        return False
    first, second = (statistics.quantiles(values, n=4) for values in (later, ratios))
    good = first[1] <= START_MS and second[1] <= LAUNCH_RATIO
    print(f"mount cost, {name:<9} {len(later)} pairs: first result {first[1]:+.2f} ms ({first[0]:+.2f} to {first[2]:+.2f}),"
          f" launch x {second[1]:.4f} ({second[0]:.4f} to {second[2]:.4f}): {'good' if good else 'BAD'}")
    return good


def main():
    path, pairs, turns, until = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), time.monotonic() + float(sys.argv[4])
    pids, program, scripts = dict(zip(MODES, sys.argv[5:7])), sys.argv[7], sys.argv[8:]
    failed, importers, results = False, None, []
    try:
        with open(path, "w", encoding="ascii") as out:
            print("program,pair,mode,start_ms,launch_us", file=out, flush=True)
            results.append(("C", *measure("C", pairs, turns, until, lambda pair: started(pids, program, pair), out)))
            if scripts:
                importers = Importers(pids, scripts[0], pairs + 1)
                results.append(("PyTorch", *measure("PyTorch", pairs, turns, until, importers.started, out)))
    except (Failed, ValueError, subprocess.TimeoutExpired) as error:
        print(f"mount cost: {error}")
        failed = True
    finally:
        if importers:
            importers.end()
    good = all([conclude(*result) for result in results])
    sys.exit(2 if failed else 0 if good else 1)


main()
