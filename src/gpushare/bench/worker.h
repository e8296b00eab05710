/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpushare-bench program PAGE SLOT`: what the tool starts as each of its programs. */
#ifndef GPUSHARE_BENCH_WORKER_H
#define GPUSHARE_BENCH_WORKER_H

/* argv[0] is "program"; the exit status. */
int bench_worker(int argc, char **argv);

#endif
