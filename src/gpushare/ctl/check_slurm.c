/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's configuration files as gpushare needs them; see findings.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config.h"

/* This node's name in Slurm. */
static const char *node_name(const struct gs_check *c, char *host, size_t size)
{
	if (c->config && *c->config->node_name)
		return c->config->node_name;
	gethostname(host, size - 1);
	host[size - 1] = '\0';
	host[strcspn(host, ".")] = '\0';
	return host;
}

/* Is the number of so many digits in "01-16,20"? Slurm pads numbers with zeros to the width of the
 * range's first one; one that is longer has no leading zero. */
static int in_ranges(const char *range, const char *digits, size_t length)
{
	unsigned long number = strtoul(digits, NULL, 10);

	for (;;) {
		char *end;
		unsigned long from = strtoul(range, &end, 10);
		size_t width = (size_t)(end - range);
		unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;

		if (number >= from && number <= to &&
		    (length == width || (length > width && *digits != '0')))
			return 1;
		if (*end != ',')
			return 0;
		range = end + 1;
	}
}

/* Does "n[01-16,20]-a", of n characters, name the host? */
static int word_names_host(const char *word, size_t n, const char *host)
{
	const char *open = memchr(word, '[', n), *close = memchr(word, ']', n), *digits;
	size_t length, rest;

	if (!open || !close || close < open)
		return strlen(host) == n && strncmp(word, host, n) == 0;
	if (strncmp(word, host, (size_t)(open - word)) != 0)
		return 0;
	digits = host + (open - word);
	length = strspn(digits, "0123456789");
	rest = n - (size_t)(close + 1 - word);
	return length && strlen(digits + length) == rest &&
	       strncmp(close + 1, digits + length, rest) == 0 &&
	       in_ranges(open + 1, digits, length);
}

/* Does "n[01-16,20],x" name the host?  Lists of numbers in one pair of brackets per word, Slurm's
 * usual form. */
static int names_host(const char *list, const char *host)
{
	while (*list) {
		size_t n = 0;
		int depth = 0;

		for (; list[n] && (depth || list[n] != ','); n++)
			depth += (list[n] == '[') - (list[n] == ']');
		if (word_names_host(list, n, host))
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}

/* The NodeName line of this node. */
static const char *node_line(const struct gs_check *c, const char *host)
{
	const char *line, *found = NULL;

	for (size_t i = 0; (line = gs_slurm_conf_line(c->slurm, i)); i++) {
		char *names = gs_slurm_line_value(line, "NodeName");

		if (names && strncasecmp(line, "NodeName=", 9) == 0 && names_host(names, host))
			found = line;
		free(names);
	}
	return found;
}

/* The count of gpushare in "gpu:a100:2,gpushare:a100:100,gpushare:h100:100"; all types together. */
static uint64_t count_of(const char *gres, const char *name)
{
	size_t length = strlen(name);
	uint64_t sum = 0;

	while (gres && *gres) {
		size_t n = strcspn(gres, ",");

		if (n >= length && strncmp(gres, name, length) == 0 && strchr(":,", gres[length])) {
			const char *last = memrchr(gres, ':', n);

			sum += last ? strtoull(last + 1, NULL, 10) : 1;
		}
		gres += n + (gres[n] == ',');
	}
	return sum;
}

static void check_node_line(struct gs_check *c)
{
	char host[256], *gres;
	const char *name = node_name(c, host, sizeof(host));
	const char *line = node_line(c, name);
	uint64_t shares = 0, counted;

	if (!c->config || !c->config->ngpu)
		return;
	if (!line) {
		gs_check_add(c, GS_WRONG, "node",
			     "add the node, or set NodeName in gpushare.conf to its name in Slurm",
			     "%s has no NodeName line for %s", c->slurm_conf_path, name);
		return;
	}
	gres = gs_slurm_line_value(line, "Gres");
	counted = count_of(gres, "gpushare");
	for (size_t i = 0; i < c->config->ngpu; i++)
		shares += c->config->gpu[i].shares;
	if (!counted)
		gs_check_add(
			c, GS_WRONG, "node",
			"add gpushare:N to its Gres, 100 for each GPU, then restart slurmctld and slurmd",
			"%s: node %s has Gres=%s", c->slurm_conf_path, name,
			gres ? gres : "(none)");
	else if (counted != shares)
		gs_check_add(c, GS_WRONG, "node",
			     "make Gres=gpushare: and the Shares= of the Gpu lines agree",
			     "node %s has gpushare:%" PRIu64 " in Slurm, %" PRIu64 " shares in %s",
			     name, counted, shares, c->config_path);
	else
		gs_check_add(c, GS_GOOD, "node", NULL, "%s has Gres=%s", name, gres);
	if (c->config->ngpu > 1 && count_of(gres, "gpu") != c->config->ngpu)
		gs_check_add(c, GS_WRONG, "node",
			     "with several GPUs gres/gpu must name them: Gres=gpu:N,gpushare:...",
			     "node %s has %" PRIu64 " of gres/gpu and %zu GPUs in %s", name,
			     count_of(gres, "gpu"), c->config->ngpu, c->config_path);
	if (count_of(gres, "mps") || count_of(gres, "shard"))
		gs_check_add(
			c, GS_WRONG, "node", "leave one of them",
			"node %s has gpushare beside mps or shard: Slurm lets only one share a node's GPUs",
			name);
	free(gres);
}

/* What a line says of a partition that there is not holds for nobody, and nobody hears of it. */
static void check_partitions(struct gs_check *c)
{
	size_t n = c->config ? c->config->npartition : 0, good = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = c->config->partition[i].name;

		if (gs_slurm_conf_has_partition(c->slurm, name))
			good++;
		else
			gs_check_add(
				c, GS_WRONG, "partitions",
				"write the name as slurm.conf has it, or take the line out",
				"%s has Partition=%s, and %s no such partition: the line holds for nobody",
				c->config_path, name, c->slurm_conf_path);
	}
	if (n && good == n)
		gs_check_add(c, GS_GOOD, "partitions", NULL,
			     "Slurm has each partition that %s names", c->config_path);
}

static void check_types(struct gs_check *c)
{
	char *types = gs_slurm_conf_value(c->slurm, "GresTypes");
	const char *gpu = types ? strstr(types, "gpu") : NULL;

	if (!gs_word_in_list(types, "gpushare"))
		gs_check_add(c, GS_WRONG, "slurm.conf",
			     "add gpushare to GresTypes, then restart slurmctld and slurmd",
			     "GresTypes=%s", types ? types : "(none)");
	else if (gs_word_in_list(types, "gpu") && gpu == strstr(types, "gpushare"))
		gs_check_add(c, GS_WRONG, "slurm.conf", "write gpu before gpushare in GresTypes",
			     "GresTypes=%s", types);
	else
		gs_check_add(c, GS_GOOD, "slurm.conf", NULL, "GresTypes=%s", types);
	free(types);
}

/* It lets Slurm put a job's shares together from several GPUs of a node. */
static void check_select(struct gs_check *c)
{
	char *parameters = gs_slurm_conf_value(c->slurm, "SelectTypeParameters");

	if (parameters && strcasestr(parameters, "MULTIPLE_SHARING_GRES_PJ"))
		gs_check_add(
			c, GS_WRONG, "slurm.conf",
			"leave MULTIPLE_SHARING_GRES_PJ out, then restart slurmctld",
			"SelectTypeParameters=%s: jobs start with shares of several GPUs of a node and fail",
			parameters);
	free(parameters);
}

/* What gpushare needs to work as documented; without it, it still runs. */
static void check_advice(struct gs_check *c)
{
	char *submit = gs_slurm_conf_value(c->slurm, "JobSubmitPlugins");
	char *track = gs_slurm_conf_value(c->slurm, "ProctrackType");
	char *types = gs_slurm_conf_value(c->slurm, "GresTypes");
	char *prep = gs_slurm_conf_value(c->slurm, "PrEpPlugins");
	char *task = gs_slurm_conf_value(c->slurm, "TaskPlugin");

	if (!gs_word_in_list(submit, "gpushare") && !gs_word_in_list(submit, "job_submit/gpushare"))
		gs_check_add(
			c, GS_DOUBT, "slurm.conf", "JobSubmitPlugins=gpushare",
			"without job_submit/gpushare there are no limits of partitions, and bad requests fail late");
	if (track && strcmp(track, "proctrack/cgroup") != 0)
		gs_check_add(
			c, GS_DOUBT, "slurm.conf", "ProctrackType=proctrack/cgroup",
			"with ProctrackType=%s a program that becomes a daemon is no step's, and gets nothing of the GPU",
			track);
	/* Several GPUs: slurmctld must know before it recovers jobs. */
	if (gs_word_in_list(types, "gpu") && !gs_word_in_list(prep, "gpushare") &&
	    !gs_word_in_list(prep, "prep/gpushare"))
		gs_check_add(
			c, GS_WRONG, "slurm.conf", "PrEpPlugins=prep/script,prep/gpushare",
			"without prep/gpushare a restart of slurmctld ends running jobs with shares");
#ifdef HAVE_SLURM_SUSPEND_HOOK
	if (c->config && c->config->suspend_memory && !gs_word_in_list(task, "gpushare") &&
	    !gs_word_in_list(task, "task/gpushare"))
		gs_check_add(
			c, GS_DOUBT, "slurm.conf", "add task/gpushare to TaskPlugin",
			"SuspendMemory=checkpoint without task/gpushare: the programs of a suspended job go on until their memory is on the host");
#endif
	free(task);
	free(submit);
	free(track);
	free(types);
	free(prep);
}

static void check_gres_conf(struct gs_check *c)
{
	char *path = gs_beside(c->slurm_conf_path, "gres.conf");
	struct gs_slurm_conf *gres;
	struct gs_error err;
	const char *line;

	if (!path || access(path, F_OK) < 0) {
		free(path);
		return;
	}
	gres = gs_slurm_conf_load(path, &err);
	if (!gres)
		gs_check_add(c, GS_WRONG, "gres.conf", "make it readable", "%s", err.text);
	for (size_t i = 0; gres && (line = gs_slurm_conf_line(gres, i)); i++) {
		char *name = gs_slurm_line_value(line, "Name"),
		     *file = gs_slurm_line_value(line, "File");

		if (name && strcmp(name, "gpushare") == 0 && file)
			gs_check_add(
				c, GS_WRONG, "gres.conf", "remove File= from the line of gpushare",
				"%s: gpushare has File=%s; its devices are in gpushare.conf and gres/gpu's lines",
				path, file);
		free(name);
		free(file);
	}
	gs_slurm_conf_free(gres);
	free(path);
}

/* The words of the plugin's line against the daemon's configuration. */
static void check_spank_line(struct gs_check *c, const char *file, const char *line)
{
	char *socket = gs_slurm_line_value(line, "socket");
	char *munge = gs_slurm_line_value(line, "munge_socket");
	const char *ours = c->config ? c->config->socket : NULL;

	if (ours && strcmp(socket ? socket : "/run/gpushare/gpushared.sock", ours) != 0 &&
	    !(socket && strchr(socket, '%')))
		gs_check_add(c, GS_WRONG, "plugstack", "make them the same",
			     "%s says socket=%s, %s says Socket=%s", file,
			     socket ? socket : "(default)", c->config_path, ours);
	if (c->config && strcmp(munge ? munge : "", c->config->munge_socket) != 0)
		gs_check_add(c, GS_DOUBT, "plugstack", "make them the same",
			     "%s says munge_socket=%s, %s says MungeSocket=%s", file,
			     munge ? munge : "(default)", c->config_path,
			     *c->config->munge_socket ? c->config->munge_socket : "(default)");
	free(socket);
	free(munge);
}

static void check_plugstack(struct gs_check *c)
{
	char *path = gs_plugstack_path(c->slurm, c->slurm_conf_path);
	struct gs_slurm_conf *stack;
	struct gs_error err;
	const char *line, *found = NULL;

	stack = path ? gs_slurm_conf_load(path, &err) : NULL;
	for (size_t i = 0; stack && (line = gs_slurm_conf_line(stack, i)); i++)
		if (strstr(line, "spank_gpushare.so"))
			found = line;
	if (!path || !stack)
		gs_check_add(c, GS_WRONG, "plugstack",
			     "make it, with the line: required .../spank_gpushare.so", "%s",
			     path ? err.text : "no memory");
	else if (!found)
		gs_check_add(c, GS_WRONG, "plugstack",
			     "add the line: required .../spank_gpushare.so",
			     "%s does not name spank_gpushare.so", path);
	else {
		gs_check_add(c, GS_GOOD, "plugstack", NULL, "%s: %s", path, found);
		if (strncmp(found, "required", 8) != 0)
			gs_check_add(
				c, GS_DOUBT, "plugstack", "write required",
				"an optional plugin that fails leaves jobs unmanaged in silence");
		check_spank_line(c, path, found);
	}
	gs_slurm_conf_free(stack);
	free(path);
}

/* Does gres.conf name devices?  Slurm keeps jobs from no others. */
static int names_devices(const struct gs_check *c)
{
	char *path = gs_beside(c->slurm_conf_path, "gres.conf");
	struct gs_slurm_conf *gres = path ? gs_slurm_conf_load(path, NULL) : NULL;
	const char *line;
	int found = 0;

	for (size_t i = 0; gres && !found && (line = gs_slurm_conf_line(gres, i)); i++) {
		char *detect = gs_slurm_line_value(line, "AutoDetect");
		char *name = gs_slurm_line_value(line, "Name");
		char *file = gs_slurm_line_value(line, "File");

		found = (name && strcmp(name, "gpu") == 0 && file) ||
			(detect && strcasecmp(detect, "off") != 0);
		free(detect);
		free(name);
		free(file);
	}
	gs_slurm_conf_free(gres);
	free(path);
	return found;
}

/* Does Slurm keep jobs from GPUs that they have not asked for? */
static void check_devices(struct gs_check *c)
{
	char *path = gs_beside(c->slurm_conf_path, "cgroup.conf"), *constrain = NULL;
	char *plugins = gs_slurm_conf_value(c->slurm, "TaskPlugin");
	char *types = gs_slurm_conf_value(c->slurm, "GresTypes");
	struct gs_slurm_conf *cgroup = path ? gs_slurm_conf_load(path, NULL) : NULL;

	if (cgroup)
		constrain = gs_slurm_conf_value(cgroup, "ConstrainDevices");
	if (!constrain || strcasecmp(constrain, "yes") != 0 || !plugins ||
	    !strstr(plugins, "task/cgroup"))
		gs_check_add(
			c, GS_DOUBT, "devices",
			"TaskPlugin=task/cgroup in slurm.conf, ConstrainDevices=yes in cgroup.conf",
			"ConstrainDevices=%s, TaskPlugin=%s: jobs without shares use the GPUs past gpushare; gpushared's log and status name them (Unmanaged=)",
			constrain ? constrain : "(none)", plugins ? plugins : "(none)");
	else if (!gs_word_in_list(types, "gpu") || !names_devices(c))
		gs_check_add(
			c, GS_DOUBT, "devices",
			"gpu before gpushare in GresTypes, its devices in gres.conf: Name=gpu File=/dev/nvidia0",
			"ConstrainDevices=yes, but no GPU is gres/gpu's: jobs without shares use the GPUs past gpushare; gpushared's log and status name them (Unmanaged=)");
	else
		gs_check_add(c, GS_GOOD, "devices", NULL,
			     "jobs have the GPUs that they have asked for only (ConstrainDevices)");
	free(constrain);
	free(plugins);
	free(types);
	free(path);
	gs_slurm_conf_free(cgroup);
}

void gs_check_slurm(struct gs_check *c)
{
	struct gs_error err;

	c->slurm = gs_slurm_conf_load(c->slurm_conf_path, &err);
	if (!c->slurm && !c->config && !c->slurm_conf_given) {
		gs_check_add(c, GS_UNCHECKED, "slurm.conf", NULL,
			     "%s, and SlurmConf= is not known without gpushare.conf", err.text);
		return;
	}
	if (!c->slurm) {
		gs_check_add(c, GS_WRONG, "slurm.conf",
			     "install Slurm's configuration, or name it with --slurm-conf", "%s",
			     err.text);
		return;
	}
	check_types(c);
	check_select(c);
	check_advice(c);
	check_node_line(c);
	check_partitions(c);
	check_gres_conf(c);
	check_plugstack(c);
	if (c->config && c->config->ngpu)
		check_devices(c);
}
