#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Evictions by priority under piv: Figure 9 of EffiSha (section 8.2), played by gpushare-sim.

usage: effisha_figure9.py GPUSHARE-SIM [--launches N] [--wait MS,MS...] [--seed N]

Each of the eleven kernels of EffiSha's Table 3 is launched N times (the paper: 1000) with a random priority of 1 to 9 each
time, all of them first at 0 and then --wait after their launch before has ended. A workload file has arrivals that are
known beforehand, so the file is played again with what arrivals followed from the ends of the run before, until they
stay: what is right up to some moment decides what comes next, so each run is right for longer than the one before.
Prints CSV: for each wait the mean evictions of 1000 launches of each priority, and of all.
"""
import argparse
import csv
import os
import random
import subprocess
import sys

WORKLOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "effisha-group.csv")


def kernels():
    with open(WORKLOAD, encoding="ascii") as f:
        return [(row["name"], row["length_ms"]) for row in csv.DictReader(line for line in f if not line.startswith("#"))]


def play(sim, launches):
    """Each launch (name, arrival, length, priority) by name: its end, and how often it was evicted."""
    text = "name,arrival_ms,length_ms,priority\n" + "".join("%s,%.6f,%s,%d\n" % launch for launch in launches)
    run = subprocess.run([sim, "-p", "piv", "-w", "-", "-f", "csv"], input=text, capture_output=True, text=True, timeout=60, check=True)
    rows = csv.reader(run.stdout.splitlines())
    return {row[0]: (float(row[3]), int(row[7])) for row in rows if len(row) == 8 and row[0] != "name"}


def settle(sim, names, count, wait, seed):
    draw = random.Random(seed)
    priority = {name: [draw.randint(1, 9) for _ in range(count)] for name, _ in names}
    arrival = {name: [i * (float(length) + wait) for i in range(count)] for name, length in names}
    while True:
        played = play(sim, [("%s/%d" % (name, i), arrival[name][i], length, priority[name][i])
                            for name, length in names for i in range(count)])
        then = {name: [0.0] + [played["%s/%d" % (name, i)][0] + wait for i in range(count - 1)] for name, _ in names}
        if all(abs(a - b) < 2e-6 for name in then for a, b in zip(then[name], arrival[name])):
            return [(priority[name][i], played["%s/%d" % (name, i)][1]) for name, _ in names for i in range(count)]
        arrival = then


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("sim")
    options.add_argument("--launches", type=int, default=50)
    options.add_argument("--wait", default="1,4,16,64")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    print("wait_ms," + ",".join("p%d" % p for p in range(1, 10)) + ",all")
    for wait in given.wait.split(","):
        launches = settle(given.sim, kernels(), given.launches, float(wait), given.seed)
        by = [[evictions for p, evictions in launches if p == priority] for priority in range(1, 10)]
        means = [1000 * sum(some) / len(some) if some else 0 for some in by] + [1000 * sum(e for _, e in launches) / len(launches)]
        print(wait + "," + ",".join("%.0f" % mean for mean in means), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
