# SPDX-License-Identifier: GPL-2.0-or-later
"""Row F2: a process that has a step, or is a client, or has only connected, ends while gpushared is stopped or away, and another one gets its
number before gpushared looks. Process 1 of a namespace of numbers; the sockets are made here before a child connects them, so that they
outlive it. In every other fifty trials gpushared runs as on Linux before 5.3, without pidfds, and so without the one that says who has connected (6.5): there a
process of the same user cannot be told from one that has handed its connection on, and the trials leave that out.

Between a process and the next one of its number lies a tick of the clock by which /proc tells starts, as it does where no one chooses
numbers: 32768 processes do not begin and end in 10 ms."""
import os
import json
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import Closed, Connection, become  # noqa: E402
from trials import BUILD, TMP, Failure, alive, expect, run, wait_for  # noqa: E402

SOCKET = os.path.join(TMP, "sock")
VICTIM, INTRUDER = 70001, 70002
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
STEP = dict(shares=10, memory=20 << 20, partition="main")
children = []


class Taken(Failure):
    """Somebody else has the number that was to be used again: nothing is shown."""


class Open(Connection):
    """Not connected yet."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.set_inheritable(True)
        self.sock.settimeout(20)

    def connect(self):
        self.sock.connect(SOCKET)


class Child:
    """A process that does what `function(say)` does, as a user, and then lives until it is ended; say(words) is heard here."""

    def __init__(self, uid, function, number=0):
        for _ in range(100):
            ends = os.pipe()
            if number:
                with open("/proc/sys/kernel/ns_last_pid", "w") as file:
                    file.write(str(number - 1))
            self.pid = os.fork()
            if self.pid == 0:
                self.act(uid, function, ends[1], number)
            os.close(ends[1])
            self.words = os.fdopen(ends[0])
            self.begun = time.monotonic()
            if not number or self.pid == number:
                break
            self.end()
        if number and self.pid != number:
            raise Taken("no process gets the number %d: that shows nothing" % number)
        children.append(self)

    @staticmethod
    def act(uid, function, fd, number):
        def say(words):
            os.write(fd, ("%s\n" % words).encode())
        try:
            if not number or os.getpid() == number:
                become(uid)
                function(say)
        except (Closed, OSError) as why:
            say("CLOSED %s" % why)
        finally:
            signal.pause()
            os._exit(0)

    def hear(self):
        return self.words.readline().strip()

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.words.close()
        self.pid = 0


def wait_for_tick(child):
    time.sleep(max(0.0, child.begun + 1.2 * TICK_S - time.monotonic()))


class Daemon:
    def __init__(self):
        self.pid, self.old = 0, None

    def start(self, old):
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, ".libs/old_kernel.so")) if old else None
        done = subprocess.run(["gpushared", "--config", os.path.join(TMP, "gpushare.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=env, timeout=20)
        expect(not done.returncode, "gpushared does not start: " + done.stderr.decode(errors="replace")[-200:])
        with open(os.path.join(TMP, "pid.inside")) as file:
            self.pid = int(file.read())
        self.old = old

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)  # this is its parent, as process 1
        self.pid = 0

    def be(self, old):
        if self.old != old or not self.pid or not alive(self.pid):
            self.end()
            self.start(old)

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

        def stopped():
            with open("/proc/%d/stat" % self.pid) as file:
                return file.read().rsplit(")", 1)[1].split()[0] == "T"
        wait_for(20, "gpushared does not stop", stopped)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)


daemon = Daemon()


def counted():
    gpu = json.loads(Connection(SOCKET).query())["gpus"][0]
    return gpu["shares_taken"], gpu["reserved_mb"], gpu["clients"]


def becomes(what, words):
    wait_for(8, "%s: shares, MiB and clients are %s and not %s" % (words, counted(), what), lambda: counted() == what)


# --- what the children do ---

def has_step(connection):
    def function(say):
        connection.connect()
        answer = connection.ask("LOCAL", **STEP)
        say(answer.fields.get("job_id", 0))
    return function


def has_step_and_children(inner, lent):
    """At each byte of a pipe it forks a child that says its number and calls inner(); that one alone has the lent connection then."""
    def function(say, order):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        connection = Open()
        has_step(connection)(say)
        while os.read(order, 1):
            if os.fork() == 0:
                say(os.getpid())
                inner(say)
                signal.pause()
            lent.close()
    return function


def intrudes(job, others=None):
    """It asks for the step while gpushared is stopped, and says what was answered."""
    def function(say):
        if others:
            others.close()
        own = Open()
        own.connect()
        own.send("HELLO", 1, job_id=job, program="intruder")
        say("sent")
        say(own.receive().name)
        where = Open()
        where.connect()
        say(where.ask("WHERE").fields.get("job_id", 0))
    return function


def refused(child, job, who):
    answer = child.hear()
    expect(answer.split()[0] in ("REFUSED", "CLOSED"), "%s got %s" % (who, answer))
    if answer == "REFUSED":
        where = child.hear()
        expect(where != str(job), "%s is in the step of job %s" % (who, where))


def owned_step():
    """A step, the process that has it, and the connection by which it was made, which stays when the process ends."""
    connection = Open()
    owner = Child(VICTIM, has_step(connection))
    job = int(owner.hear())
    expect(job, "no step was made")
    wait_for_tick(owner)
    return connection, owner, job


# --- the ways ---

def registrant(rng, _):
    """The process that has a step ends; its connection does not."""
    connection, owner, job = owned_step()
    daemon.stop()
    number = owner.pid
    owner.end()
    uid = rng.choice((VICTIM, INTRUDER))
    other = Child(uid, intrudes(job), number)
    expect(other.hear() == "sent", "the intruder could not ask")
    daemon.go_on()
    refused(other, job, "a process (uid %d) that has the number of the one that had the step" % uid)
    becomes((0, 0, 0), "a step whose process is gone")
    connection.close()


def restart(rng, old):
    """The same while gpushared is away: the state file has the number."""
    connection, owner, job = owned_step()
    daemon.end()
    number = owner.pid
    owner.end()
    uid = rng.choice((VICTIM, INTRUDER))
    other = Child(uid, lambda say: (signal.sigwait({signal.SIGUSR1}), intrudes(job)(say)), number)
    daemon.start(old)
    os.kill(other.pid, signal.SIGUSR1)
    expect(other.hear() == "sent", "the intruder could not ask")
    refused(other, job, "a process (uid %d) that has the number of one of the state file" % uid)
    becomes((0, 0, 0), "a step of the state file whose process is gone")
    connection.close()


def with_orders(inner, lent):
    orders = os.pipe()
    os.set_inheritable(orders[0], True)
    function = has_step_and_children(inner, lent)
    owner = Child(VICTIM, lambda say: (os.close(orders[1]), function(say, orders[0])))
    os.close(orders[0])
    job = int(owner.hear())
    expect(job, "no step was made")
    return owner, job, orders[1]


def client(rng, _):
    """A client ends, and a process that is in no step gets its number."""
    connection = Open()

    def inner(say):
        connection.connect()
        say(connection.ask("HELLO", program="client").name)
    owner, job, order = with_orders(inner, connection)
    try:
        os.write(order, b"x")
        number = int(owner.hear())
        begun = time.monotonic()
        expect(owner.hear() == "WELCOME", "a process of the step is no client")
        time.sleep(max(0.0, begun + 1.2 * TICK_S - time.monotonic()))
        daemon.stop()
        os.kill(number, signal.SIGKILL)
        wait_for(20, "a client does not end", lambda: not os.path.exists("/proc/%d" % number))
        uid = rng.choice((VICTIM, INTRUDER))
        other = Child(uid, intrudes(job, connection), number)
        expect(other.hear() == "sent", "the intruder could not ask")
        daemon.go_on()
        refused(other, job, "a process (uid %d) that has a client's number" % uid)
        connection.close()
        becomes((10, 20, 0), "a client that is gone")
    finally:
        os.close(order)


def connected(rng, old):
    """A process that is in no step connects, hands the connection on and ends; one that is in a step gets its number."""
    connection = Open()
    owner, job, order = with_orders(lambda say: None, connection)
    try:
        daemon.stop()
        uid = INTRUDER if old else rng.choice((VICTIM, INTRUDER))

        def asks(say):
            connection.connect()
            connection.send("HELLO", 1, job_id=job, program="intruder")
            say("sent")
        other = Child(uid, asks)
        expect(other.hear() == "sent", "the intruder could not ask")
        wait_for_tick(other)
        number = other.pid
        other.end()
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(number - 1))
        os.write(order, b"x")
        got = int(owner.hear())
        if got != number:
            raise Taken("a process of the step got the number %d and not %d: that shows nothing" % (got, number))
        daemon.go_on()
        try:
            answer = connection.receive().name
        except (Closed, OSError):
            answer = "CLOSED"
        expect(answer in ("REFUSED", "CLOSED"), "who (uid %d) has the connection of a process whose number is now one of the step's got %s" % (uid, answer))
        becomes((10, 20, 0), "a connection of a process that has ended")
    finally:
        os.close(order)
        connection.close()


WAYS = [registrant, client, connected, restart]


def attempt(seed, rng):
    old = seed // 50 % 2 == 1
    try:
        daemon.be(old)
        becomes((0, 0, 0), "at the beginning")
        WAYS[seed % len(WAYS)](rng, old)
    except (Closed, LookupError) as why:
        raise Failure("%s: %s" % (type(why).__name__, why)) from None
    finally:
        if daemon.pid and alive(daemon.pid):
            daemon.go_on()
        for child in children:
            child.end()
        children.clear()


def trial(seed, rng):
    for _ in range(4):
        try:
            return attempt(seed, rng)
        except Taken:
            pass
    return attempt(seed, rng)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
run("F2", "f2_reuse.sh", trial)
daemon.end()
