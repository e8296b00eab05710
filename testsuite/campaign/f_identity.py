# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of the rows F1, F3 and F5: f_identity.py ROW SOCKET N SEED. Each trial that fails is a line, the last line is the count of
trials."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import NAMES, Closed, Connection, as_user, step
from loop import make_trials

ROW, PATH, N, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
VICTIM, INTRUDER = 70001, 70002


def status():
    return json.loads(Connection(PATH).query())


def taken():
    gpu = status()["gpus"][0]
    return gpu["shares_taken"], gpu["reserved_mb"], gpu["clients"]


def outcome(connection, name, **values):
    try:
        answer = connection.ask(name, **values)
        return answer.name, answer.fields
    except (Closed, OSError):
        return "CLOSED", {}


# --- F1: claims of an identity that is not the kernel's ---

def claims(job):
    """What an intruder may write into HELLO."""
    yield job, 0
    yield job, 0xffffffff
    yield job, random.randrange(2 ** 32)
    yield 0, 0
    yield 0xffffffff, 0xffffffff
    yield 0xF0000000 - 1, 0  # the last of Slurm's
    yield 67_000_000, 5  # as a task of an array
    yield job - 1, 0
    yield job + 1, 0
    yield random.randrange(2 ** 32), random.randrange(2 ** 32)


def intrude(job, trial):
    random.seed(trial)
    claim = list(claims(job))[trial % 10]
    way = trial // 10 % 4  # 3: by a process of the victim's own user, that is none of the step's
    if way == 2:  # who has a step of its own is a client of that one, whatever it says
        owner, own = step(PATH, shares=1, memory=64 << 20, partition="main")
        if not owner:
            return "the intruder gets no step: %s" % own
    connection = Connection(PATH)
    what = outcome(connection, "HELLO", job_id=claim[0], step_id=claim[1], program="intruder", used_bytes=random.choice([0, 1 << 40]) if way == 1 else 0)
    if what[0] == "WELCOME" and (way != 2 or what[1]["job_id"] != own):
        return "the intruder is client of job %x by claiming %x.%x" % (what[1]["job_id"], *claim)
    if what[0] not in ("REFUSED", "CLOSED", "WELCOME"):
        return "%s came for HELLO" % what[0]
    for name, values in (("REGISTER", dict(cred="MUNGE:" + "A" * random.randrange(200))), ("UNREGISTER", dict(cred="MUNGE:B:"))):
        what = outcome(Connection(PATH), name, **values)
        if what[0] not in ("REFUSED", "CLOSED"):
            return "%s came for %s of a user's" % (what[0], name)
    where = outcome(Connection(PATH), "WHERE")
    if where[0] == "HERE" and where[1]["job_id"] == job:
        return "WHERE says that the intruder is in job %x" % job
    return ""


def f1(trial, victim):
    before = taken()
    wrong = as_user(VICTIM if trial // 10 % 4 == 3 else INTRUDER, intrude, victim, trial)
    return wrong or ("" if settles(before) else "the GPU had %s, and has %s" % (before, taken()))


def settles(before):
    for _ in range(200):
        if taken() == before:
            return True
    return False


# --- F3: who registers twice ---

def twice(trial):
    random.seed(trial)
    way = trial % 5
    owner, job = step(PATH, shares=10, memory=100 << 20, partition="main")
    if not owner:
        return "no step: %s" % job
    words = []
    if way == 0:  # on one connection
        connection = Connection(PATH)
        words = [outcome(connection, "HELLO", job_id=job)[0] for _ in range(2)]
    elif way == 1:  # one process, several connections
        connections = [Connection(PATH) for _ in range(4)]
        words = [outcome(p, "HELLO", job_id=job)[0] for p in connections]
    elif way == 2:  # a step twice on its own connection
        words = [outcome(owner, "LOCAL", shares=10, memory=100 << 20, partition="main")[0]]
        connection = Connection(PATH)
        words.append(outcome(connection, "HELLO", job_id=job)[0])
    elif way == 3:  # several processes of a step, at once
        connections = [Connection(PATH) for _ in range(3)]
        for connection in connections:
            if os.fork() == 0:
                try:
                    own = Connection(PATH)
                    own.ask("HELLO", job_id=job)
                    connection.ask("HELLO", job_id=job)
                except (Closed, OSError):
                    pass
                os._exit(0)
        for connection in connections:
            os.wait()
    else:  # and again after an exec, of which the connection is kept
        connection = Connection(PATH)
        words = [outcome(connection, "HELLO", job_id=job)[0]]
        os.set_inheritable(connection.sock.fileno(), True)
        if os.fork() == 0:
            os.execv("/bin/true", ["true"])
        os.wait()
        words.append(outcome(Connection(PATH), "HELLO", job_id=job)[0])
    gpu = json.loads(Connection(PATH).query())["gpus"][0]
    counted = gpu["shares_taken"], gpu["reserved_mb"]
    if counted not in ((10, 100), (0, 0)):  # the second: the step's own connection was closed for it
        return "way %d: %s; %s shares and %s MiB are counted for a step of 10 and 100" % (way, words, *counted)
    return ""


def f3(trial, _):
    wrong = as_user(VICTIM, twice, trial)
    return wrong or ("" if settles((0, 0, 0)) else "way %d: the GPU has %s after the end" % (trial % 5, taken()))


# --- F5: commands of an administrator's, by a user ---

COMMANDS = [("POLICY", dict(gpu=0, policy="fifo")), ("POLICY", dict(all=1, policy="piv")), ("PRIORITY", dict(job_id=0, priority=9)),
            ("SUSPEND", dict(job_id=0)), ("SUSPEND", dict(job_id=0, resumed=1)), ("CLASS_POLICY", {"gpu": 0, "policy": "rr", "class": "main"}),
            ("REGISTER", dict(cred="MUNGE:x")), ("UNREGISTER", dict(cred="MUNGE:x"))]


def command(trial, job):
    random.seed(trial)
    if trial % 9 == 8:  # whatever type it is, also those that only the daemon sends
        # A user may send these; PERIODIC says something of the connection's own step to come.
        own = ("QUERY", "HISTORY", "LOCAL", "PERIODIC", "HELLO", "WHERE", "FIGURES", "DOORBELL")
        name = random.choice([n for n in NAMES[1:] if n not in own])
        values = {}
    else:
        name, values = COMMANDS[trial % 9]
        values = dict(values, job_id=job) if "job_id" in values else values
    what = outcome(Connection(PATH), name, **values)
    return "" if what[0] in ("REFUSED", "CLOSED") else "%s of a user's was answered by %s %s" % (name, *what)


def f5(trial, victim):
    before = settings(victim)
    wrong = as_user(INTRUDER, command, trial, victim)
    return wrong or ("" if settings(victim) == before else "it was %s, and is %s" % (before, settings(victim)))


def settings(victim):
    now = status()
    return [(g.get("policy"), g["shares_taken"]) for g in now["gpus"]], [(s.get("job"), s.get("priority"), s.get("state")) for s in now["steps"]]


def victim_step():
    """A step of another user's, for as long as this process: its number. The number comes by a pipe, since the step is a child's."""
    ends = os.pipe()
    end = os.pipe()
    if os.fork() == 0:
        os.close(end[1])

        def hold():
            owner, job = step(PATH, shares=20, memory=100 << 20, partition="main")
            os.write(ends[1], b"%d\n" % (job if owner else 0))
            os.read(end[0], 1)
        as_user(VICTIM, hold)
        os._exit(0)
    os.close(ends[1])
    return int(os.read(ends[0], 64)), end


def main():
    row = {"F1": f1, "F3": f3, "F5": f5}[ROW]
    victim, hold = (0, None) if ROW == "F3" else victim_step()
    if ROW != "F3" and not victim:
        sys.exit("the victim gets no step")
    make_trials(lambda index: row(index, victim), N, SEED)
    if hold:
        os.close(hold[1])


main()
