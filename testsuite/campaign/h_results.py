# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows H1 and H2: the output of a program under gpushare is that of the program on the device alone, to the byte.

H1: the program has the GPU to itself. H2: it is evicted every 1, 10 or 100 ms beside a neighbour that always has kernels. The programs are
those of testsuite/programs that the emulated device runs, where they were compiled (run-all --compile-only), and cases of the
programs of testsuite/e2e. What a program prints without gpushare is asked once in each call of the row.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from trials import BUILD, TMP, Daemon, Step, expect, program, run  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
BIN = os.path.join(BUILD, "testsuite/programs/bin")
PERIODS = [1, 10, 100]
END_S = 60
DEVICE = {"GPUSHARE_EMU_SMS": "2", "GPUSHARE_EMU_MEMORY": "268435456", "GPUSHARE_EMU_STRICT": "1"}
daemon = Daemon()
natively = {}


def e2e_cases():
    order = [["streams"], ["order"], ["legacy"], ["calls"], ["fork"], ["many", "10"], ["short", "200"], ["one", "10"], ["graphs", "5"], ["crowd"]]
    demos = [["matmul", "--tiles", "8"], ["triad", "--elements", "65536", "--passes", "100"], ["reduce", "--elements", "262144"]]
    return [[program("order"), *case] for case in order] + [
        [os.path.join(BUILD, "gpushare-demo-" + name), *words] for name, *words in demos]


def listed():
    found = []
    with open(os.path.join(SOURCE, "programs/programs.list")) as file:
        for line in file:
            words = [word.strip() for word in line.split("|")]
            if len(words) > 3 and not line.startswith("#") and words[3] == "yes" and os.access(os.path.join(BIN, words[0]), os.X_OK):
                found.append([os.path.join(BIN, words[0])])
    return found


def library_path():
    nvcc = subprocess.run(["sh", "-c", 'readlink -f "$(command -v nvcc)"'], stdout=subprocess.PIPE, text=True).stdout.strip()
    cuda = os.path.dirname(os.path.dirname(nvcc)) if nvcc else "/usr/local/cuda"
    return ":".join([os.path.join(BUILD, "src/device/cudart/.libs"), cuda + "/lib64", cuda + "/nvvm/bin"])


def timeless(text):
    """Without what says how long something took: the demos' last figures."""
    return [line.split(" ms")[0].rsplit(" ", 1)[0] if " ms" in line else line for line in text.splitlines() if not line.startswith("pid ")]


def native(case):
    key = " ".join(case)
    if key not in natively:
        device = os.path.join(TMP, "device.native")
        done = subprocess.run(case, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=END_S, stdin=subprocess.DEVNULL, env=dict(
            os.environ, **DEVICE, GS_SCALE="1", GPUSHARE_EMU_DEVICE=device,
            LD_LIBRARY_PATH=os.path.join(BUILD, "src/device/emu/.libs") + ":" + library_path()))
        if os.path.exists(device):
            os.unlink(device)
        natively[key] = (done.returncode, timeless(done.stdout.decode(errors="replace")))
    return natively[key]


def trial(seed, rng):
    cases = programs
    case = cases[seed % len(cases)]
    options = ()
    neighbour = None
    if os.environ["ROW"] == "H2":
        options = ("--force-evict-ms", str(PERIODS[seed // len(cases) % len(PERIODS)]))
        neighbour = Step([program("order"), "many", "10"], memory="20M")
        neighbour.connected()
    # of the driver's number one stream may hold a kernel, of 13 six
    connections = rng.choice(["8", "13"])
    name = " ".join(["CUDA_DEVICE_MAX_CONNECTIONS=" + connections, os.path.basename(case[0]), *case[1:], *options])
    status, lines = native(case)
    environment = {"LD_LIBRARY_PATH": library_path(), "GS_SCALE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": connections}
    step = Step(case, memory="200M", options=options, env=environment)
    got = step.end(END_S)
    expect(got == status, "%s ended with %d, without gpushare with %d: %s" % (name, got, status, step.words()))
    output = timeless(step.text())
    expect(output == lines, "%s printed %r, without gpushare %r" % (name, output[-3:], lines[-3:]))
    if neighbour:
        neighbour.right("many: right")
    daemon.as_before(5)


if __name__ == "__main__":
    programs = listed() + e2e_cases()
    print("%s: %d programs" % (os.environ["ROW"], len(programs)), file=sys.stderr)
    run(os.environ["ROW"], os.environ["ROW_SCRIPT"], trial)
