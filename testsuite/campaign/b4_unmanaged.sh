#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row B4: a program goes around the shim, by a copy of the driver, in a step or outside of all. b4_unmanaged.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row B4 s "what the driver lists to the log's line" "$@"
need gpushared gpusharectl testsuite/e2e/{until,bypass} .libs/fake_nvml.so src/device/emu/.libs/libcuda.so.1
own_daemon
export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))"
: >"$FAKE_NVML"
write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "MemoryParameters=nvml=$BUILD/.libs/fake_nvml.so" Unmanaged=log
start_daemon || cannot "gpushared does not start"
chmod 755 "$TMP"
trials_of b4_unmanaged.py
