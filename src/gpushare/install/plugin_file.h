/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a Slurm plugin says about itself, read from its file: it is not loaded,
 * since its undefined symbols are those of Slurm's programs.
 */
#ifndef GPUSHARE_INSTALL_PLUGIN_FILE_H
#define GPUSHARE_INSTALL_PLUGIN_FILE_H

#include <stdint.h>

#include "common/error.h"

struct gs_plugin_file {
	char type[64];    /* plugin_type, "gres/gpushare" */
	uint32_t slurm;   /* plugin_version: 0x00MMmmuu, of the Slurm that it was built for */
	char version[32]; /* plugin_gpushare_version; "": not one of gpushare's plugins */
};

/* Read a plugin.  0; -1 with the reason: no file, no ELF file for this machine, no plugin. */
int gs_plugin_file_read(const char *path, struct gs_plugin_file *plugin, struct gs_error *err);

/* "22.05.8"; returns buf. */
const char *gs_slurm_version_text(uint32_t version, char *buf, unsigned size);

/*
 * Is the file an ELF library for this machine that defines the symbol?
 * 1, 0, or -1 with the reason why it cannot be told.
 */
int gs_library_defines(const char *path, const char *symbol, struct gs_error *err);

#endif
