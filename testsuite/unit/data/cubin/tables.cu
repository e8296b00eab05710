// SPDX-License-Identifier: GPL-2.0-or-later
// What tables.cubin is made of (generate): kernels that read CUDA's mathematical tables, one of them also a variable.
__device__ int start = 17;

extern "C" __global__ void sine(float *p)
{
	p[threadIdx.x] = sinf(p[threadIdx.x]);
}

extern "C" __global__ void tangent(float *p)
{
	p[threadIdx.x] = tanf(p[threadIdx.x]);
}

extern "C" __global__ void cosine(double *p)
{
	p[threadIdx.x] = cos(p[threadIdx.x]);
}

extern "C" __global__ void counted(float *p)
{
	p[atomicAdd(&start, 1)] = sinf(p[threadIdx.x]);
}
