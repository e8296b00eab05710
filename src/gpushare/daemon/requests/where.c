/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which step a process is in, and the driver for those who do not find it; see where.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/where.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/identity.h"
#include "gpushare/daemon/base/user_key.h"
#include "gpushare/daemon/mps/environment.h"
#include "gpushare/daemon/requests/mount_plan.h"

int gs_where_env(const struct gs_daemon *d, const struct gs_step *step, char *text, size_t size)
{
	int n = snprintf(text, size, GS_KEY_ENV "=%016" PRIx64 "\n", gs_user_key(step->info.uid));

	return n > 0 && (size_t)n < size ?
		       gs_step_env(d->config, step, text + n, size - (size_t)n) :
		       -1;
}

const struct gs_step *gs_where_step(const struct gs_connection *conn)
{
	struct gs_claim claim = { .uid = conn->uid, .pid = conn->pid, .start = conn->start };
	enum gs_refusal code;
	struct gs_error err;

	return gs_identify(conn->d, GS_PROC_ROOT, &claim, &code, &err);
}

int gs_on_where(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_step *step = gs_where_step(conn);
	struct gs_msg answer;
	int driver = -1, rc;

	(void)fd;
	gs_msg_init(&answer, GS_MSG_HERE, msg->header.tag);
	answer.here.key = gs_user_key(conn->uid);
	if (step) {
		answer.here.job_id = step->info.job_id;
		answer.here.step_id = step->info.step_id;
		answer.here.gpu = step->info.gpu;
		if (gs_where_env(conn->d, step, answer.here.env, sizeof(answer.here.env)) < 0)
			gs_log(GS_LOG_ERROR, "JobEnv is too long and was cut");
	}
	if (msg->where.driver) {
		const char *library = gs_mount_driver(
			msg->where.driver == GS_WHERE_NVML ? GS_MOUNT_NVML : GS_MOUNT_CUDA);

		driver = open(library, O_RDONLY | O_CLOEXEC);
		if (driver < 0)
			gs_complain("%s: asks for the driver, and %s cannot be opened", conn->who,
				    *library ? library : "none");
	}
	rc = gs_connection_send(conn, &answer, driver);
	if (driver >= 0)
		close(driver);
	return rc;
}
