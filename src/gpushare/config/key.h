/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of gpushare.conf that have one value for the node, and the parameters of those that are
 * lists: table and typed values. */
#ifndef GPUSHARE_CONFIG_KEY_H
#define GPUSHARE_CONFIG_KEY_H

#include <stddef.h>

#include "gpushare/config/config.h"

/* Longest text of one value: what a message of the daemon can carry. */
#define GS_CONFIG_VALUE_MAX 255

/* The key's number whatever the case of `name`, or -1. */
int gs_key_find(const char *name);

/* The name is one of an earlier version: what to write instead; else NULL. */
const char *gs_key_gone(const char *name);

/* Is the key a list of parameters (parameters.def)? It has no value of its own. */
int gs_key_is_list(size_t key);

/*
 * The number of that list's parameter, whatever the case of `name`, or -1.
 * Parameters are numbered behind the keys; what follows takes either's number.
 */
int gs_key_parameter(size_t list, const char *name);

/* Its name as it is documented. */
const char *gs_key_name(size_t key);

/* Keys and parameters together. */
size_t gs_key_count(void);

/* Check and store the value of a key that is no list, or of a parameter; what was stored before is
 * released. */
int gs_key_set(struct gs_config *config, size_t key, const char *value, struct gs_error *err);

/* Store the default of every key and parameter. */
int gs_key_defaults(struct gs_config *config, struct gs_error *err);

/* Store the name of a policy, whatever its case, in *field; what was there is freed. */
int gs_key_policy(char **field, const char *value, struct gs_error *err);

/* Release what the keys own. */
void gs_key_release(struct gs_config *config);

#endif
