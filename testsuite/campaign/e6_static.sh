#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E6: the trials are in e6_static.py. Each is of another kind: of the first two seeds, and of a file of src.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/python_rows.sh"

row E6 points "exposure of the unit, by systemd-analyze security" "$@"
command -v systemd-analyze >/dev/null || cannot "there is no systemd-analyze"
[ -f "$BUILD/etc/gpushared.service" ] || cannot "gpushared.service was not built: make builds it"
python_trials e6_static.py "$SRC" "$BUILD" "$BUILD/etc/gpushared.service"
