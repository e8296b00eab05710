# SPDX-License-Identifier: GPL-2.0-or-later
"""PyTorch training steps natively and under gpushare, by pairs of processes that take turns.

usage: torch_pairs.py PAIRS EAGER GRAPH LARGE SECONDS COMMAND...
  PAIRS        so many times one process of each
  EAGER, GRAPH, LARGE  turns of each process with steps of that kind (torch_step.py), each SECONDS long; only one of all
               computes at a time
  COMMAND...   what runs a program under gpushare, or otherwise than natively: it is given the program's command line, and $PAIR is
               the pair's number, from 0
environment: OTHER (gpushare): what the rows call those

An eager step waits for its launching threads.  On a shared host their speed changes by a tenth from one moment and one processor to
the next, and from one process to the next by 2 %: so turns are a few steps long, each is compared with the one beside it, whose threads
had the same processors, and there are many turns and pairs; the hashes of Python are the same in all.  Whoever is first in a turn is second
in the next one, as the second of two graphs is 2.4 % faster than the first, whoever that is.  A turn in which a neighbour of the host came
in between is up to twice as long as the one beside it: the fifth with the largest ratios and that with the smallest are left out of the mean.

Prints rows mode,round,kind,median_ms,p90_ms,loss (round: pair.turn), then ratio,KIND,VALUE: gpushare's (OTHER's) median over the
native one's, the geometric mean over a pair's turns (as said) and the pairs; mean,KIND,VALUE: with all turns; spread,KIND,LOW,HIGH: of the
pairs' own, the quartiles; and
error,KIND,VALUE: the standard error of the mean, by the pairs.
"""
import math
import os
import pathlib
import statistics
import subprocess
import sys

PROGRAM = [sys.executable, str(pathlib.Path(__file__).with_name("torch_step.py")), "4"]
OTHER = os.environ.get("OTHER", "gpushare")
MODES = ("native", OTHER)
KINDS = ("eager", "graph", "large")


def start(mode, pair, command, kinds):
    env = {**os.environ, "PAIR": str(pair), "PYTHONHASHSEED": "0"}
    if mode == "native":
        env.pop("GPUSHARE_SOCKET", None)
        command = []
    return subprocess.Popen(command + PROGRAM + kinds, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def order(number):
    return MODES if number % 2 else MODES[::-1]


def tell(process, line):
    process.stdin.write(line)
    process.stdin.flush()


def answer(process, mode, expected):
    line = process.stdout.readline().strip()
    if line.split(",")[0] != expected:
        sys.exit(f"torch_pairs: {mode}: {expected} expected, got '{line}' (exit status {process.poll()})")
    return line


def begin(pairs):
    """All at once: loading the libraries takes long, and waits for no GPU."""
    for line, expected in (("", "there"), ("begin\n", "ready")):
        for processes in pairs:
            for mode in processes:
                tell(processes[mode], line)
        for processes in pairs:
            for mode in processes:
                answer(processes[mode], mode, expected)


def turn(pairs, number, kind, seconds, ratios):
    for k, processes in enumerate(pairs):
        took = {}
        for mode in order(number + k):
            tell(processes[mode], f"{kind} {seconds}\n")
            row = answer(processes[mode], mode, kind)
            took[mode] = float(row.split(",")[1])
            print(f"{mode},{k}.{number},{row}", flush=True)
        ratios[k].append(math.log(took[OTHER] / took["native"]))


def end(pairs):
    for processes in pairs:
        for mode in MODES:
            processes[mode].stdin.close()
    for processes in pairs:
        for mode in MODES:
            if processes[mode].wait(30) != 0:
                sys.exit(f"torch_pairs: {mode}: exit status {processes[mode].returncode}")


def middle(logs):
    apart = len(logs) // 5
    return statistics.mean(sorted(logs)[apart:len(logs) - apart])


def conclude(kind, ratios):
    of_pairs = sorted(middle(logs) for logs in ratios)
    n = len(of_pairs)
    print(f"ratio,{kind},{math.exp(statistics.mean(of_pairs)):.6f}")
    print(f"mean,{kind},{math.exp(statistics.mean(statistics.mean(logs) for logs in ratios)):.6f}")
    print(f"spread,{kind},{math.exp(of_pairs[n // 4]):.6f},{math.exp(of_pairs[n * 3 // 4]):.6f}")
    if n > 1:
        print(f"error,{kind},{statistics.stdev(of_pairs) / math.sqrt(n):.6f}", flush=True)


def main():
    count, *turns_of = (int(a) for a in sys.argv[1:5])
    seconds, command = sys.argv[5], sys.argv[6:]
    print("mode,round,kind,median_ms,p90_ms,loss", flush=True)
    kinds = [kind for kind, turns in zip(KINDS, turns_of) if turns]
    pairs = [{mode: start(mode, k, command, kinds) for mode in order(k)} for k in range(count)]
    try:
        begin(pairs)
        for kind, turns in zip(KINDS, turns_of):
            ratios = [[] for _ in pairs]
            for number in range(turns):
                turn(pairs, number, kind, seconds, ratios)
            if turns:
                conclude(kind, ratios)
        end(pairs)
    finally:
        for processes in pairs:
            for process in processes.values():
                process.kill()


main()
