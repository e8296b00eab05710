/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-mem's verbs: argv[0] is the verb; they return the exit status. */
#ifndef GPUSHARE_MEM_MEM_H
#define GPUSHARE_MEM_MEM_H

int mem_run_estimate(int argc, char **argv);   /* run_estimate.c */
int mem_run_checkpoint(int argc, char **argv); /* checkpoint.c: checkpoint, restore, state */

#endif
