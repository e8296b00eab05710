/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * driver_user [init]: linked with the driver.  Without the word it never calls it;
 * with it, it asks for the version, as cudart does first, and begins.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int version = -1, rc;

	if (argc < 2 || strcmp(argv[1], "init") != 0)
		return 0;
	rc = (int)cuDriverGetVersion(&version);
	printf("version %d: %d\n", version, rc);
	printf("init: %d\n", (int)cuInit(0));
	return 0;
}
