#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A hook of enroot's, for pyxis as well: copy it to /etc/enroot/hooks.d. The container gets gpushared's folder, with the socket and,
# in a job, the driver that the shim stands in front of. With it a container that has a network namespace of its own, or has lost its environment,
# is managed; without it programs reach gpushared at its abstract socket.
set -euo pipefail

folder=${GPUSHARE_FOLDER:-/run/gpushare}
[ -d "$folder" ] || exit 0 # a node without gpushare
[ -n "${ENROOT_MOUNTS:-}" ] || { echo "gpushare: enroot has given no ENROOT_MOUNTS to its hook" >&2; exit 1; }
# One line of fstab; rbind: the job's own folder is a mount in it.
printf '%s %s none x-create=dir,rbind,ro,nosuid,nodev,private\n' "$folder" "$folder" >>"$ENROOT_MOUNTS"
