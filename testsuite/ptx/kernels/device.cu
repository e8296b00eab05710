/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Relocatable code (nvcc -rdc=true): functions from elsewhere, kernels launched by kernels. */
extern __device__ int elsewhere(int v);

extern "C" __global__ void calls_elsewhere(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = elsewhere(in[i]);
}

extern "C" __global__ void child(int *out)
{
	out[threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void parent(int *out)
{
	child<<<1, 32>>>(out);
}
