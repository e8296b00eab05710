/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locking this process and taking its memory away, as other processes ask for it. */
#ifndef GPUSHARE_EMU_CHECKPOINT_H
#define GPUSHARE_EMU_CHECKPOINT_H

/* In cuInit: others may ask for this process's state from now on. */
void emu_checkpoint_listen(void);

#endif
