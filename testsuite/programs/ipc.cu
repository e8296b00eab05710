/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that one process allocates and another fills. */
#include <sys/wait.h>
#include <unistd.h>

#include "common.cuh"

__global__ void fill(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(i) + v[i];
}

static int child(int in, int n)
{
	cudaIpcMemHandle_t h;
	uint32_t *v;

	if (read(in, &h, sizeof(h)) != sizeof(h))
		return 3;
	OK(cudaIpcOpenMemHandle((void **)&v, h, cudaIpcMemLazyEnablePeerAccess));
	linger_start();
	fill<<<n / 64, 64>>>(v, n);
	OK(cudaDeviceSynchronize());
	OK(cudaIpcCloseMemHandle(v));
	return 0;
}

int main(int argc, char **argv)
{
	const int n = 8192 * scale();
	cudaIpcMemHandle_t h;
	int to[2], status = 1, right = 1;
	uint32_t *v;
	pid_t pid;

	if (argc > 1)
		return child(0, n);
	if (pipe(to))
		return 1;
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		close(to[1]);
		execl("/proc/self/exe", argv[0], "child", (char *)NULL);
		_exit(127);
	}
	v = device<uint32_t>(n);
	linger_start();
	fill<<<n / 64, 64>>>(v, n);
	OK(cudaDeviceSynchronize());
	OK(cudaIpcGetMemHandle(&h, v));
	if (write(to[1], &h, sizeof(h)) != sizeof(h))
		return 1;
	waitpid(pid, &status, 0);
	std::vector<uint32_t> got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == 2 * mix(i);
	OK(cudaFree(v));
	return report("ipc", right && status == 0, hash(got.data(), n * 4));
}
