# SPDX-License-Identifier: GPL-2.0-or-later
"""For the rows of the campaign that are written in Python: job steps on the daemon that lib.sh has started, their pages, what the
daemon has, and the loop over the trials. A row's script calls it by `trials_of FILE.py` (lib.sh)."""
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

STATES = ["PREP", "READY", "TORUN", "RUNNING", "TOEVICT", "DONE"]  # proto/launch_state.def
PAGE_BYTES, FIRST_SLOT, SLOT_BYTES, SLOTS, LAUNCHED_FIELD = 8192, 128, 64, 126, 4  # proto/page.h
REPORTED, REPORTED_KIB = 1000, 10  # steps that are over, and what one takes
TMP = os.environ.get("TMP_OF_ROW", ".")
BUILD = os.environ.get("BUILD", ".")


class Failure(Exception):
    """What went wrong in a trial."""


class TooLate(Failure):
    """Something did not happen in time; on a machine that is busy with other things that may be the machine's fault."""


def expect(good, words):
    if not good:
        raise Failure(words)


def expect_within(good, words):
    if not good:
        raise TooLate(words)


def program(name):
    return os.path.join(BUILD, "testsuite/e2e", name)


def wait_for(seconds, words, condition, every=0.002):
    """What the condition returns, once that is true."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise TooLate("%s within %g s" % (words, seconds))
        time.sleep(every)


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Page:
    """The page that a client shares with the daemon, read only."""

    def __init__(self, pid):
        self.words = None
        for name in os.listdir("/proc/%d/fd" % pid):
            path = "/proc/%d/fd/%s" % (pid, name)
            try:
                if "gpushare-page" in os.readlink(path):
                    with open(path, "rb") as file:
                        self.words = memoryview(mmap.mmap(file.fileno(), PAGE_BYTES, prot=mmap.PROT_READ)).cast("I")
                    return
            except OSError:
                continue
        raise OSError("it has no page yet")

    def states(self):
        words = self.words
        used = min(words[16], SLOTS)  # slots from that one on were never in use
        return [words[32 + 16 * i] for i in range(max(used, 1))]

    def has(self, *names):
        return any(STATES[s] in names for s in self.states() if s < len(STATES))

    def started(self):
        return any(self.words[33 + 16 * i] for i, s in enumerate(self.states()) if s == 3)


class Step:
    """gpusharectl run ... -- COMMAND."""
    every = []
    begun = 0

    def __init__(self, command, partition="low", shares=30, memory="50M", options=(), env=None):
        Step.begun += 1
        self.errors = tempfile.NamedTemporaryFile(dir=TMP, prefix="step.", mode="w+")
        self.output = tempfile.NamedTemporaryFile(dir=TMP, prefix="step.", mode="w+")
        self.command = list(command)
        self.process = subprocess.Popen(
            ["gpusharectl", "run", "--shares", str(shares), "--mem", memory, "--partition", partition, *options, "--",
             "sh", "-c", 'echo "pid $$"; exec "$0" "$@"', *self.command],
            stdout=self.output, stderr=self.errors, stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
        self.page = None
        self.known_pid = 0
        Step.every.append(self)

    def text(self, file=None):
        """Its standard output."""
        with open((file or self.output).name, errors="replace") as text:
            return text.read()

    def words(self):
        """The last that it said, for people."""
        return " ".join((self.text() + self.text(self.errors)).split())[-200:]

    def find_pid(self):
        for line in self.text().splitlines():
            if line.startswith("pid "):
                return int(line.split()[1])
        if self.process.poll() is not None:
            raise Failure("a step ended at once: " + self.words())
        return 0

    def pid(self):
        if not self.known_pid:
            self.known_pid = wait_for(20, "a step has not begun", self.find_pid)
        return self.known_pid

    def look(self):
        """Its page, or None if it has none yet."""
        if not self.page and self.find_pid():
            try:
                self.page = Page(self.find_pid())
            except OSError:
                pass
        return self.page

    def connected(self):
        """Its page."""
        def find():
            expect(self.look() or self.process.poll() is None, "a program ended before it was connected: " + self.words())
            return self.page
        return wait_for(20, "a program was not connected", find)

    def began(self):
        """Wait until it is connected, or has ended: a short program may be too quick for connected()."""
        try:
            self.connected()
        except Failure:
            if self.process.poll() is None:
                raise

    def end(self, seconds=60):
        """Its exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TooLate("%s did not end within %d s: %s" % (" ".join(self.command[-3:]), seconds, self.words())) from None

    def right(self, line, seconds=60):
        status = self.end(seconds)
        expect(status == 0 and line in self.text().splitlines(), "%s ended with %d: %s" % (
            os.path.basename(self.command[0]), status, self.words()))

    def signal(self, number):
        os.kill(self.pid(), number)

    def close(self):
        if self.process.poll() is None:
            try:
                os.kill(self.known_pid or self.find_pid() or self.process.pid, 9)
                self.process.wait(5)
            except (OSError, Failure, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        self.output.close()
        self.errors.close()
        Step.every.remove(self)


class Daemon:
    """The one that lib.sh has started."""

    def __init__(self):
        self.descriptors = self.memory = None

    def pid(self):
        with open(os.path.join(TMP, "pid")) as file:
            return int(file.read())

    def status(self):
        answer = subprocess.run(["gpusharectl", "status", "--json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
        expect(answer.returncode == 0, "gpusharectl status: " + answer.stdout.decode(errors="replace")[-200:])
        return json.loads(answer.stdout)

    def free(self):
        gpu = self.status()["gpus"][0]
        return not any(gpu[k] for k in ("reserved_mb", "shares_taken", "clients"))

    def open_files(self):
        return len(os.listdir("/proc/%d/fd" % self.pid()))

    def resident_kib(self):
        with open("/proc/%d/status" % self.pid()) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def log(self, start=0):
        with open(os.path.join(TMP, "log"), errors="replace") as file:
            file.seek(start)
            return file.read()

    def log_end(self):
        return os.path.getsize(os.path.join(TMP, "log"))

    def as_before(self, within=1.0):
        """Nothing reserved, nobody connected, as many descriptors as after the first trial, and no more memory than the steps that are
        over take in its reports, of which it keeps a thousand."""
        wait_for(within, "the GPU's memory and shares were not back", self.free, 0.01)
        if self.descriptors is None:
            time.sleep(0.2)
            self.descriptors, self.memory = self.open_files(), self.resident_kib()
        wait_for(2, "the daemon has more descriptors than before (%d)" % self.descriptors,
                 lambda: self.open_files() <= self.descriptors, 0.02)
        expect(self.resident_kib() < self.memory + 4096 + REPORTED_KIB * min(Step.begun, REPORTED), "the daemon's memory has grown from %d to %d KiB" % (self.memory, self.resident_kib()))

    def gone_after(self, pid, killed_at, start, within=1.0):
        """Seconds from then to the log's line that this client is gone."""
        mark = " pid %d: gone" % pid

        def line():
            return next((line for line in self.log(start).splitlines() if mark in line), None)
        found = wait_for(within, "no log line that pid %d is gone" % pid, line)
        stamp = found.split()[0]
        at = time.mktime(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")) + float(stamp[19:])
        return max(0.0, at - killed_at)


class Busy:
    """Is the machine too busy to judge a time? A thread sleeps for 20 ms and works for 1 ms, again and again, and sees how late it is. One
    that only slept would go first whenever it wakes, and see nothing."""
    LAG_S, LOAD = 0.05, 8
    SLEEP_S, WORK_S = 0.02, 0.001

    def __init__(self):
        self.lag = 0.0
        threading.Thread(target=self.pulse, daemon=True).start()

    def pulse(self):
        while True:
            begun, worked = time.monotonic(), time.thread_time()
            time.sleep(self.SLEEP_S)
            while time.thread_time() - worked < self.WORK_S:
                pass
            self.lag = max(self.lag, time.monotonic() - begun - self.SLEEP_S - self.WORK_S)

    def is_it(self):
        with open("/proc/loadavg") as file:
            load = float(file.read().split()[0])
        return self.lag > self.LAG_S or load > self.LOAD * len(os.sched_getaffinity(0))


def attempts(row, number, seed, trial, busy):
    """The trial's value. One that was too late is tried again, up to five times, if the machine was busy; five are a failure."""
    for left in (4, 3, 2, 1, 0):
        busy.lag = 0.0
        try:
            return trial(seed, random.Random(seed))
        except TooLate as why:
            if not left or not busy.is_it():
                raise
            print("%s: trial %d: on a machine that is too busy to judge, again: %s" % (row, number, why), file=sys.stderr, flush=True)
        finally:
            for step in list(Step.every):
                step.close()
    return None


def run(row, script, trial):
    """trial(seed, random) returns a value or None, and raises Failure. Says `n failures worst` to lib.sh."""
    n, seed = int(sys.argv[1]), int(sys.argv[2])
    until = float(os.environ.get("CAMPAIGN_UNTIL", "inf"))
    tried = failures = 0
    worst, said, busy = None, time.monotonic(), Busy()
    for s in range(seed, seed + n):
        if time.time() > until:
            break
        tried += 1
        try:
            value = attempts(row, tried, s, trial, busy)
            if value is not None and (worst is None or value > worst):
                worst = value
        except (Failure, OSError, subprocess.SubprocessError, ValueError, struct.error) as why:
            failures += 1
            print("%s: trial %d: %s; again: testsuite/campaign/%s 1 %d" % (row, tried, why, script, s), file=sys.stderr, flush=True)
        if time.monotonic() - said > 20:
            said = time.monotonic()
            print("%s: %d of %d trials, %d failures" % (row, tried, n, failures), file=sys.stderr, flush=True)
    print(tried, failures, "-" if worst is None else "%.3f" % worst)
