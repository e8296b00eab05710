# SPDX-License-Identifier: GPL-2.0-or-later
"""Row D5: jobs for hours, with chaos. A trial is a wave of jobs on one daemon, which stays from wave to wave unless the chaos ends it.

The seed says which programs the wave has, with which shares, memory and priority (together they may want more memory than there is, so that
some wait), how often each is evicted by force, and what happens meanwhile: programs are killed, ended or stopped for a while, the daemon
reads its configuration anew, or, in one wave of many, stops or is killed, and comes back. Whoever was not ended prints what it prints
alone. After each wave everything is free again, the daemon has no more descriptors than after its first wave, its log has grown by a bounded
number of lines, and its memory does not grow any more once it has all the steps that its reports keep.
"""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from h_results import e2e_cases, library_path, listed, native, timeless  # noqa: E402
from restarts import connected_again, end_daemon, start_daemon  # noqa: E402
from trials import REPORTED, Daemon, Step, expect, run, wait_for  # noqa: E402

JOBS, SHARES, MEMORY_MB = (3, 8), (1, 12), (40, 90)  # of 100 shares and 256 MB
LINES_OF_A_JOB = 60
RESTART_EVERY, FIRST_RESTART = 350, 3  # waves, which are some 1,900 jobs
GROWTH_KIB = 1024
END_S = 180  # some wait for others' memory
daemon = Daemon()
programs = listed() + e2e_cases()


class Job:
    def __init__(self, rng):
        self.case = rng.choice(programs)
        self.ended = False  # by us
        options = rng.choice([(), (), ("--force-evict-ms", str(rng.choice([1, 10, 100])))])
        environment = {"GS_SCALE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": rng.choice(["8", "13"]), "LD_LIBRARY_PATH": library_path()}
        self.wanted = native(self.case)
        self.step = Step(self.case, rng.choice(["low", "high"]), rng.randint(*SHARES), "%dM" % rng.randint(*MEMORY_MB), options, environment)

    def runs(self):
        return self.step.process.poll() is None

    def signal(self, number):
        """It may have ended by itself in the same moment, or not have begun."""
        try:
            if self.runs() and self.step.find_pid():
                self.step.signal(number)
                self.ended = self.ended or number not in (signal.SIGSTOP, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def is_right(self):
        got = self.step.end(END_S)
        if not self.ended:
            expect((got, timeless(self.step.text())) == self.wanted, "%s ended with %d and said %r, alone with %d and %r" % (
                " ".join(self.case), got, self.step.words(), self.wanted[0], self.wanted[1][-3:]))


def kill_some(rng, jobs):
    rng.choice(jobs).signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]))


def stop_some(rng, jobs):
    job = rng.choice(jobs)
    job.signal(signal.SIGSTOP)
    time.sleep(rng.uniform(0, 1))
    job.signal(signal.SIGCONT)


def reload(rng, jobs):
    for _ in range(rng.choice([1, 1, 5])):
        os.kill(daemon.pid(), signal.SIGHUP)


class Flat:
    """The daemon's memory once its reports have all the steps that they keep."""

    def __init__(self):
        self.begin()

    def begin(self):
        """With a new daemon."""
        self.jobs, self.kib, self.since = 0, None, 0

    def growth(self, jobs):
        """KiB, or None as long as it may grow."""
        self.jobs += jobs
        if self.jobs < REPORTED + 100:
            return None
        if self.kib is None:
            self.kib, self.since = daemon.resident_kib(), self.jobs
        grown = daemon.resident_kib() - self.kib
        expect(grown < GROWTH_KIB, "the daemon's memory has grown by %d KiB in %d jobs" % (grown, self.jobs - self.since))
        return grown


flat = Flat()


def restart(rng, jobs):
    flat.begin()
    # gpusharectl run asks for its step once, and does not wait for a daemon that is not there.
    wait_for(END_S, "a job has no step", lambda: all(job.step.find_pid() for job in jobs if job.runs()))
    end_daemon(daemon, rng.choice([signal.SIGTERM, signal.SIGKILL]))
    time.sleep(rng.choice([0, 0, rng.uniform(0, 1)]))
    start, begun = daemon.log_end(), time.monotonic()
    connected = [job.step for job in jobs if job.runs() and job.step.look()]
    start_daemon()
    connected_again(daemon, connected, start, begun)


def chaos(rng, jobs, more):
    for action in rng.choices([kill_some, stop_some, reload], [6, 4, 3], k=rng.randrange(4)) + more:
        time.sleep(rng.uniform(0, 0.6))
        action(rng, jobs)


def trial(seed, rng: random.Random):
    start = daemon.log_end()
    jobs = [Job(rng) for _ in range(rng.randint(*JOBS))]
    chaos(rng, jobs, [restart] if seed % RESTART_EVERY == FIRST_RESTART else [])
    for job in jobs:
        job.is_right()
    lines = daemon.log(start).count("\n")
    expect(lines < LINES_OF_A_JOB * (len(jobs) + 3), "the log has grown by %d lines for %d jobs" % (lines, len(jobs)))
    for job in jobs:
        job.step.close()
    daemon.as_before(5)
    return flat.growth(len(jobs))


if __name__ == "__main__":
    run("D5", os.environ["ROW_SCRIPT"], trial)
