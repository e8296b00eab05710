/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rest of the driver does for checkpoints: it waits while the process is locked. */
#ifndef GPUSHARE_EMU_CHECKPOINT_H
#define GPUSHARE_EMU_CHECKPOINT_H

/* In cuInit: others may ask for this process's state from now on. */
void emu_checkpoint_listen(void);
/* On every call's way in: returns when the process is not locked. */
void emu_checkpoint_barrier(void);
/* Before a task touches memory: returns when the process's memory is there. */
void emu_checkpoint_present(void);

#endif
