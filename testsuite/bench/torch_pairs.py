# SPDX-License-Identifier: GPL-2.0-or-later
"""PyTorch training steps natively and under gpushare, by two processes that take turns.

usage: torch_pairs.py ROUNDS EAGER GRAPH SECONDS COMMAND...
  ROUNDS   so often two new processes
  EAGER, GRAPH  turns of each with steps of that kind, each SECONDS long; only one of the two computes at a time
  COMMAND...    what runs a program under gpushare: it is given the program's command line

An eager step waits for its launching thread.  On a shared host its speed changes by a tenth from second to second, and as
much from one process to the next: so each turn is compared with the one beside it, on the same processors, each
process is first in every other pair, and there are many processes.

Prints rows mode,round,kind,median_ms,p90_ms,loss (round: the pair's number), then ratio,KIND,VALUE: the median over
the pairs of gpushare's median over the native one's, and spread,KIND,LOW,HIGH: its quartiles.
"""
import os
import pathlib
import statistics
import subprocess
import sys

PROGRAM = [sys.executable, str(pathlib.Path(__file__).with_name("torch_step.py"))]
MODES = ("native", "gpushare")


def start(mode, command):
    env = dict(os.environ)
    if mode == "native":
        env.pop("GPUSHARE_SOCKET", None)
        command = []
    return subprocess.Popen(command + PROGRAM, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def answer(process, mode, kind):
    line = process.stdout.readline().strip()
    if line.split(",")[0] != kind:
        sys.exit(f"torch_pairs: {mode}: {kind} expected, got '{line}' (exit status {process.poll()})")
    return line


def pair(processes, number, kind, seconds, medians):
    order = MODES if number % 2 else MODES[::-1]
    for mode in order:
        processes[mode].stdin.write(f"{kind} {seconds}\n")
        processes[mode].stdin.flush()
        row = answer(processes[mode], mode, kind)
        print(f"{mode},{number},{row}", flush=True)
        medians[kind].setdefault(number, {})[mode] = float(row.split(",")[1])


def tell(processes, line, expected):
    for process in processes.values():
        process.stdin.write(line)
        process.stdin.flush()
    for mode in MODES:
        answer(processes[mode], mode, expected)


def end(processes):
    for mode in MODES:
        processes[mode].stdin.close()
    for mode in MODES:
        if processes[mode].wait(30) != 0:
            sys.exit(f"torch_pairs: {mode}: exit status {processes[mode].returncode}")


def main():
    rounds, eager, graph = (int(a) for a in sys.argv[1:4])
    seconds, command = sys.argv[4], sys.argv[5:]
    medians = {"eager": {}, "graph": {}}
    number = 0
    print("mode,round,kind,median_ms,p90_ms,loss", flush=True)
    # Those that are not begun have loaded their libraries, and wait.
    pairs = [{mode: start(mode, command) for mode in MODES} for _ in range(rounds)]
    try:
        for processes in pairs:
            tell(processes, "", "there")
        for processes in pairs:
            tell(processes, "begin\n", "ready")
            for kind in ["eager"] * eager + ["graph"] * graph:
                pair(processes, number, kind, seconds, medians)
                number += 1
            end(processes)
    finally:
        for processes in pairs:
            for process in processes.values():
                process.kill()
    for kind, measured in medians.items():
        ratios = sorted(p["gpushare"] / p["native"] for p in measured.values())
        if ratios:
            print(f"ratio,{kind},{statistics.median(ratios):.6f}")
            print(f"spread,{kind},{ratios[len(ratios) // 4]:.6f},{ratios[len(ratios) * 3 // 4]:.6f}")


main()
