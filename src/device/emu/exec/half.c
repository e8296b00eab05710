/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounding to the 16-bit formats. */
#define _GNU_SOURCE
#include "device/emu/exec/half.h"

#include <math.h>

/* An integral double, rounded; ties and directions as asked. */
static double round_integral(double v, enum emu_rounding rounding)
{
	double f = floor(v), d = v - f;

	switch (rounding) {
	case EMU_RZ:
		return v < 0 ? ceil(v) : f;
	case EMU_RM:
		return f;
	case EMU_RP:
		return ceil(v);
	case EMU_RNA:
		return v < 0 ? -floor(-v + 0.5) : floor(v + 0.5);
	case EMU_RN:
		break;
	}
	if (d > 0.5 || (d == 0.5 && fmod(f, 2.0) != 0))
		f += 1;
	return f;
}

/* mant: explicit mantissa bits; emin: exponent of the smallest normal; emax: of the largest. */
static uint16_t pack(double v, enum emu_rounding rounding, int mant, int emin, int emax,
		     uint16_t nan)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0, inf = (uint16_t)((emax + 1 - emin + 1) << mant);
	double a, q;
	int e;

	if (isnan(v))
		return nan;
	if (isinf(v))
		return sign | inf;
	if (v == 0)
		return sign;
	frexp(v, &e);
	e--;
	if (e < emin)
		e = emin;
	q = round_integral(ldexp(v, mant - e), rounding);
	a = fabs(q);
	if (a >= ldexp(1.0, mant + 1)) {
		a /= 2;
		e++;
	}
	if (e > emax) {
		int away = rounding == EMU_RN || rounding == EMU_RNA ||
			   (rounding == EMU_RP && v > 0) || (rounding == EMU_RM && v < 0);

		return sign | (uint16_t)(away ? inf : inf - 1);
	}
	if (a < ldexp(1.0, mant))
		return sign | (uint16_t)a;
	return sign | (uint16_t)(((uint16_t)(e - emin + 1) << mant) + ((uint16_t)a - (1u << mant)));
}

uint16_t emu_half_round(double v, enum emu_rounding rounding)
{
	return pack(v, rounding, 10, -14, 15, 0x7fff);
}

uint16_t emu_bf16_round(double v, enum emu_rounding rounding)
{
	return pack(v, rounding, 7, -126, 127, 0x7fff);
}
