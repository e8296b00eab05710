#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds CSV files of `gpushare-bench mixes` to doc/measurements/h100-mixes.csv.

usage: mixes_record.py DEST COMMENT RUN=FILE...

  DEST     the file that has all runs
  COMMENT  what these runs were: date, driver, machine, options; a "|" begins another line
  RUN      the name that FILE's rows get
"""
import csv
import sys


def main():
    if len(sys.argv) < 4 or not all("=" in a for a in sys.argv[3:]):
        sys.exit(__doc__)
    lines = open(sys.argv[1]).read().rstrip("\n").split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("run,mix,"))
    columns = lines[at].split(",")
    lines[at:at] = ["# " + comment for comment in sys.argv[2].split("|")]
    for pair in sys.argv[3:]:
        run, file = pair.split("=", 1)
        for row in csv.DictReader(line for line in open(file) if not line.startswith("#")):
            row["run"] = run
            lines.append(",".join(row.get(c) or "" for c in columns))
    open(sys.argv[1], "w").write("\n".join(lines) + "\n")


main()
