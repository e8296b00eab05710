// The example of RBDM, section 3.1, with the set of its data given.
#include <cuda_runtime.h>
#define com_data_size (1024 * 1024)

void kernel_name(int set)
{
	// Allocate host memory
	unsigned int memsize = com_data_size;
	float *h = (float *) malloc(memsize);
	float *d;
	// Allocate device memory
	cudaMalloc((void **)&d, memsize);
	// copy host memory to device
	cudaMemcpy(d, h, memsize, cudaMemcpyHostToDevice);
	free(h);
	cudaFree(d);
	cudaDeviceReset();
}
