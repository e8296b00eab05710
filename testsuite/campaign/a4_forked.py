# SPDX-License-Identifier: GPL-2.0-or-later
"""Row A4: a program forks with kernels out and is killed, while its child lives on with copies of all that it had open (forked.c). The
daemon takes the program for gone at once, the next one has the GPU, and nothing is reserved once the child has ended."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, Daemon, Step, alive, expect, program, run, wait_for  # noqa: E402

WAYS = ["sleep", "exec", "cuda", "start"]
DETECT_S = 1.0
daemon = Daemon()


def number_of_child(step):
    return next((int(line.split()[1]) for line in step.text().splitlines() if line.startswith("child ")), 0)


def trial(seed, rng):
    way = WAYS[seed % len(WAYS)]
    ms = rng.randrange(200, 500)
    start = daemon.log_end()
    # The step lasts until the child has ended, not only the program: it is ended here.
    step = Step(["sh", "-c", '"$0" "$@"; echo "status $?"; exec sleep 60', os.path.join(BUILD, "testsuite/campaign/forked"), way, str(ms)])
    child = wait_for(20, "the program has not forked", lambda: number_of_child(step))
    at = time.time()
    parent = wait_for(DETECT_S, "the log has no program that is gone", lambda: next(
        (line for line in daemon.log(start).splitlines() if ": gone" in line), None))
    took = time.time() - at
    child_lives = alive(child)
    neighbour = Step([program("order"), "many", "1"], "high")
    neighbour.right("many: right", 20)
    expect(" pid %d:" % child not in parent, "the child was the client: " + parent)
    wait_for(20, "the child did not end", lambda: not alive(child))
    step.signal(signal.SIGTERM)
    expect(step.end(20) == 143 and "status 137" in step.text(), "the program ended otherwise: " + step.words())
    if way == "start":
        expect("child: right" in step.text(), "the child's own program was wrong: " + step.words())
    expect(child_lives or took > 0.1, "the child had ended before the daemon noticed: this shows nothing")
    daemon.as_before()
    return took


if __name__ == "__main__":
    run("A4", os.environ["ROW_SCRIPT"], trial)
