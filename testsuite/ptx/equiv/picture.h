/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Textures and surfaces among a launch's arguments: pictures of floats, PICTURE_WIDTH wide. */
#ifndef GPUSHARE_EQUIV_PICTURE_H
#define GPUSHARE_EQUIV_PICTURE_H

#include "driver.h"

#define PICTURE_WIDTH 128u

/* A texture over `bytes` of device memory: normalised coordinates, linear filter, clamped.  Its
 * object. */
uint64_t texture_create(const struct driver *drv, uint64_t at, size_t bytes);

/* A surface of so many bytes in an array of its own. */
uint64_t surface_create(const struct driver *drv, size_t bytes, void **array);
/* Copy it whole; `stream` NULL: at once. */
void surface_read(const struct driver *drv, void *array, void *to, size_t bytes, void *stream);
void surface_write(const struct driver *drv, void *array, const void *from, size_t bytes);

#endif
