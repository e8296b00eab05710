/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many hardware connections a context has: one rule for the emulated device and the shim. */
#ifndef GPUSHARE_DRIVER_CONNECTIONS_H
#define GPUSHARE_DRIVER_CONNECTIONS_H

#include <stdint.h>
#include <stdlib.h>

/* "CUDA Environment Variables", CUDA C++ Programming Guide */
#define CU_CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"
#define CU_CONNECTIONS_DEFAULT 8
#define CU_CONNECTIONS_MAX 32

/* The number that the environment names; the default where it is not set; and `otherwise` where it
 * says anything but a number from 1 to the maximum. */
static inline uint32_t cu_connections(uint32_t otherwise)
{
	const char *text = getenv(CU_CONNECTIONS);
	char *end = NULL;
	long n = text ? strtol(text, &end, 10) : CU_CONNECTIONS_DEFAULT;

	return n < 1 || n > CU_CONNECTIONS_MAX || (end && *end) ? otherwise : (uint32_t)n;
}

#endif
