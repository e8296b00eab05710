# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B6: programs with kernels that cannot be evicted, or that use what kernels seldom use, end beside a neighbour as they do alone.

The seed says which program, and whether its neighbour is an equal, less urgent or more urgent. The report has to say why a launch could not
leave, in the words that the table has, and that it never did.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from h_results import BIN, END_S, library_path, native, timeless  # noqa: E402
from trials import TMP, Daemon, Step, expect, program, run, wait_for  # noqa: E402

GRID, GRAPH, WAVE = "synchronises the whole grid", "is a graph, launched as one", "its grid fits on the GPU at once: no block-task boundary to leave at"
PDL = "uses programmatic dependent launch"
ANY = ""  # of a kernel with several kinds of launches the report has the last one's reason
# Program, why launches of it cannot leave. None: those of the emulated device can, and textures, printf and shared libraries are the test.
PROGRAMS = [("cg_grid", GRID), ("graph_build", GRAPH), ("graph_capture", GRAPH), ("graph_fork", GRAPH), ("graph_update", GRAPH), ("launch_ex", ANY),
            ("occupancy", WAVE), ("pdl", PDL), ("order graphs 3", GRAPH), ("printf_kernel", None), ("surface", None), ("texture_1d", None),
            ("texture_2d", None), ("dlopen", None)]
RANKS = [("low", "low"), ("high", "low"), ("low", "high")]  # the program's partition, the neighbour's
daemon = Daemon()
MORE, HOLD = (os.path.join(TMP, name) for name in ("more", "hold"))
# The step stays after its program's end: the report of its kernels goes with it.
SHELL = 'x=0; "$@" || x=$?; : >"$0.over"; while [ -e "$0" ]; do sleep 0.02; done; exit $x'
OVER = HOLD + ".over"


def command_of(name):
    words = name.split()
    return [program(words[0]), *words[1:]] if len(words) > 1 else [os.path.join(BIN, name)]


def kernels_of(job):
    answer = subprocess.run(["gpusharectl", "kernels", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return [k for k in json.loads(answer.stdout)["kernels"] if k["job"] == job]


def new_job(before):
    jobs = [row["job"] for row in daemon.status()["steps"] if row["job"] not in before]
    expect(len(jobs) == 1, "there are the new steps %s" % jobs)
    return jobs[0]


def stays_as_said(name, why, kernels):
    """The report of a program that is over."""
    held = [k for k in kernels if k["unevictable"]]
    expect(kernels and sum(k["launches"] for k in kernels), "%s: the report has no launch of it" % name)
    for k in held:
        said = k["reason"] if k["unevictable"] == k["launches"] and k["reason"] != "none" else k["launch_reason"]
        expect(said not in ("none", "", None), "%s: %d launches of %s could not leave, and nothing says why" % (name, k["unevictable"], k["kernel"]))
        if k["unevictable"] == k["launches"]:
            expect(k["preemptions"] == 0, "%s: %s cannot leave, and did" % (name, k["kernel"]))
    if why is not None:
        expect(any(why in (ANY, k["reason"], k["launch_reason"]) for k in held), "%s: no launch has stayed because it %s: %s" % (
            name, why, [(k["kernel"], k["launches"], k["unevictable"], k["reason"], k["launch_reason"]) for k in kernels]))


def neighbour(partition):
    """One that computes as long as the file is there; a more urgent one would leave no time for a kernel that cannot be evicted."""
    one = Step([program("order"), "many", "10"] if partition == "high" else [program("until"), MORE], partition, 20, "20M")
    page = one.connected()
    if partition == "low":
        wait_for(20, "the neighbour's kernel was not launched", lambda: page.has("RUNNING"))
    return one


def beside(name, why, mine, other):
    command = command_of(name)
    status, lines = native(command)
    one = neighbour(other)
    before = {row["job"] for row in daemon.status()["steps"]}
    step = Step(["sh", "-c", SHELL, HOLD, *command], mine, 20, "150M", env={"LD_LIBRARY_PATH": library_path(), "GS_SCALE": "1"})
    until = time.monotonic() + END_S
    while not os.path.exists(OVER):
        expect(step.process.poll() is None, "%s: its shell ended: %s" % (name, step.words()))
        expect(time.monotonic() < until, "%s in partition %s did not end beside one in %s" % (name, mine, other))
        time.sleep(0.01)
    stays_as_said(name, why, kernels_of(new_job(before)))
    os.unlink(HOLD)
    got = step.end(20)
    output = timeless(step.text())
    expect((got, output) == (status, lines), "%s ended with %d and printed %r, without gpushare with %d and %r: %s" % (
        name, got, output[-3:], status, lines[-3:], step.words()))
    if other == "low":
        expect(one.process.poll() is None, "the neighbour has ended beside %s: %s" % (name, one.words()))
        os.unlink(MORE)
    one.right("until: right" if other == "low" else "many: right")


def trial(seed, rng):
    here = [case for case in PROGRAMS if os.access(command_of(case[0])[0], os.X_OK)]
    name, why = here[seed % len(here)]
    mine, other = RANKS[(seed % len(here) + seed // len(here)) % len(RANKS)]
    for path in (MORE, HOLD):
        with open(path, "w"):
            pass
    try:
        beside(name, why, mine, other)
    finally:
        for step in list(Step.every):
            step.close()
        for path in (MORE, HOLD, OVER):
            if os.path.exists(path):
                os.unlink(path)
    daemon.as_before(5)


if __name__ == "__main__":
    run("B6", os.environ["ROW_SCRIPT"], trial)
