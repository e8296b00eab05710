// SPDX-License-Identifier: GPL-2.0-or-later
// What several.cubin is made of (generate): kernels that get a guard and kernels that do not.
#include <cooperative_groups.h>

__device__ int variable;

struct large {
	char bytes[4076];
};

extern "C" __global__ void add(const float *a, float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		b[i] += a[i];
}

extern "C" __global__ void __launch_bounds__(192) turn(float *p, char odd)
{
	__shared__ float s[192];

	s[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = s[191 - threadIdx.x] + odd;
}

extern "C" __global__ void nothing()
{
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) meet(float *p)
{
	p[threadIdx.x] = 1;
	cooperative_groups::this_cluster().sync();
	p[threadIdx.x + 1024] = p[threadIdx.x];
}

extern "C" __global__ void __maxnreg__(24) dependent(float *p)
{
	asm volatile("griddepcontrol.wait;" ::: "memory");
	p[threadIdx.x] = 1;
}

extern "C" __global__ void of_module(int *p)
{
	*p = variable;
}

extern "C" __global__ void whole_grid(float *p)
{
	p[threadIdx.x] = 1;
	cooperative_groups::this_grid().sync();
	p[threadIdx.x] += p[threadIdx.x ^ 1];
}

extern "C" __global__ void many_bytes(float *p, large l)
{
	p[threadIdx.x] = l.bytes[threadIdx.x];
}
