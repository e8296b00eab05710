/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matrix instructions.  The fragments of mma.sync are laid out here by the
 * formulas of the PTX ISA ("Matrix Fragments for mma.m16n8k16" and its like),
 * element by element; the products are of small integers, so exact.
 */
#define _GNU_SOURCE
#include "emu_util.h"

static CUdeviceptr in, out;
static uint32_t words[4096];

static void launch(const char *ptx)
{
	void *params[] = { &in, &out };
	CUfunction f;
	CUmodule m;

	OK(cuMemcpyHtoD(in, words, sizeof(words)));
	OK(cuMemsetD8(out, 0, sizeof(words)));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(words, out, sizeof(words)));
	OK(cuModuleUnload(m));
}

#define BEGIN \
	HEAD ".visible .entry k(.param .u64 i, .param .u64 o)\n{\n.reg .b32 %%t<4>; .reg .b64 %%rd<9>; .reg .b32 %%a<8>; .reg .b32 %%b<8>; .reg .b32 %%c<8>; .reg .b32 %%d<8>;\n" \
	     "ld.param.u64 %%rd0, [i]; ld.param.u64 %%rd1, [o]; mov.u32 %%t0, %%laneid; mul.wide.u32 %%rd2, %%t0, 64;\n" \
	     "add.u64 %%rd0, %%rd0, %%rd2; add.u64 %%rd1, %%rd1, %%rd2;\n"

static size_t list(char *to, size_t room, char name, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(to + len, room - len, "%s%%%c%d", i ? ", " : "{", name, i);
	return len + (size_t)snprintf(to + len, room - len, "}");
}

/* mma.sync with na, nb, nc registers a lane, which lie 64 bytes apart: a from 0, b from 16, c from
 * 32 on. */
static void mma(const char *opcode, int na, int nb, int nc)
{
	char ptx[4096];
	size_t n = (size_t)snprintf(ptx, sizeof(ptx), BEGIN);

	for (int i = 0; i < na; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n,
				      "ld.global.u32 %%a%d, [%%rd0+%d];\n", i, 4 * i);
	for (int i = 0; i < nb; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n,
				      "ld.global.u32 %%b%d, [%%rd0+%d];\n", i, 16 + 4 * i);
	for (int i = 0; i < nc; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n,
				      "ld.global.u32 %%c%d, [%%rd0+%d];\n", i, 32 + 4 * i);
	n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, "%s ", opcode);
	n += list(ptx + n, sizeof(ptx) - n, 'd', nc);
	n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, ", ");
	n += list(ptx + n, sizeof(ptx) - n, 'a', na);
	n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, ", ");
	n += list(ptx + n, sizeof(ptx) - n, 'b', nb);
	n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, ", ");
	n += list(ptx + n, sizeof(ptx) - n, 'c', nc);
	n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, ";\n");
	for (int i = 0; i < nc; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n,
				      "st.global.u32 [%%rd1+%d], %%d%d;\n", 4 * i, i);
	snprintf(ptx + n, sizeof(ptx) - n, "ret;\n}\n");
	launch(ptx);
}

static uint16_t half_of(int v) /* exact for -8 to 8 */
{
	uint16_t sign = v < 0 ? 0x8000 : 0, e = 15, m;

	if (!v)
		return 0;
	m = (uint16_t)(v < 0 ? -v : v);
	for (m = (uint16_t)(m << 10); m >= 2048; e++)
		m /= 2;
	return (uint16_t)(sign | e << 10 | (m & 1023));
}

static uint32_t single_of(int v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static int single(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return (int)f;
}

enum kind { HALF, BFLOAT, TF32, S8, U4, BIT, FP8 };

static uint32_t encode(enum kind k, int v)
{
	switch (k) {
	case HALF:
		return half_of(v);
	case BFLOAT:
		return single_of(v) >> 16;
	case TF32:
		return single_of(v) | 0x1fff; /* the low bits do not count */
	case S8:
		return (uint32_t)v & 0xff;
	case U4:
		return (uint32_t)v & 15;
	case FP8:
		return (uint32_t)half_of(v) >> 8; /* e5m2 */
	default:
		return (uint32_t)v & 1;
	}
}

static int a_at(enum kind k, int row, int col)
{
	int v = (row * 3 + col * 5) % 7 - 3;

	return k == U4                         ? (v < 0 ? v + 16 : v) :
	       k == BIT                        ? v & 1 :
	       k == FP8 && (v == 3 || v == -3) ? 2 :
						 v;
}

static int b_at(enum kind k, int row, int col)
{
	int v = (row * 2 + col * 7) % 5 - 2;

	return k == U4 ? (v < 0 ? v + 16 : v) : k == BIT ? v & 1 : v;
}

struct shape {
	const char *opcode;
	enum kind kind;
	int m, k, bits, na, nb, nc, is_float;
};

/* PTX ISA, the rows and columns of a_i and b_i for each shape. */
static void a_index(const struct shape *s, int g, int t, int i, int *row, int *col)
{
	int e = 32 / s->bits, reg = i / e;

	switch (s->na) {
	case 1:
		*row = g;
		*col = t * e + i;
		break;
	case 2:
		*row = i < e ? g : g + 8;
		*col = t * e + i % e;
		break;
	default:
		*row = reg == 0 || reg == 2 ? g : g + 8;
		*col = t * e + i % e + (reg >= 2 ? 4 * e : 0);
		break;
	}
}

static void b_index(const struct shape *s, int g, int t, int i, int *row, int *col)
{
	int e = 32 / s->bits;

	*row = t * e + i % e + (i >= e ? 4 * e : 0);
	*col = g;
}

static void check(const struct shape *s)
{
	int e = 32 / s->bits;

	memset(words, 0, sizeof(words));
	for (int lane = 0; lane < 32; lane++) {
		uint32_t *w = words + 16 * lane;
		int g = lane >> 2, t = lane & 3, row, col;

		for (int i = 0; i < s->na * e; i++) {
			a_index(s, g, t, i, &row, &col);
			w[i / e] |= encode(s->kind, a_at(s->kind, row, col)) << i % e * s->bits;
		}
		for (int i = 0; i < s->nb * e; i++) {
			b_index(s, g, t, i, &row, &col);
			w[4 + i / e] |= encode(s->kind, b_at(s->kind, row, col)) << i % e * s->bits;
		}
		for (int i = 0; i < s->nc; i++)
			w[8 + i] = s->is_float ? single_of(lane + i) : (uint32_t)(lane + i);
	}
	mma(s->opcode, s->na, s->nb, s->nc);
	for (int lane = 0; lane < 32; lane++) {
		for (int i = 0; i < s->nc; i++) {
			int row = (lane >> 2) + (i >= 2 ? 8 : 0), col = (lane & 3) * 2 + (i & 1),
			    want = lane + i;
			int got = s->is_float ? single(words[16 * lane + i]) :
						(int)words[16 * lane + i];

			for (int k = 0; k < s->k; k++) {
				int a = a_at(s->kind, row, k), b = b_at(s->kind, k, col);

				want += s->kind == BIT ? a ^ b : a * b;
			}
			if (got != want)
				print_message("%s: lane %d, %d: %d, not %d\n", s->opcode, lane, i,
					      got, want);
			assert_int_equal(got, want);
		}
	}
}

static void products(void **state)
{
	static const struct shape shapes[] = {
		{ "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", HALF, 16, 16, 16, 4, 2, 4,
		  1 },
		{ "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", HALF, 16, 8, 16, 2, 1, 4, 1 },
		{ "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", BFLOAT, 16, 16, 16, 4, 2,
		  4, 1 },
		{ "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", BFLOAT, 16, 8, 16, 2, 1, 4,
		  1 },
		{ "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", TF32, 16, 8, 32, 4, 2, 4,
		  1 },
		{ "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", TF32, 16, 4, 32, 2, 1, 4,
		  1 },
		{ "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", S8, 8, 16, 8, 1, 1, 2, 0 },
		{ "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", S8, 16, 16, 8, 2, 1, 4, 0 },
		{ "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", S8, 16, 32, 8, 4, 2,
		  4, 0 },
		{ "mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32", U4, 16, 64, 4, 4, 2, 4, 0 },
		{ "mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32", U4, 8, 32, 4, 1, 1, 2, 0 },
		{ "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", BIT, 16, 256, 1, 4,
		  2, 4, 0 },
		{ "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", FP8, 16, 32, 8, 4, 2, 4,
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		check(&shapes[i]);
}

/* d is of halves, too. */
static void half_accumulators(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	for (int i = 0; i < 512; i++)
		words[i] = 0x3c003c00; /* all ones */
	mma("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2);
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 2; i++)
			assert_int_equal(words[16 * lane + i], half_of(17) | (uint32_t)half_of(17)
										     << 16);
}

static void doubles(void **state)
{
	double v;

	(void)state;
	for (int lane = 0; lane < 32; lane++) {
		int g = lane >> 2, t = lane & 3;
		double x[4] = { g + 2 * t, t * 3 - g, lane, -lane };

		memcpy(words + 16 * lane, x, sizeof(x));
	}
	launch(HEAD
	       ".visible .entry k(.param .u64 i, .param .u64 o)\n{\n.reg .b32 %t<4>; .reg .b64 %rd<9>; .reg .f64 %f<9>;\n"
	       "ld.param.u64 %rd0, [i]; ld.param.u64 %rd1, [o]; mov.u32 %t0, %laneid; mul.wide.u32 %rd2, %t0, 64;\n"
	       "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;\nld.global.v2.f64 {%f0, %f1}, [%rd0]; ld.global.v2.f64 {%f2, %f3}, [%rd0+16];\n"
	       "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%f4, %f5}, {%f0}, {%f1}, {%f2, %f3};\nst.global.v2.f64 [%rd1], {%f4, %f5};\nret;\n}\n");
	for (int lane = 0; lane < 32; lane++) {
		for (int i = 0; i < 2; i++) {
			int row = lane >> 2, col = (lane & 3) * 2 + i;
			double want = i ? -lane : lane;

			for (int k = 0; k < 4; k++)
				want += (row + 2 * k) * (k * 3 - col);
			memcpy(&v, words + 16 * lane + 2 * i, 8);
			assert_true(v == want);
		}
	}
}

/* %% to % in a text that is no format. */
static void expand(char *to, const char *from)
{
	for (; *from; from++) {
		*to++ = *from;
		if (from[0] == '%' && from[1] == '%')
			from++;
	}
	*to = '\0';
}

/* Row r of matrix n is 8 halves; lane l gets elements 2 (l % 4) and the next of row l / 4, or of
 * column l / 4 if transposed. */
static void matrix_loads(void **state)
{
#define MOVE(load, store) \
	BEGIN ".shared .align 16 .b8 s[512];\nmov.u32 %%t1, s; mad.lo.u32 %%t1, %%t0, 16, %%t1;\n" \
	      "ld.global.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%rd0]; st.shared.v4.u32 [%%t1], {%%a0, %%a1, %%a2, %%a3};\nbar.sync 0;\n" load \
		      store "ret;\n}\n"
#define STORE "st.global.v4.u32 [%%rd1], {%%b0, %%b1, %%b2, %%b3};\n"
	static const char *const variant[] = {
		MOVE("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%b0, %%b1, %%b2, %%b3}, [%%t1];\n",
		     STORE),
		MOVE("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%%b0, %%b1, %%b2, %%b3}, [%%t1];\n",
		     STORE),
		MOVE("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%%b0, %%b1}, [%%t1];\nmovmatrix.sync.aligned.m8n8.trans.b16 %%b2, %%b0; mov.u32 %%b3, 0;\n",
		     STORE),
		/* stored transposed into the upper half, and read back as it lies */
		MOVE("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%b0}, [%%t1];\nstmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%%t1+256], {%%b0};\nbar.sync 0;\n"
		     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%b1}, [%%t1+256]; mov.u32 %%b2, 0; mov.u32 %%b3, 0;\n",
		     STORE),
	};
	char ptx[4096];

	(void)state;
	for (int n = 0; n < 4; n++) {
		for (int lane = 0; lane < 32; lane++)
			for (uint32_t k = 0; k < 4; k++)
				words[16 * lane + (int)k] =
					(uint32_t)lane * 256 + 2 * k +
					(((uint32_t)lane * 256 + 2 * k + 1) << 16);
		expand(ptx, variant[n]);
		launch(ptx);
		for (uint32_t lane = 0; lane < 32; lane++) {
			uint32_t g = lane / 4, t = lane % 4 * 2;

			for (uint32_t i = 0; i < 4; i++) {
				uint32_t row = (8 * i + g) * 256 + t, plain = row | (row + 1) << 16;
				uint32_t col = (8 * i + t) * 256 + g,
					 turned = col | (col + 256) << 16,
					 got = words[16 * lane + i];

				if (n < 2)
					assert_int_equal(got, n ? turned : plain);
				else if (n == 2 && i < 2)
					assert_int_equal(got, plain);
			}
			if (n == 2)
				assert_int_equal(words[16 * lane + 2],
						 (t * 256 + g) | ((t + 1) * 256 + g) << 16);
			if (n == 3)
				assert_int_equal(words[16 * lane + 1],
						 (t * 256 + g) | ((t + 1) * 256 + g) << 16);
		}
	}
}

/* wmma: what is stored is the product, whatever the fragments look like; a by rows, b by columns, d
 * by columns, strides of 40. */
static void wmma(const char *shape, int m, int n, int k, const char *type, int na, int nb,
		 const char *extra)
{
	char ptx[4096], a[128], b[128];
	int bytes = *type == 'f' ? 2 : 1, is_float = bytes == 2;
	uint8_t *raw = (uint8_t *)words;

	memset(words, 0, sizeof(words));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < k; j++)
			memcpy(raw + (i * 40 + j) * bytes,
			       &(uint16_t) {
				       (uint16_t)encode(is_float ? HALF : S8, a_at(HALF, i, j)) },
			       (size_t)bytes);
	for (int i = 0; i < k; i++)
		for (int j = 0; j < n; j++)
			memcpy(raw + 4096 + (j * 40 + i) * bytes,
			       &(uint16_t) {
				       (uint16_t)encode(is_float ? HALF : S8, b_at(HALF, i, j)) },
			       (size_t)bytes);
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++)
			words[2048 + i * 40 + j] = is_float ? single_of(i - j) : (uint32_t)(i - j);
	list(a, sizeof(a), 'a', na);
	list(b, sizeof(b), 'b', nb);
	snprintf(
		ptx, sizeof(ptx),
		HEAD
		".visible .entry k(.param .u64 i, .param .u64 o)\n{\n.reg .b64 %%rd<9>; .reg .b32 %%a<8>; .reg .b32 %%b<8>; .reg .b32 %%c<8>; .reg .b32 %%s;\n"
		"ld.param.u64 %%rd0, [i]; ld.param.u64 %%rd1, [o]; mov.u32 %%s, 40;\n"
		"wmma.load.a.sync.aligned.row.%s.global.%s %s, [%%rd0], %%s;\nwmma.load.b.sync.aligned.col.%s.global.%s %s, [%%rd0+4096], %%s;\n"
		"wmma.load.c.sync.aligned.row.%s.global.%s {%%c0, %%c1, %%c2, %%c3, %%c4, %%c5, %%c6, %%c7}, [%%rd0+8192], %%s;\n"
		"wmma.mma.sync.aligned.row.col.%s.%s {%%c0, %%c1, %%c2, %%c3, %%c4, %%c5, %%c6, %%c7}, %s, %s, {%%c0, %%c1, %%c2, %%c3, %%c4, %%c5, %%c6, %%c7};\n"
		"wmma.store.d.sync.aligned.col.%s.global.%s [%%rd1], {%%c0, %%c1, %%c2, %%c3, %%c4, %%c5, %%c6, %%c7}, %%s;\nret;\n}\n",
		shape, type, a, shape, type, b, shape, is_float ? "f32" : "s32", shape, extra, a, b,
		shape, is_float ? "f32" : "s32");
	launch(ptx);
	for (int i = 0; i < m; i++) {
		for (int j = 0; j < n; j++) {
			int want = i - j,
			    got = is_float ? single(words[j * 40 + i]) : (int)words[j * 40 + i];

			for (int l = 0; l < k; l++)
				want += a_at(HALF, i, l) * b_at(HALF, l, j);
			assert_int_equal(got, want);
		}
	}
}

static void fragments(void **state)
{
	(void)state;
	wmma("m16n16k16", 16, 16, 16, "f16", 8, 8, "f32.f32");
	wmma("m32n8k16", 32, 8, 16, "f16", 8, 8, "f32.f32");
	wmma("m8n32k16", 8, 32, 16, "f16", 8, 8, "f32.f32");
	wmma("m16n16k16", 16, 16, 16, "s8", 2, 2, "s32.s8.s8.s32");
	wmma("m32n8k16", 32, 8, 16, "s8", 4, 1, "s32.s8.s8.s32.satfinite");
}

static int setup(void **state)
{
	(void)state;
	emu_test_environment("1", "64M");
	emu_test_context();
	OK(cuMemAlloc(&in, sizeof(words)));
	OK(cuMemAlloc(&out, sizeof(words)));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),  cmocka_unit_test(half_accumulators),
		cmocka_unit_test(doubles),   cmocka_unit_test(matrix_loads),
		cmocka_unit_test(fragments),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, setup, emu_test_end);
}
