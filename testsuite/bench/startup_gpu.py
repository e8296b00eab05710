#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long programs with next to no work take from their start to their end, natively and in a step under gpushare, with empty caches.

usage: startup_gpu.py BUILD OUT.csv [--driver FILE] [--bin DIR] [--rounds N] [--limit S] [--only PROGRAM...]
  BUILD     the build tree (make all); as root
  --driver  the machine's libcuda.so.1 (default: the loader's, or one of the usual places); the emulated device's of BUILD for a trial
  --bin     compiled programs of testsuite/programs (run-all --compile-only; default: BUILD/testsuite/programs/bin)
  --rounds  how often each program runs natively and under gpushare (2); the order alternates
  --limit   after so many seconds no further round begins (400)
Besides those of testsuite/programs: first results of PyTorch, JAX and CuPy, where they are installed.
OUT.csv has a line for each run. Prints the eight largest ratios of the times under gpushare and natively, and whether the bars hold: the median of the
ratios is 1.03 at most, and each program's is 1.2 at most, unless it takes at most 0.3 s more. A program must write the same both ways.
Exit status 1: a bar does not hold, a program writes something else, or the measurement failed.
"""
import argparse
import ctypes
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MEDIAN, WORST, WORST_MORE = 1.03, 1.2, 0.3
WAYS = ("native", "gpushare")
HERE = os.path.dirname(os.path.realpath(__file__))
PLACES = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
PYTHON = {
    "torch": "import torch; x = torch.ones(512, 512, device='cuda'); print((x @ x).sum().item())",
    "jax": "import jax.numpy as n, jax; print(jax.jit(lambda x: (x @ x).sum())(n.ones((512, 512))))",
    "cupy": "import cupy; x = cupy.ones((512, 512)); print(float((x @ x + 1).sum()))",
}
CACHES = {"CUDA_CACHE_PATH": "cuda", "GPUSHARE_CACHE": "gpushare", "CUPY_CACHE_DIR": "cupy", "JAX_COMPILATION_CACHE_DIR": "jax"}


def serve():
    """Runs the commands that it reads, one at a time, and answers how long each took. One such process is in a step, another one is not."""
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryDirectory() as caches:
            env = dict(os.environ, **asked["env"], XLA_PYTHON_CLIENT_PREALLOCATE="false")
            for name, folder in CACHES.items():
                env[name] = os.path.join(caches, folder)
                os.mkdir(env[name], 0o700)
            begun = time.monotonic()
            try:
                done = subprocess.run(asked["command"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, timeout=60, check=False)
                took, status, out, err = time.monotonic() - begun, done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired:
                took, status, out, err = 60.0, 124, b"", b""
        words = {"s": took, "status": status, "out": hashlib.sha256(out).hexdigest()[:16], "said": err[-300:].decode(errors="replace")}
        print(json.dumps(words), flush=True)


class Runner:
    def __init__(self, command, env):
        self.process = subprocess.Popen(command + [sys.executable, os.path.realpath(__file__), "--serve"], env=env, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, command, **env):
        self.process.stdin.write(json.dumps({"command": command, "env": {"GS_SCALE": "1", "GS_LINGER_US": "0", **env}}) + "\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit("startup_gpu.py: a runner has ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


class Daemon:
    def __init__(self, options, folder):
        self.env = dict(os.environ, GPUSHARE_SOCKET=folder + "/sock", PATH=options.build + ":" + os.environ["PATH"])
        memory = "512M" if options.emulated else "60G"
        with open(folder + "/conf", "w", encoding="utf-8") as conf:
            print("Socket=%s/sock" % folder, "PidFile=%s/pid" % folder, "LogFile=%s/log" % folder, "ReportToSlurm=no", "AllowLocal=yes",
                  "ShimDir=%s/src/device/shim/.libs" % options.build, "Driver=" + options.driver, "Gpu=0 Memory=" + memory,
                  sep="\n", file=conf)
        self.process = subprocess.Popen([options.build + "/gpushared", "--foreground", "--config", folder + "/conf"], env=self.env)
        self.step = [options.build + "/gpusharectl", "run", "--shares", "90", "--mem", "400M" if options.emulated else "50G", "--"]
        for _ in range(100):
            if os.path.exists(folder + "/sock"):
                return
            time.sleep(0.1)
        sys.exit("startup_gpu.py: gpushared does not start")

    def end(self):
        self.process.terminate()
        self.process.wait(20)


def awake(options):
    """Keeps the GPU in use, since the first user of an unused GPU waits for the driver to start it."""
    if not options.emulated:
        driver = ctypes.CDLL(options.driver)
        if driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0):
            sys.exit("startup_gpu.py: there is no GPU")


def programs(options):
    with open(os.path.join(HERE, "../programs/programs.list"), encoding="utf-8") as listed:
        names = [line.split("|")[0] for line in listed if "|" in line and not line.startswith("#")]
    found = {name: [os.path.join(options.bin, name)] for name in names if os.access(os.path.join(options.bin, name), os.X_OK)}
    missing = [name for name in names if name not in found]
    if missing:
        print("not compiled: " + " ".join(missing))
    for module, text in PYTHON.items():
        there = subprocess.run([sys.executable, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('%s') is None)" % module],
                               check=False).returncode == 0
        if there and not options.emulated:
            found[module] = [sys.executable, "-c", text]
        else:
            print("not tried: " + module)
    return {name: command for name, command in found.items() if not options.only or name in options.only}


def measure(options, runners, out):
    chosen, began = programs(options), time.monotonic()
    rows = {name: {way: [] for way in WAYS} for name in chosen}
    print("program,round,way,seconds,status,out", file=out)
    for number in range(options.rounds):
        for k, (name, command) in enumerate(chosen.items()):
            if time.monotonic() - began > options.limit:
                print("round %d: the time is over before %s" % (number + 1, name))
                return rows
            for way in WAYS if (number + k) % 2 else WAYS[::-1]:
                row = runners[way].run(command)
                rows[name][way].append(row)
                print(name, number + 1, way, "%.4f" % row["s"], row["status"], row["out"], sep=",", file=out, flush=True)
    return rows


def conclude(rows):
    ratios, bad = {}, []
    for name, ways in rows.items():
        if not all(ways.values()):
            continue
        native, managed = (ways[way] for way in WAYS)
        if native[0]["status"] == 77:
            print("%-24s needs something that this GPU does not have" % name)
            continue
        if any(row["status"] for row in native):
            bad.append("%s: fails without gpushare, too: %s" % (name, native[-1]["said"]))
        if len({(row["status"], row["out"]) for row in native + managed}) > 1:
            bad.append("%s: another result: %s" % (name, managed[-1]["said"]))
        best = [min(row["s"] for row in runs) for runs in (native, managed)]
        ratios[name] = best[1] / best[0]
        if best[1] > best[0] * WORST and best[1] > best[0] + WORST_MORE:
            bad.append("%s: %.3f s, natively %.3f" % (name, best[1], best[0]))
    if not ratios:
        sys.exit("startup_gpu.py: nothing was measured")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1])[:8]:
        best = [min(row["s"] for row in rows[name][way]) for way in ("native", "gpushare")]
        print("%-24s %7.3f s natively %7.3f s under gpushare: %.3f" % (name, *best, ratio))
    median = statistics.median(ratios.values())
    print("%d programs: median %.4f (%.2f at most), worst %.3f" % (len(ratios), median, MEDIAN, max(ratios.values())))
    if median > MEDIAN:
        bad.append("the median is above %.2f" % MEDIAN)
    print("\n".join(bad) if bad else "good")
    return not bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.realpath)
    parser.add_argument("out")
    parser.add_argument("--driver", default=next((p + "/libcuda.so.1" for p in PLACES if os.path.exists(p + "/libcuda.so.1")), ""))
    parser.add_argument("--bin")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=400)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    options.bin = options.bin or options.build + "/testsuite/programs/bin"
    options.emulated = "/emu/" in options.driver
    if not os.path.exists(options.driver):
        sys.exit("startup_gpu.py: no driver")
    # A job without gpushare may have the driver's folder in LD_LIBRARY_PATH, too.
    libraries = [os.path.dirname(options.driver), os.environ.get("LD_LIBRARY_PATH", "")]
    if options.emulated:
        libraries.insert(1, options.build + "/src/device/cudart/.libs")
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    if options.emulated:
        os.environ.update(GPUSHARE_EMU_DEVICE=folder + "/device", GPUSHARE_EMU_MEMORY="512M")
    awake(options)
    daemon, runners = Daemon(options, folder), {}
    try:
        runners = {"native": Runner([], dict(os.environ)), "gpushare": Runner(daemon.step, daemon.env)}
        with open(options.out, "w", encoding="utf-8") as out:
            rows = measure(options, runners, out)
    finally:
        for runner in runners.values():
            runner.end()
        daemon.end()
        shutil.rmtree(folder)
    sys.exit(0 if conclude(rows) else 1)


if sys.argv[1:] == ["--serve"]:
    serve()
else:
    main()
