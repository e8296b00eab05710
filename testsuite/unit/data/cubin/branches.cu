// SPDX-License-Identifier: GPL-2.0-or-later
// What branches.cubin is made of (generate): functions inside a kernel's code, an indirect branch and its table.
__device__ __noinline__ float again(float x, int depth)
{
	return depth > 0 ? again(x * 1.5f, depth - 1) + 1.f : x;
}

extern "C" __global__ void branches(float *p, const int *which)
{
	float y = again(p[threadIdx.x], which[threadIdx.x] & 3);

	asm volatile("{\n"
		     "targets: .branchtargets $first, $second, $third;\n"
		     "brx.idx %1, targets;\n"
		     "$first: add.f32 %0, %0, 0f3F800000; bra.uni $done;\n"
		     "$second: mul.f32 %0, %0, 0f40400000; bra.uni $done;\n"
		     "$third: neg.f32 %0, %0;\n"
		     "$done:\n}"
		     : "+f"(y)
		     : "r"(which[threadIdx.x] & 1));
	p[threadIdx.x] = y + __reduce_max_sync(~0u, (int)y);
}
