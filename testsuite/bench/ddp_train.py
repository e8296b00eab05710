# SPDX-License-Identifier: GPL-2.0-or-later
"""A data-parallel training as users write it, which looks at what it computed: what `train.sh` of doc/admin.md starts.

environment: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT as for any PyTorch DDP program; STEPS (200)
Prints one line: "rank 0 of 2: 200 steps in 3.1 s, the longest 35 ms, right".
"""
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn


def main():
    rank, world, steps = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ.get("STEPS", "200"))
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=timedelta(minutes=3))
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(device), device_ids=[device.index])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(100 + rank)  # each rank has data of its own
    x, y = (torch.randn(512, 1024, device=device) for _ in range(2))
    for step in range(-5, steps):
        if step == 0:
            begun, longest = time.monotonic(), 0
        since = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        known = torch.full((1,), float((step + 10) * (rank + 1)), device=device)
        dist.all_reduce(known)
        if known.item() != (step + 10) * world * (world + 1) / 2:
            raise SystemExit("rank %d: a wrong sum in step %d" % (rank, step))
        if step >= 0:
            longest = max(longest, time.monotonic() - since)
    took = time.monotonic() - begun
    bits = torch.stack([w.detach().view(torch.int32).sum(dtype=torch.int64) for w in model.parameters()])
    low, high = bits.clone(), bits.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    if not torch.equal(low, high):
        raise SystemExit("rank %d: the ranks' weights differ" % rank)
    print("rank %d of %d: %d steps in %.1f s, the longest %.0f ms, right" % (rank, world, steps, took, longest * 1e3), flush=True)
    dist.destroy_process_group()


main()
