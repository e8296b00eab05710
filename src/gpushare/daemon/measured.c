/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping what was measured across restarts; see measured.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/measured.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/daemon/own_file.h"

/* What lies outside of this was something else, */
#define LEAST_NS 500
#define MOST_NS (20.0 * GS_NS_PER_MS)
/* so was what is so many times more or less than Handover=. */
#define RANGE 16

#define HEADER "gpushare handover 1 "
#define LINE_ROOM 4096
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static void file_path(const struct gs_daemon *d, char *path, size_t size)
{
	snprintf(path, size, "%s.handover", d->config->socket);
}

/* Another boot may have another driver, or another GPU in the same place. */
static void header(char *text, size_t size)
{
	char boot[64] = "";
	FILE *f = fopen(BOOT_ID, "re");

	if (f && !fgets(boot, sizeof(boot), f))
		boot[0] = '\0';
	if (f)
		fclose(f);
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(text, size, HEADER "%s", boot);
}

/* What the cost is a fact of. */
static void name_of(const struct gs_daemon *d, const struct gs_device *device, char *text, size_t size)
{
	const struct gs_config *c = d->config;

	snprintf(text, size, "%u %s %s %s", device->index, gs_isolation_name(c->isolation),
		 *device->uuid ? device->uuid : "-", *c->driver ? c->driver : "-");
}

int gs_measured_believed(const struct gs_config *c, double ns)
{
	double expected = (double)c->handover_ns;

	if (ns < LEAST_NS || ns > MOST_NS)
		return 0;
	return !c->handover_ns || (ns >= expected / RANGE && ns <= expected * RANGE);
}

static void load_line(struct gs_daemon *d, const char *line)
{
	char name[LINE_ROOM];
	uint64_t ns = 0;
	int at = 0;

	if (sscanf(line, "%" SCNu64 " %n", &ns, &at) != 1 || !gs_measured_believed(d->config, (double)ns))
		return;
	for (size_t i = 0; i < d->ndevice; i++) {
		name_of(d, &d->device[i], name, sizeof(name));
		if (strcmp(line + at, name) == 0)
			d->device[i].handover_ns = ns;
	}
}

void gs_measured_load(struct gs_daemon *d)
{
	char path[512], line[LINE_ROOM], first[128];
	FILE *f;

	file_path(d, path, sizeof(path));
	f = gs_own_file_open(path);
	if (!f)
		return;
	header(first, sizeof(first));
	for (int i = 0; fgets(line, sizeof(line), f); i++) {
		line[strcspn(line, "\n")] = '\0';
		if (i > 0)
			load_line(d, line);
		else if (strcmp(line, first) != 0)
			break;
	}
	fclose(f);
}

void gs_measured_save(struct gs_daemon *d)
{
	char path[512], text[LINE_ROOM];
	FILE *f;

	file_path(d, path, sizeof(path));
	f = gs_own_file_begin(path);
	if (!f)
		return;
	header(text, sizeof(text));
	fprintf(f, "%s\n", text);
	for (size_t i = 0; i < d->ndevice; i++)
		if (d->device[i].handover_ns) {
			name_of(d, &d->device[i], text, sizeof(text));
			fprintf(f, "%" PRIu64 " %s\n", d->device[i].handover_ns, text);
		}
	gs_own_file_end(f, path, ferror(f));
}
