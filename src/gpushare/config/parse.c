/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.conf, line by line; see config.h.
 *
 * A # begins a comment at the start of a line or behind white space, so that
 * a value may contain one; a value that was meant to end there then fails its
 * check instead of being cut in silence.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"
#include "common/nvidia.h"
#include "common/read_file.h"
#include "gpushare/config/config.h"
#include "gpushare/config/key.h"
#include "gpushare/config/parse.h"
#include "gpushare/proto/msg.h"

#define LINE_MAX_BYTES 1024
#define FILE_MAX_BYTES (1u << 20)
#define SHARES_DEFAULT 100
/*
 * Under MPS no context is switched: 0.7 us between two processes on an H200,
 * to which the daemon's own way to the client is added.
 */
#define MPS_HANDOVER_NS 5000
/* Longer than block-tasks take: the next one's blocks fill in as the last one's leave. */
#define MPS_LEAD_NS UINT64_C(1000000000)
/* A little is the daemon's own: which GPU, and what to do without a daemon. */
#define ENV_OWN 128
#define ENV_MAX (sizeof(((struct gs_msg_registered *)0)->env) - ENV_OWN)

struct parser {
	struct gs_config *config;
	unsigned char seen[128]; /* by the number of a key or parameter */
};

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static void strip_comment(char *line)
{
	for (char *c = line; *c; c++)
		if (*c == '#' && (c == line || isspace((unsigned char)c[-1]))) {
			*c = '\0';
			return;
		}
}

/* As NVML and nvidia-smi -L write it. */
static int set_uuid(struct gs_config_gpu *gpu, const char *value, struct gs_error *err)
{
	if (gpu->uuid)
		return gs_fail(err, "Uuid is given twice");
	if ((strncmp(value, "GPU-", 4) != 0 && strncmp(value, "MIG-", 4) != 0) ||
	    strlen(value) >= GS_NVIDIA_TEXT_MAX)
		return gs_fail(err,
			       "Uuid: '%.60s' is none: GPU-... or MIG-..., as nvidia-smi -L has it",
			       value);
	gpu->uuid = strdup(value);
	return gpu->uuid ? 0 : gs_fail(err, "no memory");
}

static int set_gpu_field(struct gs_config_gpu *gpu, const char *name, const char *value,
			 struct gs_error *err)
{
	int64_t number;

	if (strcasecmp(name, "Memory") == 0) {
		if (gpu->memory)
			return gs_fail(err, "Memory is given twice");
		return gs_parse_size(value, &gpu->memory, err);
	}
	if (strcasecmp(name, "Shares") == 0) {
		if (gpu->shares)
			return gs_fail(err, "Shares is given twice");
		if (gs_parse_int(value, 1, GS_SHARES_MAX, &number, err) < 0)
			return -1;
		gpu->shares = (uint32_t)number;
		return 0;
	}
	if (strcasecmp(name, "Policy") == 0) {
		if (gpu->policy)
			return gs_fail(err, "Policy is given twice");
		return gs_key_policy(&gpu->policy, value, err);
	}
	if (strcasecmp(name, "Uuid") == 0)
		return set_uuid(gpu, value, err);
	if (strcasecmp(name, "File") != 0)
		return gs_fail(err,
			       "a Gpu line has no '%.40s': Memory, Shares, File, Uuid and Policy",
			       name);
	if (gpu->file)
		return gs_fail(err, "File is given twice");
	if (*value != '/' || strlen(value) > GS_CONFIG_VALUE_MAX)
		return gs_fail(err, "File: '%.60s' is not an absolute path", value);
	gpu->file = strdup(value);
	return gpu->file ? 0 : gs_fail(err, "no memory");
}

/* Gpu=0 Memory=1G [Shares=100] [File=/dev/nvidia0] [Uuid=GPU-...] [Policy=frs] */
static int parse_gpu(struct gs_config *config, char *rest, struct gs_error *err)
{
	struct gs_config_gpu *gpu = &config->gpu[config->ngpu];
	char *name, *value;
	int64_t index;
	int more;

	if (config->ngpu == GS_CONFIG_GPUS_MAX)
		return gs_fail(err, "more than %d GPUs", GS_CONFIG_GPUS_MAX);
	if (gs_parse_pair(&rest, &name, &value, err) < 0 ||
	    gs_parse_int(value, 0, 1023, &index, err) < 0)
		return -1;
	if (gs_config_gpu(config, (uint32_t)index))
		return gs_fail(err, "GPU %d is described twice", (int)index);
	/* From here on gs_config_free() releases what the record owns. */
	config->ngpu++;
	gpu->index = (uint32_t)index;
	while ((more = gs_parse_pair(&rest, &name, &value, err)) > 0)
		if (set_gpu_field(gpu, name, value, err) < 0)
			return -1;
	if (more < 0)
		return -1;
	if (!gpu->memory)
		return gs_fail(err, "GPU %d has no Memory=", (int)index);
	if (!gpu->shares)
		gpu->shares = SHARES_DEFAULT;
	return 0;
}

static int set_node_type_field(struct gs_config_node_type *type, const char *name,
			       const char *value, struct gs_error *err)
{
	if (strcasecmp(name, "Shares") == 0)
		return gs_parse_shares(&type->shares, "Shares", value, err);
	if (strcasecmp(name, "Memory") == 0) {
		if (type->memory)
			return gs_fail(err, "Memory is given twice");
		return gs_parse_size(value, &type->memory, err);
	}
	if (strcasecmp(name, "Nodes") != 0)
		return gs_fail(err, "a NodeType line has no '%.40s': Nodes, Memory and Shares",
			       name);
	if (type->nodes)
		return gs_fail(err, "Nodes is given twice");
	if (!*value)
		return gs_fail(err, "Nodes names no node");
	type->nodes = strdup(value);
	return type->nodes ? 0 : gs_fail(err, "no memory");
}

/* NodeType=h200 Nodes=gpu[01-16] Memory=141G [Shares=100] */
static int parse_node_type(struct gs_config *config, char *rest, struct gs_error *err)
{
	struct gs_config_node_type *type = &config->node_type[config->nnode_type];
	char *name, *value, *own;
	int more;

	if (config->nnode_type == GS_CONFIG_NODE_TYPES_MAX)
		return gs_fail(err, "more than %d node types", GS_CONFIG_NODE_TYPES_MAX);
	if (gs_parse_pair(&rest, &name, &own, err) < 0)
		return -1;
	if (!*own || strlen(own) > GS_CONFIG_VALUE_MAX)
		return gs_fail(err, "'%.70s' is not a node type's name", own);
	for (size_t i = 0; i < config->nnode_type; i++)
		if (strcmp(config->node_type[i].name, own) == 0)
			return gs_fail(err, "node type '%.70s' is described twice", own);
	type->name = strdup(own);
	if (!type->name)
		return gs_fail(err, "no memory");
	/* From here on gs_config_free() releases what the record owns. */
	config->nnode_type++;
	while ((more = gs_parse_pair(&rest, &name, &value, err)) > 0)
		if (set_node_type_field(type, name, value, err) < 0)
			return -1;
	if (more < 0)
		return -1;
	if (!type->nodes || !type->memory)
		return gs_fail(err, "node type '%.70s' has no %s=", type->name,
			       type->nodes ? "Memory" : "Nodes");
	if (!type->shares)
		type->shares = SHARES_DEFAULT;
	return 0;
}

/* JobEnv=NAME=VALUE */
static int parse_env(struct gs_config *config, const char *value, struct gs_error *err)
{
	const char *equals = strchr(value, '=');
	size_t had = strlen(config->job_env), adds = strlen(value);
	char *grown;

	if (!equals || equals == value || isdigit((unsigned char)*value))
		return gs_fail(err, "'%.60s' is not NAME=VALUE", value);
	for (const char *c = value; c < equals; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return gs_fail(err, "'%.60s': a name has letters, digits and _ only",
				       value);
	if (had + adds + 2 > ENV_MAX)
		return gs_fail(err, "the JobEnv lines together exceed %zu bytes", ENV_MAX - 1);
	grown = realloc(config->job_env, had + adds + 2);
	if (!grown)
		return gs_fail(err, "no memory");
	memcpy(grown + had, value, adds);
	memcpy(grown + had + adds, "\n", 2);
	config->job_env = grown;
	return 0;
}

/* One name=value of a list; `text` is cut up. */
static int parse_parameter(struct parser *p, size_t list, char *text, struct gs_error *err)
{
	char *value = strchr(text, '=');
	struct gs_error why;
	int parameter;

	if (!value)
		return gs_fail(err, "'%.60s' is not parameter=value", trim(text));
	*value++ = '\0';
	parameter = gs_key_parameter(list, trim(text));
	if (parameter < 0)
		return gs_fail(err, "unknown parameter '%.60s'", trim(text));
	if (p->seen[parameter])
		return gs_fail(err, "%s is given twice", gs_key_name((size_t)parameter));
	if (gs_key_set(p->config, (size_t)parameter, trim(value), &why) < 0)
		return gs_fail(err, "%s: %.200s", gs_key_name((size_t)parameter), why.text);
	p->seen[parameter] = 1;
	return 0;
}

/* rr_quantum=5ms,quantum_handovers=50; an empty list leaves the defaults. */
static int parse_list(struct parser *p, size_t list, const char *value, struct gs_error *err)
{
	char text[LINE_MAX_BYTES], *rest = text, *one;

	snprintf(text, sizeof(text), "%s", value);
	while (*value && (one = strsep(&rest, ",")))
		if (parse_parameter(p, list, one, err) < 0)
			return -1;
	return 0;
}

static int parse_key(struct parser *p, const char *name, const char *value, struct gs_error *err)
{
	int key = gs_key_find(name);
	struct gs_error why;

	if (key < 0 && gs_key_gone(name))
		return gs_fail(err, "the key %.60s is gone; write instead: %s", name,
			       gs_key_gone(name));
	if (key < 0)
		return gs_fail(err, "unknown key '%.60s'", name);
	if (p->seen[key])
		return gs_fail(err, "%s is given twice", gs_key_name((size_t)key));
	if (gs_key_is_list((size_t)key) ? parse_list(p, (size_t)key, value, &why) < 0 :
					  gs_key_set(p->config, (size_t)key, value, &why) < 0)
		return gs_fail(err, "%s: %.200s", gs_key_name((size_t)key), why.text);
	p->seen[key] = 1;
	return 0;
}

static int parse_line(struct parser *p, char *line, struct gs_error *err)
{
	char *name, *value;

	strip_comment(line);
	name = trim(line);
	if (!*name)
		return 0;
	if (strncasecmp(name, "Gpu=", 4) == 0)
		return parse_gpu(p->config, name, err);
	if (strncasecmp(name, "Class=", 6) == 0)
		return gs_parse_class(p->config, name, err);
	if (strncasecmp(name, "Partition=", 10) == 0)
		return gs_parse_partition(p->config, name, err);
	if (strncasecmp(name, "QOS=", 4) == 0)
		return gs_parse_qos(p->config, name, err);
	if (strncasecmp(name, "NodeType=", 9) == 0)
		return parse_node_type(p->config, name, err);
	value = strchr(name, '=');
	if (!value)
		return gs_fail(err, "'%.60s' is not Key=Value", name);
	*value++ = '\0';
	name = trim(name);
	value = trim(value);
	if (strcasecmp(name, "JobEnv") == 0)
		return parse_env(p->config, value, err);
	return parse_key(p, name, value, err);
}

static int parse_lines(struct parser *p, const char *name, const char *text, size_t len,
		       struct gs_error *err)
{
	const char *end = text + len;
	char line[LINE_MAX_BYTES];
	struct gs_error why;

	for (unsigned number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		if (n >= sizeof(line))
			return gs_fail(err, "%.80s:%u: a line of more than %d bytes", name, number,
				       LINE_MAX_BYTES - 1);
		if (memchr(text, '\0', n))
			return gs_fail(err, "%.80s:%u: a NUL byte", name, number);
		memcpy(line, text, n);
		line[n] = '\0';
		if (parse_line(p, line, &why) < 0)
			return gs_fail(err, "%.80s:%u: %s", name, number, why.text);
		text = eol ? eol + 1 : end;
	}
	return 0;
}

/* The keys and parameters whose defaults depend on other keys. */
static void derive(const struct parser *p)
{
	size_t policy = (size_t)gs_key_find("PolicyParameters");

	p->config->policy_given = p->seen[gs_key_find("Policy")];
	if (p->config->isolation != GS_ISOLATION_MPS)
		return;
	if (!p->seen[gs_key_parameter(policy, "handover")])
		p->config->handover_ns = MPS_HANDOVER_NS;
	if (!p->seen[gs_key_parameter(policy, "handover_lead")])
		p->config->overlap_ns = MPS_LEAD_NS;
}

/* Instances are refused as a whole, or named so that nobody can take one for a GPU. */
static int check_instances(const struct gs_config *config, const char *name, struct gs_error *err)
{
	for (size_t i = 0; i < config->ngpu; i++) {
		const struct gs_config_gpu *gpu = &config->gpu[i];

		if (!gs_config_is_instance(gpu))
			continue;
		if (!config->mig)
			return gs_fail(
				err,
				"%.80s: GPU %u is a MIG instance, and gpushare shares whole GPUs; Mig=unverified takes it, untried",
				name, gpu->index);
		if (!gpu->uuid || strncmp(gpu->uuid, "MIG-", 4) != 0)
			return gs_fail(
				err, "%.80s: GPU %u is a MIG instance: its line needs Uuid=MIG-...",
				name, gpu->index);
	}
	return 0;
}

struct gs_config *gs_config_parse(const char *name, const char *text, size_t len,
				  struct gs_error *err)
{
	struct parser p = { .config = calloc(1, sizeof(*p.config)) };

	_Static_assert(sizeof(p.seen) >= 64, "one byte per key");
	if (!p.config) {
		gs_fail(err, "no memory");
		return NULL;
	}
	p.config->job_env = calloc(1, 1);
	if (!p.config->job_env) {
		gs_fail(err, "no memory");
		goto fail;
	}
	if (gs_key_count() > sizeof(p.seen)) {
		gs_fail(err, "more keys than the parser has room for");
		goto fail;
	}
	if (gs_key_defaults(p.config, err) < 0 || parse_lines(&p, name, text, len, err) < 0)
		goto fail;
	if (p.config->ngpu == 0 && p.config->nnode_type == 0) {
		gs_fail(err, "%.80s:1: no Gpu= line and no NodeType= line", name);
		goto fail;
	}
	if (check_instances(p.config, name, err) < 0)
		goto fail;
	derive(&p);
	return p.config;
fail:
	gs_config_free(p.config);
	return NULL;
}

struct gs_config *gs_config_load(const char *path, struct gs_error *err)
{
	struct gs_config *config;
	size_t n;
	char *text = gs_read_file(path, FILE_MAX_BYTES, &n, err);

	if (!text)
		return NULL;
	config = gs_config_parse(path, text, n, err);
	free(text);
	return config;
}
