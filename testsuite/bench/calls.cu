// SPDX-License-Identifier: GPL-2.0-or-later
// calls RUNS [KERNELS [fail]]: a long kernel, as machine code only, each of whose blocks prints a line, takes memory of the heap and checks
// an index.  KERNELS gets `gpusharectl kernels --json` before the last run.  fail: in the last run the check fails in one block.
// Prints what went wrong with a call, too; lines come in any order.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#define BLOCKS 4096

__global__ void __launch_bounds__(256) calls(int run, int bad, unsigned long long *sum)
{
	long long begin = clock64();

	assert((int)blockIdx.x != bad && "the block that fails");
	if (threadIdx.x == 0) {
		int *own = (int *)malloc(64);

		*own = blockIdx.x;
		printf("run %d block %d\n", run, *own);
		atomicAdd(sum, *own + 1ull);
		free(own);
	}
	while (clock64() - begin < 100000)
		;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20, fails = argc > 3;
	unsigned long long *sum, got;
	struct timespec pause = { 0, 200000000 };
	cudaError_t rc = cudaMalloc(&sum, sizeof(*sum));

	for (int i = 1; i <= runs && rc == cudaSuccess; i++) {
		if (i == runs && argc > 2)
			fails |= system((std::string("gpusharectl kernels --json >") + argv[2]).c_str()) ? 2 : 0;
		cudaMemset(sum, 0, sizeof(*sum));
		calls<<<BLOCKS, 256>>>(i, i == runs && (fails & 1) ? 1234 : -1, sum);
		rc = cudaMemcpy(&got, sum, sizeof(got), cudaMemcpyDeviceToHost);
		if (rc == cudaSuccess)
			printf("run %d sum %llu\n", i, got);
		nanosleep(&pause, nullptr); /* for the variant to be built */
	}
	printf("end: %s\n", cudaGetErrorName(rc));
	return fails & 2;
}
