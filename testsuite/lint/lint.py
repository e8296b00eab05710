# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lints share: the files of the source tree, their text, what includes and calls what, and the baselines.

A baseline holds today's offences, one a line: "KEY" or "KEY = COUNT". It may only shrink: an offence that it does not hold fails,
and so does a line whose offence is gone. --update removes and lowers such lines; no option adds one.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

Place = collections.namedtuple("Place", "path line what")
COMMENT_OR_STRING = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''


class Lint:
    """One check: its options, what it found, and the comparison with its baseline."""

    def __init__(self, name, doc, advice):
        parser = argparse.ArgumentParser(prog=name, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--update", action="store_true", help="remove what is gone from the baseline; nothing is ever added")
        parser.add_argument("--list", action="store_true", help="print today's offences in the baseline's form and change nothing")
        parser.add_argument("--srcdir", default=os.environ.get("srcdir", "."), help="the source tree (default: $srcdir, or this folder)")
        parser.add_argument("--builddir", default=".", help="the build tree (default: this folder)")
        self.options = parser.parse_args()
        self.name, self.advice, self.failed = name, advice, False
        self.src = self.options.srcdir
        self.baseline = self.path("testsuite/lint/baseline/" + name)
        self.found = collections.defaultdict(list)  # the offence's key: its places

    def path(self, relative):
        return os.path.join(self.src, relative)

    def read(self, relative):
        with open(self.path(relative), encoding="utf-8", errors="replace") as f:
            return f.read()

    def say(self, text):
        print("%s: %s" % (self.name, text))

    def fail(self, text):
        self.say(text)
        self.failed = True

    def files(self, folder, pattern):
        """Files below a folder whose paths match, sorted; a file gives itself."""
        if os.path.isfile(self.path(folder)):
            return [folder]
        found = [os.path.relpath(os.path.join(at, n), self.src) for at, _, names in os.walk(self.path(folder)) for n in names]
        return sorted(f for f in found if re.search(pattern, f))

    def rows(self, relative):
        """The lines of a table of the lints that are neither empty nor comments, with their numbers."""
        for n, line in enumerate(self.read(relative).splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                yield n, line.strip()

    def offence(self, key, path, line, what, count=1):
        self.found[key] += [Place(path, line, what)] * count

    def allowed(self):
        """The baseline: for each key its line and its count."""
        if not os.path.exists(self.baseline):
            return {}
        entries = {}
        for n, row in self.rows(os.path.relpath(self.baseline, self.src)):
            key, _, count = row.partition(" = ")
            entries[key] = (n, int(count or 1))
        return entries

    def write(self, counts):
        if not os.path.exists(self.baseline):
            return
        with open(self.baseline, encoding="utf-8") as f:
            head = [line for line in f if line.startswith("#")]
        with open(self.baseline, "w", encoding="utf-8") as f:
            f.writelines(head + [entry(key, n) + "\n" for key, n in counts.items()])

    def gone(self, key, n, now):
        """Complain about a line of the baseline that holds more than there is."""
        do = "lower this line of the baseline to %d" % now if now else "remove this line from the baseline"
        self.fail("%s:%d: \"%s\" is no longer so: %s (or run testsuite/lint/%s --update)" % (
            os.path.relpath(self.baseline, self.src), n, key, do, self.name))

    def finish(self, unseen=lambda key: False):
        """Compare with the baseline and exit. Of a key that is unseen nothing can be said here, so it may stay."""
        now = {key: len(places) for key, places in self.found.items()}
        if self.options.list:
            print("\n".join(entry(key, now[key]) for key in sorted(now)))
            sys.exit(0)
        allowed = self.allowed()
        for key in sorted(now):
            limit = allowed[key][1] if key in allowed else 0
            if now[key] <= limit:
                continue
            for place in sorted(set(self.found[key])):
                self.fail("%s:%d: %s" % place)
            self.fail("%s: %d where the baseline has %d: %s" % (key, now[key], limit, self.advice))
        less = {key: limit if unseen(key) else min(limit, now.get(key, 0)) for key, (_, limit) in allowed.items()}
        if self.options.update:
            self.write({key: n for key, n in less.items() if n})
        else:
            for key in less:
                if less[key] < allowed[key][1]:
                    self.gone(key, allowed[key][0], less[key])
        self.end("%d lines of the baseline are left, %d in all" % (len(now), sum(now.values())))

    def end(self, summary):
        if not self.failed:
            self.say(summary)
        sys.exit(1 if self.failed else 0)


def entry(key, count):
    return key if count == 1 else "%s = %d" % (key, count)


def code_of(text, keep_strings=False):
    """C without comments and strings; lines keep their numbers."""
    def blank(m):
        return m[0] if keep_strings and m[0][0] in "\"'" else " " + "\n" * m[0].count("\n") + " "
    return re.sub(COMMENT_OR_STRING, blank, text, flags=re.S)


def includes(lint):
    """Each include of one file under src by another: (file, line, header)."""
    sources = set(lint.files("src", r"\.(c|h|def|S|inc)$"))
    found = []
    for path in sorted(sources):
        for n, line in enumerate(code_of(lint.read(path), keep_strings=True).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            for folder in (os.path.dirname(path), "src") if m else ():
                header = os.path.normpath(os.path.join(folder, m[1]))
                if header in sources:
                    found.append((path, n, header))
                    break
    return found


def module(path):
    """x.c and x.h are one module."""
    return re.sub(r"\.[a-zA-Z]+$", "", path)


def objects(lint):
    """The object in the build tree of each module that has one: automake calls it [TARGET-]BASE.o."""
    modules = {module(f) for f in lint.files("src", r"\.[cS]$")}
    found, build = {}, lint.options.builddir
    for at, folders, names in os.walk(os.path.join(build, "src")):
        folders.sort()
        folder = os.path.relpath(at, build).replace("/.libs", "")
        for name in sorted(n for n in names if n.endswith(".o")):
            parts = name[:-2].split("-")
            made = (os.path.join(folder, "-".join(parts[k:])) for k in range(len(parts)))
            which = next((m for m in made if m in modules), None)
            if which:
                found.setdefault(which, os.path.join(at, name))
    return found


def built(lint, of, modules):
    """Whether each of these modules that still has a .c file has an object, so that its calls are known."""
    return all(m in of or not os.path.exists(lint.path(m + ".c")) for m in modules)


def calls(of):
    """Which module's object wants a symbol that another's defines: (module, module, symbol)."""
    defined, wanted = collections.defaultdict(set), []
    by_object = {path: m for m, path in of.items()}
    out = subprocess.run(["nm", "-A"] + sorted(by_object), capture_output=True, text=True, check=True).stdout if of else ""
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        if kind in "TDBRC":
            defined[name].add(by_object[path])
        elif kind == "U":
            wanted.append((by_object[path], name))
    for user, name in wanted:
        # What several programs define each for itself is looked for in the user's own folder, or it leads nowhere.
        near = {m for m in defined[name] if os.path.dirname(m) == os.path.dirname(user)}
        makers = near or defined[name]
        if len(makers) == 1 and user not in makers:
            yield user, min(makers), name
