/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of gpushare.conf's parser share; nobody else includes it. */
#ifndef GPUSHARE_CONFIG_PARSE_H
#define GPUSHARE_CONFIG_PARSE_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/config/config.h"

#define GS_SHARES_MAX 1000000

/* The next Name=Value of a record, cut out of *rest; 1, 0 at the end, -1 with the reason. */
int gs_parse_pair(char **rest, char **name, char **value, struct gs_error *err);

/* The value of Name=, a number of shares (1..GS_SHARES_MAX) that was not given before. */
int gs_parse_shares(uint32_t *shares, const char *name, const char *value, struct gs_error *err);

/* Whole lines, which are cut up; 0, or -1 with the reason. (parse_who.c) */
int gs_parse_class(struct gs_config *config, char *line, struct gs_error *err);
int gs_parse_partition(struct gs_config *config, char *line, struct gs_error *err);
int gs_parse_qos(struct gs_config *config, char *line, struct gs_error *err);

#endif
