/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches of persistent variants (device/ptx/ctl.h); see variant/transforms.h. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "device/shim/context/part.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/launch/packed.h"

/* A kernel with fewer waves of block-tasks than this could take one wave more if the proxy took a
 * worker away. */
#define PROXY_WAVES 16

static struct gs_ctl *image_of(const struct shim_launch *l)
{
	return &l->ctx->image[l->index];
}

static int equip(struct shim_context *c, int closed)
{
	(void)c, (void)closed;
	return 1; /* the control blocks exist from the context's first launch on */
}

static int fits(struct shim_launch *l)
{
	return l->nt >> 62 == 0;
}

/* Where its workers find how many of them stay, for the control block. While the page says nothing
 * of that they need not look, which would take them a read of memory. */
static uint32_t stay_at(const struct shim_session *s, const struct shim_launch *l)
{
	if (!gs_page_load(s->page->priorities.part))
		return 0;
	return (uint32_t)(shim_part_at(l->ctx) - shim_launch_ctl(l, 0));
}

static uint32_t aim_ns(const struct shim_session *s)
{
	return gs_page_load(s->page->contended) || gs_page_load(s->page->shared) ?
		       SHIM_CHUNK_CONTENDED_NS :
		       SHIM_CHUNK_AIM_NS;
}

/* May worker 0 be the proxy? That takes away one worker of several on its SM, whose share the
 * others get; at worst the kernel takes one wave more of many. */
static int has_proxy(const struct shim_session *s, const struct shim_launch *l)
{
	if (s->signal != GS_SIGNAL_AUTO)
		return s->signal == GS_SIGNAL_PROXY && l->as.dims.workers > 1;
	return l->as.dims.workers >= 2 * (unsigned int)l->ctx->sms &&
	       l->nt / l->as.dims.workers >= PROXY_WAVES;
}

/*
 * Collects the words of the control block that this launch needs to be different from what the last
 * one left (mostly none). They are written by memory operations of its stream: the GPU's front end
 * executes those in order, without a copy engine between two kernels.
 */
static void prepare(const struct shim_session *s, struct shim_launch *l)
{
	CUdeviceptr ctl = shim_launch_ctl(l, 0);
	struct gs_ctl *image = image_of(l);
	uint32_t aim = aim_ns(s), at = stay_at(s, l);
	unsigned int n = 0;

	if (at)
		shim_part_tell(s, l->ctx);
	l->as.proxy = (uint8_t)has_proxy(s, l);
	memcpy(l->as.packed.bytes + l->as.variant->params.ctl_offset, &ctl, sizeof(ctl));
#define UPDATE(bits, field, v) \
	do { \
		if (image->field != (v)) { \
			image->field = (v); \
			n = shim_write_op(l->as.write, n, bits, \
					  shim_launch_ctl(l, offsetof(struct gs_ctl, field)), \
					  (v)); \
		} \
	} while (0)
	UPDATE(64, total, l->nt);
	UPDATE(32, nctaid[0], l->as.dims.grid[0]);
	UPDATE(32, nctaid[1], l->as.dims.grid[1]);
	UPDATE(32, nctaid[2], l->as.dims.grid[2]);
	UPDATE(32, workers, l->as.dims.workers);
	UPDATE(32, proxy, l->as.proxy);
	UPDATE(32, chunk_ns, aim);
	UPDATE(32, stay_at, at);
	/* The control block's last launch may have been told to leave as it ended. */
	UPDATE(32, limit, SHIM_NO_LIMIT);
#undef UPDATE
	l->as.nwrite = n;
}

static CUresult launch(struct shim_launch *l, CUstream stream)
{
	const unsigned int grid[3] = { l->as.dims.workers, 1, 1 };

	return shim_launch_packed(l, grid, stream);
}

static void signal_of(const struct shim_launch *l, struct shim_signal *to)
{
	*to = (struct shim_signal) { shim_launch_ctl(l, offsetof(struct gs_ctl, limit)),
				     SHIM_NO_LIMIT, 0, &image_of(l)->limit,
				     shim_launch_ctl(l, offsetof(struct gs_ctl, next)) };
}

/* Writes a word of the control block before the relaunch. */
static CUresult change(struct shim_launch *l, size_t offset, uint32_t *image, uint32_t to)
{
	CUresult rc =
		REAL(cuStreamWriteValue32_v2)(l->ctx->relaunch, shim_launch_ctl(l, offset), to, 0);

	if (rc == CUDA_SUCCESS)
		*image = to;
	return rc;
}

/*
 * Makes the claims smaller if the kernel began when nobody else wanted the GPU.
 */
static CUresult resume(const struct shim_session *s, struct shim_launch *l)
{
	struct gs_ctl *image = image_of(l);
	uint32_t aim = aim_ns(s), at = stay_at(s, l);
	CUresult rc = CUDA_SUCCESS;

	if (image->chunk_ns > aim)
		rc = change(l, offsetof(struct gs_ctl, chunk_ns), &image->chunk_ns, aim);
	if (rc == CUDA_SUCCESS && image->stay_at != at)
		rc = change(l, offsetof(struct gs_ctl, stay_at), &image->stay_at, at);
	return rc;
}

/* Values that no launch wants, so that the control block's next launch writes them all. */
static void forget(struct shim_launch *l)
{
	struct gs_ctl *image = image_of(l);

	image->total = 0;
	memset(image->nctaid, 0, sizeof(image->nctaid));
	image->workers = image->chunk_ns = 0;
	image->proxy = image->stay_at = UINT32_MAX;
	__atomic_store_n(&image->limit, 0, __ATOMIC_RELEASE);
}

/* Block-tasks that have not begun are never given out. */
static uint64_t leave_ns(const struct shim_launch *l, uint64_t task_ns)
{
	uint64_t deaf_ns = 2 * (uint64_t)image_of(l)->chunk_ns;

	return task_ns > deaf_ns ? task_ns : deaf_ns;
}

static const struct shim_transform persistent = {
	.param_bytes = sizeof(CUdeviceptr),
	.divides = 1,
	.equip = equip,
	.fits = fits,
	.prepare = prepare,
	.launch = launch,
	.signal = signal_of,
	.resume = resume,
	.forget = forget,
	.leave_ns = leave_ns,
};

static void __attribute__((constructor)) add(void)
{
	shim_transform_add(PTX_TRANSFORM_PERSISTENT, &persistent);
}
