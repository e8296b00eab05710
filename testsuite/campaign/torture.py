# SPDX-License-Identifier: GPL-2.0-or-later
"""Make each call of a running gpushared, or of the shim in a program, fail in turn, and look whether all goes on.

usage: torture.py CONTROL PID [--shim INJECTOR] [--mode fail|interrupted|short] [--lasting N] [--libraries] [--every N]
                  [--from N] [--seconds N] [--case WORD...]
       torture.py CONTROL PID --trials N --seed SEED --injector INJECTOR


  CONTROL  the file that the injector in the daemon has mapped (inject.h)
  PID      of the daemon
  --shim INJECTOR  not the daemon's calls fail but the shim's, in ORDER WORD...
  --lasting N  so many calls from each number on fail, not one
  --every N    only each Nth call
  --seconds N  stop after so long, and say how far it came
  --trials N   row D3 (README.md): the kinds of failing in turn, at calls all over the session; the seed says which is the first

A session is what users do: two programs with reservations and launches, status, report. With the call failing, each part of it
may fail, but ends; whatever it computes is right. After it the same session must go as usual, the daemon must be the same
process, have as many descriptors as before, and nothing reserved. A program in which the shim's calls fail may fail as well,
with what the driver would say; it ends by itself, by no signal, and computes nothing wrong. The environment is that of
testsuite/e2e/lib.sh; ORDER names the program.
"""
import argparse
import ctypes
import json
import mmap
import os
import subprocess
import sys
import time


class Control(ctypes.Structure):
    """struct inject"""
    _fields_ = [("on", ctypes.c_uint32), ("pid", ctypes.c_uint32), ("mode", ctypes.c_uint32),
                ("libraries", ctypes.c_uint32), ("first", ctypes.c_uint64), ("to", ctypes.c_uint64),
                ("count", ctypes.c_uint64), ("failed", ctypes.c_uint64), ("address", ctypes.c_uint64),
                ("name", ctypes.c_char * 32)]


MODES = {"fail": 0, "interrupted": 1, "short": 2}
PART_S = 30  # no part of a session may take longer
NEVER = 1 << 62


def begin(*command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def end(process):
    """(status, output); status None: it did not end."""
    try:
        output = process.communicate(timeout=PART_S)[0]
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[0].decode(errors="replace")


def part(*command):
    return end(begin(*command))


def program(partition):
    return begin("gpusharectl", "run", "--shares", "40", "--mem", "50M", "--partition", partition, "--",
                 os.environ["ORDER"], "many", "3")


def case_of(injector, case):
    """The program with the injector in it; it is on by then."""
    return {"the program": part("gpusharectl", "run", "--shares", "40", "--mem", "50M", "--partition", "low", "--", "env",
                                "LD_PRELOAD=" + injector, "GPUSHARE_INJECT=" + sys.argv[1],
                                "GPUSHARE_INJECT_OBJECT=/shim/", os.environ["ORDER"], *case)}


def session():
    low, high = program("low"), program("high")
    return {"the low program": end(low), "the high program": end(high),
            "status": part("gpusharectl", "status", "--json"), "report": part("gpusharectl", "report", "--json")}


def complaints(parts, as_usual):
    found = []
    for name, (status, output) in parts.items():
        if status is None:
            found.append(f"{name} did not end: {output[-300:]}")
        elif status < 0:
            found.append(f"{name} ended by signal {-status}")
        elif "NOT OK" in output or "FAILED" in output or "Traceback" in output:
            found.append(f"{name} was wrong: {output[-300:]}")
        elif as_usual and status != 0:
            found.append(f"{name} failed afterwards: {output[-300:]}")
    return found


class Torture:
    def __init__(self, path, pid, injector, case, mode, libraries):
        self.session = (lambda: case_of(injector, case)) if injector else session
        with open(path, "r+b") as file:
            self.control = Control.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(Control)))
        self.pid = pid
        self.control.pid, self.control.mode, self.control.libraries = 0 if injector else pid, MODES[mode], libraries

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def lives(self):
        try:
            with open(f"/proc/{self.pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def fail_calls(self, first, to):
        self.control.count = self.control.failed = self.control.address = 0
        self.control.name = b""
        self.control.first, self.control.to = first, to
        self.control.on = 1

    def fail_no_more(self):
        self.control.on = 0

    def count(self):
        """How many calls a session has."""
        self.fail_calls(NEVER, NEVER)
        parts = self.session()
        self.fail_no_more()
        found = complaints(parts, True)
        if found:
            sys.exit(f"nothing has failed yet, but {found[0]}")
        return self.control.count

    def settled(self, descriptors):
        """As before: as many descriptors, nothing reserved, nobody connected."""
        until = time.monotonic() + 10
        last = ""
        while time.monotonic() < until:
            if not self.lives():
                return "gpushared has ended"
            status, output = part("gpusharectl", "status", "--json")
            last = f"{self.descriptors()} descriptors, {descriptors} before"
            if status == 0:
                gpus = json.loads(output)["gpus"]
                reserved = sum(gpu["reserved_mb"] for gpu in gpus)
                last += f", {reserved} MiB reserved"
                if self.descriptors() <= descriptors and reserved == 0:
                    return ""
            time.sleep(0.1)
        return last

    def once(self, first, lasting, descriptors):
        self.fail_calls(first, first + lasting)
        parts = self.session()
        self.fail_no_more()
        where = f"{self.control.name.decode()} at 0x{self.control.address:x}" if self.control.failed else "none failed"
        found = complaints(parts, False)
        if not self.lives():
            return where, found + ["gpushared has ended"]
        found += complaints(self.session(), True)
        left = self.settled(descriptors)
        if left:
            found.append(f"not as before: {left}")
        return where, found


# Row D3: (in the shim, mode, how many calls fail). Those of the shim are a program's.
KINDS = [(False, "fail", 1), (True, "fail", 1), (False, "interrupted", 1), (False, "short", 1), (False, "fail", 200)]
STRIDE = 7919  # a prime: each call's turn comes once before any comes again


def row_trials(a):
    shim = Torture(a.control, a.pid, a.injector, ["many", "3"], "fail", False)
    daemon = Torture(a.control, a.pid, None, None, "fail", False)
    session()
    calls = {}
    for target, name in ((shim, True), (daemon, False)):
        target.control.pid = 0 if name else a.pid
        calls[name] = target.count()
    descriptors = daemon.descriptors()
    n = failures = 0
    worst = 0.0
    until = float(os.environ.get("CAMPAIGN_UNTIL", "inf"))
    for seed in range(a.seed, a.seed + a.trials):
        if time.time() > until or not daemon.lives():
            break
        in_shim, mode, lasting = KINDS[seed % len(KINDS)]
        torture = shim if in_shim else daemon
        torture.control.pid, torture.control.mode = 0 if in_shim else a.pid, MODES[mode]
        k = seed // len(KINDS) * STRIDE % calls[in_shim]
        begun = time.monotonic()
        where, found = torture.once(k, lasting, descriptors)
        n += 1
        worst = max(worst, time.monotonic() - begun)
        if found:
            failures += 1
            print(f"D3: trial {n}: {'the shim' if in_shim else 'gpushared'}, {mode} at call {k} ({where}): {'; '.join(found)}; "
                  f"again: testsuite/campaign/d3_calls_fail.sh 1 {seed}", file=sys.stderr, flush=True)
        if n % 20 == 0:
            print(f"D3: {n} of {a.trials} trials, {failures} failures", file=sys.stderr, flush=True)
    print(n, failures, f"{worst:.1f}")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("control")
    parser.add_argument("pid", type=int)
    parser.add_argument("--case", nargs="+")
    parser.add_argument("--shim")
    parser.add_argument("--mode", choices=MODES, default="fail")
    parser.add_argument("--lasting", type=int, default=1)
    parser.add_argument("--libraries", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--injector")
    a = parser.parse_args()
    if a.trials is not None:
        return row_trials(a)
    torture = Torture(a.control, a.pid, a.shim, a.case, a.mode, a.libraries)
    session()
    calls = torture.count()
    descriptors = torture.descriptors()
    tried = failures = 0
    until = time.monotonic() + a.seconds
    for k in range(a.first, calls, a.every):
        if time.monotonic() > until:
            print(f"# stopped before call {k}")
            break
        where, found = torture.once(k, a.lasting, descriptors)
        tried += where != "none failed"
        if found:
            failures += 1
            print(f"call {k} of {calls}: {where}: {'; '.join(found)}", flush=True)
        if not torture.lives():
            break
    print(f"{calls} calls in a session, {tried} made to fail ({a.mode}, {a.lasting} each), {failures} failures")
    return failures or not tried


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
