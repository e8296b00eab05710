/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment of a setuid program is its caller's, who is not to be obeyed. */
#ifndef GPUSHARE_CLIENT_SECURE_ENV_H
#define GPUSHARE_CLIENT_SECURE_ENV_H

/*
 * In a program that has more rights than its caller (AT_SECURE, getauxval(3)), removes all of
 * gpushare's variables, which name libraries to load, files to write and who answers for the
 * daemon. The dynamic linker does the same with its own. For a library's constructor; what
 * gpushared says later may be put in their place.
 */
void gs_secure_env(void);

#endif
