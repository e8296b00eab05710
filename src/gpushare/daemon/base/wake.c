/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakes stopped processes; see wake.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/below.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step_cgroup.h"

/* The files of a cgroup's freezer in the two versions: whether it was itself told to freeze, and
 * where it is told. */
static const struct version {
	const char *folder, *is, *tell, *freeze, *thaw;
} versions[] = { { "/freezer", "freezer.self_freezing", "freezer.state", "FROZEN", "THAWED" },
		 { "", "cgroup.freeze", "cgroup.freeze", "1", "0" } };

static int is_set(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char is = '0';

	if (fd < 0)
		return 0;
	if (read(fd, &is, 1) != 1)
		is = '0';
	close(fd);
	return is == '1';
}

/* Returns 0; -1 with errno. */
static int tell(const char *root, const char *file, int freeze)
{
	const char *name = strrchr(file, '/');
	const struct version *v = &versions[name && strcmp(name + 1, versions[1].tell) == 0];

	return gs_write_below(root, file, freeze ? v->freeze : v->thaw);
}

/* The cgroup that was told to freeze is the process's own or one above it, up to the job's. Cuts
 * `path` as it goes up. */
static void find_frozen(const char *root, const struct version *v, char *path, uint32_t job_id,
			char *file, size_t size)
{
	char job[24], is[1024];
	const char *below;

	snprintf(job, sizeof(job), "/job_%u/", job_id);
	while ((below = strstr(path, job)) && below[strlen(job)]) {
		snprintf(is, sizeof(is), "%s%s%s/%s", root, v->folder, path, v->is);
		if (is_set(is)) {
			if (snprintf(file, size, "%s%s/%s", v->folder, path, v->tell) >= (int)size)
				*file = '\0';
			return;
		}
		*strrchr(path, '/') = '\0';
	}
}

void gs_wake_find(char *text, uint32_t job_id, const char *root, char *file, size_t size)
{
	char *save = NULL;

	*file = '\0';
	for (char *line = strtok_r(text, "\n", &save); line && !*file;
	     line = strtok_r(NULL, "\n", &save)) {
		char *v1 = strstr(line, ":freezer:");

		if (v1)
			find_frozen(root, &versions[0], v1 + 9, job_id, file, size);
		else if (strncmp(line, "0::", 3) == 0)
			find_frozen(root, &versions[1], line + 3, job_id, file, size);
	}
}

void gs_wake_inspect(pid_t pid, uint32_t job_id, const char *root, struct gs_how_stopped *how)
{
	char text[GS_STEP_CGROUP_TEXT_MAX];

	memset(how, 0, sizeof(*how));
	how->by_signal = gs_proc_stopped_by_signal(pid);
	if (gs_step_cgroup_read("/proc", pid, text, sizeof(text)) == 0)
		gs_wake_find(text, job_id, root, how->frozen, sizeof(how->frozen));
}

int gs_wake(const struct gs_woken *w, const char *root, struct gs_error *err)
{
	if (*w->how.frozen && tell(root, w->how.frozen, 0) < 0)
		return gs_fail_errno(err, "cannot write %s", w->how.frozen);
	if (w->how.by_signal && gs_proc_signal(w->pid, w->start, SIGCONT) < 0 && errno != ESRCH) {
		gs_fail_errno(err, "cannot wake process %d", (int)w->pid);
		gs_stop_again(w, root);
		return -1;
	}
	return 0;
}

void gs_stop_again(const struct gs_woken *w, const char *root)
{
	if (w->how.by_signal)
		gs_proc_signal(w->pid, w->start, SIGSTOP);
	if (*w->how.frozen && tell(root, w->how.frozen, 1) < 0 && errno != ENOENT &&
	    errno != ENODEV)
		gs_log(GS_LOG_ERROR, "cannot write %s: %s", w->how.frozen, strerror(errno));
}

void gs_wake_again(const struct gs_woken *w, const char *root)
{
	if (*w->how.frozen && tell(root, w->how.frozen, 0) < 0 && errno != ENOENT &&
	    errno != ENODEV)
		gs_log(GS_LOG_ERROR, "cannot write %s: %s", w->how.frozen, strerror(errno));
	if (w->how.by_signal)
		gs_proc_signal(w->pid, w->start, SIGCONT);
}
