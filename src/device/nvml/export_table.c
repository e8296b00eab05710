/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvidia-smi does not take its lists of processes from NVML's public functions, but from a table of
 * others that nvmlInternalGetExportTable() gives it.  Who asks for that table gets a copy in which
 * the three lists are ours.
 *
 * The table is documented nowhere.  What is known of it was seen with the branches of the driver
 * that are named below, and nvidia-smi comes with the driver; so with any other branch the table is
 * passed on as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/nvml/nvml.h"
#include "device/nvml/processes.h"

/* What the driver's version begins with. */
static const char *const known_branches[] = { "580." };

/* The table begins with its size in bytes; the rest are functions, and some places are empty. */
#define TABLE_MAX 65536
#define LISTS(LIST) \
	LIST(compute, 0x6a8) \
	LIST(graphics, 0x6b0) \
	LIST(mps, 0x6b8)
static const unsigned char table_id[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
					    0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };

/* An entry of a list begins with the process's number; its memory and its name are behind that. */
#define ENTRY_SIZE 4128

/* As NVML's public functions: the room at `entries`, and then how many are there. */
typedef int list_fn(void *device, unsigned int *n, void *entries);

NVML_EXPORT int nvmlInternalGetExportTable(const void **table, const void *id);

/* The driver's table and our copy of it; made once, as the table is always the same. */
struct tables {
	const char *theirs;
	char ours[];
};
static struct tables *tables;

/* The driver's function at that place of its table. */
static list_fn *of_driver(unsigned int at)
{
	void *fn;

	memcpy(&fn, __atomic_load_n(&tables, __ATOMIC_ACQUIRE)->theirs + at, sizeof(fn));
	return (list_fn *)(uintptr_t)fn;
}

static int get_from_table(const struct nvml_list *list, unsigned int *n, void *entries)
{
	return of_driver(list->fn)(list->device, n, entries);
}

#define LIST(name, place) \
	static int name(void *device, unsigned int *n, void *entries) \
	{ \
		const struct nvml_list list = { \
			get_from_table, place, ENTRY_SIZE, 0, device, NULL \
		}; \
\
		return nvml_list_own(&list, n, entries); \
	}
LISTS(LIST)
#undef LIST

static int is_known_branch(void)
{
	typedef int get(char *version, unsigned int size);
	char version[80] = "";

	if (NVML_REAL(get *, nvmlSystemGetDriverVersion)(version, sizeof(version)) != NVML_SUCCESS)
		return 0;
	for (size_t i = 0; i < sizeof(known_branches) / sizeof(known_branches[0]); i++)
		if (strncmp(version, known_branches[i], strlen(known_branches[i])) == 0)
			return 1;
	return 0;
}

/* Where the table has a function at that place. */
static void put(char *table, size_t size, size_t at, list_fn *fn)
{
	void *now, *then = (void *)(uintptr_t)fn;

	if (at + sizeof(now) > size)
		return;
	memcpy(&now, table + at, sizeof(now));
	if (now)
		memcpy(table + at, &then, sizeof(then));
}

/* NULL: the driver has another table, or there is no memory. */
static struct tables *tables_of(const char *theirs)
{
	struct tables *new;
	size_t size;

	if (!is_known_branch())
		return NULL;
	memcpy(&size, theirs, sizeof(size));
	new = size >= sizeof(size) && size <= TABLE_MAX ? malloc(sizeof(*new) + size) : NULL;
	if (!new)
		return NULL;
	new->theirs = theirs;
	memcpy(new->ours, theirs, size);
#define LIST(name, place) put(new->ours, size, place, name);
	LISTS(LIST)
#undef LIST
	return new;
}

int nvmlInternalGetExportTable(const void **table, const void *id)
{
	typedef int get(const void **table, const void *id);
	int rc = NVML_REAL(get *, nvmlInternalGetExportTable)(table, id);
	struct tables *made, *none = NULL;

	if (rc != NVML_SUCCESS || memcmp(id, table_id, sizeof(table_id)) != 0)
		return rc;
	if (!__atomic_load_n(&tables, __ATOMIC_ACQUIRE)) {
		made = tables_of(*table);
		if (!__atomic_compare_exchange_n(&tables, &none, made, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			free(made);
	}
	made = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
	if (made && made->theirs == *table)
		*table = made->ours;
	return rc;
}
