/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps come and go: slurmstepd's REGISTER and UNREGISTER, gpusharectl's LOCAL. */
#ifndef GPUSHARE_DAEMON_REGISTER_H
#define GPUSHARE_DAEMON_REGISTER_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_register, gs_on_unregister, gs_on_local, gs_on_periodic;

/* It waits for no report; if it is the owner of a LOCAL step, that is over.  A listener of
 * connection.h. */
void gs_register_conn_gone(struct gs_connection *conn);

/* The report of that ticket is out, or never will be: slurmstepd is answered (slurm_report.h). */
void gs_register_reported(struct gs_daemon *d, uint32_t ticket);

#endif
