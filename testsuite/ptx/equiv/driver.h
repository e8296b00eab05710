/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few driver calls that the equivalence test makes, from whichever libcuda.so.1 it is told to
 * use. */
#ifndef GPUSHARE_EQUIV_DRIVER_H
#define GPUSHARE_EQUIV_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct driver {
	int (*init)(unsigned);
	int (*device_get)(int *, int);
	int (*device_attribute)(int *, int, int);
	int (*ctx_retain)(void **, int);
	int (*ctx_set)(void *);
	int (*ctx_sync)(void);
	int (*module_load)(void **, const void *);
	int (*module_unload)(void *);
	int (*module_function)(void **, void *, const char *);
	int (*module_global)(uint64_t *, size_t *, void *, const char *);
	int (*mem_alloc)(uint64_t *, size_t);
	int (*mem_free)(uint64_t);
	int (*host_alloc)(void **, size_t, unsigned);
	int (*host_free)(void *);
	int (*host_device)(uint64_t *, void *, unsigned);
	int (*to_device)(uint64_t, const void *, size_t);
	int (*to_host)(void *, uint64_t, size_t);
	int (*to_host_async)(void *, uint64_t, size_t, void *);
	int (*stream_create)(void **, unsigned);
	int (*stream_sync)(void *);
	int (*stream_wait)(void *, uint64_t, uint32_t, unsigned);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*tex_create)(uint64_t *, const void *, const void *, const void *);
	int (*tex_destroy)(uint64_t);
	int (*surf_create)(uint64_t *, const void *);
	int (*surf_destroy)(uint64_t);
	int (*array_create)(void **, const void *);
	int (*array_destroy)(void *);
	int (*copy_2d)(const void *);
	int (*copy_2d_async)(const void *, void *);
	int (*occupancy)(int *, void *, int, size_t);
	unsigned sms; /* the device's multiprocessors */
};

/* Load `path`, start the device, make a context current; exits with a message if it cannot. */
void driver_open(struct driver *d, const char *path);

/* A call that must succeed. */
#define DO(call) driver_check((call), #call)
void driver_check(int result, const char *what);

#endif
