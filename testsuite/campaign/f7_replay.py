# SPDX-License-Identifier: GPL-2.0-or-later
"""Row F7: all that a job step's processes send is recorded: the registration with its munge credential, the client's messages, the end.
It is sent again on new connections, message by message: by another user and by another process of the same user's, while the step lives and
when it is over; by root, too, since a credential opens once; also after gpushared was started again, and, by users, after munged was, which
then has forgotten which credentials it has opened. Nothing of it is granted, and gpushared counts what it counted before."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from connection import NAMES, HEADER, Closed, Connection, as_user, become, body, message  # noqa: E402
from trials import TMP, Daemon, Failure, alive, expect, run, wait_for  # noqa: E402

SOCKET, MUNGE = os.path.join(TMP, "sock"), os.path.join(TMP, "munge/")
VICTIM, INTRUDER = 70001, 70002
GRANTED = ("WELCOME", "REGISTERED", "OK", "ALLOCATED", "USAGE")
ONLY_SAYS = ("FREE", "DOORBELL")  # has no answer; who is no client is disconnected for it
daemon = Daemon()


def credential(values):
    sealed = subprocess.run(["munge", "--socket", MUNGE + "socket", "--ttl", "60", "--restrict-uid", "0"], input=body("STEP", values),
                            stdout=subprocess.PIPE, timeout=20)
    expect(sealed.returncode == 0, "munge seals nothing")
    return sealed.stdout.decode().strip()


class Step:
    """A process of root's that has a step, as slurmstepd has, and a process of the user's below it, a client; both live until close()."""

    def __init__(self, job, shares):
        self.values = dict(job_id=job, step_id=0, uid=VICTIM, shares=shares, job_shares=shares, memory=50 << 20, partition="main")
        self.sent = [message("REGISTER", cred=credential(self.values))]
        self.hello = [message("HELLO", job_id=job, step_id=0, program="victim"), message("ALLOC", bytes=4096), message("FREE", bytes=4096),
                      message("PRIORITY_REQUEST", kind=0), message("ALLOC", bytes=1 << 20)]
        ends, self.order = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.order[1])
            self.act(ends[1])
        os.close(ends[1])
        os.close(self.order[0])
        with os.fdopen(ends[0]) as words:
            answers = words.read().split()
        expect(answers == ["REGISTERED", "WELCOME", "ALLOCATED", "USAGE", "ALLOCATED"], "a step that is none of a replay got %s" % answers)
        self.sent += self.hello

    def act(self, fd):
        try:
            answer = self.say(fd, Connection(SOCKET), self.sent[0])
            if answer == "REGISTERED" and os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                become(VICTIM)
                connection = Connection(SOCKET)
                for data in self.hello:
                    self.say(fd, connection, data)
                os.close(fd)
                os.read(self.order[0], 1)
                os._exit(0)
            os.close(fd)
            os.read(self.order[0], 1)
            os.waitpid(-1, 0)
        except (Closed, OSError, Failure):
            pass
        os._exit(0)

    @staticmethod
    def say(fd, connection, data):
        connection.send_bytes(data)
        if NAMES[HEADER.unpack_from(data)[2]] in ONLY_SAYS:
            return ""
        name = connection.receive().name
        os.write(fd, (name + "\n").encode())
        return name

    def unregister(self):
        self.sent.append(message("UNREGISTER", cred=credential(self.values)))
        connection = Connection(SOCKET)
        connection.send_bytes(self.sent[-1])
        expect(connection.receive().name == "OK", "a step was not unregistered")

    def close(self):
        if self.pid:
            os.close(self.order[1])
            os.waitpid(self.pid, 0)
        self.pid = 0


def replay(messages, together):
    """What of it was granted, as words. together: all on one connection, as far as that goes."""
    connection = None
    for data in messages:
        name = NAMES[HEADER.unpack_from(data)[2]]
        connection = connection if connection and together else Connection(SOCKET, 10)
        try:
            connection.send_bytes(data)
            if name in ONLY_SAYS:
                continue
            answer = connection.receive()
            if answer.name != "REFUSED":
                return "%s was answered by %s %s" % (name, answer.name, answer.fields)
        except (Closed, OSError):
            pass
        connection = None  # whoever was refused is disconnected
    return ""


def counted():
    """All that a replay could change."""
    status = json.loads(Connection(SOCKET).query())
    gpu = status["gpus"][0]
    return [(s.get("job"), s.get("shares"), s.get("priority"), s.get("state"), s.get("used_mb"), s.get("peak_mb")) for s in status["steps"]], \
        gpu["shares_taken"], gpu["reserved_mb"], gpu["clients"]


def restart_gpushared():
    pid = daemon.pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(20, "gpushared did not end", lambda: not alive(pid))
    done = subprocess.run(["gpushared", "--config", os.path.join(TMP, "gpushare.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20)
    expect(done.returncode == 0, "gpushared does not start again")


def restart_munged():
    with open(MUNGE + "pid") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGTERM)
    wait_for(20, "munged did not end", lambda: not alive(pid) and not os.path.exists(MUNGE + "pid"))
    done = subprocess.run(["munged", "--force", "--key-file", MUNGE + "key", "--socket", MUNGE + "socket", "--pid-file", MUNGE + "pid", "--log-file",
                           MUNGE + "log", "--seed-file", MUNGE + "seed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
    expect(done.returncode == 0, "munged does not start again")


def trial(seed, rng):
    user = (INTRUDER, VICTIM, 0)[seed % 3]
    over, again, restarts = seed // 3 % 2, seed // 6 % 2, seed // 12 % 4  # restarts: bit 0 gpushared, bit 1 munged
    step = Step(1000 + seed % 60000, rng.randrange(1, 40))
    other = None
    try:
        messages = list(step.sent)
        if over:
            step.unregister()
            messages = list(step.sent)
            step.close()
            if again:  # the job was requeued: the same step is there once more
                other = Step(step.values["job_id"], rng.randrange(1, 40))
        if restarts & 1:
            restart_gpushared()
        if restarts & 2 and user:  # root could as well seal a new one
            restart_munged()
        if not user:  # a client of root's own process is in no step
            rng.shuffle(messages)
        before = counted()
        wrong = as_user(user, replay, messages, rng.randrange(2)) if user else replay(messages, rng.randrange(2))
        expect(not wrong, "uid %d: %s" % (user, wrong))
        wait_for(5, "gpushared counts %s, and counted %s" % (counted(), before), lambda: counted() == before)
    except (Closed, RuntimeError, LookupError) as why:
        raise Failure("%s: %s" % (type(why).__name__, why)) from None
    finally:
        for one in (step, other):
            if one:
                one.close()
        wait_for(10, "a step stays", lambda: daemon.free())


run("F7", "f7_replay.sh", trial)
