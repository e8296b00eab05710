#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A synthetic accounting of Slurm: make_trace.py JOBS GPUS [SEED], as `sacct --parsable2` prints it.

Jobs arrive at random so that they ask for about 1.1 of the GPUs' time; lengths are lognormal, from
minutes to a day; most want a part of one GPU, some several GPUs, some none; a few never ran; some have steps.
"""
import random
import sys
import time

jobs, gpus = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
shares = [10, 20, 25, 25, 50, 50, 100, 100, 200, 400]
lengths = [min(86400, max(30, int(draw.lognormvariate(7.5, 1.2)))) for _ in range(jobs)]
wants = [min(draw.choice(shares), gpus * 100) for _ in range(jobs)]
work = sum(n * w / 100 for n, w in zip(lengths, wants))
gap = work / gpus / 1.1 / jobs
at = 1700000000.0
print("JobID|JobName|Partition|Submit|Elapsed|AllocTRES|State")
for i, (length, want) in enumerate(zip(lengths, wants)):
    at += draw.expovariate(1 / gap)
    submit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    days, rest = divmod(length, 86400)
    elapsed = ("%d-" % days if days else "") + time.strftime("%H:%M:%S", time.gmtime(rest))
    partition = draw.choice(["low", "low", "normal", "high"])
    kind = draw.random()
    tres = "billing=%d,cpu=4,mem=8G,node=1" % want
    if kind >= 0.05:
        tres += ",gres/gpu=%d" % (want // 100) if want >= 100 and kind < 0.5 else ",gres/gpushare=%d" % want
    if kind > 0.98:
        elapsed = "00:00:00"
    print("%d|job %d|%s|%s|%s|%s|COMPLETED" % (i + 1, i, partition, submit, elapsed, tres))
    if kind > 0.9:
        print("%d.batch|batch||%s|%s|cpu=4|COMPLETED" % (i + 1, submit, elapsed))
