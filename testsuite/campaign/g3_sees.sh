#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row G3: what the processes of a job are told of its device memory. The NVML below that of jobs is a fake one, of a GPU of 80 GiB. g3_sees.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row G3 - "nothing" "$@"
need gpushared gpusharectl testsuite/campaign/sees testsuite/e2e/entries .libs/fake_nvml.so src/device/shim/.libs/libnvidia-ml.so.1
own_daemon
mkdir "$TMP/driver"
cp "$BUILD/.libs/fake_nvml.so" "$TMP/driver/libnvidia-ml.so.1"
export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE="$((80 << 30)) $((70 << 30))"
: >"$FAKE_NVML"
write_conf 520M "Gpu=0 Memory=512M" "Partition=low Priority=1" ContextMemory=4M JobNvml=yes "MemoryParameters=check=1s,nvml=$TMP/driver/libnvidia-ml.so.1"
start_daemon || cannot "gpushared does not start"
trials_of g3_sees.py 4
