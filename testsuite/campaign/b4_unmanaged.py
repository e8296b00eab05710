# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B4: a program that has a copy of the driver, and so no shim, uses the GPU beside one that has it.

The seed says whose program it is, whether it runs in a step or outside of all, whether a user's is named like MPS's server, and whether the site
only wants to know or wants it ended. The driver's list, a fake NVML here, names it as soon as it has the GPU. Within ten seconds the log says
so, and a row of status; it is ended where the site says so and it is a job's, and only there; and the neighbour is right.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from restarts import CONFIGURATION  # noqa: E402
from trials import BUILD, TMP, Daemon, Step, alive, expect, program, run, wait_for  # noqa: E402

SEEN_S, CHECK_S, NOBODY = 10.0, 5.0, 65534
LIST, COPY = os.environ["FAKE_NVML"], os.path.join(TMP, "past", "libcuda.so.1")
LIKE_MPS, MORE = os.path.join(TMP, "nvidia-cuda-mps"), os.path.join(TMP, "more")
DEVICES = os.path.join(TMP, "devices")
daemon = Daemon()


def policy(name):
    with open(CONFIGURATION) as file:
        lines = [line for line in file if not line.startswith("Unmanaged=")]
    with open(CONFIGURATION, "w") as file:
        file.writelines(lines + ["Unmanaged=%s\n" % name])
    start = daemon.log_end()
    os.kill(daemon.pid(), signal.SIGHUP)
    wait_for(20, "gpushared does not read its configuration", lambda: "reloaded " in daemon.log(start))


def driver_lists(pid=0):
    with open(LIST, "w") as file:
        file.write("%d %d\n" % (pid, 64 << 20) if pid else "")


def rows():
    return [row["pid"] for row in daemon.status()["unmanaged"]]


class Bypass:
    """A program that has the GPU and no shim; it stays until its standard input ends."""

    def __init__(self, file, uid, in_step):
        command = ["env", "-u", "LD_PRELOAD", "LD_LIBRARY_PATH=" + os.path.dirname(COPY), file, "64"]
        if in_step:
            command = ["gpusharectl", "run", "--shares", "10", "--mem", "20M", "--partition", "low", "--", *command]
        elif os.geteuid() == 0:
            command = ["setpriv", "--reuid=%d" % uid, "--clear-groups", *command]
        device = os.path.join(DEVICES, "device.%d" % uid)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, GPUSHARE_EMU_DEVICE=device))
        words = self.process.stdout.readline().split()
        said = dict(word.split("=", 1) for word in words if "=" in word)
        expect(said.get("alloc") == "granted" and said.get("library") == COPY, "it does not get past gpushare: %r" % words)
        self.pid = int(said["pid"])

    def close(self):
        self.process.stdin.close()
        if self.process.poll() is None:
            self.process.wait(20)
        self.process.stdout.close()


def seen(bypass, start):
    driver_lists(bypass.pid)
    begun = time.monotonic()
    mark = "pid %d (" % bypass.pid
    wait_for(SEEN_S, "the log does not say that a program uses the GPU past gpushare",
             lambda: any(mark in line and "uses the GPU past gpushare" in line for line in daemon.log(start).splitlines()))
    took = time.monotonic() - begun
    wait_for(2, "status has no row of it", lambda: bypass.pid in rows())
    return took


def trial(seed, rng):
    ends, in_step = seed % 2, seed // 2 % 2
    policy("kill" if ends else "log")
    with open(MORE, "w"):
        neighbour = Step([program("until"), MORE])
    neighbour.began()
    start = daemon.log_end()
    uid = 0 if in_step else rng.choice([0, NOBODY])
    time.sleep(rng.uniform(0, CHECK_S))
    bypass = Bypass(LIKE_MPS if uid and rng.random() < 0.5 else program("bypass"), uid, in_step)
    try:
        took = seen(bypass, start)
        if ends and in_step:
            wait_for(SEEN_S, "Unmanaged=kill has not ended it", lambda: not alive(bypass.pid))
        else:
            time.sleep(0.5)
            expect(alive(bypass.pid), "it was ended, though " + ("it is of no job" if ends else "Unmanaged=log"))
    finally:
        bypass.close()
        driver_lists()
        if os.path.exists(MORE):
            os.unlink(MORE)
    wait_for(SEEN_S, "status still has its row", lambda: bypass.pid not in rows())
    neighbour.right("until: right")
    daemon.as_before(5)
    return took


if __name__ == "__main__":
    os.mkdir(os.path.dirname(COPY))
    os.mkdir(DEVICES)
    os.chmod(DEVICES, 0o1777)
    shutil.copy(os.path.join(BUILD, "src/device/emu/.libs/libcuda.so.1"), COPY)
    shutil.copy(program("bypass"), LIKE_MPS)
    run("B4", os.environ["ROW_SCRIPT"], trial)
