# SPDX-License-Identifier: GPL-2.0-or-later
"""Row C6: gpushared is killed, and the node has another boot id for the next one, which has no step of the past although the processes that
registered them live, as others of their numbers could. In other trials somebody has put something that is no socket in the socket's place,
which is refused in words and left as it is, or the socket of a dead daemon is there."""
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Closed  # noqa: E402
from state_file import SOCKET, STATE, Holder, clean, daemon, end_daemon, has_steps, new_step_is_saved, next_daemon, saved_jobs, start  # noqa: E402
from trials import TMP, Failure, expect, run  # noqa: E402

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id(rng):
    return str(uuid.UUID(int=rng.getrandbits(128)))


def another_boot(rng):
    """A command that runs another one on a node that has booted again, as far as it can see; None: there are no mount namespaces here."""
    path = os.path.join(TMP, "boot_id")
    with open(path, "w") as file:
        file.write(boot_id(rng) + "\n")
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % BOOT_ID, path]
    seen = subprocess.run([*command, "cat", BOOT_ID], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with open(path) as file:
        return command if seen.returncode == 0 and seen.stdout == file.read() else None


def state_of_another_boot(rng):
    """Somebody may bring back an old file, too."""
    with open(STATE) as file:
        header, rest = file.read().split("\n", 1)
    words = header.split()
    expect(words[4] == "boot", "the state file has no boot id: " + header)
    words[5] = boot_id(rng)
    with open(STATE, "w") as file:
        file.write(" ".join(words) + "\n" + rest)


def after_a_boot(rng, holders, by_file):
    command = [] if by_file else another_boot(rng)
    if command is None:
        command, by_file = [], True
    old = saved_jobs()
    end_daemon(signal.SIGKILL)
    if by_file:
        state_of_another_boot(rng)
    if rng.randrange(2):  # nothing else is left where the socket's folder is not kept
        for name in (SOCKET, SOCKET + ".lock", SOCKET + ".key", os.path.join(TMP, "pid")):
            os.unlink(name)
    log, took = next_daemon(*command)
    expect("before the node booted" in log, "the log does not say that the state is of another boot: " + log[-300:])
    expect("known from before" not in log, "a step of before the boot is known")
    has_steps(0)
    expect(saved_jobs() == [], "the state file still has steps of before the boot")
    new_step_is_saved(holders)
    expect(holders[-1].job not in old, "job %d has a number of before the boot" % holders[-1].job)
    # That daemon's own restart is none of the node's.
    end_daemon(signal.SIGKILL)
    log, _ = next_daemon(*command)
    expect("known from before" in log, "after a boot and a restart of the daemon alone its step is not known: " + log[-300:])
    has_steps(1)
    return took


def by_kernel(rng, holders):
    return after_a_boot(rng, holders, False)


def by_file(rng, holders):
    return after_a_boot(rng, holders, True)


def of_an_older_daemon(_, holders):
    """Its file has no boot id: an upgrade keeps the steps."""
    end_daemon(signal.SIGKILL)
    with open(STATE) as file:
        header, rest = file.read().split("\n", 1)
    with open(STATE, "w") as file:
        file.write(header.split(" boot ")[0] + "\n" + rest)
    log, took = next_daemon()
    expect("sense" not in log and "ignored" not in log, "a file of before the boot id is not read: " + log[-300:])
    has_steps(len(holders))
    return took


def stale_socket(_, holders):
    """Of a daemon that is no more: its socket, lock and number, which is another process's by now."""
    end_daemon(signal.SIGKILL)
    expect(stat.S_ISSOCK(os.lstat(SOCKET).st_mode), "a killed daemon leaves no socket: this shows nothing")
    with open(os.path.join(TMP, "pid"), "w") as file:
        file.write("%d\n" % os.getpid())
    _, took = next_daemon()
    expect(daemon() != os.getpid(), "the daemon has not written its own number")
    has_steps(len(holders))
    return took


def put(kind):
    if kind == "folder":
        os.mkdir(SOCKET)
    elif kind == "full folder":
        os.mkdir(SOCKET)
        open(os.path.join(SOCKET, "file"), "w").close()
    elif kind == "file":
        with open(SOCKET, "w") as file:
            file.write("precious")
    elif kind == "link":
        os.symlink(os.path.join(TMP, "gpushare.conf"), SOCKET)
    elif kind == "dangling link":
        os.symlink(os.path.join(TMP, "nowhere"), SOCKET)
    elif kind == "link to a socket":
        other = socket.socket(socket.AF_UNIX)
        other.bind(os.path.join(TMP, "other"))
        other.close()
        os.symlink(os.path.join(TMP, "other"), SOCKET)
    else:
        os.mkfifo(SOCKET)


def is_there(kind):
    mode = os.lstat(SOCKET).st_mode
    if kind == "file":
        with open(SOCKET) as file:
            return file.read() == "precious"
    if "link" in kind:
        return stat.S_ISLNK(mode) and not os.path.lexists(os.path.join(TMP, "nowhere")) and (kind != "link to a socket" or os.path.lexists(os.path.join(TMP, "other")))
    return stat.S_ISFIFO(mode) if kind == "FIFO" else stat.S_ISDIR(mode) and os.listdir(SOCKET) == (["file"] if kind == "full folder" else [])


def no_socket(rng, holders):
    kind = rng.choice(("folder", "full folder", "file", "link", "dangling link", "link to a socket", "FIFO"))
    steps = len(holders)
    end_daemon(signal.SIGKILL)
    with open(STATE) as file:
        state = file.read()
    os.unlink(SOCKET)
    put(kind)
    why = start()
    expect(why, "a daemon starts with a %s in the socket's place" % kind)
    expect("gpushared: " in why and SOCKET in why and "not a socket" in why, "the daemon does not say that a %s is in the socket's place: %s" % (kind, why))
    expect(is_there(kind), "the %s in the socket's place is not as it was" % kind)
    with open(STATE) as file:
        expect(file.read() == state, "a daemon that does not start has changed the state")
    if os.path.isdir(SOCKET) and not os.path.islink(SOCKET):
        shutil.rmtree(SOCKET)
    else:
        os.unlink(SOCKET)
    _, took = next_daemon()
    has_steps(steps)
    return took


WAYS = [by_kernel, no_socket, by_file, no_socket, stale_socket, of_an_older_daemon]


def trial(seed, rng):
    holders = []
    try:
        why = start()
        expect(not why, "gpushared does not start: " + why)
        for i in range(rng.randrange(1, 4)):
            holders.append(Holder(70000 + i))
        return WAYS[seed % len(WAYS)](rng, holders)
    except (Closed, LookupError) as why:
        raise Failure("%s: %s" % (type(why).__name__, why)) from None
    finally:
        clean(holders)


run("C6", "c6_boot.sh", trial)
