/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathering what a file's containers hold into one report; see inspect.h. */
#define _GNU_SOURCE
#include "device/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "device/fatbin/fatbin.h"
#include "device/fatbin/objects.h"
#include "device/inspect/machine.h"
#include "device/inspect/shipped.h"
#include "device/ptx/transform.h"

#define KERNEL_NEEDS_LINK "RELOCATABLE"
#define KERNEL_NEEDS_LINK_WORDS "is relocatable code, linked when it is loaded"
#define KERNEL_OTHER_PTX "OTHER_PTX"
#define KERNEL_OTHER_PTX_WORDS \
	"has no PTX that the device would take, or may take for its machine code"

/* The report under construction; kernels by name, since several containers may hold one. */
struct inspection {
	json_t *containers, *kernels;
	uint32_t sm;         /* 0: any */
	uint32_t transforms; /* that kernels may get */
};

int gs_inspect_handles(const void *data, size_t len)
{
	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_CUBIN:
	case GS_IMAGE_HOST:
		return 1;
	default:
		return 0;
	}
}

/* "sm_90a", "compute_75" */
static json_t *arch_name(const struct gs_fatbin_entry *e)
{
	const char *prefix = e->kind == GS_ENTRY_PTX ? "compute" :
			     e->kind == GS_ENTRY_LTO ? "lto" :
						       "sm";

	return json_sprintf("%s_%u%s", prefix, e->sm, gs_variant_suffix(e->variant));
}

/* Text that came out of a file: JSON takes UTF-8 only. */
static json_t *text_of(struct gs_bytes b)
{
	json_t *s = b.len ? json_stringn((const char *)b.data, b.len) : json_string("");

	return s ? s : json_string("?");
}

static void set_error(json_t *in, const struct gs_error *err)
{
	json_t *text = json_string(err->text);

	json_object_set_new(in, "error", text ? text : json_string("?"));
}

static json_t *kernel(struct inspection *in, const char *name)
{
	json_t *k = json_object_get(in->kernels, name);

	if (k)
		return k;
	k = json_pack("{s:s, s:s, s:s, s:s, s:[], s:[], s:[]}", "name", name, "form",
		      ptx_transform_name(PTX_TRANSFORM_AS_IS), "reason",
		      ptx_reason_name(PTX_REASON_MACHINE_CODE), "reason_words",
		      ptx_reason_words(PTX_REASON_MACHINE_CODE), "ptx", "machine_code", "guards");
	/* A name that is no UTF-8 is no kernel that a program could ask for. */
	if (k && json_object_set_new(in->kernels, name, k) < 0)
		k = NULL;
	return k;
}

static void add_arch(json_t *k, const char *list, json_t *arch)
{
	json_t *archs = json_object_get(k, list), *known;
	size_t i;

	json_array_foreach (archs, i, known)
		if (json_equal(known, arch))
			return;
	json_array_append(archs, arch);
}

static void set_transform(json_t *k, const char *transform, const char *reason, const char *words)
{
	json_object_set_new(k, "form", json_string(transform));
	json_object_set_new(k, "reason", json_string(reason));
	json_object_set_new(k, "reason_words", json_string(words));
}

/* Nothing better is known of it so far. */
static int is_machine_code(const json_t *k)
{
	return strcmp(json_string_value(json_object_get(k, "reason")),
		      ptx_reason_name(PTX_REASON_MACHINE_CODE)) == 0;
}

/* taken: the shim would transform this text, and not leave its container as it is. */
static void add_ptx(struct inspection *in, json_t *entry, const char *text, size_t len, int linked,
		    int taken)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform_only(text, len, in->transforms, 0, &err);
	json_t *arch = json_object_get(entry, "arch");

	if (!t) {
		set_error(entry, &err);
		return;
	}
	for (uint32_t i = 0; i < t->nkernel; i++) {
		const struct ptx_kernel *p = &t->kernel[i];
		json_t *k = kernel(in, p->name);

		if (!k)
			continue;
		add_arch(k, "ptx", arch);
		if (linked)
			set_transform(k, ptx_transform_name(PTX_TRANSFORM_AS_IS), KERNEL_NEEDS_LINK,
				      KERNEL_NEEDS_LINK_WORDS);
		else if (taken)
			set_transform(k, ptx_transform_name(p->transform),
				      ptx_reason_name(p->reason), ptx_reason_words(p->reason));
		else if (is_machine_code(k))
			set_transform(k, ptx_transform_name(PTX_TRANSFORM_AS_IS), KERNEL_OTHER_PTX,
				      KERNEL_OTHER_PTX_WORDS);
	}
	ptx_transformed_free(t);
}

/* The kernels of machine code; 0, or -1 where it cannot be read. */
static int add_cubin(struct inspection *in, const void *code, size_t len, json_t *arch,
		     struct gs_error *err)
{
	struct cubin *c = cubin_open(code, len, err);

	for (uint32_t i = 0; c && i < cubin_kernels(c); i++) {
		struct cubin_kernel facts;
		struct gs_error why = { "" };
		json_t *k = NULL;

		if (cubin_kernel(c, i, &facts, &why) == 0)
			k = kernel(in, facts.name);
		if (!k)
			continue;
		add_arch(k, "machine_code", arch);
		if (!in->sm || in->sm == cubin_sm(c))
			machine_add_guards(k, &facts, &why);
	}
	cubin_close(c);
	return c ? 0 : -1;
}

static json_t *describe(const struct gs_fatbin_entry *e, int linked)
{
	return json_pack("{s:s, s:i, s:o, s:s, s:I, s:I, s:b, s:b, s:o, s:o}", "kind",
			 gs_entry_kind_name(e->kind), "raw_kind", (int)e->raw_kind, "arch",
			 arch_name(e), "packing", gs_packing_name(e->packing), "stored",
			 (json_int_t)e->payload.len, "size", (json_int_t)e->size, "relocatable",
			 linked, "debug", e->debug, "source", text_of(e->name), "options",
			 text_of(e->options));
}

static void add_entry(struct inspection *in, json_t *entries, const struct gs_fatbin_entry *e,
		      int linkable, const uint8_t *taken)
{
	struct gs_error err = { "" };
	int linked = linkable ? 1 : gs_fatbin_relocatable(e, &err);
	json_t *entry = describe(e, linked > 0);
	uint8_t *contents = NULL;
	size_t len;

	if (!entry)
		return;
	json_array_append_new(entries, entry);
	if (e->kind == GS_ENTRY_PTX || e->kind == GS_ENTRY_CUBIN) {
		contents = gs_fatbin_unpack(e, &len, &err);
		if (!contents)
			set_error(entry, &err);
		else if (e->kind == GS_ENTRY_PTX)
			add_ptx(in, entry, (char *)contents, strlen((char *)contents), linked > 0,
				!in->sm || e->header.data == taken);
		else if (add_cubin(in, contents, len, json_object_get(entry, "arch"), &err) < 0)
			set_error(entry, &err);
	}
	free(contents);
}

/* On which devices with machine code of their own does the driver keep that? */
static json_t *not_replaced(const struct gs_fatbin *fb)
{
	json_t *list = json_array();
	struct gs_fatbin_choice c;
	struct gs_fatbin_entry e;
	size_t at = 0;

	while (list && gs_fatbin_next(fb, &at, &e, NULL) > 0)
		if (e.kind == GS_ENTRY_CUBIN && gs_fatbin_choose(fb, e.sm, &c, NULL) == 0 &&
		    c.has_ptx && !gs_fatbin_ptx_stands_in(&c))
			json_array_append_new(list, arch_name(&e));
	return list;
}

/* The entry that the shim would transform on the device asked for; NULL: none. */
static const uint8_t *taken(const struct gs_fatbin *fb, uint32_t sm)
{
	struct gs_fatbin_choice c;

	if (!sm || gs_fatbin_choose(fb, sm, &c, NULL) < 0 || c.relocatable ||
	    !gs_fatbin_ptx_stands_in(&c))
		return NULL;
	return c.ptx.header.data;
}

static void add_container(struct inspection *in, const struct gs_fatbin *fb)
{
	struct gs_error err = { "" };
	struct gs_fatbin_entry e;
	json_t *entries = json_array();
	json_t *c =
		json_pack("{s:I, s:b, s:o, s:o}", "bytes", (json_int_t)fb->bytes.len, "relocatable",
			  fb->linkable, "not_replaced", not_replaced(fb), "entries", entries);
	const uint8_t *ptx = taken(fb, in->sm);
	size_t at = 0;
	int rc;

	if (!c)
		return;
	json_array_append_new(in->containers, c);
	while ((rc = gs_fatbin_next(fb, &at, &e, &err)) > 0)
		add_entry(in, entries, &e, fb->linkable, ptx);
	if (rc < 0)
		set_error(c, &err);
}

/* A cubin by itself: its kernels, and no container. */
static int whole_cubin(struct inspection *in, const void *data, size_t len, struct gs_error *err)
{
	struct cubin *c = cubin_open(data, len, err);
	json_t *arch = c ? json_sprintf("sm_%u", cubin_sm(c)) : NULL;
	int rc = arch ? add_cubin(in, data, len, arch, err) : -1;

	json_decref(arch);
	cubin_close(c);
	return rc;
}

static int whole_host(struct inspection *in, const void *data, size_t len, struct gs_error *err)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;
	int rc = gs_host_open(data, len, &w, err);

	while (rc >= 0 && (rc = gs_host_next(&w, &fb, err)) > 0)
		add_container(in, &fb);
	return rc;
}

static int whole_file(struct inspection *in, const void *data, size_t len, struct gs_error *err)
{
	struct gs_fatbin fb;

	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_CUBIN:
		return whole_cubin(in, data, len, err);
	case GS_IMAGE_HOST:
		return whole_host(in, data, len, err);
	case GS_IMAGE_FATBIN:
		if (gs_fatbin_open(data, len, &fb, err) < 0)
			return -1;
		add_container(in, &fb);
		return 0;
	default:
		return gs_fail(err, "neither a program nor a fatbin nor a cubin");
	}
}

static int is_as_is(const json_t *k)
{
	const char *transform = json_string_value(json_object_get(k, "form"));

	return transform && strcmp(transform, ptx_transform_name(PTX_TRANSFORM_AS_IS)) == 0;
}

json_t *gs_inspect(const char *path, const void *data, size_t len, uint32_t sm,
		   struct gs_error *err)
{
	return gs_inspect_transforms(path, data, len, sm, PTX_TRANSFORMS_LAUNCHED, err);
}

json_t *gs_inspect_transforms(const char *path, const void *data, size_t len, uint32_t sm,
			      uint32_t transforms, struct gs_error *err)
{
	struct inspection in = { json_array(), json_object(), sm, transforms };
	json_t *list = json_array(), *report = NULL, *k;
	json_int_t as_is = 0;
	const char *name;
	int rc;

	if (!in.containers || !in.kernels || !list) {
		gs_fail(err, "no memory");
		goto out;
	}
	rc = whole_file(&in, data, len, err);
	if (rc < 0 && !json_array_size(in.containers) && !json_object_size(in.kernels))
		goto out;
	shipped_fold(in.kernels, sm);
	json_object_foreach (in.kernels, name, k) {
		machine_decide(k);
		json_array_append(list, k);
		as_is += is_as_is(k);
	}
	report = json_pack("{s:s, s:s, s:O, s:I, s:I, s:O}", "file", path, "image",
			   gs_image_kind_name(gs_image_kind(data, len)), "containers",
			   in.containers, "kernel_count", (json_int_t)json_array_size(list),
			   "as_is", as_is, "kernels", list);
	if (!report)
		gs_fail(err, "no memory");
	else if (rc < 0)
		set_error(report, err);
out:
	json_decref(in.containers);
	json_decref(in.kernels);
	json_decref(list);
	return report;
}
