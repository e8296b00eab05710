/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rest of the driver does for checkpoints: it waits while the process is locked. */
#ifndef GPUSHARE_EMU_CHECKPOINT_WAIT_H
#define GPUSHARE_EMU_CHECKPOINT_WAIT_H

#include "device/emu/api.h"

/* On every call's way in: returns when the process is not locked. */
void emu_checkpoint_barrier(void);
/* Before a task touches memory: returns when the process's memory is there. */
void emu_checkpoint_present(void);

/* The state, and who waits looks again. */
CUprocessState emu_checkpoint_state(void);
void emu_checkpoint_set_state(CUprocessState state);
/* The calling thread answers for the process, so it never waits itself. */
void emu_checkpoint_answers(void);

#endif
