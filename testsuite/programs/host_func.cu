/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host functions between kernels: each sees the kernels before it finished, and none after it begun. */
#include "common.cuh"

static uint32_t *pinned;
static int n, calls, right = 1;

__global__ void set(uint32_t *v, int n, uint32_t x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = x + i;
}

static void CUDART_CB look(void *p)
{
	uint32_t want = (uint32_t)(uintptr_t)p;

	for (int i = 0; i < n; i++)
		right &= ((volatile uint32_t *)pinned)[i] == want + i;
	calls++;
}

int main()
{
	cudaStream_t s;
	uint32_t *dev;

	linger_start();
	n = 8192 * scale();
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaHostAlloc(&pinned, n * 4, cudaHostAllocMapped));
	OK(cudaHostGetDevicePointer(&dev, pinned, 0));
	for (int r = 1; r <= 8; r++) {
		set<<<n / 64, 64, 0, s>>>(dev, n, r * 1000);
		OK(cudaLaunchHostFunc(s, look, (void *)(uintptr_t)(r * 1000)));
	}
	OK(cudaStreamSynchronize(s));
	OK(cudaFreeHost(pinned));
	return report("host_func", right && calls == 8, calls);
}
