/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the driver and the shim are; see defaults.h. */
#define _GNU_SOURCE
#include "gpushare/bench/defaults.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/bench/process.h"
#include "gpushare/config/config.h"

#define LIBRARY "libcuda.so.1"

/* They outlive the stage, which points to them. */
static char shim[PATH_MAX], driver[PATH_MAX];

static int readable(const char *path)
{
	return access(path, R_OK) == 0;
}

/* In the build tree: below this program's folder, or above libtool's .libs. */
static int of_build_tree(const char *leaf, char *path, size_t room)
{
	static const char *const from[] = { "", "/.." };
	char folder[PATH_MAX / 2], file[PATH_MAX];

	if (bench_own_folder(folder, sizeof(folder), NULL) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		snprintf(path, room, "%s%s/%s", folder, from[i], leaf);
		snprintf(file, sizeof(file), "%.4000s/" LIBRARY, path);
		if (readable(file))
			return 1;
	}
	return 0;
}

/* ShimDir and Driver of gpushare.conf, as far as their files are there. */
static void of_configuration(struct bench_stage *stage)
{
	const char *path = getenv("GPUSHARE_CONF");
	struct gs_config *c;
	struct gs_error err;
	char file[PATH_MAX];

	c = gs_config_load(path && *path ? path : GS_CONFIG_FILE, &err);
	if (!c)
		return;
	snprintf(file, sizeof(file), "%s/" LIBRARY, c->shim_dir);
	if (!stage->shim && *c->shim_dir && readable(file)) {
		snprintf(shim, sizeof(shim), "%s", c->shim_dir);
		stage->shim = shim;
	}
	if (!stage->driver && *c->driver && readable(c->driver)) {
		snprintf(driver, sizeof(driver), "%s", c->driver);
		stage->driver = driver;
	}
	gs_config_free(c);
}

/* Asked in a process of its own: a library that is loaded runs code. */
static int system_has_driver(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(dlopen(LIBRARY, RTLD_LAZY) == NULL);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static const char *usual_place(void)
{
	/* Of those that are patterns none is a file's name: a compatibility package is for who asks
	 * for it. */
	static const char *const places[] = {
#define DRIVER_PLACE(folder) folder "/" LIBRARY,
#include "common/driver_places.def"
#undef DRIVER_PLACE
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (readable(places[i]))
			return places[i];
	return NULL;
}

static int no_driver(struct gs_error *err)
{
	char folder[PATH_MAX] = "";

	if (!of_build_tree("src/device/emu/.libs", folder, sizeof(folder)))
		snprintf(folder, sizeof(folder), "%s",
			 readable(GS_EMU_DIR "/" LIBRARY) ? GS_EMU_DIR : "");
	return gs_fail(err,
		       "there is no driver (" LIBRARY
		       ") on this machine: name one with --driver%s%.120s%s",
		       *folder ? "; gpushare's emulated device is " : "", folder,
		       *folder ? "/" LIBRARY : "");
}

int bench_defaults(struct bench_stage *stage, struct gs_error *err)
{
	const char *given = getenv("GPUSHARE_DRIVER");

	if (!stage->shim && of_build_tree("src/device/shim/.libs", shim, sizeof(shim)))
		stage->shim = shim;
	if (!stage->driver && given && *given && readable(given))
		stage->driver = given;
	if (!stage->shim || !stage->driver)
		of_configuration(stage);
	if (!stage->driver && !system_has_driver()) {
		stage->driver = usual_place();
		return stage->driver ? 0 : no_driver(err);
	}
	return 0;
}
