/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device memory that a module takes: its variables, and a cubin's code. Code that the driver
 * makes from PTX is not known beforehand and not counted, nor is code in fatbins, of which the
 * driver loads only a part.
 */
#define _GNU_SOURCE
#include "device/shim/module/footprint.h"

#include <string.h>

#include "device/fatbin/variables.h"
#include "device/shim/kernel/image.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/shim.h"

/* The current context's device, or the first one, since a library may be loaded before there is a
 * context. */
static uint32_t capability(void)
{
	int major = 0, minor = 0;
	CUdevice dev = 0;

	if (REAL(cuCtxGetDevice)(&dev) != CUDA_SUCCESS)
		dev = 0;
	REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	return (uint32_t)(major * 10 + minor);
}

static uint64_t fatbin_bytes(const void *data, size_t len)
{
	uint32_t sm = capability();
	struct gs_fatbin fb;

	return sm && gs_fatbin_open(data, len, &fb, NULL) == 0 ? gs_fatbin_variables(&fb, sm) : 0;
}

static uint64_t image_bytes(const void *image)
{
	struct gs_bytes bytes;
	int linked;

	switch (gs_image_in_memory(image, &bytes, &linked)) {
	case GS_IMAGE_PTX:
		return gs_ptx_variables((const char *)bytes.data, bytes.len);
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		return shim_image_mapped(bytes.data, bytes.len) ?
			       fatbin_bytes(bytes.data, bytes.len) :
			       0;
	case GS_IMAGE_CUBIN:
		return gs_cubin_variables(image, shim_cubin_length(image), 1);
	default:
		return 0;
	}
}

static uint64_t file_bytes(const struct shim_file *file)
{
	switch (gs_image_kind(file->data, file->len)) {
	case GS_IMAGE_PTX:
		return gs_ptx_variables(file->data, strlen(file->data));
	case GS_IMAGE_FATBIN:
		return fatbin_bytes(file->data, file->len);
	case GS_IMAGE_CUBIN:
		return gs_cubin_variables(file->data, file->len, 1);
	default:
		return 0;
	}
}

static int charge(struct shim_session *s, uint64_t bytes)
{
	return !s || shim_charge(s, bytes) ? 0 : -1;
}

int shim_module_charge(const void *image, uint64_t *bytes)
{
	struct shim_session *s = shim_session();

	*bytes = s && image ? image_bytes(image) : 0;
	return charge(s, *bytes);
}

int shim_module_charge_file(const struct shim_file *file, uint64_t *bytes)
{
	struct shim_session *s = shim_session();

	*bytes = s && file->data ? file_bytes(file) : 0;
	return charge(s, *bytes);
}

void shim_module_charged(CUresult rc, const void *module, uint64_t bytes, CUcontext ctx)
{
	struct shim_session *s = shim_session_peek();

	if (!s || !bytes)
		return;
	if (rc == CUDA_SUCCESS)
		shim_charge_record(s, SHIM_CHARGE_MODULE, (uintptr_t)module, bytes, ctx, NULL);
	else
		shim_uncharge(s, bytes);
}
