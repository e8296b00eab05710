/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-sim --help prints; see help.h. */
#include "gpushare/sim/help.h"

#include <stdio.h>

#include "gpushare/sim/output.h"

void sim_help(void)
{
	printf("usage: gpushare-sim --policy P|all --workload FILE.csv [options]\n"
	       "       gpushare-sim --trace FILE --gpus N --policy P|all [options]\n"
	       "       gpushare-sim --memory rbdm|rbdm-strict|fcfs --capacity MB\n"
	       "                    --workload FILE.csv [options]\n"
	       "       gpushare-sim --corun FILE.csv [options]\n"
	       "\n"
	       "Replay a workload on one simulated GPU with the daemon's own scheduler, or with its\n"
	       "admission to device memory; or say how kernels that run at once would divide a GPU.\n"
	       "\n"
	       "  -p, --policy P        a policy, or all to compare them:\n");
#define POLICY(name, words, source) printf("                          %-5s %s\n", #name, words);
#include "gpushare/sched/policies.def"
#undef POLICY
	printf("  -w, --workload FILE   comma separated, - for standard input; columns:\n"
	       "                          name,arrival_ms,length_ms,block_tasks,priority,\n"
	       "                          shares,memory_mb,original_ms,period_ms,deadline_ms\n"
	       "  -f, --format F        how to write the results (default table):\n");
#define FORMAT(name, words) printf("                          %-5s %s\n", #name, words);
	SIM_WRITERS
	SIM_PICTURES
#undef FORMAT
	printf("      --handover MS     cost of giving the GPU to another kernel (default 0)\n"
	       "      --costs E,V,F,L[,EB,VB,O]  what it really is: after an end, after an eviction, at\n"
	       "                          first; and the launch in every length; the first two to\n"
	       "                          a kernel that goes on; and how long one takes to leave\n"
	       "      --quantum-handovers N  no quantum is shorter than so many hand-overs (default 4)\n"
	       "      --min-quantum MS  frs, frsp: the shortest quantum (default 1)\n"
	       "      --rr-quantum MS   rr: the quantum (default 1)\n"
	       "      --cfs-epoch MS    cfs: the epoch (default 4)\n"
	       "      --cfs-longest-wait  cfs: whoever has waited longest goes next, no turns in epochs\n"
	       "      --dprr-tick MS    dprr: what slices and rising priorities count in (default 1)\n"
	       "      --starvation MS   a kernel that waited this long goes next (default 0: no bound)\n"
	       "      --gap MS          arrivals this far apart, whatever the file says\n"
	       "      --shuffle         draw anew for each round which kernel arrives when\n"
	       "      --rounds N        repeat, and average per kernel (default 1)\n"
	       "      --seed N          of the shuffle (default 1)\n"
	       "      --until MS        kernels with a period_ms come again until then: how punctual\n"
	       "                          each is\n"
	       "      --trace FILE      Slurm's accounting, as sacct --parsable2 prints it\n"
	       "      --gpus N          of the cluster\n"
	       "      --partition P=N   jobs of partition P have priority N (default 1)\n"
	       "      --memory M        rbdm: who fits is admitted at once, the others by reservation;\n"
	       "                          rbdm-strict: all by reservation; fcfs: in order of arrival\n"
	       "      --capacity MB     device memory\n"
	       "      --wake W          who of those that wait is tried first (default fifo):\n");
#define WAKE(name, words) printf("                          %-6s %s\n", #name, words);
#include "gpushare/memory/wake.def"
#undef WAKE
	printf("      --cycle MS        one reserve operation (default 1)\n"
	       "      --age CYCLES      who waited this long goes first (default 0: no bound)\n"
	       "      --corun FILE      the kernels; columns: name,registers,shared,threads,issue\n"
	       "      --sm R,S,T,B      registers, shared memory, threads and blocks of a\n"
	       "                          multiprocessor (default 65536,228K,2048,32)\n"
	       "      --sms N           multiprocessors (default 132)\n"
	       "  -h, --help            print this text\n"
	       "  -V, --version         print the version\n");
}
