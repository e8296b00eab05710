# SPDX-License-Identifier: GPL-2.0-or-later
"""One of two ranks that add up a buffer with NCCL, 200 times.

usage: nvml_ranks.py RANK FILE

FILE is where the ranks meet.  NCCL asks NVML how the GPUs are connected.  Exit status 1: a sum is wrong.
"""
import sys
import time

import torch
import torch.distributed as dist

rank, meeting = int(sys.argv[1]), sys.argv[2]
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=2)
begin = time.monotonic()
for step in range(200):
    x = torch.full((1 << 22,), float(rank + step), device="cuda")
    dist.all_reduce(x)
    if step % 50 == 0 and not torch.all(x == 2.0 * step + 1):
        sys.exit(f"nvml_ranks: step {step}: the sum is wrong")
torch.cuda.synchronize()
print(f"nvml_ranks: rank {rank}: 200 sums right, {time.monotonic() - begin:.2f} s", flush=True)
dist.destroy_process_group()
