/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel compiled from source at run time. */
#include <dlfcn.h>
#include <nvrtc.h>

#include "driver.cuh"

static const char source[] =
	"extern \"C\" { __constant__ unsigned linger_ns; }\n"
	"extern \"C\" __global__ void poly(unsigned *v, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	unsigned long long begin, now;\n"
	"	asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(begin));\n"
	"	for (unsigned k = 0; k < linger_ns; k++) {\n"
	"		asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now));\n"
	"		if (now - begin >= linger_ns)\n"
	"			break;\n"
	"	}\n"
	"	if (i < n)\n"
	"		v[i] = (v[i] * 3u + 5u) * v[i] + i;\n"
	"}\n";

static void *rtc;
#define RTC(fn) ((decltype(&fn))dlsym(rtc, #fn))

int main()
{
	int n = 8192 * scale(), right = 1;
	const char *options[] = { "--gpu-architecture=compute_90" };
	const char *names[] = { getenv("GS_NVRTC") ? getenv("GS_NVRTC") : "libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12" };
	std::vector<uint32_t> data(n), got;
	nvrtcProgram p;
	CUfunction f;
	CUmodule m;
	size_t size;

	for (int i = 0; i < 3 && !rtc; i++)
		rtc = dlopen(names[i], RTLD_NOW);
	if (!rtc) {
		printf("nvrtc: no library\n");
		return 77;
	}
	if (RTC(nvrtcCreateProgram)(&p, source, "poly.cu", 0, NULL, NULL) ||
	    RTC(nvrtcCompileProgram)(p, 1, options) || RTC(nvrtcGetPTXSize)(p, &size))
		return 1;
	std::vector<char> ptx(size);
	RTC(nvrtcGetPTX)(p, ptx.data());
	for (int i = 0; i < n; i++)
		data[i] = mix(i);
	uint32_t *v = device(data);
	CU(DRIVER(cuModuleLoadData)(&m, ptx.data()));
	CU(DRIVER(cuModuleGetFunction)(&f, m, "poly"));
	linger_module(m, n / 128, 128);
	void *args[] = { &v, &n };
	CU(DRIVER(cuLaunchKernel)(f, n / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL));
	got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == (data[i] * 3 + 5) * data[i] + i;
	return report("nvrtc", right, hash(got.data(), n * 4));
}
