/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A driver without devices, that says as it begins what it finds in its environment and
 * its process.
 * SAYING_VERSION: its version. */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_DEVICE 100

__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);
__attribute__((visibility("default"))) int cuInit(unsigned int flags);
/* An entry point whose address a library asks for before the driver begins. */
__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *name, void **to, int version, unsigned long long flags, int *found);
__attribute__((visibility("default"))) int cuStreamGetCtx(void *stream, void **ctx);
/* Of a driver that is newer than the shim's list of prototypes. */
__attribute__((visibility("default"))) int cuGraphAddNode_v3(long a, long b, long c, long d, long e,
							     long f, long g);

int cuDriverGetVersion(int *version)
{
	const char *named = getenv("SAYING_VERSION");

	*version = named ? atoi(named) : 12345;
	return 0;
}

static void say(const char *name)
{
	const char *value = getenv(name);

	printf("driver: %s=%s\n", name, value ? value : "(not set)");
}

int cuInit(unsigned int flags)
{
	(void)flags;
	say("CUDA_MODULE_LOADING");
	say("CUDA_DEVICE_MAX_CONNECTIONS");
	printf("driver: membarrier %s\n",
	       syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? "works" :
										      "does not");
	return NO_DEVICE;
}

int cuGraphAddNode_v3(long a, long b, long c, long d, long e, long f, long g)
{
	return (int)(a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g);
}

/* The address must be this driver's, also where a shim has a function of that name. */
static int stream_context(void *stream, void **ctx)
{
	*ctx = stream;
	return 0;
}

int cuStreamGetCtx(void *stream, void **ctx) __attribute__((alias("stream_context")));

int cuGetProcAddress_v2(const char *name, void **to, int version, unsigned long long flags,
			int *found)
{
	(void)version;
	(void)flags;
	*to = strcmp(name, "cuStreamGetCtx") == 0 ? (void *)(unsigned long)stream_context : NULL;
	if (found)
		*found = *to ? 0 : 1;
	return 0;
}
