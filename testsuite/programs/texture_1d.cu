/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear memory read through a texture object. */
#include "common.cuh"

__global__ void gather(uint32_t *out, cudaTextureObject_t tex, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		out[i] = tex1Dfetch<uint32_t>(tex, mix(i) % n) + tex1Dfetch<uint32_t>(tex, n - 1 - i);
}

int main()
{
	const int n = 8192 * scale();
	std::vector<uint32_t> data(n), got(n);
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t tex;
	int right = 1;

	linger_start();
	for (int i = 0; i < n; i++)
		data[i] = mix(i * 3 + 1);
	uint32_t *in = device(data), *out = device<uint32_t>(n);
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = in;
	r.res.linear.desc = cudaCreateChannelDesc<uint32_t>();
	r.res.linear.sizeInBytes = n * 4;
	t.readMode = cudaReadModeElementType;
	OK(cudaCreateTextureObject(&tex, &r, &t, NULL));
	gather<<<n / 128, 128>>>(out, tex, n);
	LAUNCHED();
	got = host(out, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == data[mix(i) % n] + data[n - 1 - i];
	OK(cudaDestroyTextureObject(tex));
	return report("texture_1d", right, hash(got.data(), n * 4));
}
