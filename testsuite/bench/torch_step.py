# SPDX-License-Identifier: GPL-2.0-or-later
"""Times training steps of a small transformer: prints `kind,median_ms,p90_ms,loss` per kind of step (eager, CUDA graph).

usage: torch_step.py [SECONDS]   (per kind; 3)
"""
import sys
import time

import torch


def network():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()


def trainer():
    net = network()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4, capturable=True)
    x = torch.randn(8, 512, 1024, device="cuda")
    y = torch.randn(8, 512, 1024, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def timed(step, seconds):
    took = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        took.append((time.perf_counter() - begin) * 1e3)
    took.sort()
    return took[len(took) // 2], took[len(took) * 9 // 10]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    step = trainer()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            loss = step()
    torch.cuda.synchronize()
    print("eager,%.4f,%.4f,%.6f" % (*timed(step, seconds), float(loss)), flush=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    print("graph,%.4f,%.4f,%.6f" % (*timed(graph.replay, seconds), float(loss)), flush=True)


main()
