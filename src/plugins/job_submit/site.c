/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's partitions and nodes, and gpushare.conf; see site.h. */
#define _GNU_SOURCE
#define GS_IN_SLURMCTLD
#include "plugins/gs_slurm_compat.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/job_submit/site.h"

static struct {
	struct gs_config *config;
	struct timespec mtime;
	off_t size;
	ino_t inode;
	int known; /* mtime, size and inode are those of a file that was looked at */
} last;

void gs_site_fini(void)
{
	gs_config_free(last.config);
	last.config = NULL;
	last.known = 0;
}

static int changed(const struct stat *st)
{
	return !last.known || st->st_mtim.tv_sec != last.mtime.tv_sec ||
	       st->st_mtim.tv_nsec != last.mtime.tv_nsec || st->st_size != last.size ||
	       st->st_ino != last.inode;
}

/* Read the file anew; a bad one is said once and leaves the last good one. */
static void reload(const char *path, const struct stat *st, struct gs_error *err)
{
	struct gs_config *fresh = gs_config_load(path, err);

	if (fresh) {
		gs_config_free(last.config);
		last.config = fresh;
	} else {
		error("gpushare: %s%s", err->text,
		      last.config ? "; the configuration before it stays in force" : "");
	}
	/* A file that cannot be read is tried again each time until it can be. */
	last.known = fresh || last.config;
	last.mtime = st->st_mtim;
	last.size = st->st_size;
	last.inode = st->st_ino;
}

int gs_site_config(const struct gs_config **config, struct gs_error *err)
{
	char *path = get_extra_conf_path("gpushare.conf");
	struct stat st;
	int rc = 0;

	*config = NULL;
	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			rc = gs_fail_errno(err, "%.120s", path);
		else
			gs_site_fini();
	} else {
		if (changed(&st))
			reload(path, &st, err);
		*config = last.config;
		rc = last.config ? 0 : -1;
	}
	xfree(path);
	return rc;
}

/* Does one of the hosts of `some` belong to one of the partitions?  Those that do go into `which`,
 * if given. */
static int within(const char *some, const struct gs_site *site, gs_hostlist which)
{
	gs_hostlist hosts = hostlist_create(some);
	int found = 0;
	char *host;

	while (hosts && (host = hostlist_shift(hosts))) {
		int member = 0;

		for (size_t i = 0; i < site->npartition && !member; i++)
			member = gs_partition_has(site->partition[i].name, host);
		if (member && which)
			hostlist_push_host(which, host);
		free(host);
		found |= member;
		if (found && !which)
			break;
	}
	if (hosts)
		hostlist_destroy(hosts);
	return found;
}

static void add_kind(struct gs_site *site, const char *name, uint64_t memory, uint32_t shares)
{
	site->kind[site->nkind++] = (struct gs_gpu_kind) {
		.name = name,
		.memory = memory,
		.shares = shares,
	};
}

static void list_types(struct gs_site *site)
{
	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = node_record_table_ptr[i];

		if (node && node->config_ptr)
			gs_gres_types(node->config_ptr->gres, site->types, sizeof(site->types));
	}
	site->types_known = node_record_count > 0;
}

static int is_named(const struct gs_site *site, const char *name)
{
	for (size_t i = 0; i < site->npartition; i++)
		if (strcmp(site->partition[i].name, name) == 0)
			return 1;
	return 0;
}

void gs_site_describe(const struct gs_config *config, char *partitions, struct gs_site *site)
{
	char *name = partitions, *rest = partitions;

	*site = (struct gs_site) { 0 };
	list_types(site);
	if (!partitions)
		name = gs_default_partition();
	else
		name = strsep(&rest, ",");
	for (; name; name = partitions ? strsep(&rest, ",") : NULL) {
		if (is_named(site, name))
			continue;
		if (site->npartition == GS_REQUEST_PARTITIONS_MAX) {
			site->more_partitions = 1;
			break;
		}
		site->partition[site->npartition].name = name;
		if (config)
			site->partition[site->npartition].limits =
				gs_config_partition(config, name);
		site->npartition++;
	}
	if (!config)
		return;
	site->queue_on_node = config->memory_on_node;
	for (size_t i = 0; i < config->nnode_type; i++)
		if (within(config->node_type[i].nodes, site, NULL))
			add_kind(site, config->node_type[i].name, config->node_type[i].memory,
				 config->node_type[i].shares);
	/* Without node types all nodes are taken to be like the one that this file describes. */
	for (size_t i = 0; !config->nnode_type && i < config->ngpu; i++)
		add_kind(site, NULL, config->gpu[i].memory, config->gpu[i].shares);
}

static const struct gs_gpu_kind *kind_named(const struct gs_site *site, const char *name)
{
	for (size_t i = 0; i < site->nkind; i++)
		if (site->kind[i].name && strcmp(site->kind[i].name, name) == 0)
			return &site->kind[i];
	return NULL;
}

char *gs_site_too_small(const struct gs_config *config, const struct gs_site *site)
{
	gs_hostlist hosts = hostlist_create(NULL);
	char *text = NULL;

	for (size_t i = 0; hosts && config && i < config->nnode_type; i++) {
		const struct gs_gpu_kind *kind = kind_named(site, config->node_type[i].name);

		if (kind && kind->too_small)
			within(config->node_type[i].nodes, site, hosts);
	}
	if (hosts && hostlist_count(hosts) > 0)
		text = hostlist_ranged_string_xmalloc(hosts);
	if (hosts)
		hostlist_destroy(hosts);
	return text;
}
