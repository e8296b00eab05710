/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entry a driver takes for a device, and putting another in its place; see fatbin.h. */
#define _GNU_SOURCE
#include "device/fatbin/fatbin.h"

#include <stdlib.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/format.h"

/*
 * PTX for an architecture runs on it and everything newer; "f" on devices of
 * the same major number from it on; "a" on exactly that one (PTX ISA, .target).
 */
static int ptx_fits(const struct gs_fatbin_entry *e, uint32_t sm)
{
	if (e->variant == GS_VARIANT_EXACT)
		return e->sm == sm;
	return e->sm <= sm && (e->variant == GS_VARIANT_GENERIC || e->sm / 10 == sm / 10);
}

/* Machine code runs on devices of the same major number from its own minor one on. */
static int machine_fits(const struct gs_fatbin_entry *e, uint32_t sm)
{
	if (e->variant == GS_VARIANT_EXACT)
		return e->sm == sm;
	return e->sm <= sm && e->sm / 10 == sm / 10;
}

static int better(const struct gs_fatbin_entry *a, const struct gs_fatbin_entry *b)
{
	return a->sm > b->sm || (a->sm == b->sm && a->variant > b->variant);
}

/* Does any entry have to be linked?  1, 0, or -1. */
static int any_relocatable(const struct gs_fatbin *fb, struct gs_error *err)
{
	struct gs_fatbin_entry e;
	size_t at = 0;
	int rc, linked = fb->linkable;

	while (!linked && (rc = gs_fatbin_next(fb, &at, &e, err)) != 0)
		linked = rc < 0 ? -1 : gs_fatbin_relocatable(&e, err);
	return linked;
}

int gs_fatbin_choose(const struct gs_fatbin *fb, uint32_t sm, struct gs_fatbin_choice *c,
		     struct gs_error *err)
{
	struct gs_fatbin_entry e;
	size_t at = 0;
	int rc;

	memset(c, 0, sizeof(*c));
	while ((rc = gs_fatbin_next(fb, &at, &e, err)) > 0) {
		if (!e.wide)
			continue;
		if (e.kind == GS_ENTRY_PTX && ptx_fits(&e, sm) &&
		    (!c->has_ptx || better(&e, &c->ptx))) {
			c->has_ptx = 1;
			c->ptx = e;
		}
		if (e.kind == GS_ENTRY_CUBIN && machine_fits(&e, sm) &&
		    (!c->has_machine || better(&e, &c->machine))) {
			c->has_machine = 1;
			c->machine = e;
		}
	}
	if (rc < 0 || !c->has_ptx)
		return rc;
	/* Machine code has to be unpacked for this, and libraries of it hold thousands. */
	c->relocatable = any_relocatable(fb, err);
	return c->relocatable < 0 ? -1 : 0;
}

int gs_fatbin_ptx_stands_in(const struct gs_fatbin_choice *c)
{
	return c->has_ptx && (!c->has_machine || !better(&c->machine, &c->ptx));
}

int gs_fatbin_best_ptx(const struct gs_fatbin *fb, uint32_t sm, char **text, size_t *len,
		       struct gs_error *err)
{
	struct gs_fatbin_choice c;
	uint8_t *buf;
	size_t size;

	*text = NULL;
	*len = 0;
	if (gs_fatbin_choose(fb, sm, &c, err) < 0)
		return -1;
	if (!c.has_ptx)
		return 0;
	buf = gs_fatbin_unpack(&c.ptx, &size, err);
	if (!buf)
		return -1;
	*len = strlen((char *)buf);
	if (gs_image_kind(buf, *len) != GS_IMAGE_PTX) {
		free(buf);
		*len = 0;
		return gs_fail(err, "fatbin: the PTX for compute_%u is no text", c.ptx.sm);
	}
	*text = (char *)buf;
	return 1;
}
