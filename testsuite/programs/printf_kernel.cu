/* SPDX-License-Identifier: GPL-2.0-or-later */
/* printf on the device: each line once, whatever the order. */
#include <unistd.h>

#include "common.cuh"

__global__ void say(int n, int every)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i % every == 0 && i < n)
		printf("block %d thread %d %s %.2f\n", (int)blockIdx.x, (int)threadIdx.x, "says", i * 0.25);
}

int main()
{
	const int s = scale(), n = 64 * 32 * s, every = 16 * s; /* 128 lines, which the pipe holds */
	std::vector<char> seen(n / every);
	int out[2], keep = dup(1), right = 1, lines = 0;
	char line[128];
	FILE *f;

	linger_start();
	if (pipe(out))
		return 1;
	fflush(stdout);
	dup2(out[1], 1);
	say<<<n / 32, 32>>>(n, every);
	OK(cudaDeviceSynchronize());
	fflush(stdout);
	dup2(keep, 1);
	close(out[1]);
	f = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), f)) {
		int b, t;
		double x;

		right &= sscanf(line, "block %d thread %d says %lf", &b, &t, &x) == 3 && x == (b * 32 + t) * 0.25 &&
			 !seen[(b * 32 + t) / every];
		if (right)
			seen[(b * 32 + t) / every] = 1;
		lines++;
	}
	return report("printf_kernel", right && lines == n / every, lines);
}
