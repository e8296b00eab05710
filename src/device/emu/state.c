/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one device of the process; see emu.h. */
#include "device/emu/emu.h"

struct emu_state emu = { .mutex = PTHREAD_MUTEX_INITIALIZER };
__thread int emu_per_thread_stream;
