/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One shared record per GPU; see records.h.
 *
 * GRES_CONF_SHARED makes slurmctld treat a record's count as shares of the
 * device in its File and keep each job on one device.  Slurm itself sets it
 * for gres/mps and gres/shard only, by name, but takes it from any record
 * that slurmd reports.  Two conditions follow from its gres.c: a record
 * without cores or type does not count as a device (_get_tot_gres_cnt), and
 * whole-GPU jobs keep off shared GPUs only if the records of gres/gpu and of
 * gres/gpushare stand for the same devices in the same order.
 */
#define _GNU_SOURCE
#include "plugins/gres/records.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "gpushare/config/config.h"
#include "plugins/gres/cores.h"

#define GPUS_MAX 64

/* The list, taken apart. */
struct parts {
	gs_list gpus, ours, others;
	gres_slurmd_conf_t *gpu[GPUS_MAX]; /* those in `gpus`, in order */
	uint64_t shares[GPUS_MAX];
	unsigned ngpu;
};

static gres_slurmd_conf_t *copy_record(const gres_slurmd_conf_t *from, const char *name,
				       const char *file)
{
	gres_slurmd_conf_t *r = xmalloc(sizeof(*r));

	r->config_flags = from->config_flags | (from->type_name ? GRES_CONF_HAS_TYPE : 0);
	r->count = 1;
	r->cpu_cnt = from->cpu_cnt;
	r->cpus = xstrdup(from->cpus);
	if (from->cpus_bitmap)
		r->cpus_bitmap = bit_copy(from->cpus_bitmap);
	r->file = xstrdup(file);
	r->links = xstrdup(from->links);
	r->name = xstrdup(name);
	r->type_name = xstrdup(from->type_name);
	r->unique_id = xstrdup(from->unique_id);
	r->plugin_id = gres_build_id(r->name);
	return r;
}

static int add_gpu(struct parts *p, gres_slurmd_conf_t *gpu)
{
	list_append(p->gpus, gpu);
	if (p->ngpu == GPUS_MAX) {
		error("gpushare: more than %d GPUs", GPUS_MAX);
		return SLURM_ERROR;
	}
	p->gpu[p->ngpu++] = gpu;
	return SLURM_SUCCESS;
}

/* "File=/dev/nvidia[0-3]" is four GPUs; MultipleFiles are one. */
static int add_gpus(struct parts *p, const gres_slurmd_conf_t *record)
{
	gs_hostlist files;
	char *file;
	int rc = SLURM_SUCCESS;

	if (record->config_flags & GRES_CONF_HAS_MULT)
		return add_gpu(p, copy_record(record, record->name, record->file));
	files = hostlist_create(record->file);
	while (files && (file = hostlist_shift(files))) {
		if (rc == SLURM_SUCCESS)
			rc = add_gpu(p, copy_record(record, record->name, file));
		free(file);
	}
	if (files)
		hostlist_destroy(files);
	return rc;
}

static int take_apart(gs_list conf_list, struct parts *p)
{
	gres_slurmd_conf_t *r;
	int rc = SLURM_SUCCESS;

	p->gpus = list_create(destroy_gres_slurmd_conf);
	p->ours = list_create(destroy_gres_slurmd_conf);
	p->others = list_create(destroy_gres_slurmd_conf);
	while ((r = list_pop(conf_list))) {
		if (strcmp(r->name, GS_GRES_NAME) == 0) {
			list_append(p->ours, r);
		} else if (strcmp(r->name, "gpu") == 0 && r->file) {
			if (rc == SLURM_SUCCESS)
				rc = add_gpus(p, r);
			destroy_gres_slurmd_conf(r);
		} else {
			list_append(p->others, r);
		}
	}
	return rc;
}

static int same_type(const char *wanted, const char *type)
{
	return !wanted || (type && strcasecmp(wanted, type) == 0);
}

/* Divide one of our records' shares among the GPUs of its type. */
static int divide(void *x, void *arg)
{
	const gres_slurmd_conf_t *r = x;
	struct parts *p = arg;
	uint64_t left = r->count;
	unsigned n = 0;

	for (unsigned i = 0; i < p->ngpu; i++)
		n += (unsigned)same_type(r->type_name, p->gpu[i]->type_name);
	if (!n) {
		error("gpushare: the node has no GPU of type %s", r->type_name);
		return -1;
	}
	for (unsigned i = 0; i < p->ngpu; i++)
		if (same_type(r->type_name, p->gpu[i]->type_name)) {
			uint64_t part = left / n--;

			p->shares[i] += part;
			left -= part;
		}
	return 0;
}

static int has_shares(void *x, void *arg)
{
	const gres_slurmd_conf_t *r = x;

	(void)arg;
	return r->count ? -1 : 0;
}

/* Mig=unverified of gpushare.conf; without a file that can be read it is no. */
static int instances_may_be(void)
{
	char *path = get_extra_conf_path("gpushare.conf");
	struct gs_error err;
	struct gs_config *config = gs_config_load(path, &err);
	int may = config && config->mig;

	xfree(path);
	gs_config_free(config);
	return may;
}

/* Shares are of whole GPUs: an instance has no number that CUDA programs know it by. */
static int refuse_instances(const struct parts *p)
{
	for (unsigned i = 0; i < p->ngpu; i++) {
		const gres_slurmd_conf_t *r = p->gpu[i];

		if (!(r->unique_id && strncmp(r->unique_id, "MIG-", 4) == 0) &&
		    !strstr(r->file, "nvidia-cap"))
			continue;
		if (instances_may_be())
			return SLURM_SUCCESS;
		error("gpushare: the GPU at %s is a MIG instance, and shares are of whole GPUs: switch MIG mode off on this node, or give it no Gres=gpushare; Mig=unverified in gpushare.conf takes instances, untried",
		      r->file);
		return SLURM_ERROR;
	}
	return SLURM_SUCCESS;
}

static int divide_all(struct parts *p)
{
	if (refuse_instances(p) != SLURM_SUCCESS)
		return SLURM_ERROR;
	if (list_for_each (p->ours, divide, p) < 0)
		return SLURM_ERROR;
	for (unsigned i = 0; i < p->ngpu; i++)
		if (!p->shares[i]) {
			error("gpushare: the GPU at %s would have no shares; every GPU of a node has some",
			      p->gpu[i]->file);
			return SLURM_ERROR;
		}
	return SLURM_SUCCESS;
}

static void put_together(gs_list conf_list, struct parts *p, int with_shares,
			 const node_config_load_t *node)
{
	gres_slurmd_conf_t *r, *shared;
	unsigned i = 0;

	while ((r = list_pop(p->others)))
		list_append(conf_list, r);
	while ((r = list_pop(p->gpus))) {
		if (!r->cpus)
			r->cpus = gs_cores_near(r->file, node);
		list_append(conf_list, r);
		if (!with_shares)
			continue;
		shared = copy_record(r, GS_GRES_NAME, r->file);
		shared->config_flags |= GRES_CONF_SHARED | GRES_CONF_HAS_FILE;
		xfree(shared->links); /* they are the whole GPU's */
		shared->count = p->shares[i++];
		list_append(conf_list, shared);
	}
}

/* Without GPUs of gres/gpu: as it was, unless slurmctld takes our shares for a device's. */
static int keep(gs_list conf_list, struct parts *p)
{
	int rc = SLURM_SUCCESS;
	gres_slurmd_conf_t *r;

	if (list_for_each (p->ours, has_shares, NULL) < 0 && gs_gres_types_have_gpu()) {
		error("gpushare: GresTypes has gpu, so a node with Gres=gpushare needs its GPUs in "
		      "gres/gpu as well, with File= in gres.conf");
		rc = SLURM_ERROR;
	}
	while ((r = list_pop(p->others)))
		list_append(conf_list, r);
	while (rc == SLURM_SUCCESS && (r = list_pop(p->ours)))
		list_append(conf_list, r);
	return rc;
}

int gs_records_divide(gs_list conf_list, const node_config_load_t *node)
{
	struct parts p = { 0 };
	int rc = take_apart(conf_list, &p);

	if (rc == SLURM_SUCCESS && !p.ngpu) {
		rc = keep(conf_list, &p);
	} else {
		int shares = list_for_each (p.ours, has_shares, NULL) < 0;

		if (rc == SLURM_SUCCESS && shares)
			rc = divide_all(&p);
		put_together(conf_list, &p, shares && rc == SLURM_SUCCESS, node);
	}
	list_destroy(p.gpus);
	list_destroy(p.ours);
	list_destroy(p.others);
	return rc;
}
