#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every launch of equiv/cases.def, original against variant, on the emulated device.
# DRIVER=libcuda.so.1 runs the same on the GPU of this machine; LARGE=1 the large grids too,
# SYNC_AWARE=1 variants that are not proved on a GPU, which on the emulated device run anyway;
# RANDOM_KERNELS=N so many made from seeds, SEED=N others.
set -u
here=${srcdir:-.}/testsuite/ptx
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
[ -n "${DRIVER:-}" ] || SYNC_AWARE=1
driver=${DRIVER:-./src/device/emu/.libs/libcuda.so.1}

GPUSHARE_EMU_DEVICE=$work/device
GPUSHARE_EMU_SMS=2
GPUSHARE_EMU_BLOCKS_PER_SM=2
GPUSHARE_EMU_MEMORY=268435456
export GPUSHARE_EMU_DEVICE GPUSHARE_EMU_SMS GPUSHARE_EMU_BLOCKS_PER_SM GPUSHARE_EMU_MEMORY

timeout 60 ./ptx_far "$driver" || exit 1
timeout 60 ./ptx_places "$driver" || exit 1
timeout ${LARGE:+3}600 ./ptx_equiv ${SYNC_AWARE:+--sync-aware} ${LARGE:+--large} ${SEED:+--seed "$SEED"} "$driver" "$here" || exit 1
timeout 900 ./ptx_equiv ${SYNC_AWARE:+--sync-aware} --random ${RANDOM_KERNELS:-20} --seed "${SEED:-1}" "$driver" "$here" > "$work/random" || { tail -n 5 "$work/random"; exit 1; }
tail -n 1 "$work/random"
