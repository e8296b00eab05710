/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights, environment and start of handover-probe; see prober.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/prober.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gpushare/daemon/child.h"
#include "gpushare/daemon/daemon.h"
#include "gpushare/daemon/device.h"
#include "gpushare/proto/msg.h"

/* Where there is no user of that name: the kernel's. */
#define NOBODY 65534

struct order {
	const char *program, *shim_dir, *driver, *socket;
	unsigned job_id, gpu;
	uid_t uid;
	gid_t gid;
	char env[8192];
};

static void set_number(const char *name, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

/* As slurmstepd and gpusharectl run set it, with nothing kept on disk. */
static void set_environment(struct order *o)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *save = NULL, *path = NULL;

	if (asprintf(&path, "%s%s%s", o->shim_dir, old && *old ? ":" : "", old ? old : "") >= 0)
		setenv("LD_LIBRARY_PATH", path, 1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	for (char *line = strtok_r(o->env, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		putenv(line);
	setenv(GS_ABSENT_ENV, "run", 1); /* should the daemon end: nothing that waits for the next one */
	setenv("GPUSHARE_SOCKET", o->socket, 1);
	set_number("GPUSHARE_JOB_ID", o->job_id);
	set_number("GPUSHARE_STEP_ID", 0);
	set_number("GPUSHARE_GPU", o->gpu);
	if (*o->driver)
		setenv("GPUSHARE_DRIVER", o->driver, 1);
}

static void fail(const char *what)
{
	dprintf(1, "%s: %m\n", what);
	_exit(127);
}

/* In the child. */
static void body(int sock, const char *arg)
{
	struct order o;

	memcpy(&o, arg, sizeof(o));
	dup2(sock, 1);
	close(sock);
	setpgid(0, 0);
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(o.gid, o.gid, o.gid) < 0 ||
			       setresuid(o.uid, o.uid, o.uid) < 0))
		fail("root's rights cannot be given up");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* again: it was gone with the rights */
	set_environment(&o);
	execl(o.program, "handover-probe", (char *)NULL);
	fail(o.program);
}

/* Root's is nobody's; everybody else stays who he is. */
static void whose(struct order *o)
{
	const struct passwd *pw = geteuid() == 0 ? getpwnam("nobody") : NULL;

	o->uid = geteuid() == 0 ? NOBODY : geteuid();
	o->gid = geteuid() == 0 ? NOBODY : getegid();
	if (pw) {
		o->uid = pw->pw_uid;
		o->gid = pw->pw_gid;
	}
}

int gs_prober_start(struct gs_daemon *d, const struct gs_device *device, unsigned job_id,
		    pid_t *pid, uid_t *uid, struct gs_error *err)
{
	const struct gs_config *c = d->config;
	struct order o = {
		.program = *c->measure_program ? c->measure_program : GS_PROBE_PROGRAM,
		.shim_dir = *c->shim_dir ? c->shim_dir : GS_SHIM_DIR,
		.driver = c->driver, .socket = c->socket,
		.job_id = job_id, .gpu = device->index,
	};
	int sock;

	whose(&o);
	*uid = o.uid;
	if (gs_device_env(c, device, o.env, sizeof(o.env)) < 0)
		return gs_fail(err, "JobEnv is too long");
	sock = gs_child_start(pid, body, (const char *)&o, 1);
	if (sock < 0)
		return gs_fail_errno(err, "cannot fork");
	setpgid(*pid, *pid); /* whoever of the two is first */
	return sock;
}
