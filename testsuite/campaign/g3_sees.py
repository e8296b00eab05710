# SPDX-License-Identifier: GPL-2.0-or-later
"""Row G3: several processes of a job have memory, and each is told the reservation, and what is left of it after all of them, by CUDA and by
NVML (sees.c); a neighbour has another reservation meanwhile."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, TooLate, expect, program, run, wait_for  # noqa: E402

MIB, UNIT = 1 << 20, 4 * 512  # it makes four allocations
CONTEXT = int(sys.argv[3]) * MIB
PROGRAM = os.path.join(BUILD, "testsuite/campaign/sees")
SHELL = 'program=$1 go=$2 over=$3; shift 3; for bytes; do "$program" $bytes $go $over & done; wait'
daemon = Daemon()


def last_lines(step):
    """Of each process, its last figures."""
    lines = [line.split() for line in step.text().splitlines() if line.startswith("sees ") and line.count(" ") == 7]
    return {words[1]: tuple(int(word) for word in words[2:]) for words in lines}


def all_cuda_right(step, total, left):
    for words in (line.split() for line in step.text().splitlines() if line.startswith("sees ") and line.count(" ") == 7):
        expect([int(word) for word in words[2:5]] == [total, left, total], "CUDA says %s instead of %d %d %d" % (" ".join(words[2:5]), total, left, total))


def told(step, parts, mib):
    """Each process says what is right."""
    total, left = mib * MIB, mib * MIB - len(parts) * CONTEXT - sum(parts)
    right = (total, left, total, total, total - left, left)
    try:
        wait_for(5, "not each process is told the same", lambda: len(last_lines(step)) == len(parts) and set(last_lines(step).values()) == {right}, 0.02)
    except TooLate:
        raise TooLate("%s is right, and it was told %s" % (right, list(last_lines(step).values()))) from None
    all_cuda_right(step, total, left)


def touch(path):
    with open(path, "w"):
        pass


def forget(*paths):
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


def trial(seed, rng):
    go, over, held = (os.path.join(TMP, name) for name in ("go", "over", "held"))
    forget(go, over, held)
    n, mib = rng.randrange(1, 5), rng.randrange(64, 128)
    room = (mib * MIB - n * CONTEXT) // n
    parts = [rng.randrange(1, room // UNIT + 1) * UNIT for _ in range(n)]
    neighbour = Step([program("entries"), "keep", str(rng.randrange(1, 60)), held], memory="%dM" % rng.randrange(64, 128))
    try:
        step = Step(["sh", "-c", SHELL, "sh", PROGRAM, go, over] + [str(part) for part in parts], memory="%dM" % mib)
        wait_for(60, "not all processes have their memory", lambda: step.process.poll() is not None or step.text().count("has\n") == n)
        expect(step.process.poll() is None, "it ended too soon: " + step.words())
        wait_for(60, "the neighbour has no memory", lambda: os.path.exists(held))
        touch(go)
        told(step, parts, mib)
    finally:  # the shell's processes would stay
        touch(go)
        touch(over)
    expect(step.end() == 0, "it ended with %d: %s" % (step.end(), step.words()))
    forget(held)
    expect(neighbour.end() == 0, "the neighbour ended with %d: %s" % (neighbour.end(), neighbour.words()))
    daemon.as_before()


if __name__ == "__main__":
    run("G3", os.environ["ROW_SCRIPT"], trial)
