# SPDX-License-Identifier: GPL-2.0-or-later
"""Row F6: a program fills its device memory with a mark and ends, is killed, or is moved to the host; the next one looks for the mark in all
that it gets (residue.c), and the row looks for it where gpushare could have left it: in its files, in gpushared's own memory and in
what gpushared has open."""
import json
import os
import stat
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, expect, run, wait_for  # noqa: E402

ENTRIES = ["linear", "pitched", "managed", "ordered", "pool", "mapped", "array", "module"]
WAYS = ["ends", "is killed", "is moved and comes back", "is moved and is killed"]
MOVABLE = [name for name in ENTRIES if name != "mapped"]  # the emulated device cannot move what others may have as well
FILLED, RESERVED, IN_A_ROW = 40, 48, 64  # MiB, MiB, words
PROGRAM = os.path.join(BUILD, "testsuite/campaign/residue")
OF_DAEMON = ["sock.state", "sock.key"]
daemon = Daemon()


def regions(pid):
    """What a process has in its memory, piece by piece."""
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            place, mode = line.split()[:2]
            begin, end = (int(word, 16) for word in place.split("-"))
            if mode[0] != "r" or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                memory.seek(begin)
                yield line.split()[-1], memory.read(end - begin)
            except (OSError, OverflowError, ValueError):
                continue  # it has gone meanwhile, or cannot be read


def files():
    """What is in files where gpushare writes, in shared memory, and in what gpushared has open."""
    paths = [os.path.join(folder, name) for top in (TMP, "/dev/shm") for folder, _, names in os.walk(top) for name in names]
    open_ones = "/proc/%d/fd" % daemon.pid()
    paths += [os.path.join(open_ones, name) for name in os.listdir(open_ones)]
    for path in paths:
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb") as file:
                    yield path, file.read(1 << 28)
        except OSError:
            continue


def nowhere(mark, when):
    needle = struct.pack("<I", mark) * IN_A_ROW
    for place, content in list(files()) + list(regions(daemon.pid())):
        expect(needle not in content, "%s: %s has the program's memory" % (when, place))
    for name in OF_DAEMON:
        path = os.path.join(TMP, name)
        expect(not os.path.exists(path) or not os.stat(path).st_mode & 0o077, "%s may be read by others" % path)


def is_away():
    answer = subprocess.run(["gpusharectl", "memory", "--json"], stdout=subprocess.PIPE, timeout=20, check=True)
    return any("on the host" in (s["why"] or "") for s in json.loads(answer.stdout)[0]["steps"])


def hold(name):
    """A file as long as which a program waits."""
    path = os.path.join(TMP, name)
    with open(path, "w"):
        return path


def begin(partition, words, *arguments):
    """A step that has said these."""
    step = Step([PROGRAM, *arguments], partition=partition, memory="%dM" % RESERVED)
    wait_for(60, "it did not say: " + words, lambda: step.process.poll() is not None or words in step.text())
    expect(words in step.text(), "it did not say '%s': %s" % (words, step.words()))
    return step


NONE = "residue: 0 words found in %d MiB" % (len(ENTRIES) * RESERVED)
ALL = "residue: %d of %d words are there" % (FILLED << 18, FILLED << 18)


def moved(step, mark, filled, is_killed):
    """A more urgent program gets the memory and looks at it, while it is on the host."""
    looking = hold("looking")
    other = begin("high", "words found", "look", str(mark), looking)
    expect(is_away(), "nothing has been moved to the host")
    nowhere(mark, "while it is on the host")
    if is_killed:
        step.signal(9)
        expect(step.end() == 137, "it ended with %d" % step.end())
    else:
        os.unlink(filled)
    os.unlink(looking)
    other.right(NONE)
    if not is_killed:
        step.right(ALL)


def trial(seed, rng):
    way = WAYS[seed % len(WAYS)]
    is_moved, is_killed = "moved" in way, "killed" in way
    entry = (MOVABLE if is_moved else ENTRIES)[seed // len(WAYS) % len(MOVABLE if is_moved else ENTRIES)]
    mark = rng.randrange(1 << 24, 1 << 32)
    filled = hold("filled")
    step = begin("low", "filled", "fill", entry, str(mark), str(FILLED), filled)
    nowhere(mark, "while it runs")
    if is_moved:
        moved(step, mark, filled, is_killed)
    elif is_killed:
        step.signal(9)
        expect(step.end() == 137, "it ended with %d" % step.end())
    else:
        os.unlink(filled)
        step.right(ALL)
    nowhere(mark, "when it " + way)
    begin("low", "words found", "look", str(mark), os.path.join(TMP, "absent")).right(NONE)
    daemon.as_before()


if __name__ == "__main__":
    run("F6", os.environ["ROW_SCRIPT"], trial)
