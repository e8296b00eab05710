/* SPDX-License-Identifier: GPL-2.0-or-later */
/* munge, gpushared and slurmctld: do they answer, do they fit?  See check.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "config.h"
#include "gpushare/ctl/ctl.h"
#include "gpushare/proto/auth.h"

#define CREDENTIAL_MAX 8192

/* Make a credential and open it: then munged runs and its key can be used. */
static void check_munge(struct gs_check *c)
{
	const char *socket = c->config ? c->config->munge_socket : "";
	struct gs_msg_step step = { .job_id = 1 }, back;
	char credential[CREDENTIAL_MAX];
	struct gs_error err;
	uid_t uid;
	int failed;

	strcpy(step.partition, "check");
	failed = gs_auth_seal(&step, geteuid(), socket, credential, sizeof(credential), &err) < 0 ||
		 gs_auth_open(credential, socket, &back, &uid, &err) < 0;
	if (failed && !c->config)
		gs_check_add(
			c, GS_UNCHECKED, "munge", NULL,
			"which socket munged has is not known without gpushare.conf (MungeSocket=)");
	else if (failed)
		gs_check_add(
			c, GS_WRONG, "munge",
			"start munged, with the key that the whole cluster has (MungeSocket names another socket)",
			"%s", err.text);
	else if (uid != geteuid() || back.job_id != 1)
		gs_check_add(c, GS_WRONG, "munge", "look for what listens at munge's socket",
			     "munge gave back another credential");
	else
		gs_check_add(c, GS_GOOD, "munge", NULL, "credentials are made and opened");
}

static void check_socket(struct gs_check *c, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != (S_IROTH | S_IWOTH))
		gs_check_add(c, GS_WRONG, "gpushared", "restart gpushared, which makes it anew",
			     "not all users may connect to %s", path);
	if (stat(path, &st) == 0 && st.st_uid != 0 && geteuid() == 0)
		gs_check_add(c, GS_WRONG, "gpushared", "run gpushared as root",
			     "%s is not root's: who listens there is not gpushared", path);
}

static void check_daemon(struct gs_check *c)
{
	const char *path = c->socket ? c->socket : c->config ? c->config->socket : GS_SOCKET;
	struct gs_ctl_text text;
	struct gs_error err;
	const char *version;
	json_t *status;

	if (gs_ctl_get(path, GS_QUERY_STATUS, 0, &text, &err) < 0) {
		gs_check_add(c, GS_WRONG, "gpushared",
			     "systemctl start gpushared; its journal says why if it does not", "%s",
			     err.text);
		return;
	}
	status = json_loads(text.bytes, 0, NULL);
	free(text.bytes);
	version = status ? json_string_value(json_object_get(status, "version")) : NULL;
	if (!version)
		gs_check_add(c, GS_WRONG, "gpushared", "install one version of gpushare",
			     "its answer is not understood");
	else if (strcmp(version, PACKAGE_VERSION) != 0)
		gs_check_add(c, GS_WRONG, "gpushared",
			     "systemctl restart gpushared, after the upgrade",
			     "gpushared %s runs, installed is %s", version, PACKAGE_VERSION);
	else if (c->config && json_array_size(json_object_get(status, "gpus")) != c->config->ngpu)
		gs_check_add(c, GS_WRONG, "gpushared", "systemctl restart gpushared",
			     "it runs with %zu GPUs, %s has %zu",
			     json_array_size(json_object_get(status, "gpus")), c->config_path,
			     c->config->ngpu);
	else
		gs_check_add(c, GS_GOOD, "gpushared", NULL, "version %s answers at %s", version,
			     path);
	json_decref(status);
	check_socket(c, path);
}

/* What slurmctld knows of gpushare, which may be less than slurm.conf says: it must have been
 * restarted. */
static void check_slurmctld(struct gs_check *c)
{
	char host[256] = "", *argv[] = { "scontrol", "show", "node", host, NULL }, out[8192], *at;

	if (c->config && *c->config->node_name)
		snprintf(host, sizeof(host), "%s", c->config->node_name);
	else
		gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	setenv("SLURM_CONF", c->slurm_conf_path, 1);
	if (gs_check_run(argv, out, sizeof(out)) != 0) {
		at = strstr(out, "error:");
		gs_check_add(c, GS_WRONG, "slurmctld", "see that slurmctld runs: scontrol ping",
			     "%.*s", at ? (int)strcspn(at, "\n") : 40,
			     at ? at : "scontrol show node does not answer");
		return;
	}
	at = strstr(out, "Gres=");
	if (!at || !memmem(at, strcspn(at, "\n"), "gpushare", 8))
		gs_check_add(c, GS_WRONG, "slurmctld", "restart slurmctld, then slurmd",
			     "slurmctld knows no gpushare on node %s", host);
	else
		gs_check_add(c, GS_GOOD, "slurmctld", NULL, "node %s has %.*s", host,
			     (int)strcspn(at, "\n"), at);
}

void gs_check_services(struct gs_check *c)
{
	check_munge(c);
	if (!c->config || !c->config->ngpu)
		return;
	check_daemon(c);
	if (c->slurm)
		check_slurmctld(c);
}
