/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stencils over two- and three-dimensional grids, one of them with a halo in shared memory. */
extern "C" __global__ void stencil2d(float *out, const float *in, int nx, int ny)
{
	__shared__ float tile[18][18];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	for (int j = threadIdx.y; j < 18; j += 16)
		for (int i = threadIdx.x; i < 18; i += 16) {
			int gx = (int)blockIdx.x * 16 + i - 1, gy = (int)blockIdx.y * 16 + j - 1;

			tile[j][i] = gx >= 0 && gx < nx && gy >= 0 && gy < ny ? in[gy * nx + gx] : 0;
		}
	__syncthreads();
	if (x < nx && y < ny)
		out[y * nx + x] = 0.2f * (tile[threadIdx.y + 1][threadIdx.x + 1] +
			tile[threadIdx.y][threadIdx.x + 1] + tile[threadIdx.y + 2][threadIdx.x + 1] +
			tile[threadIdx.y + 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x + 2]);
}

extern "C" __global__ void stencil3d(double *out, const double *in, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z * blockDim.z + threadIdx.z;
	size_t i = ((size_t)z * n + y) * n + x;

	if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1)
		return;
	out[i] = (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - (size_t)n * n] + in[i + (size_t)n * n]) / 6;
}

extern "C" __global__ void number_blocks(unsigned long long *out)
{
	unsigned long long b = blockIdx.x + (unsigned long long)gridDim.x *
			       (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);

	if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)
		out[b] = b * 3 + gridDim.z;
}
