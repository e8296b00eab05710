/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * driver_user [init|late]: linked with the driver.  Without a word it never calls it; with init it
 * asks for the version, as cudart does first, and begins; with late it first asks for the address
 * of an entry point, as libraries do, and then sets CUDA_DEVICE_MAX_CONNECTIONS=5.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int version = -1, rc;

	void *entry = NULL;

	if (argc < 2)
		return 0;
	if (strcmp(argv[1], "late") == 0) {
		rc = (int)cuGetProcAddress("cuStreamGetCtx", &entry, 13000, 0, NULL);
		printf("entry %s: %d\n", entry ? "found" : "not found", rc);
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", "5", 1);
	}
	rc = (int)cuDriverGetVersion(&version);
	printf("version %d: %d\n", version, rc);
	printf("init: %d\n", (int)cuInit(0));
	return 0;
}
