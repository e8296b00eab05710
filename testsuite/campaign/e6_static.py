# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of the row E6: e6_static.py SOURCE BUILD UNIT N SEED. The first is make lint, the second systemd's security check of the unit, and each
further one a file of src, compiled as the build tree compiles it, but warnings are errors and Debian's hardening flags are there, by the compiler
of the build tree and by clang where that is. Past the last file it begins with the first again."""
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from loop import make_trials

SOURCE, BUILD, UNIT, N, SEED = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
EXPOSURE = 3.0
HARDENING = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-Wformat", "-Werror=format-security", "-Werror"]
# What clang says of { 0 } and { NULL }, which leave the rest 0, is no fault.
CLANG = ["-Wno-missing-field-initializers"]
STRIDE = 7919  # neighbours in a folder are alike: the short form takes some of all


def said(command, **options):
    done = subprocess.run(command, cwd=BUILD, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.returncode, done.stdout


def compile_commands():
    """Of each file of src: the compiler, its flags, and the file."""
    sources = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(SOURCE, "src")) for name in names if name.endswith(".c")]
    prefix = makefile_variable("srcdir")
    changed = [word for path in sources for word in ("-W", os.path.join(prefix, os.path.relpath(path, SOURCE)))]
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    # What make would run for changed files, and does not run.
    status, text = said(["make", "-n", *changed, "all-am"], env=env)
    commands = {}
    for line in text.splitlines():
        where = re.search(r"-c -o \S+ .*?(src/\S+\.c)(\s|$)", line)
        if where and " -DHAVE_CONFIG_H" in line:
            flags = line[:line.index(" -MT ")]
            flags = re.split(r"--mode=compile|;", flags)[-1].strip()
            commands.setdefault(where.group(1), flags)
    if status or len(commands) < len(sources) * 3 // 4:
        raise RuntimeError("make -n names only %d of %d files: %s" % (len(commands), len(sources), " ".join(text.split())[-100:]))
    commands = sorted(commands.items())
    return commands


def makefile_variable(name):
    with open(os.path.join(BUILD, "Makefile")) as file:
        return re.search(r"^%s = (.*)$" % name, file.read(), re.M).group(1)


def lint():
    status, text = said(["make", "lint"])
    return "" if status == 0 else "make lint: " + " ".join(text.split())[-300:]


def security():
    if not shutil.which("systemd-analyze"):
        return "there is no systemd-analyze"
    status, text = said(["systemd-analyze", "security", "--offline=yes", UNIT])
    level = re.search(r"Overall exposure level.*: ([0-9.]+) ", text)
    if not level:
        return "systemd-analyze security says no exposure: %s" % text[-200:]
    print("worst %s" % level.group(1), flush=True)
    return "" if float(level.group(1)) <= EXPOSURE else "the unit's exposure is %s, more than %g" % (level.group(1), EXPOSURE)


def compiled(path, command):
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    compilers = [(words[:first], [])]
    if shutil.which("clang"):
        compilers.append((["clang"], CLANG))
    for compiler, more in compilers:
        status, text = said([*compiler, *words[first:], *HARDENING, *more, "-c", "-o", "/dev/null", os.path.join(SOURCE, path)])
        if status:
            return "%s: %s: %s" % (path, compiler[-1], (re.search(r"error:.*", text) or [text[-200:]])[0])
    return ""


def main():
    commands = []

    def trial(index):
        if index == 0:
            return lint()
        if index == 1:
            return security()
        if not commands:
            commands.extend(compile_commands())
        return compiled(*commands[(index - 2) * STRIDE % len(commands)])
    make_trials(trial, N, SEED)


main()
