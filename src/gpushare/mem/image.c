/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled files; see image.h. */
#define _GNU_SOURCE
#include "gpushare/mem/image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/fatbin/objects.h"
#include "device/fatbin/variables.h"

#define TEXT_SEARCHED 4096 /* a NUL in so many bytes: no text */

static int add(struct mem_estimate *e, const char *path, const char *what, const char *text,
	       uint64_t bytes, const char *why)
{
	struct mem_allocation *grown = realloc(e->allocation, (e->n + 1) * sizeof(*grown)), *a;
	uint64_t total = 0;

	if (!grown)
		return -1;
	e->allocation = grown;
	a = &grown[e->n++];
	memset(a, 0, sizeof(*a));
	a->file = path;
	a->times = 1;
	a->bytes = bytes;
	snprintf(a->call, sizeof(a->call), "%s", what);
	snprintf(a->text, sizeof(a->text), "%s", text);
	if (!why && __builtin_add_overflow(e->total, bytes, &total))
		why = "more than any device has";
	else if (!why)
		e->total = total;
	a->known = !why;
	snprintf(a->why, sizeof(a->why), "%s", why ? why : "");
	e->unknown += !a->known;
	return 0;
}

/* Which of a container's entries is loaded depends on the device: the largest is the one to reckon
 * with. */
static int add_container(struct mem_estimate *e, const char *path, const struct gs_fatbin *fb)
{
	uint64_t most = 0, bytes;
	const char *why = NULL;
	struct gs_fatbin_entry entry;
	struct gs_error err;
	size_t at = 0;
	int rc;

	while ((rc = gs_fatbin_next(fb, &at, &entry, &err)) > 0) {
		if (entry.kind != GS_ENTRY_PTX && entry.kind != GS_ENTRY_CUBIN)
			why = "it is linked at run time";
		else if (gs_entry_variables(&entry, &bytes, &err) < 0)
			why = "an entry of it is corrupt";
		else if (bytes > most)
			most = bytes;
	}
	if (rc < 0)
		why = "it is corrupt";
	return add(e, path, "module", "its variables", most, why);
}

static int add_program(struct mem_estimate *e, const char *path, const void *data, size_t len)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;
	struct gs_error err;
	int rc = gs_host_open(data, len, &w, &err);

	while (rc >= 0 && (rc = gs_host_next(&w, &fb, &err)) > 0)
		if (add_container(e, path, &fb) < 0)
			return -1;
	if (rc < 0 && add(e, path, "modules", "their variables", 0, "it is corrupt") < 0)
		return -1;
	return add(e, path, "program", "what it allocates", 0,
		   "compiled; an earlier run tells, or its source");
}

/* Past white space and comments: CUDA C may begin with these, too, but not with a .version. */
static int is_ptx(const char *p, const char *end)
{
	while (p < end) {
		if (strchr(" \t\r\n", *p)) {
			p++;
		} else if (end - p > 1 && p[0] == '/' && p[1] == '/') {
			p = memchr(p, '\n', (size_t)(end - p));
			p = p ? p : end;
		} else if (end - p > 1 && p[0] == '/' && p[1] == '*') {
			p = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
			p = p ? p + 2 : end;
		} else {
			return end - p > 8 && strncmp(p, ".version", 8) == 0;
		}
	}
	return 0;
}

static int take(struct mem_estimate *e, const char *path, const char *data, size_t len)
{
	struct gs_fatbin fb;
	int rc;

	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_FATBIN:
		if (gs_fatbin_open(data, len, &fb, NULL) < 0)
			rc = add(e, path, "module", "its variables", 0, "it is corrupt");
		else
			rc = add_container(e, path, &fb);
		break;
	case GS_IMAGE_CUBIN:
		rc = add(e, path, "module", "its variables", gs_cubin_variables(data, len, 0),
			 NULL);
		break;
	case GS_IMAGE_HOST:
		rc = add_program(e, path, data, len);
		break;
	default:
		if (is_ptx(data, data + len))
			rc = add(e, path, "module", "its variables", gs_ptx_variables(data, len),
				 NULL);
		else if (memchr(data, 0, len < TEXT_SEARCHED ? len : TEXT_SEARCHED))
			rc = add(e, path, "file", "what it is", 0,
				 "neither source nor a program nor a module");
		else
			return 0;
	}
	return rc < 0 ? -1 : 1;
}

int mem_image(const char *path, struct mem_estimate *e, struct gs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	struct stat st;
	void *data;

	if (fd < 0)
		return gs_fail_errno(err, "cannot read %s", path);
	/* What is no file of its own, a pipe, is read as source. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			rc = gs_fail_errno(err, "cannot read %s", path);
		} else {
			rc = take(e, path, data, (size_t)st.st_size);
			if (rc < 0)
				gs_fail(err, "no memory");
			munmap(data, (size_t)st.st_size);
		}
	}
	close(fd);
	return rc;
}
