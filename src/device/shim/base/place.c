/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the process's step and its driver; see place.h. */
#define _GNU_SOURCE
#include "device/shim/base/place.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/shim/base/shim.h"
#include "gpushare/client/job_folder.h"
#include "gpushare/client/secure_env.h"
#include "gpushare/proto/msg.h"

#define PATIENCE_NS (3 * GS_NS_PER_S)

static pthread_once_t found = PTHREAD_ONCE_INIT;
static char folder[PATH_MAX]; /* the job's folder; "": there is none */
static char socket_path[128];

/* Sets "A=B" in the environment, unless the program has set A itself. */
static void set_line(char *line)
{
	char *equals = strchr(line, '=');

	line[strcspn(line, "\n")] = '\0';
	if (!equals || equals == line)
		return;
	*equals = '\0';
	setenv(line, equals + 1, 0);
}

static void set_number(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 0);
}

/* Gets gpushared's answer, and the descriptor that came along (*fd, which begins as -1). Returns 0,
 * or -1 with the reason. */
static int request(int driver, struct gs_msg *msg, int *fd, struct gs_error *err)
{
	int sock = gs_msg_connect(socket_path, PATIENCE_NS, err), rc = -1;

	if (sock < 0)
		return -1;
	gs_msg_init(msg, GS_MSG_WHERE, 1);
	msg->where.driver = (uint32_t)driver;
	if (gs_msg_send(sock, msg, -1) < 0)
		gs_fail_errno(err, "gpushared does not read");
	else if (gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, err) == 1)
		rc = msg->header.type == GS_MSG_HERE ?
			     0 :
			     gs_fail(err, "gpushared answered %s", gs_msg_name(msg->header.type));
	if (rc < 0 && fd && *fd >= 0)
		close(*fd); /* of another answer */
	close(sock);
	return rc;
}

static void set_step(struct gs_msg_here *here)
{
	char *rest = NULL;

	setenv("GPUSHARE_SOCKET", socket_path, 0);
	set_number("GPUSHARE_JOB_ID", here->job_id);
	set_number("GPUSHARE_STEP_ID", here->step_id);
	set_number("GPUSHARE_GPU", here->gpu);
	for (char *line = strtok_r(here->env, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		set_line(line);
}

/* Sets the lines of a file in the environment; f may be NULL. */
static void set_lines(FILE *f)
{
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0)
		set_line(line);
	free(line);
	if (f)
		fclose(f);
}

static void find(void)
{
	const char *named = getenv("GPUSHARE_SOCKET");
	int has_ids = getenv("GPUSHARE_JOB_ID") && getenv("GPUSHARE_STEP_ID");
	struct gs_msg msg;

	gs_job_folder_find(folder);
	gs_job_folder_socket(folder, socket_path, sizeof(socket_path));
	if (*folder ? !gs_job_folder_has(folder, "job") && has_ids : named && *named)
		return; /* the environment says everything */
	unsetenv("GPUSHARE_SOCKET");
	if (*folder && !gs_job_folder_has(folder, "job") && !gs_job_folder_has(folder, "node"))
		return; /* there is nobody to ask */
	if (*folder && has_ids) {
		setenv("GPUSHARE_SOCKET", socket_path, 1);
	} else if (request(0, &msg, NULL, NULL) == 0 && msg.here.job_id) {
		set_step(&msg.here);
	} else if (*folder) {
		/* gpushared decides, by its answer or its refusal. */
		set_lines(gs_job_folder_open(folder, "job"));
		set_lines(gs_job_folder_open_own(folder, "environment"));
	}
}

/* Before anything reads the environment. */
static void __attribute__((constructor)) obey_no_caller(void)
{
	gs_secure_env();
}

void shim_place_find(void)
{
	pthread_once(&found, find);
}

int shim_place_driver(size_t n, char *path, size_t size)
{
	shim_place_find();
	if (!*folder || n > 1)
		return -1;
	if (n == 1)
		return (size_t)snprintf(path, size, "%s/driver", folder) < size ? 0 : -1;
	return gs_job_folder_real(folder, (void *)(uintptr_t)shim_place_find, path, size);
}

int shim_place_request_driver(struct gs_error *err)
{
	struct gs_msg msg;
	int fd = -1;

	shim_place_find();
	if (request(1, &msg, &fd, err) < 0)
		return -1;
	return fd >= 0 ? fd : gs_fail(err, "gpushared has none either");
}
