/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the GPUs' hand-overs were measured to cost, for the daemons that come
 * after this one until the node boots: <socket>.handover.  Text: a line with
 * the boot's id, then one per GPU: ns, index, isolation, UUID, driver.
 * A GPU that any of these has changed of is not known.
 */
#ifndef GPUSHARE_DAEMON_MEASURED_H
#define GPUSHARE_DAEMON_MEASURED_H

#include "gpushare/daemon/daemon.h"

/* Whether a hand-over can take so long: it is kept until the node boots, so what is far from Handover= is not. */
int gs_measured_believed(const struct gs_config *config, double ns);

/* Fill in the devices' handover_ns. */
void gs_measured_load(struct gs_daemon *d);

/* Write down those that are known. */
void gs_measured_save(struct gs_daemon *d);

#endif
