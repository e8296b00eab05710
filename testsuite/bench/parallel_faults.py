#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Do the data-parallel programs of `gpushare-bench mixes` notice when something is computed wrongly?

usage: parallel_faults.py SCRIPTS     (PyTorch; on the processor)

  SCRIPTS  the folder of mixes_torch.py

Two processes work for some steps and look at their results: without a fault, where both must end well, and with each of these,
which the second one must notice: gradients stay each process's own, the second one's are wrong, its sum of a step is wrong, or
that in the end is. Exit status 1: one went unnoticed, or the programs without a fault did not end well.
"""
import contextlib
import os
import subprocess
import sys
import tempfile

# What the programs say of it.
FAULTS = {
    "none": None,
    "apart": "the two processes' weights differ",
    "gradients": "wrong gradients",
    "step": "a wrong sum in step 3",
    "end": "a wrong sum",
}
# The machine may have no other network.
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def work(scripts, fault, rank, meeting):
    sys.path.insert(0, scripts)
    import mixes_torch

    program = mixes_torch.Parallel("cpu", rank, meeting)
    if fault == "gradients" and rank == 1:
        for weight in program.model.parameters():
            weight.register_hook(lambda gradient: gradient * 1.5)
    honest = program.dist.all_reduce

    def dishonest(value, op):
        honest(value, op=op)
        if fault == "step" and program.steps == 3 or fault == "end" and value.numel() == 1 << 20:
            value += 1

    if rank == 1:
        program.dist.all_reduce = dishonest
    for _ in range(4):
        with program.model.no_sync() if fault == "apart" else contextlib.nullcontext():
            program.step()
    program.dist.barrier()
    program.check()


def run(scripts, fault):
    """What the second process says, and whether both and whether the second ended well."""
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        ranks = [subprocess.Popen([sys.executable, __file__, scripts, fault, str(rank), meeting], stderr=subprocess.PIPE, text=True)
                 for rank in range(2)]
        try:
            said = [rank.communicate(timeout=120)[1] for rank in ranks[::-1]][0]
        finally:
            for rank in ranks:
                rank.kill()
        codes = [rank.wait() for rank in ranks]
    return said.strip(), all(code == 0 for code in codes), codes[1] == 0


def main():
    if len(sys.argv) == 5:
        return work(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    unnoticed = 0
    for fault, says in FAULTS.items():
        said, both_well, second_well = run(os.path.abspath(sys.argv[1]), fault)
        right = both_well if says is None else not second_well and any(line.endswith(says) for line in said.split("\n"))
        print("%s: %s" % (fault, "as it must be" if right else "WRONG: " + said))
        unnoticed += not right
    sys.exit(unnoticed > 0)


main()
