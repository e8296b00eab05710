/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams and events. */
#define _GNU_SOURCE
#include "device/cudart/rt.h"
