# SPDX-License-Identifier: GPL-2.0-or-later
"""For row E5: e5_hostile.py SEED COMMAND...: runs it as nobody, with options or an environment that come from the seed."""
import os
import random
import resource
import sys

NOBODY, NOGROUP = 65534, 65534
LONGEST = 131000  # the kernel takes no string of 131072 bytes
NAMES = ["GPUSHARE_GPU", "GPUSHARE_SOCKET", "GPUSHARE_JOB_ID", "GPUSHARE_STEP_ID", "GPUSHARE_KEY", "GPUSHARE_ABSENT", "LD_LIBRARY_PATH",
         "CUDA_VISIBLE_DEVICES", "_SLURM_SPANK_OPTION_gpushare_gpushare_mem", "_SLURM_SPANK_OPTION_gpushare_gpushare_priority",
         "_SLURM_SPANK_OPTION_gpushare_gpushare_period", "SPANK__SLURM_SPANK_OPTION_gpushare_gpushare_mem", "SLURM_JOB_UID", "SLURMD_NODENAME",
         "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "X" * 1000, "GPUSHARE_" + "Y" * 100000, "SLURM_JOB_PARTITION", "SLURM_JOB_QOS"]
OPTIONS = ["mem", "priority", "period", "deadline"]


def value(rng):
    long = rng.choice([127, 4095, 4096, 65536, LONGEST])
    return rng.choice(["A" * long, "%n" * (long // 2), "%s%n%x" * 100, "8G\n9G", "\n" * long, "-1", "0", "18446744073709551616G", "8G" + " " * long,
                       "\x01\x7f", "../../../etc", "$(id)", "1e308", "nan", "", "=" * 100, "auto" * 20000, "\u2603" * 1000, "64M"])[:LONGEST]


def main():
    seed, command = int(sys.argv[1]), sys.argv[2:]
    rng, env = random.Random(seed), dict(os.environ)
    way = seed % 4
    if way == 0:
        command[1:1] = ["--gpushare-%s=%s" % (rng.choice(OPTIONS), value(rng)) for _ in range(rng.choice([1, 1, 4]))]
    elif way == 1:
        env.update((rng.choice(NAMES), value(rng)) for _ in range(rng.choice([1, 2, 5])))
    elif way == 2:
        resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))  # else they are too many for the kernel
        env.update(("V%d" % i, "x") for i in range(rng.choice([1000, 5000, 20000])))
    else:
        for gone in rng.sample(["PATH", "HOME", "USER", "SHELL", "LANG", "PWD", "LC_ALL"], 3):
            env.pop(gone, None)
        env.update((rng.choice(NAMES), value(rng)) for _ in range(2))
    os.setgroups([])
    os.setgid(NOGROUP)
    os.setuid(NOBODY)
    os.chdir("/")
    os.execve(command[0], command, env)


main()
