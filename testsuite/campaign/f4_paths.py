# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of row F4: f4_paths.py FOLDER PUBLIC DAEMON-PID N SEED. FOLDER is the daemon's own; PUBLIC is one that every user may write to, in which it writes
its metrics each second. A user tries what belongs to the daemon and to another user's job."""
import ctypes
import fcntl
import os
import random
import signal
import stat
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import Connection, as_user, step
from loop import make_trials

FOLDER, PUBLIC, DAEMON, N, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
VICTIM, INTRUDER = 70001, 70002
SOCKET = os.path.join(FOLDER, "sock")
# What a user may read: the log has no secret, the socket is for everybody.
READABLE = {"sock", "pid", "log", "gpushare.conf"}
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD, PROCESS_VM_READV = 434, 438, 310


def may(function, *arguments):
    """Was it allowed?"""
    try:
        done = function(*arguments)
        if isinstance(done, int) and done > 2 and function is os.open:
            os.close(done)
        return True
    except OSError:
        return False


def files(victim):
    for name in os.listdir(FOLDER):
        path = os.path.join(FOLDER, name)
        if os.path.isdir(path) or name not in OWN:
            continue
        if may(os.open, path, os.O_RDONLY) and name not in READABLE:
            return "a user may read %s" % name
        if may(os.open, path, os.O_WRONLY):
            return "a user may write to %s" % name
    return ""


def folder(victim):
    sock, name = os.path.join(FOLDER, "sock"), os.path.join(FOLDER, "intruder")
    for what, function, *arguments in (("make a file", os.open, name, os.O_CREAT | os.O_WRONLY), ("make a link", os.symlink, "/etc/passwd", name),
                                       ("make a hard link", os.link, sock, name), ("remove the socket", os.unlink, sock),
                                       ("rename the socket", os.rename, sock, name), ("make a folder", os.mkdir, name),
                                       ("replace the state", os.symlink, "/etc/passwd", os.path.join(FOLDER, "sock.state.new")),
                                       ("change the socket's mode", os.chmod, sock, 0o777)):
        if may(function, *arguments):
            return "a user may %s" % what
    return ""


def process(pid):
    """What /proc has of it, and its descriptors and memory by other ways."""
    def one(victim):
        of = pid or victim
        for name in ("mem", "environ", "maps", "fd", "root", "cwd", "exe", "auxv"):
            path = "/proc/%d/%s" % (of, name)
            if may(os.readlink if name in ("root", "cwd", "exe") else os.listdir if name == "fd" else lambda p: open(p, "rb").read(16), path):
                return "a user may look at %s of %s" % (name, "the daemon" if pid else "another user's process")
        fd = libc.syscall(PIDFD_OPEN, of, 0)
        if fd >= 0 and any(libc.syscall(PIDFD_GETFD, fd, n, 0) >= 0 for n in range(64)):
            return "a user may take a descriptor"
        if may(os.kill, of, signal.SIGURG):
            return "a user may signal it"
        buffer = ctypes.create_string_buffer(8)
        iov = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        if libc.syscall(PROCESS_VM_READV, of, ctypes.byref(iov), 1, ctypes.byref(iov), 1, 0) > 0:
            return "a user may read its memory"
        return ""
    return one


def pages(victim):
    """A client's own page is sealed: it can neither shrink nor be sealed anew, and no name leads to it."""
    owner, job = step(SOCKET, shares=1, memory=64 << 20, partition="main")
    if not owner:
        return "no step: %s" % job
    answer = Connection(SOCKET).ask("HELLO", job_id=job)
    if answer.name != "WELCOME":
        return "HELLO: %s" % answer.name
    fd = answer.fds[0]
    if may(os.ftruncate, fd, 0) or may(os.ftruncate, fd, 1 << 20):
        return "a user may change the size of a page"
    if fcntl.fcntl(fd, 1034) & 7 != 7:  # F_GET_SEALS: no further seals, no shrinking, no growing
        return "a page has the seals %x" % fcntl.fcntl(fd, 1034)
    return ""


def races(victim):
    """Links in the place of files that the daemon makes in a folder of everybody's."""
    until = time.monotonic() + 2.5
    at, target = os.path.join(PUBLIC, "metrics.prom"), os.path.join(FOLDER, "precious")
    while time.monotonic() < until:
        for name in (at + ".new", at):
            function = random.choice([os.symlink] * 4 + [os.link, lambda _, n: os.close(os.open(n, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)),
                                      lambda _, n: os.mkfifo(n), lambda _, n: os.mkdir(n)])
            may(function, target, name)
        time.sleep(random.uniform(0, 0.02))
        for name in (at + ".new", at):
            may(os.rmdir if os.path.isdir(name) and not os.path.islink(name) else os.unlink, name)
    return ""


WAYS = [files, folder, process(DAEMON), process(None), pages, races]
OWN = {"sock", "pid", "log", "gpushare.conf", "sock.lock", "sock.key", "sock.state", "history.db", "precious"}


def modes():
    """Of what the daemon has made."""
    for name in OWN - READABLE - {"precious"}:
        path = os.path.join(FOLDER, name)
        if os.path.exists(path) and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            return "%s has the mode %o" % (name, stat.S_IMODE(os.stat(path).st_mode))
    return ""


def victim_process():
    """A process of another user's that is a client, for as long as this one. Its number."""
    ends = os.pipe()
    if os.fork() == 0:
        libc.prctl(1, signal.SIGKILL)

        def hold():
            libc.prctl(1, signal.SIGKILL)  # after the change of user, which forgets it
            owner, job = step(SOCKET, shares=10, memory=100 << 20, partition="main")
            connection = Connection(SOCKET)
            welcome = connection.ask("HELLO", job_id=job)
            os.write(ends[1], b"%d\n" % (os.getpid() if welcome.name == "WELCOME" else 0))
            time.sleep(100000)
        as_user(VICTIM, hold)
        os._exit(0)
    os.close(ends[1])
    return int(os.read(ends[0], 64))


def main():
    precious = os.path.join(FOLDER, "precious")
    with open(precious, "w") as file:
        file.write("precious\n")
    os.chmod(precious, 0o600)
    victim = victim_process()

    def trial(index):
        random.seed(index)
        wrong = modes() or as_user(INTRUDER, WAYS[index % len(WAYS)], victim)
        with open(precious) as file:
            wrong = wrong or ("" if file.read() == "precious\n" else "a file of root's was written to")
        Connection(SOCKET).query()
        return wrong

    make_trials(trial, N, SEED)


main()
