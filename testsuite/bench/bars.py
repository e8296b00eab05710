#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which bars of the issues are met, by the CSV files of a measurement.

usage: bars.py [--json] [--bars FILE] FOLDER...

FOLDER is where bars_gpu.sh wrote, or doc/measurements; of several, the first that has a file counts. The bars stand in bars.csv.
Prints issue,bar,limit,figure,state: met, NOT MET, or not measured where there are no such rows. A file that cannot be
understood is named with its line, and what it would say is not measured.
Exit status: 1 if a bar is not met or a file was not understood, 2 for a wrong option or a wrong table of bars.
"""
import argparse
import csv
import json
import math
import operator
import os
import re
import sys

LIMITS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
AGGREGATES = {
    "min": min,
    "max": max,
    "sum": sum,
    "geomean": lambda v: math.exp(sum(map(math.log, v)) / len(v)),
    "count": len,
    "distinct": lambda v: len(set(v)),
    "off": lambda v: max(abs(x - 1) for x in v),
}
OF_WORDS = ("count", "distinct")  # these need no numbers


class Malformed(Exception):
    """FILE:LINE: reason."""


class NotMeasured(Exception):
    """No file has such rows."""


def number(text, where):
    try:
        value = float(text)
    except (TypeError, ValueError):
        raise Malformed("%s: '%s' is not a number" % (where, text)) from None
    if not math.isfinite(value):
        raise Malformed("%s: %s is not a figure" % (where, text))
    return value


class Table:
    """A CSV file: its columns, and rows with the number of their line. Lines of # are comments."""

    def __init__(self, path):
        self.path, self.columns, self.rows = path, None, []
        with open(path, encoding="utf-8", newline="") as f:
            lines = f.read().split("\n")
        if lines.pop():
            raise Malformed("%s:%d: the line is cut off" % (path, len(lines) + 1))
        for i, line in enumerate(lines, 1):
            if line.startswith("#") or not line:
                continue
            cells = next(csv.reader([line]))
            if self.columns is None:
                self.columns, self.head = cells, i
            elif len(cells) > len(self.columns):
                raise Malformed("%s:%d: %d fields in a table of %d columns" % (path, i, len(cells), len(self.columns)))
            else:
                self.rows.append((i, cells))
        if self.columns is None:
            raise Malformed("%s:%d: no table" % (path, max(len(lines), 1)))

    def cell(self, row, column):
        if column not in self.columns:
            raise Malformed("%s:%d: no column '%s'" % (self.path, self.head, column))
        line, cells = row
        at = self.columns.index(column)
        if at >= len(cells):
            raise Malformed("%s:%d: ends before column '%s'" % (self.path, line, column))
        return cells[at]

    def fulfils(self, row, condition):
        column, how, wanted = condition
        cell = self.cell(row, column)
        if how == ">=":
            return number(cell, "%s:%d" % (self.path, row[0])) >= float(wanted)
        return (cell == wanted) == (how == "=")

    def values(self, term):
        """What an aggregate is of; a cell left empty does not count."""
        found = []
        for row in self.rows:
            if not all(self.fulfils(row, c) for c in term.conditions):
                continue
            where = "%s:%d" % (self.path, row[0])
            for column in term.columns:
                cells = [self.cell(row, c) for c in column.split("/")]
                if "" in cells:
                    continue
                if term.aggregate in OF_WORDS:
                    found.append(cells[0])
                    continue
                numbers = [number(c, where) for c in cells]
                if term.aggregate == "geomean" and numbers[0] <= 0:
                    raise Malformed("%s: %s is no ratio" % (where, cells[0]))
                if len(numbers) == 2 and numbers[1] == 0:
                    raise Malformed("%s: division by '%s', which is 0" % (where, column.split("/")[1]))
                found.append(numbers[0] if len(numbers) == 1 else numbers[0] / numbers[1])
        return found


class Text:
    """A text file: what a regular expression takes out of its lines."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().split("\n")

    def values(self, term):
        found = []
        for i, line in enumerate(self.lines, 1):
            match = term.pattern.search(line)
            if match:
                found.append(number(match[1], "%s:%d" % (self.path, i)))
        return found


class Term:
    """AGGREGATE(COLUMN... | CONDITION & CONDITION...) or AGGREGATE(/REGULAR EXPRESSION/)"""

    def __init__(self, text):
        parts = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text)
        if not parts or parts[1] not in AGGREGATES:
            raise ValueError("'%s' is no figure" % text)
        self.aggregate, inside = parts[1], parts[2]
        self.pattern, self.columns, self.conditions = None, [], []
        if inside.startswith("/") and inside.endswith("/") and len(inside) > 2:
            self.pattern = re.compile(inside[1:-1])
            if self.pattern.groups != 1:
                raise ValueError("'%s' must take one number" % inside)
            return
        columns, _, conditions = inside.partition("|")
        self.columns = columns.split()
        if not self.columns or any(len(c.split("/")) != (2 if self.aggregate == "off" else 1) for c in self.columns):
            raise ValueError("'%s' names no columns for %s" % (columns, self.aggregate))
        for condition in filter(None, map(str.strip, conditions.split("&"))):
            split = re.fullmatch(r"(\w+)(!=|>=|=)(.*)", condition)
            if not split:
                raise ValueError("'%s' is no condition" % condition)
            self.conditions.append(split.groups())

    def of(self, file):
        """The figure; None where the file has no such rows."""
        if (self.pattern is None) != isinstance(file, Table):
            raise ValueError("%s: a regular expression is for a text, columns are for a table" % file.path)
        values = file.values(self)
        if self.aggregate == "count" and (isinstance(file, Text) or file.rows):
            return len(values)
        return AGGREGATES[self.aggregate](values) if values else None


class Bar:
    """A row of bars.csv."""

    def __init__(self, issue, name, limit, files, figure):
        self.issue, self.name, self.limit = issue, name, limit
        how, _, value = limit.partition(" ")
        if how not in LIMITS:
            raise ValueError("'%s' is no limit" % limit)
        self.fulfilled, self.value = LIMITS[how], float(value)
        self.files = files.split()
        self.terms = [Term(t) for t in re.split(r"(?<=\)) / ", figure)]
        if not self.files or len(self.terms) > 2:
            raise ValueError("'%s' of '%s' is no figure" % (figure, files))

    def figure(self, folders):
        """The figure and the file that it is from."""
        for name in self.files:
            file = folders.find(name)
            figures = [t.of(file) for t in self.terms] if file else [None]
            if None in figures:
                continue
            if len(figures) == 2 and figures[1] == 0:
                raise Malformed("%s:1: '%s' divides by 0" % (file.path, self.name))
            return figures[0] / figures[1] if len(figures) == 2 else figures[0], file.path
        raise NotMeasured


class Folders:
    """Where the files are, each read once."""

    def __init__(self, folders):
        self.folders, self.read = folders, {}

    def find(self, name):
        name = name if "." in name else name + ".csv"
        for folder in self.folders:
            for prefix in ("", "h200-", "h100-"):
                path = os.path.join(folder, prefix + name)
                if os.path.exists(path):
                    return self.load(path)
        return None

    def load(self, path):
        if path not in self.read:
            try:
                self.read[path] = Table(path) if path.endswith(".csv") else Text(path)
            except (Malformed, UnicodeDecodeError, OSError) as e:
                self.read[path] = e if isinstance(e, Malformed) else Malformed("%s:1: %s" % (path, e))
        if isinstance(self.read[path], Malformed):
            raise self.read[path]
        return self.read[path]


def read_bars(path):
    """The table of bars, or exit status 2 with the line at fault."""
    bars, head = [], None
    with open(path, encoding="utf-8") as f:
        for i, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            cells = line.rstrip("\n").split(",", 4)  # a regular expression may have commas
            if head is None:
                head = cells
                continue
            try:
                if len(cells) != 5:
                    raise ValueError("%d fields instead of 5" % len(cells))
                bars.append(Bar(*cells))
            except (ValueError, re.error) as e:
                print("bars.py: %s:%d: %s" % (path, i, e), file=sys.stderr)
                sys.exit(2)
    return bars


def judge(bars, folders):
    """A row for each bar, and what could not be understood."""
    rows, wrong = [], []
    for bar in bars:
        figure, path, state = None, None, "not measured"
        try:
            figure, path = bar.figure(folders)
            state = "met" if bar.fulfilled(figure, bar.value) else "NOT MET"
        except NotMeasured:
            pass
        except Malformed as e:
            if str(e) not in wrong:
                wrong.append(str(e))
        rows.append({"issue": bar.issue, "bar": bar.name, "limit": bar.limit, "figure": figure, "state": state, "file": path})
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description="Which bars of the issues are met, by the CSV files of a measurement.")
    parser.add_argument("--json", action="store_true", help="with the file that each figure is from")
    parser.add_argument("--bars", metavar="FILE", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "bars.csv"))
    parser.add_argument("folder", nargs="+", metavar="FOLDER")
    args = parser.parse_args()
    for folder in args.folder:
        if not os.path.isdir(folder):
            parser.error("%s is no folder" % folder)
    rows, wrong = judge(read_bars(args.bars), Folders(args.folder))
    if args.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
    else:
        print("issue,bar,limit,figure,state")
        for r in rows:
            print("%s,%s,%s,%s,%s" % (r["issue"], r["bar"], r["limit"], "" if r["figure"] is None else "%.6g" % r["figure"], r["state"]))
    for reason in wrong:
        print("bars.py: " + reason, file=sys.stderr)
    return 1 if wrong or any(r["state"] == "NOT MET" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
