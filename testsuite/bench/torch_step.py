# SPDX-License-Identifier: GPL-2.0-or-later
"""Training steps of a small transformer, timed on request.

usage: torch_step.py [PROCESSORS [KIND...]]   (of its own, so many, 3 at least: 4; what steps there are: all)

Prints `there`, touches the GPU when it reads a line, and prints `ready,LOSS` after a few steps; then, for each line
`KIND SECONDS`, steps of that KIND for so long, and `KIND,MEDIAN_MS,P90_MS,LOSS`:

  eager  a batch so small that the GPU waits for the launching thread
  graph  the same as a CUDA graph, captured when it is first asked for
  large  eager, with a batch that keeps the GPU busy
"""
import os
import sys
import time

import torch

WARM = 1
BATCH = {"eager": 8, "large": 24}


def network():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()


def trainer(batch):
    net = network()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4, capturable=True)
    x = torch.randn(batch, 512, 1024, device="cuda")
    y = torch.randn(batch, 512, 1024, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def captured(step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


def timed(step, seconds):
    for _ in range(WARM):
        loss = step()
    torch.cuda.synchronize()
    took = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        loss = step()
        torch.cuda.synchronize()
        took.append((time.perf_counter() - begin) * 1e3)
    took.sort()
    return took[len(took) // 2], took[len(took) * 9 // 10], loss.item()


def keep_to(count):
    """The last so many processors, for all threads that there are: not before, as loading takes them all.

    The two threads that launch have one each to themselves, the same in every process: one processor of a shared host is
    for seconds half as fast as the next.
    """
    own = sorted(os.sched_getaffinity(0))[-count:]
    if len(own) < 3:
        sys.exit(f"torch_step: {len(own)} processors, 3 at least are needed")
    main_thread, backward, others = own[-1], own[-2], own[:-2]
    launching = {os.getpid(): main_thread}
    threads = [int(thread) for thread in os.listdir("/proc/self/task")]
    for thread in threads:
        with open(f"/proc/self/task/{thread}/comm", encoding="ascii") as comm:
            if comm.read().startswith("pt_autograd"):
                launching[thread] = backward
    if len(launching) < 2:
        sys.exit("torch_step: no thread is called pt_autograd, as PyTorch's that launches the backward pass was")
    for thread in threads:
        os.sched_setaffinity(thread, {launching[thread]} if thread in launching else others)


def main():
    print("there", flush=True)
    sys.stdin.readline()
    kinds = set(sys.argv[2:] or ("eager", "graph", "large")) | {"eager"}  # whose steps the graph's are
    steps = {kind: trainer(batch) for kind, batch in BATCH.items() if kind in kinds}
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(WARM):
            for kind in sorted(steps, reverse=True):
                loss = steps[kind]()
    torch.cuda.synchronize()
    keep_to(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    print("ready,%.6f" % loss.item(), flush=True)
    for line in sys.stdin:
        kind, seconds = line.split()
        if kind == "graph" and kind not in steps:
            steps[kind] = captured(steps["eager"])
        print("%s,%.4f,%.4f,%.6f" % (kind, *timed(steps[kind], float(seconds))), flush=True)


main()
