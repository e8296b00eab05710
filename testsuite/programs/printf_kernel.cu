/* SPDX-License-Identifier: GPL-2.0-or-later */
/* printf on the device: each line once, whatever the order. */
#include <unistd.h>

#include "common.cuh"

__global__ void say(int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 16 == 0 && i < n)
		printf("block %d thread %d %s %.2f\n", (int)blockIdx.x, (int)threadIdx.x, "says", i * 0.25);
}

int main()
{
	const int n = 64 * 32;
	std::vector<char> seen(n / 16);
	int out[2], keep = dup(1), right = 1, lines = 0;
	char line[128];
	FILE *f;

	if (pipe(out))
		return 1;
	fflush(stdout);
	dup2(out[1], 1);
	say<<<64, 32>>>(n);
	OK(cudaDeviceSynchronize());
	fflush(stdout);
	dup2(keep, 1);
	close(out[1]);
	f = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), f)) {
		int b, t;
		double x;

		right &= sscanf(line, "block %d thread %d says %lf", &b, &t, &x) == 3 && x == (b * 32 + t) * 0.25 &&
			 !seen[(b * 32 + t) / 16];
		if (right)
			seen[(b * 32 + t) / 16] = 1;
		lines++;
	}
	return report("printf_kernel", right && lines == n / 16, lines);
}
