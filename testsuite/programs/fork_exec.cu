/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that has used the GPU starts itself again, which uses it too. */
#include <sys/wait.h>
#include <unistd.h>

#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(v[i] + key);
}

static int compute(uint32_t key)
{
	const int n = 4096 * scale();
	uint32_t *v = device<uint32_t>(n);
	int right = 1;

	linger_start();
	step<<<n / 64, 64>>>(v, n, key);
	LAUNCHED();
	for (uint32_t x : host(v, n))
		right &= x == mix(key);
	return right;
}

int main(int argc, char **argv)
{
	int right, status = 0;
	pid_t child;

	if (argc > 1)
		return !compute((uint32_t)atoi(argv[1]));
	right = compute(1);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", argv[0], "2", (char *)NULL);
		_exit(127);
	}
	right &= compute(3);
	waitpid(child, &status, 0);
	return report("fork_exec", right && status == 0, mix(3));
}
