/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exported functions of entries.def, and their _ptsz and _ptds variants. */
#include "device/cudart/rt.h"

#define VARIANT(name, variant, parameters, arguments) \
	RT_EXPORT cudaError_t name##variant parameters; \
	RT_EXPORT cudaError_t name##variant parameters \
	{ \
		cudaError_t rc; \
		rt_per_thread++; \
		rc = name arguments; \
		rt_per_thread--; \
		return rc; \
	}
#define VARIANT_N(name, parameters, arguments)
#define VARIANT_Z(name, parameters, arguments) VARIANT(name, _ptsz, parameters, arguments)
#define VARIANT_D(name, parameters, arguments) VARIANT(name, _ptds, parameters, arguments)
#define ENTRY(variant, need, name, parameters, arguments, work) \
	RT_EXPORT cudaError_t cuda##name parameters; \
	RT_EXPORT cudaError_t cuda##name parameters \
	{ \
		cudaError_t rc = rt_begin(RT_##need); \
		return rt_end(rc == cudaSuccess ? work : rc); \
	} \
	VARIANT_##variant(cuda##name, parameters, arguments)
#define RT(variant, need, name, parameters, arguments) \
	ENTRY(variant, need, name, parameters, arguments, rt_##name arguments)
/* Not by DRV(): cuda.h has macros for some of the names, which must not be replaced here. */
#define RT_AS(variant, need, name, parameters, arguments, driver, driver_arguments) \
	ENTRY(variant, need, name, parameters, arguments, \
	      rt_error(((__typeof__(&driver))rt_driver(RT_FN_##driver))driver_arguments))
#include "device/cudart/entries.def"
