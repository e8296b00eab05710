/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Textures and surfaces: addressing, filtering, formats, geometries, bounds; by the CUDA C++
 * Programming Guide's formulas. */
#define _GNU_SOURCE
#include <math.h>

#include "emu_insn.h"

/* An array filled from packed texels. */
static CUarray array(size_t w, size_t h, size_t d, CUarray_format format, unsigned int channels,
		     size_t texel, unsigned int flags, const void *data)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { w, h, d, format, channels, flags };
	CUDA_MEMCPY3D copy = { 0 };
	CUarray a;

	OK(cuArray3DCreate(&a, &desc));
	copy.srcMemoryType = CU_MEMORYTYPE_HOST;
	copy.srcHost = data;
	copy.srcPitch = w * texel;
	copy.srcHeight = h ? h : 1;
	copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	copy.dstArray = a;
	copy.WidthInBytes = w * texel;
	copy.Height = h ? h : 1;
	copy.Depth = d ? d : 1;
	OK(cuMemcpy3D(&copy));
	return a;
}

static CUtexObject texture(CUarray a, CUaddress_mode mode, CUfilter_mode filter, unsigned int flags)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC t = { .addressMode = { mode, mode, mode },
				.filterMode = filter,
				.flags = flags,
				.borderColor = { 7, 8, 9, 10 } };
	CUtexObject o;

	r.res.array.hArray = a;
	OK(cuTexObjectCreate(&o, &r, &t, NULL));
	return o;
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

/* Component k of what the instruction returns for the coordinates (in %f5, %f6, %f7; layer or
 * integers in %r5, %r6, %r7). */
static uint32_t fetch(CUtexObject o, const char *insn, int k, float x, float y, float z, int i,
		      int j)
{
	char body[1024];

	snprintf(
		body, sizeof(body),
		"mov.u64 %%rd1, 0x%llx; mov.f32 %%f5, 0f%08x; mov.f32 %%f6, 0f%08x; mov.f32 %%f7, 0f%08x; mov.u32 %%r5, %d; mov.u32 %%r6, %d;\n"
		".reg .b32 %%t<4>;\n%s\ncvt.u64.u32 %%rd9, %%t%d;",
		o, bits(x), bits(y), bits(z), i, j, insn, k);
	return (uint32_t)run(body);
}

static float as_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

#define TEX2 "tex.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}];"
#define AT(o, x, y, want) \
	do { \
		float got_ = as_float(fetch(o, TEX2, 0, x, y, 0, 0, 0)); \
		if (got_ != (float)(want)) \
			print_message("line %d: %g, not %g\n", __LINE__, (double)got_, \
				      (double)(want)); \
		assert_true(got_ == (float)(want)); \
	} while (0)

static CUarray tens(void)
{
	float v[12];

	for (int i = 0; i < 12; i++)
		v[i] = (float)(i / 4 * 10 + i % 4);
	return array(4, 3, 0, CU_AD_FORMAT_FLOAT, 1, 4, 0, v);
}

static void addressing(void **state)
{
	CUarray a = tens();
	CUtexObject clamp = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject border = texture(a, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject wrap = texture(a, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT,
				   CU_TRSF_NORMALIZED_COORDINATES);
	CUtexObject mirror = texture(a, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_POINT,
				     CU_TRSF_NORMALIZED_COORDINATES);

	(void)state;
	AT(clamp, 1.9f, 2.0f, 21);
	AT(clamp, -3.0f, -3.0f, 0);
	AT(clamp, 9.0f, 9.0f, 23);
	AT(clamp, INFINITY, 1.0f, 10); /* no number counts as 0 */
	AT(border, 1.0f, 1.0f, 11);
	AT(border, -0.5f, 1.0f, 7);
	AT(border, 4.0f, 1.0f, 7);
	AT(wrap, 1.375f, -0.1f, 21);
	AT(wrap, -0.25f, 2.5f, 13);
	AT(mirror, 1.125f, -0.1f, 3);
	AT(mirror, 2.125f, -1.1f, 20);
	OK(cuTexObjectDestroy(clamp));
	OK(cuTexObjectDestroy(border));
	OK(cuTexObjectDestroy(wrap));
	OK(cuTexObjectDestroy(mirror));
	OK(cuArrayDestroy(a));
}

static void filtering(void **state)
{
	CUarray a = tens();
	CUtexObject clamp = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
	CUtexObject border = texture(a, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_LINEAR, 0);
	CUtexObject wrap = texture(a, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR,
				   CU_TRSF_NORMALIZED_COORDINATES);
	CUtexObject mirror = texture(a, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_LINEAR,
				     CU_TRSF_NORMALIZED_COORDINATES);

	(void)state;
	AT(clamp, 1.5f, 1.5f, 11);
	AT(clamp, 2.0f, 1.5f, 11.5);
	AT(clamp, 1.25f, 1.0f, 5.75);
	AT(clamp, 0.0f, 0.0f, 0);
	AT(clamp, 100.0f, 1.5f, 13);
	AT(clamp, 1.5f + 1.0f / 1024, 1.5f, 11); /* fractions have 8 bits */
	AT(border, 0.0f, 0.5f, 3.5);
	AT(wrap, 0.0f, 0.5f, 11.5);
	AT(mirror, 0.0f, 0.5f, 10);
	/* integer coordinates are not filtered */
	assert_int_equal(
		as_float(fetch(clamp, "tex.2d.v4.f32.s32 {%t0, %t1, %t2, %t3}, [%rd1, {%r5, %r6}];",
			       0, 0, 0, 0, 3, 1)),
		13);
	/* the footprint of (2, 2): texels 1 and 2 of rows 1 and 2, from the lower left
	 * counter-clockwise */
	for (int k = 0; k < 4; k++)
		assert_int_equal(
			as_float(fetch(
				clamp,
				"tld4.r.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}];", k,
				2, 2, 0, 0, 0)),
			((const int[]) { 21, 22, 12, 11 })[k]);
	/* one level: a level or gradients are taken and change nothing */
	assert_int_equal(
		as_float(fetch(
			clamp,
			"tex.level.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}], %f7;", 0,
			1.5f, 1.5f, 3, 0, 0)),
		11);
	assert_int_equal(
		as_float(fetch(
			clamp,
			"tex.grad.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}], {%f7, %f7}, {%f7, %f7};",
			0, 1.5f, 1.5f, 1, 0, 0)),
		11);
	assert_int_equal(
		fetch(clamp,
		      "txq.width.b32 %t0, [%rd1]; txq.height.b32 %t1, [%rd1]; mad.lo.u32 %t0, %t0, 100, %t1;",
		      0, 0, 0, 0, 0, 0),
		403);
}

static void formats(void **state)
{
	const uint8_t bytes[8] = { 255, 51, 0, 128, 10, 20, 30, 40 };
	const int8_t chars[2] = { -128, 64 };
	const uint16_t words[2] = { 0x3c00, 0xfffe };
	CUarray a = array(2, 1, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 0, bytes);
	CUtexObject o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);

	(void)state;
	assert_true(as_float(fetch(o, TEX2, 0, 0, 0, 0, 0, 0)) == 1.0f);
	assert_true(as_float(fetch(o, TEX2, 1, 0, 0, 0, 0, 0)) == 51.0f / 255.0f);
	assert_true(as_float(fetch(o, TEX2, 3, 1, 0, 0, 0, 0)) == 40.0f / 255.0f);
	o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_SRGB);
	assert_true(fabsf(as_float(fetch(o, TEX2, 1, 0, 0, 0, 0, 0)) - 0.0331048f) < 1e-6f);
	assert_true(as_float(fetch(o, TEX2, 3, 0, 0, 0, 0, 0)) ==
		    128.0f / 255.0f); /* not the fourth channel */
	o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
	assert_int_equal(fetch(o, "tex.2d.v4.u32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}];", 2,
			       1, 0, 0, 0, 0),
			 30);
	a = array(2, 1, 0, CU_AD_FORMAT_SIGNED_INT8, 1, 1, 0, chars);
	o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	assert_true(as_float(fetch(o, TEX2, 0, 0, 0, 0, 0, 0)) == -1.0f);
	assert_true(as_float(fetch(o, TEX2, 0, 1, 0, 0, 0, 0)) == 64.0f / 127.0f);
	o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
	assert_int_equal(fetch(o, "tex.2d.v4.s32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6}];", 0,
			       0, 0, 0, 0, 0),
			 (uint32_t)-128);
	a = array(2, 1, 0, CU_AD_FORMAT_HALF, 1, 2, 0, words);
	o = texture(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	assert_true(as_float(fetch(o, TEX2, 0, 0, 0, 0, 0, 0)) == 1.0f);
}

static void geometries(void **state)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_LINEAR };
	CUDA_TEXTURE_DESC t = { .flags = CU_TRSF_READ_AS_INTEGER };
	CUdeviceptr p = emu_test_zeroed(64);
	CUtexObject o;
	float v[24];

	(void)state;
	for (int i = 0; i < 24; i++)
		v[i] = (float)(i / 6 * 100 + i / 3 % 2 * 10 + i % 3);
	o = texture(array(3, 2, 4, CU_AD_FORMAT_FLOAT, 1, 4, 0, v), CU_TR_ADDRESS_MODE_CLAMP,
		    CU_TR_FILTER_MODE_LINEAR, 0);
	assert_true(
		as_float(fetch(
			o, "tex.3d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5, %f6, %f7, %f7}];",
			0, 2.0f, 1.5f, 3.0f, 0, 0)) == 261.5f);
	o = texture(array(3, 2, 4, CU_AD_FORMAT_FLOAT, 1, 4, CUDA_ARRAY3D_LAYERED, v),
		    CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
	assert_true(
		as_float(fetch(
			o, "tex.a2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%r5, %f5, %f6, %f6}];",
			0, 2.0f, 1.5f, 0, 3, 0)) == 311.5f);
	assert_true(
		as_float(fetch(
			o, "tex.a2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%r5, %f5, %f6, %f6}];",
			0, 2.0f, 1.5f, 0, 9, 0)) == 311.5f);
	o = texture(array(3, 0, 0, CU_AD_FORMAT_FLOAT, 1, 4, 0, v), CU_TR_ADDRESS_MODE_CLAMP,
		    CU_TR_FILTER_MODE_LINEAR, 0);
	assert_true(as_float(fetch(o, "tex.1d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%rd1, {%f5}];", 0,
				   1.75f, 0, 0, 0, 0)) == 1.25f);
	OK(cuMemsetD32(p, 5, 4));
	OK(cuMemsetD32(p + 12, 77, 1));
	r.res.linear.devPtr = p;
	r.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	r.res.linear.numChannels = 1;
	r.res.linear.sizeInBytes = 16;
	OK(cuTexObjectCreate(&o, &r, &t, NULL));
	assert_int_equal(fetch(o, "tex.1d.v4.u32.s32 {%t0, %t1, %t2, %t3}, [%rd1, {%r5}];", 0, 0, 0,
			       0, 3, 0),
			 77);
	assert_int_equal(fetch(o, "tex.1d.v4.u32.s32 {%t0, %t1, %t2, %t3}, [%rd1, {%r5}];", 0, 0, 0,
			       0, 4, 0),
			 0);
}

static void surfaces(void **state)
{
	uint32_t v[12];
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUsurfObject o;

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		v[i] = i / 4 * 10 + i % 4;
	r.res.array.hArray =
		array(4, 3, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, CUDA_ARRAY3D_SURFACE_LDST, v);
	OK(cuSurfObjectCreate(&o, &r));
	/* x counts bytes */
	assert_int_equal(
		fetch(o, "suld.b.2d.b32.trap {%t0}, [%rd1, {%r5, %r6}];", 0, 0, 0, 0, 8, 1), 12);
	assert_int_equal(
		fetch(o, "suld.b.2d.v2.b32.trap {%t0, %t1}, [%rd1, {%r5, %r6}];", 1, 0, 0, 0, 8, 1),
		13);
	assert_int_equal(
		fetch(o, "suld.b.2d.b8.trap {%t0}, [%rd1, {%r5, %r6}];", 0, 0, 0, 0, 12, 2), 23);
	assert_int_equal(
		fetch(o, "suld.b.2d.b32.zero {%t0}, [%rd1, {%r5, %r6}];", 0, 0, 0, 0, 16, 1), 0);
	assert_int_equal(
		fetch(o, "suld.b.2d.b32.clamp {%t0}, [%rd1, {%r5, %r6}];", 0, 0, 0, 0, 1000, 7),
		23);
	assert_int_equal(
		fetch(o, "suld.b.2d.b32.clamp {%t0}, [%rd1, {%r5, %r6}];", 0, 0, 0, 0, -4, -1), 0);
	assert_int_equal(
		fetch(o,
		      "mov.u32 %r7, 99; sust.b.2d.b32.zero [%rd1, {%r5, %r6}], {%r7}; mov.u32 %r5, 4; sust.b.2d.b32.trap [%rd1, {%r5, %r6}], {%r7};"
		      "suld.b.2d.v2.b32.trap {%t0, %t1}, [%rd1, {%r5, %r6}]; mad.lo.u32 %t0, %t0, 100, %t1;",
		      0, 0, 0, 0, 16, 1),
		9912);
	assert_int_equal(fetch(o, "suq.width.b32 %t0, [%rd1];", 0, 0, 0, 0, 0, 0), 4);
}

/* The context is lost with the first fault: these come last, each in its own. */
static void outside(void **state)
{
	static const char *const bad[][2] = {
		{ "suld.b.2d.b32.trap {%r1}, [%rd1, {%r5, %r6}];",
		  "surface coordinate out of bounds, address 0x10" },
		{ "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];",
		  "no such texture object" },
		{ "mov.u64 %rd1, 3; suld.b.2d.b32.trap {%r1}, [%rd1, {%r5, %r6}];",
		  "no such surface object" },
		{ "suld.b.3d.b32.trap {%r1}, [%rd1, {%r5, %r6, %r5, %r5}];",
		  "no such surface object" },
	};
	uint32_t v[12] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
		char ptx[1024];
		CUcontext ctx, top;
		CUsurfObject o;
		CUfunction f;

		OK(cuCtxCreate(&ctx, NULL, 0, 0));
		r.res.array.hArray = array(4, 3, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 4,
					   CUDA_ARRAY3D_SURFACE_LDST, v);
		OK(cuSurfObjectCreate(&o, &r));
		snprintf(
			ptx, sizeof(ptx),
			HEAD
			".visible .entry k()\n{ .reg .b64 %%rd<4>; .reg .b32 %%r<9>; .reg .f32 %%f<9>;\n"
			"mov.u64 %%rd1, 0x%llx; mov.u32 %%r5, 16; mov.u32 %%r6, 1;\n%s\nret;\n}\n",
			o, bad[i][0]);
		f = emu_test_kernel(ptx, "k");
		emu_test_log();
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		assert_int_equal(cuCtxSynchronize(),
				 i ? CUDA_ERROR_ILLEGAL_INSTRUCTION : CUDA_ERROR_ILLEGAL_ADDRESS);
		assert_non_null(strstr(emu_test_log(), bad[i][1]));
		OK(cuCtxPopCurrent(&top));
		OK(cuCtxDestroy(ctx));
	}
}

/* Rows of 64 bytes are packed, as the shim counts them (shim/memory/entries.c). */
static void takes(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { 16, 64, 64, CU_AD_FORMAT_FLOAT, 1, 0 };
	size_t before, after, total;
	CUarray a;

	(void)state;
	OK(cuMemGetInfo(&before, &total));
	OK(cuArray3DCreate(&a, &desc));
	OK(cuMemGetInfo(&after, &total));
	assert_int_equal(before - after, 16 * 64 * 64 * 4);
	OK(cuArrayDestroy(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addressing), cmocka_unit_test(filtering),
		cmocka_unit_test(formats),    cmocka_unit_test(geometries),
		cmocka_unit_test(surfaces),   cmocka_unit_test(outside),
		cmocka_unit_test(takes),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, setup, teardown);
}
