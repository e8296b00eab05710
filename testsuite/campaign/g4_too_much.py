# SPDX-License-Identifier: GPL-2.0-or-later
"""Row G4: requests for more memory or shares than the GPU has, for none, and for what is no amount, by gpusharectl run and by a client of
one's own; each is refused with its reason before a program starts, and whoever fits has exactly what was asked for."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Connection  # noqa: E402
from trials import TMP, Daemon, expect, run  # noqa: E402

MIB, GPU_MIB = 1 << 20, 512
GPU = GPU_MIB * MIB
daemon = Daemon()


def beyond(rng):
    """Bytes: just beyond the GPU, or anywhere up to what no number holds."""
    return rng.choice([GPU + 1, GPU + rng.randrange(1, MIB), GPU + MIB, rng.randrange(GPU + 1, 10 * GPU), rng.randrange(GPU + 1, 1 << 62)])


def refusal(bytes_):
    return "%d MiB do not fit: GPU 0 has %d MiB to reserve" % (-(-bytes_ // MIB), GPU_MIB)


def started(options):
    """Exit status, what was said, whether the program ran, and what it was told that it has."""
    mark = os.path.join(TMP, "ran")
    if os.path.exists(mark):
        os.unlink(mark)
    done = subprocess.run(["gpusharectl", "run", "--partition", "low", *options, "--", "sh", "-c", '>"$0"; exec gpusharectl memory --json', mark],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(errors="replace"), os.path.exists(mark)


def refused(options, words):
    status, said, ran = started(options)
    expect(status != 0 and not ran, "%s: the program ran" % options)
    expect(words in said, "%s: refused with '%s' instead of '%s'" % (options, said.strip(), words))


def granted(options, mib):
    status, said, ran = started(options)
    expect(status == 0 and ran, "%s: %s" % (options, said.strip()))
    expect('"reserved_mb": %s' % mib in said or '"reserved_mb":%s' % mib in said, "%s: it has not %s MiB: %s" % (options, mib, said.strip()))


def by_message(shares, bytes_, words, gpu=0):
    """What gpusharectl would not send."""
    answer = Connection(os.environ["GPUSHARE_SOCKET"]).ask("LOCAL", shares=shares, gpu=gpu, memory=bytes_, partition="low")
    expect(answer.name == "REFUSED" and words in answer.fields["reason"], "%d shares, %d bytes of GPU %d: %s %s" % (shares, bytes_, gpu, answer.name, answer.fields))


def memory_beyond(rng):
    amount = -(-beyond(rng) // 1024) * 1024 if rng.randrange(2) else GPU + 1  # gpusharectl reads it as a number with a point
    refused(["--mem", str(amount)], refusal(amount))


def units_beyond(rng):
    mib = rng.randrange(GPU_MIB + 1, 1 << 30)
    text, mib = rng.choice([("%dM" % mib, mib), ("%dG" % mib, mib * 1024), ("%d.5M" % mib, mib + 1), ("%dKiB" % (mib * 1024), mib)])
    refused(["--mem", text], refusal(mib * MIB))


def no_amount(rng):
    text, words = rng.choice([("0", "at least one byte"), ("0M", "at least one byte"), ("0.0000001K", "at least one byte"), ("-1", "is not a size"),
                              ("-%dM" % rng.randrange(1, 999), "is not a size"), ("%dX" % rng.randrange(1, 999), "unknown unit"), ("all", "is not a size"),
                              ("101%", "unknown unit"), ("", "is not a size"), ("99999999999999999999G", "is too large"),
                              (str(1 << 63), "is too large"), (str(1 << 64), "is too large"), ("nan", "is not a size"), ("1e3M", "is not a size")])
    refused(["--mem", text], words)


def shares(rng):
    number = rng.choice([101, 101, rng.randrange(102, 1000000), 1000000])
    refused(["--shares", str(number)], "%d shares asked for: GPU 0 has 1 to 100" % number)


def no_shares(rng):
    text = rng.choice(["0", "-1", str(-rng.randrange(2, 999)), str(rng.randrange(1000001, 1 << 33)), "12.5", "50%", "", "100x"])
    refused(["--shares", text], "is not ")


def messages(rng):
    amount = rng.choice([beyond(rng), (1 << 64) - 2, (1 << 63) + rng.randrange(1 << 40)])
    by_message(10, amount, refusal(amount))
    number = rng.choice([0, 101, (1 << 32) - 1, 1 << 31])
    by_message(number, MIB, "%d shares asked for" % number)
    gpu = rng.choice([1, 2, (1 << 32) - 1])
    by_message(10, MIB, "there is no GPU %d here" % gpu, gpu)


def exactly(rng):
    mib = rng.choice([GPU_MIB, rng.randrange(1, GPU_MIB)])
    granted(["--mem", rng.choice(["%dM" % mib, str(mib * MIB)])], "%.1f" % mib)


def fractions(rng):
    """The memory of so many shares, where none is said: rounded down, so that a hundred of them fit."""
    number = rng.choice([1, 3, 33, 99, 100, rng.randrange(1, 101)])
    granted(["--shares", str(number)], ("%.3f" % (GPU * number // 100 / MIB)).rstrip("0").rstrip("."))


KINDS = [memory_beyond, units_beyond, no_amount, shares, no_shares, messages, exactly, fractions]


def trial(seed, rng):
    KINDS[seed % len(KINDS)](rng)
    daemon.as_before()


if __name__ == "__main__":
    run("G4", os.environ["ROW_SCRIPT"], trial)
