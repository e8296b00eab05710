#include <cstdio>
#include "many.h"
#define CHECK(call) do { cudaError_t e = (call); if (e) exit(1); } while (0)

const int kBatch = 16;
static const size_t MB = 1 << 20;
__device__ float table[256][4];
__constant__ int small;
__device__ int twice(int x) { return 2 * x; }

template <typename T> __global__ void kernel(T *p, int n) { p[0] = n; }

static void loops(void)
{
	float *d[8], *e;
	for (int i = 0; i < 8; i++)
		cudaMalloc(&d[i], MB);
	for (int i = 0; i < kBatch; i += 4) {
		for (int k = 1; k <= 3; ++k) {
			cudaMalloc((void **)&e, 100);
		}
	}
	while (e)
		cudaMalloc(&e, 5);
}

static void parameter(int n, size_t bytes)
{
	float *d;
	cudaMalloc(&d, n * sizeof(*d));
	cudaMalloc(&d, bytes);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	int m = 10, big = 1;
	struct particle *p;
	pair *q;
	double matrix[10][20];
	void *raw;
	size_t pitch;
	cudaPitchedPtr volume;
	cudaArray_t array;
	cudaExtent extent = make_cudaExtent(64 * sizeof(float), 64, 64);
	cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
	cudaChannelFormatDesc five = cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat);

	/* cudaMalloc(&raw, 999); */
	// cudaMalloc(&raw, 999);
	printf("cudaMalloc(&raw, 999)");
	CHECK(cudaMalloc(&p, kBatch * sizeof(struct particle)));
	CHECK(cudaMalloc((void **)&q, sizeof(pair) * WIDTH * HEIGHT));
	cudaError_t rc = cudaMalloc(&raw, sizeof(matrix) + sizeof matrix[0]);
	cudaMalloc(&raw, sizeof(matrix));
	cudaMalloc<float>(&d, (size_t)m * 1.5 * sizeof(float));
	cudaMallocManaged(&raw, m > 5 ? 3 * MB : 1);
	cudaMallocPitch(&raw, &pitch, WIDTH * sizeof(float), HEIGHT);
	cudaMalloc3D(&volume, extent);
	cudaMallocArray(&array, &desc, WIDTH, 10);
	cudaMallocArray(&array, &five, 100);
	cudaMalloc3DArray(&array, &desc, make_cudaExtent(8, 8, 8));
	cudaMallocAsync(&raw, std::max(m, 20) << 4, 0);
	cudaMalloc(&raw, n * 4);
	if (argc > 2)
		m = 20;
	cudaMalloc(&raw, m);
	scanf("%d", &big);
	cudaMalloc(&raw, big);
	cudaMalloc(&raw, twice(4));
	cudaMalloc(&raw, ELSEWHERE);
	cudaMalloc(&raw, 10 - 20);
	cudaMallocHost(&raw, 12345);
	cuMemAlloc((CUdeviceptr *)&raw, 0x100);
	kernel<<<1, 1>>>(q, n);
	return 0;
}
