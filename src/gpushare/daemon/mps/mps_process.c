/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders, environment and record of the control daemon; see mps_process.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/mps_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/driver_file.h"
#include "gpushare/daemon/base/proc.h"

#define PATH_ROOM (GS_MPS_PATH_MAX + 32)
/* Of each of MPS's logs, when it has ended. */
#define TAIL_BYTES 2048
#define TAIL_LINES 12u

static const char *in_dir(const struct gs_mps_place *place, const char *leaf, char *path)
{
	snprintf(path, PATH_ROOM, "%s/%s", place->dir, leaf);
	return path;
}

static int make_folder(const char *path, mode_t mode, struct gs_error *err)
{
	struct stat st;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "Isolation=mps: cannot make %.150s", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return gs_fail(err, "Isolation=mps: %.150s is not a folder of the daemon's user",
			       path);
	/* Whatever the umask is. */
	return chmod(path, mode) == 0 ? 0 : gs_fail_errno(err, "cannot chmod %.150s", path);
}

int gs_mps_prepare(const struct gs_config *config, const struct gs_mps_place *place,
		   struct gs_error *err)
{
	char path[PATH_ROOM];

	if (*config->driver && gs_driver_is_emulated(config->driver))
		return gs_fail(err,
			       "Isolation=mps: Driver=%.150s is the emulated device's, "
			       "which has no MPS",
			       config->driver);
	if (geteuid() != 0)
		gs_log(GS_LOG_WARN, "Isolation=mps without root: MPS serves uid %u alone",
		       (unsigned)geteuid());
	if (make_folder(place->dir, 0755, err) < 0)
		return -1;
	return make_folder(in_dir(place, "log", path), 0700, err);
}

/* "UUID,UUID" of all configured GPUs; empty if one's is not known. */
static void visible_devices(const struct gs_daemon *d, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < d->ndevice; i++) {
		const char *uuid = d->device[i].uuid;

		if (!*uuid || used + strlen(uuid) + 2 > room) {
			text[0] = '\0';
			return;
		}
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "", uuid);
	}
}

static void set_environment(const struct gs_daemon *d, const struct gs_mps_place *place)
{
	char text[4096], driver[GS_MPS_PATH_MAX];
	const char *old = getenv("LD_LIBRARY_PATH");

	setenv(GS_MPS_PIPE, place->dir, 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", in_dir(place, "log", text), 1);
	visible_devices(d, text, sizeof(text));
	if (*text)
		setenv("CUDA_VISIBLE_DEVICES", text, 1);
	else
		unsetenv("CUDA_VISIBLE_DEVICES");
	if (*d->config->driver != '/')
		return;
	snprintf(driver, sizeof(driver), "%s", d->config->driver);
	snprintf(text, sizeof(text), "%s%s%.3000s", dirname(driver), old && *old ? ":" : "",
		 old ? old : "");
	setenv("LD_LIBRARY_PATH", text, 1);
}

/* In the child. */
static void exec_daemon(const struct gs_daemon *d, const struct gs_mps_place *place)
{
	char path[PATH_ROOM];
	int in, out;

	setsid(); /* a terminal's signals are for gpushared */
	gs_child_default_signals();
	in = open("/dev/null", O_RDONLY);
	out = open(in_dir(place, "output", path), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (in < 0 || out < 0)
		_exit(126);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	gs_child_close(3, INT_MAX);
	set_environment(d, place);
	/*
	 * Without -M a server is of one user: for another user's client the control
	 * daemon ends it as soon as it has no clients, and starts one of that user.
	 */
	execl(place->program, "nvidia-cuda-mps-control", "-f", place->all_users ? "-M" : NULL,
	      (char *)NULL);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", place->program, strerror(errno));
	_exit(127);
}

static void record(const struct gs_mps_place *place, pid_t pid)
{
	char path[PATH_ROOM];
	struct gs_proc proc;
	int fd;

	in_dir(place, "gpushared.control", path);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || gs_proc_read(pid, &proc) < 0 ||
	    dprintf(fd, "%d %" PRIu64 "\n", (int)pid, proc.start) < 0)
		gs_log(GS_LOG_WARN, "%s: cannot be written: a later daemon will not know MPS",
		       path);
	if (fd >= 0)
		close(fd);
}

pid_t gs_mps_spawn(const struct gs_daemon *d, const struct gs_mps_place *place,
		   struct gs_error *err)
{
	char path[PATH_ROOM];
	pid_t pid;

	unlink(in_dir(place, "control", path)); /* of one that was killed: it would look ready */
	pid = fork();
	if (pid == 0)
		exec_daemon(d, place);
	if (pid < 0)
		return gs_fail_errno(err, "cannot fork for MPS");
	record(place, pid);
	return pid;
}

pid_t gs_mps_record_find(const struct gs_mps_place *place)
{
	char path[PATH_ROOM];
	uint64_t start = 0;
	struct stat st;
	int pid = 0, fd;
	FILE *f;

	fd = open(in_dir(place, "gpushared.control", path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    fscanf(f, "%d %" SCNu64, &pid, &start) != 2 || pid <= 0 || !gs_proc_alive(pid, start))
		pid = 0;
	fclose(f);
	return pid;
}

void gs_mps_record_remove(const struct gs_mps_place *place)
{
	char path[PATH_ROOM];

	unlink(in_dir(place, "gpushared.control", path));
}

const char *gs_mps_last_words(const struct gs_mps_place *place, char *text, size_t room)
{
	char path[PATH_ROOM], line[256];
	FILE *f = fopen(in_dir(place, "output", path), "re");

	text[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			snprintf(text, room, "%s", line);
	}
	if (f)
		fclose(f);
	return text;
}

/* The last lines of one of its files. */
static void show_tail(const struct gs_mps_place *place, const char *leaf)
{
	char path[PATH_ROOM], text[TAIL_BYTES + 1], *at = text;
	FILE *f = fopen(in_dir(place, leaf, path), "re");
	size_t n, lines = 0;

	if (!f)
		return;
	if (fseek(f, -TAIL_BYTES, SEEK_END) != 0)
		rewind(f);
	n = fread(text, 1, TAIL_BYTES, f);
	fclose(f);
	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
			text[i] = '?';
		lines += text[i] == '\n';
	}
	text[n] = '\0';
	for (; lines > TAIL_LINES; lines--)
		at = strchr(at, '\n') + 1;
	for (char *line = strtok_r(at, "\n", &at); line; line = strtok_r(NULL, "\n", &at))
		gs_log(GS_LOG_WARN, "MPS's %s: %s", leaf, line);
}

void gs_mps_show_logs(const struct gs_mps_place *place)
{
	show_tail(place, "log/control.log");
	show_tail(place, "log/server.log");
	show_tail(place, "output");
}
