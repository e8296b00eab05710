/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texture and surface instructions on objects (PTX ISA, "Texture
 * Instructions", "Surface Instructions"; how coordinates select texels and
 * how these are filtered: CUDA C++ Programming Guide, "Texture Fetching").
 * Mipmaps have one level, so a level or gradient changes nothing.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"
#include "device/emu/exec/texture.h"

/* A texel as the instruction returns it: floats, or integers that fill 32 bits. */
union texel {
	float f[4];
	uint32_t u[4];
};

static int float_result(const struct emu_texture *t)
{
	return t->texel == EMU_TEXEL_FLOAT || t->normalized_read;
}

static uint64_t raw(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static float linear_of_srgb(float c)
{
	return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

static void channel(const struct emu_texture *t, uint64_t v, uint32_t k, union texel *out)
{
	uint32_t bits = t->bytes * 8u;
	int64_t s = bits == 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);

	if (t->texel == EMU_TEXEL_FLOAT) {
		out->f[k] = t->bytes == 2 ? emu_float_of_half((uint16_t)v) :
					    emu_float_of_bits((uint32_t)v);
	} else if (!t->normalized_read) {
		out->u[k] = t->texel == EMU_TEXEL_SIGNED ? (uint32_t)s : (uint32_t)v;
	} else if (t->texel == EMU_TEXEL_SIGNED) {
		float f = (float)s / (float)((1u << (bits - 1)) - 1);

		out->f[k] = f < -1.0f ? -1.0f : f;
	} else {
		out->f[k] = (float)v / (float)((1u << bits) - 1);
		if (t->srgb && k < 3 && bits == 8)
			out->f[k] = linear_of_srgb(out->f[k]);
	}
}

/* An index as the addressing mode has it; -1: the border's colour. */
static int64_t address(int64_t i, uint64_t n, uint8_t mode)
{
	int64_t size = (int64_t)n;

	if (i >= 0 && i < size)
		return i;
	switch (mode) {
	case EMU_TEX_WRAP:
		return (i % size + size) % size;
	case EMU_TEX_MIRROR:
		i = (i % (2 * size) + 2 * size) % (2 * size);
		return i < size ? i : 2 * size - 1 - i;
	case EMU_TEX_BORDER:
		return -1;
	default:
		return i < 0 ? 0 : size - 1;
	}
}

/* Wrap and mirror exist for normalised coordinates only; others clamp. */
static uint8_t mode_of(const struct emu_texture *t, int axis)
{
	uint8_t mode = t->address[axis];

	return !t->normalized_coords && (mode == EMU_TEX_WRAP || mode == EMU_TEX_MIRROR) ?
		       EMU_TEX_CLAMP :
		       mode;
}

/* One texel at integer coordinates, in out.  -1: the memory is gone (the fault is filled). */
static int fetch(struct emu_warp *w, uint32_t lane, const struct emu_texture *t,
		 const int64_t at[3], int64_t layer, union texel *out)
{
	const uint64_t size[3] = { t->width, t->height, t->depth };
	uint64_t texel = (uint64_t)t->bytes * t->channels,
		 addr = t->base + (uint64_t)layer * t->slice;
	const uint64_t step[3] = { texel, t->pitch, t->slice };
	const uint8_t *p;

	memset(out, 0, sizeof(*out));
	for (int k = 0; k < t->dims; k++) {
		int64_t i = t->linear_memory ?
				    (at[k] >= 0 && (uint64_t)at[k] < size[k] ? at[k] : -1) :
				    address(at[k], size[k], mode_of(t, k));

		if (i < 0) {
			for (uint32_t c = 0;
			     c < t->channels && float_result(t) && !t->linear_memory; c++)
				out->f[c] = t->border[c];
			return 0;
		}
		addr += (uint64_t)i * step[k];
	}
	p = emu_translate(w, (int)lane, EMU_S_GLOBAL, addr, (uint32_t)texel, 1);
	if (!p)
		return -1;
	for (uint32_t c = 0; c < t->channels; c++)
		channel(t, raw(p + c * t->bytes, t->bytes), c, out);
	return 0;
}

/* Fractions have 8 bits ("Linear Filtering", 1.8 fixed point). */
static float fraction(double x)
{
	return (float)(floor((x - floor(x)) * 256.0 + 0.5) / 256.0);
}

static int linear(struct emu_warp *w, uint32_t lane, const struct emu_texture *t, const double x[3],
		  int64_t layer, union texel *out)
{
	float part[3] = { 0 }, sum[4] = { 0 };
	int64_t first[3] = { 0 };

	for (int k = 0; k < t->dims; k++) {
		first[k] = (int64_t)floor(x[k] - 0.5);
		part[k] = fraction(x[k] - 0.5);
	}
	for (int corner = 0; corner < 1 << t->dims; corner++) {
		int64_t at[3] = { 0 };
		float weight = 1.0f;
		union texel v;

		for (int k = 0; k < t->dims; k++) {
			at[k] = first[k] + (corner >> k & 1);
			weight *= corner >> k & 1 ? part[k] : 1.0f - part[k];
		}
		if (fetch(w, lane, t, at, layer, &v))
			return -1;
		for (int c = 0; c < 4; c++)
			sum[c] += weight * v.f[c];
	}
	memcpy(out->f, sum, sizeof(sum));
	return 0;
}

/* Coordinates in texels: normalised ones wrapped or mirrored first, so that their fraction is
 * exact. */
static void coordinates(const struct emu_texture *t, const float in[3], double x[3])
{
	const uint64_t size[3] = { t->width, t->height, t->depth };

	for (int k = 0; k < t->dims; k++) {
		double v = isfinite(in[k]) ? (double)in[k] : 0.0;

		if (t->normalized_coords) {
			if (t->address[k] == EMU_TEX_WRAP)
				v -= floor(v);
			else if (t->address[k] == EMU_TEX_MIRROR)
				v = fmod(floor(v), 2.0) != 0 ? 1.0 - (v - floor(v)) : v - floor(v);
			v *= (double)size[k];
		}
		x[k] = v > 1e15 ? 1e15 : v < -1e15 ? -1e15 : v;
	}
}

/* The four texels of the bilinear footprint, counter-clockwise from the lower left (PTX ISA, tld4).
 */
static int gather(struct emu_warp *w, uint32_t lane, const struct emu_texture *t, const double x[3],
		  int64_t layer, uint32_t component, union texel *out)
{
	static const int dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };

	for (int k = 0; k < 4; k++) {
		int64_t at[3] = { (int64_t)floor(x[0] - 0.5) + dx[k],
				  (int64_t)floor(x[1] - 0.5) + dy[k], 0 };
		union texel v;

		if (fetch(w, lane, t, at, layer, &v))
			return -1;
		out->u[k] = v.u[component];
	}
	return 0;
}

static const struct emu_texture *object(struct emu_warp *w, const struct emu_op *op, uint32_t lane,
					int surface)
{
	uint64_t handle = ROW64(w, op->s[0])[lane];
	const struct emu_texture *t = emu_texture_find(handle);

	if (t && t->surface == surface &&
	    (op->vec == 0 || (t->dims == (op->boolop & 3) && t->layered == op->boolop >> 2)))
		return t;
	emu_fault(w, (int)lane, EMU_FAULT_ILLEGAL, handle,
		  surface ? "no such surface object" : "no such texture object");
	return NULL;
}

static int sample(struct emu_warp *w, const struct emu_op *op, uint32_t i,
		  const struct emu_texture *t, const int32_t *coordinate, union texel *out)
{
	int64_t layer = 0, at[3] = { 0 };
	float in[3] = { 0 };
	double x[3] = { 0 };

	if (t->layered) {
		layer = ROW32(w, *coordinate++)[i];
		layer = layer < t->depth ? layer : (int64_t)t->depth - 1;
	}
	for (int k = 0; k < t->dims; k++) {
		at[k] = (int32_t)ROW32(w, coordinate[k])[i];
		in[k] = emu_float_of_bits(ROW32(w, coordinate[k])[i]);
	}
	if (op->is_signed) /* integer coordinates: texels, as they are */
		return fetch(w, i, t, at, layer, out);
	coordinates(t, in, x);
	if (op->sub)
		return gather(w, i, t, x, layer, op->sub - 1u, out);
	if (t->filter && float_result(t))
		return linear(w, i, t, x, layer, out);
	for (int k = 0; k < t->dims; k++)
		at[k] = (int64_t)floor(x[k]);
	return fetch(w, i, t, at, layer, out);
}

/* boolop: dimensions | layered << 2; vec destinations, then the coordinates, in the program's rows
 * from target on. */
int emu_h_tex(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const int32_t *rows = w->block->grid->program->rows + op->target;

	EACH (i) {
		const struct emu_texture *t = object(w, op, i, 0);
		union texel v;

		if (!t || sample(w, op, i, t, rows + op->vec, &v))
			return -1;
		for (uint32_t k = 0; k < op->vec; k++)
			if (rows[k] != EMU_NO_ROW)
				ROW32(w, rows[k])
		[i] = op->type == PTX_T_F16 ? emu_half_of_float(v.f[k]) : v.u[k];
	}
	return 0;
}

/* Where a surface access goes.  1: yes, 0: outside, and nothing is to be done; -1: outside, which
 * is a fault. */
static int surface_at(struct emu_warp *w, const struct emu_op *op, uint32_t i,
		      const struct emu_texture *t, const int32_t *coordinate, uint64_t *addr)
{
	uint64_t bytes = (uint64_t)op->size * op->vec, row = t->width * t->bytes * t->channels;
	const uint64_t limit[3] = { row < bytes ? 0 : row - bytes + 1, t->height, t->depth },
		       step[3] = { 1, t->pitch, t->slice };
	uint32_t axes = (uint32_t)t->dims + t->layered;

	*addr = t->base;
	for (uint32_t k = 0; k < axes; k++) {
		uint32_t axis = t->layered && k == 0 ? 2 : k - t->layered;
		int64_t x = (int32_t)ROW32(w, coordinate[k])[i], last = (int64_t)limit[axis] - 1;

		if (x < 0 || x > last) {
			if (op->sub == EMU_SURF_ZERO)
				return 0;
			if (op->sub == EMU_SURF_TRAP || last < 0)
				return emu_fault(w, (int)i, EMU_FAULT_ADDRESS, (uint64_t)x,
						 "surface coordinate out of bounds");
			x = x < 0 ? 0 : axis == 0 ? (int64_t)(row - bytes) : last;
		}
		*addr += (uint64_t)x * step[axis];
	}
	return 1;
}

int emu_h_suld(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const int32_t *rows = w->block->grid->program->rows + op->target;

	EACH (i) {
		const struct emu_texture *t = object(w, op, i, 1);
		uint8_t texel[32] = { 0 };
		uint64_t addr;
		int rc = t ? surface_at(w, op, i, t, rows + op->vec, &addr) : -1;

		if (rc > 0) {
			const void *p = emu_translate(w, (int)i, EMU_S_GLOBAL, addr,
						      (uint32_t)op->size * op->vec, op->size);

			if (!p)
				return -1;
			memcpy(texel, p, (size_t)op->size * op->vec);
		}
		if (rc < 0)
			return -1;
		for (uint32_t k = 0; k < op->vec; k++) {
			uint64_t v = raw(texel + k * op->size, op->size);

			if (op->wide)
				ROW64(w, rows[k])[i] = v;
			else
				ROW32(w, rows[k])[i] = (uint32_t)v;
		}
	}
	return 0;
}

int emu_h_sust(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const int32_t *rows = w->block->grid->program->rows + op->target;

	EACH (i) {
		const struct emu_texture *t = object(w, op, i, 1);
		uint64_t addr;
		int rc = t ? surface_at(w, op, i, t, rows + op->vec, &addr) : -1;
		uint8_t *p;

		if (rc < 0)
			return -1;
		if (!rc)
			continue;
		p = emu_translate(w, (int)i, EMU_S_GLOBAL, addr, (uint32_t)op->size * op->vec,
				  op->size);
		if (!p)
			return -1;
		for (uint32_t k = 0; k < op->vec; k++) {
			uint64_t v = op->wide ? ROW64(w, rows[k])[i] : ROW32(w, rows[k])[i];

			memcpy(p + k * op->size, &v, op->size);
		}
	}
	return 0;
}

/* txq, suq: sub 0 width, 1 height, 2 depth or layers, 3 normalised coordinates. */
int emu_h_txq(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		const struct emu_texture *t = object(w, op, i, op->is_signed);

		if (!t)
			return -1;
		ROW32(w, op->d)
		[i] = op->sub == 0 ? (uint32_t)t->width :
		      op->sub == 1 ? t->height :
		      op->sub == 2 ? t->depth :
				     t->normalized_coords;
	}
	return 0;
}
