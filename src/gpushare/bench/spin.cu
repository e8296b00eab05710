// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel of a known length: `iterations` of multiply-adds per block-task, no
// clock, so that a block-task that was stopped and one that shares its SM take
// as much longer as any other work would.
//
// first: when the first block-task began; end: when each one ended (ns of the
// device's clock); runs: how often each one ran, which is the check that an
// eviction lost and repeated nothing.
static __device__ __forceinline__ unsigned long long now()
{
	unsigned long long t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

extern "C" __global__ void spin(unsigned long long *first, unsigned long long *end,
				unsigned int *runs, float *sink, unsigned int iterations)
{
	float a = threadIdx.x, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;

	if (blockIdx.x == 0 && threadIdx.x == 0)
		*first = now();
#pragma unroll 1
	for (unsigned int i = 0; i < iterations; i++) {
		a = a * 0.999f + 0.5f;
		b = b * 0.999f + 0.5f;
		c = c * 0.999f + 0.5f;
		d = d * 0.999f + 0.5f;
	}
	if (a + b + c + d == -1.0f)
		*sink = a;
	if (threadIdx.x == 0) {
		end[blockIdx.x] = now();
		runs[blockIdx.x]++;
	}
}

// What time it is on the device: told[i] once *ask is i, for i from 1 to n.  It
// leaves by itself after a second, should nobody ask.
extern "C" __global__ void tell(volatile unsigned int *request, volatile unsigned long long *told,
				unsigned int n)
{
	unsigned long long until = now() + 1000000000;

	for (unsigned int i = 1; i <= n; i++) {
		while (*request < i)
			if (now() > until)
				return;
		told[i] = now();
	}
}
