# SPDX-License-Identifier: GPL-2.0-or-later
"""A notebook that sleeps: a cell fills device memory and computes, and a later one computes from what is there.

usage: idle_notebook.py MIB FOLDER

Writes FOLDER/ready once the first cell is done (the seconds that its first call took), then calls nothing until FOLDER/wake is there, and
then computes again and writes FOLDER/done: the seconds that its next call took, how many results are wrong, and how many there are.
"""
import os
import sys
import time

import torch

PRODUCT = 2048  # of each side, in the matrix product that both cells compute
PART = 1 << 26  # words that are compared at once: there is no room for all of them twice


def told(folder, name, text):
    with open(f"{folder}/new", "w", encoding="ascii") as file:
        file.write(text + "\n")
    os.rename(f"{folder}/new", f"{folder}/{name}")


def timed(call):
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def main():
    mib, folder = int(sys.argv[1]), sys.argv[2]
    _, first = timed(lambda: torch.zeros(1, device="cuda").item())
    torch.manual_seed(1)
    net = torch.nn.Linear(PRODUCT, PRODUCT).cuda()
    x = torch.randn(PRODUCT, PRODUCT, device="cuda")
    words = torch.arange(mib << 18, device="cuda", dtype=torch.int32)
    before = net(x).detach().cpu()
    told(folder, "ready", f"{first:.3f}")
    while not os.path.exists(f"{folder}/wake"):
        time.sleep(0.005)
    _, woke = timed(lambda: words[-1].item())
    wrong = 0
    for begin in range(0, words.numel(), PART):
        part = words[begin:begin + PART]
        wrong += int((part != torch.arange(begin, begin + part.numel(), device="cuda", dtype=torch.int32)).sum().item())
    after = net(x).detach().cpu()
    wrong += int((before != after).sum().item())
    told(folder, "done", f"{woke:.3f} {wrong} {words.numel() + after.numel()}")
    return wrong > 0


sys.exit(main())
