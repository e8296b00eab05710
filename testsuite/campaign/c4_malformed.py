# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of row C4: c4_malformed.py CONFIGURATION LOG DAEMON-PID N SEED. The daemon serves with this configuration. Each trial makes one that has an error:
--check, a start and a reload must say the same of it."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from loop import make_trials

CONF, LOG, DAEMON, N, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
HERE = os.path.dirname(os.path.realpath(__file__))
with open(os.path.join(HERE, "../../src/gpushare/config/keys.def")) as file:
    KEYS = re.findall(r"^KEY\((\w+), \w+, (\w+),", file.read(), re.M)
with open(CONF, "rb") as file:
    GOOD = file.read()
NUMBERS = ["-1", "99999999999999999999999", "1e400", "0x", "5 parsecs", "--", "1.2.3", "inf", "\xff"]
# Values that no key of these types takes. Text and paths take most of what is written: theirs are too long.
WRONG = {"STRING": ["x" * 5000], "PATH": ["relative/path", "x" * 5000], "BOOL": ["maybe", "2", "yesno"], "CPU": ["-2", "many", "9" * 30]}


def wrong_value(kind):
    return random.choice(WRONG.get(kind, NUMBERS))


def replaced(lines, key, value):
    lines = [line for line in lines if not line.lower().startswith(key.lower().encode() + b"=")]
    return lines + [("%s=%s" % (key, value)).encode("latin-1")]


def malformed(number):
    """The file, and a word about it. The error is in its last line where it has a line."""
    lines = [line for line in GOOD.splitlines() if line]
    way = number % 12
    key, kind = KEYS[number // 2 % len(KEYS)]
    if way < 4:
        return b"\n".join(replaced(lines, key, wrong_value(kind))), "%s with a wrong value" % key
    return {
        4: lambda: (b"\n".join(lines + [b"Bogus%d=1" % number]), "an unknown key"),
        5: lambda: (b"\n".join(lines + [bytes(random.randrange(128, 256) for _ in range(40))]), "no text"),
        6: lambda: (b"\n".join(line for line in lines if not line.startswith(b"Gpu=")), "no GPU"),
        7: lambda: (b"\n".join(lines + [random.choice([b"Gpu=0 Memory=1G", b"Gpu=-1 Memory=1G", b"Gpu=1", b"Gpu=1 Memory=-5", b"Gpu=99999 Memory=1G",
                                                      b"Gpu=1 Memory=1G Bogus=2", b"Gpu=1 Memory=999999999999T"])]), "a wrong GPU"),
        8: lambda: (b"\n".join(lines + [random.choice([b"Partition= Priority=1", b"Partition=x Priority=-99999999999", b"Partition=x Priority=high",
                                                      b"Partition=x Bogus=1", b"Partition=x MaxShares=-1"])]), "a wrong partition"),
        9: lambda: (b"\n".join(lines + [b"Policy=fi\0fo"]), "a zero byte"),
        10: lambda: (b"\n".join(lines + [random.choice([b"Policy", b"=", b"Policy=", b"Policy==fifo", b"[section]", b"PolicyParameters=rr_quantum",
                                                       b"PolicyParameters=bogus=1", b"PolicyParameters=rr_quantum=-3ms", b"MemoryParameters=margin=1001"])]),
                     "a line that says nothing"),
        11: lambda: (GOOD + b"#" * (2 << 20), "too large a file"),
    }[way]()


def run(*words):
    done = subprocess.run(["gpushared", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    return done.returncode, done.stdout.decode(errors="replace")


def put(path, data):
    with open(path + ".put", "wb") as file:
        file.write(data)
    os.rename(path + ".put", path)


def log_lines(since):
    with open(LOG, "rb") as file:
        file.seek(since)
        return [line for line in file.read().decode(errors="replace").splitlines() if "reloaded" in line]


def reload():
    since = os.path.getsize(LOG)
    os.kill(DAEMON, signal.SIGHUP)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        lines = log_lines(since)
        if lines:
            return lines[-1]
        time.sleep(0.01)
    return ""


def settings():
    said = json.loads(subprocess.run(["gpusharectl", "status", "--json"], stdout=subprocess.PIPE, timeout=20).stdout)
    return [[gpu.get(key) for key in ("gpu", "policy", "classes", "isolation", "memory_mb", "shares")] for gpu in said["gpus"]]


def reason(text):
    """What is said behind the file's name: with the line, if it has one."""
    found = re.search(r"gpushare\.conf(:\d+)?: .*", text)
    return found.group(0).strip() if found else None


def plain(text):
    """Without what is no ASCII: the log has a ? for each byte of what is no UTF-8, --check the bytes."""
    return re.sub(r"\?+", "?", "".join(c if " " <= c <= "~" else "?" for c in text))


def trial(number):
    random.seed(number)
    data, what = malformed(number)
    before = settings()
    second = CONF.replace("gpushare.conf", "second/gpushare.conf")
    os.makedirs(os.path.dirname(second), exist_ok=True)
    # In front, so that a line's number is the same; whichever counts, it is not the first daemon's.
    put(second, data.replace(os.path.dirname(CONF).encode() + b"/", os.path.dirname(CONF).encode() + b"/second/"))
    checked = run("--check", "--config", second)
    started = run("--config", second)
    if started[0] == 0:
        with open(os.path.dirname(second) + "/pid") as file:
            os.kill(int(file.read()), signal.SIGTERM)
    put(CONF, data)
    said = reload()
    try:
        if not started[0] or not checked[0]:
            return "with %s: --check ends with %d, a start with %d, a reload says %r" % (what, checked[0], started[0], said)
        if "not reloaded" not in said:
            return "with %s a daemon that serves says %r" % (what, said)
        reasons = [reason(text) for text in (checked[1], started[1], said)]
        if None in reasons:
            return "with %s no file is named: %r" % (what, (checked[1], started[1], said))
        same = {plain(text)[:60].replace("second/", "") for text in reasons}
        if len(same) != 1:
            return "with %s different things are said: %s" % (what, sorted(same))
        if settings() != before:
            return "with %s the daemon has other settings than before" % what
        return ""
    finally:
        put(CONF, GOOD)
        if "not reloaded" in (again := reload()) or not again:
            print("the good configuration is not taken back: %s" % again)


make_trials(trial, N, SEED)
