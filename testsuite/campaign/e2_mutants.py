# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the tree's corpus with an end missing or with bits turned, to gpushare-ptx: e2_mutants.py SOURCE BUILD FOLDER N SEED.
A line `trial I: WORDS` for each that failed, the last line is how many were made. The file, and what becomes of it, come from I + SEED - 1.

gpushare-ptx is the tool of the transforms that the shim makes. It must end by itself, in 5 s of a processor and 1 GiB; text of which
nothing was transformed must come out as it went in, and machine code that gets no guard leaves no file.
"""
import glob
import json
import os
import random
import resource
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from loop import make_trials

SOURCE, BUILD, FOLDER, N, SEED = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
TOOL = os.path.join(BUILD, "gpushare-ptx")
SECONDS, BYTES = 5, 1 << 30
PATTERNS = ["testsuite/ptx/*/*.ptx", "testsuite/unit/data/*/*.ptx", "testsuite/unit/data/*/*.cubin", "testsuite/unit/data/*/*.fatbin",
            "testsuite/unit/data/*/*.so", "testsuite/unit/data/*/*.obj"]


def is_sanitized():
    """Its shadow memory is more than the limit."""
    with open(os.path.join(BUILD, "config.h")) as file:
        return "#define GS_SANITIZED 1" in file.read()


LIMITS = ["prlimit", "--cpu=%d" % SECONDS, "--core=0"] + ([] if is_sanitized() else ["--as=%d" % BYTES])


def corpus():
    files = sorted(path for pattern in PATTERNS for path in glob.glob(os.path.join(SOURCE, pattern)))
    if len(files) < 50:
        sys.exit("only %d files were found" % len(files))
    return files


def mutated(data, rng, cut):
    if cut:
        return data[:rng.randrange(len(data))]
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def tool(*arguments):
    done = subprocess.run(LIMITS + [TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1, 2):
        raise OSError("%s ended with %d: %s" % (" ".join(arguments[:-1]), done.returncode, done.stderr[-300:].decode(errors="replace")))
    if b"no memory" in done.stderr:
        raise OSError("%s wants more than 1 GiB" % " ".join(arguments[:-1]))
    return done


def transforms(path, data):
    done = tool("--json", "--form", "all,sync-aware", "transform", path)
    if done.returncode != 0:
        return "" if not done.stdout else "%d bytes come out of what cannot be read" % len(done.stdout)
    report = json.loads(done.stderr)
    text = data.split(b"\0")[0]  # for the driver, too, that is its end
    if report["as_is"] == report["kernel_count"] and done.stdout != text:
        return "nothing was transformed, and %d bytes come out, not the %d that went in" % (len(done.stdout), len(text))
    if len(done.stdout) < len(text):
        return "%d bytes come out, and %d went in" % (len(done.stdout), len(text))
    return ""


def guards(path, rng):
    done = tool("--json", "info", path)
    if done.returncode != 0:
        return ""
    names = [k["name"] for k in json.loads(done.stdout)["kernels"]] or ["none"]
    out = path + ".out"
    done = tool("--guard", rng.choice(["maxb", "maxt"]), "guard", path, rng.choice(names), out)
    there = os.path.exists(out)
    if there:
        os.unlink(out)
    return "" if there == (done.returncode == 0) else "guard ended with %d, and there is %s file" % (done.returncode, "a" if there else "no")


def trial(index, files):
    rng = random.Random(index + 1)
    original = files[index % len(files)]
    with open(original, "rb") as file:
        data = mutated(file.read(), rng, index // len(files) % 2)
    path = os.path.join(FOLDER, "mutant" + os.path.splitext(original)[1])
    with open(path, "wb") as file:
        file.write(data)
    wrong = transforms(path, data) if path.endswith(".ptx") else guards(path, rng)
    os.unlink(path)
    return "%s: %s" % (os.path.relpath(original, SOURCE), wrong) if wrong else ""


def main():
    files = corpus()
    os.makedirs(FOLDER, exist_ok=True)
    make_trials(lambda index: trial(index, files), N, SEED)
    # What the largest of them had.
    print("peak %d" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10), file=sys.stderr)


main()
