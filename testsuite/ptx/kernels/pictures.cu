/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Textures and surfaces, by objects. */
extern "C" __global__ void blur(cudaSurfaceObject_t out, cudaTextureObject_t in, float spread)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float width = gridDim.x * blockDim.x, sum = 0;

	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++)
			sum += tex2D<float>(in, (x + 0.5f + spread * i) / width, (y + 0.5f + spread * j) / width);
	surf2Dwrite(sum / 9, out, x * 4, y);
}

/* Reads the row that it writes. */
extern "C" __global__ void fade(cudaSurfaceObject_t picture, float by)
{
	__shared__ float line[8][16];
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	line[threadIdx.y][threadIdx.x] = surf2Dread<float>(picture, x * 4, y);
	__syncthreads();
	surf2Dwrite(by * line[threadIdx.y][threadIdx.x] + line[threadIdx.y][15 - threadIdx.x], picture, x * 4, y);
}
