#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes ./configure from a clone.
set -e
cd "$(dirname "$0")"
mkdir -p auxdir
autoreconf --install --force
