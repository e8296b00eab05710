/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EvictionSignal=auto: what the measured times of the three signals on a GPU
 * mean.  The shim measures (device/shim/signal.c), the daemon keeps them.
 */
#ifndef GPUSHARE_PROTO_SIGNAL_H
#define GPUSHARE_PROTO_SIGNAL_H

#include <stdint.h>

/* From giving the signal to the host's seeing that a waiting block has left, ns; all 0: not known. */
struct gs_signal_times {
	uint32_t proxy_ns, memop_ns, dma_ns;
};

/*
 * Plausible times: no signal takes less than the minimum, and one that takes more than the maximum
 * is of no use. A client's claim beyond them is not believed.
 */
#define GS_SIGNAL_NS_MIN 100u
#define GS_SIGNAL_NS_MAX 100000000u

/* Is signal a slower than b, by more than two measurements of the same signal differ? */
static inline int gs_signal_slower(uint32_t a_ns, uint32_t b_ns)
{
	return (uint64_t)a_ns * 9 > (uint64_t)b_ns * 10;
}

/*
 * A launch has enough blocks to spare one as a proxy: should it have one? Yes, unless another
 * signal is faster, since a proxy needs neither the program's process nor a stream.
 */
static inline int gs_signal_proxy_pays(const struct gs_signal_times *t)
{
	return !gs_signal_slower(t->proxy_ns, t->memop_ns) && !gs_signal_slower(t->proxy_ns, t->dma_ns);
}

/*
 * For launches without a proxy: is a copy, which keeps a copy engine busy, better than a memory
 * operation?
 */
static inline int gs_signal_dma_pays(const struct gs_signal_times *t)
{
	return gs_signal_slower(t->memop_ns, t->dma_ns);
}

#endif
