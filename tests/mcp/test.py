#!/usr/bin/env python3
"""Asks the real `sweep mcp` by the official clients for Python and TypeScript, and compares with what the commands print.

  test.py            everything
  test.py NAME…      these tests; a name may be a pattern: 'paperclip*'

Needs what ./install brings, target/debug/sweep, Paperclip's schema (tests/paperclip) and the server that TEST_DATABASE_URL names. The
clients hold every answer to the schema that the server gave for it. Ends with 1 if anything is not as it should be.
"""

import asyncio
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
SWEEP = str(HERE.parent.parent / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/sweep")
SCHEMA = HERE.parent.parent / "target/paperclip/schema.sql"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sweep/mcp"
PYTHON = CACHE / "venv/bin/python"

if Path(sys.prefix).resolve() != (CACHE / "venv").resolve():
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

from mcp import Client, Implementation, MCPError, StdioServerParameters  # noqa: E402

CHANGING = ["wake", "fail_step", "skip_step", "heartbeat", "pause", "resume", "exempt"]
READING = ["list_attention", "get_plan_status", "explain", "status", "dry_run"]
PASSING = {"observed_at", "age_seconds", "idle_seconds", "stuck_seconds", "began_at", "duration_ms", "clocks", "clauses"}
ANSWER_MAX = 25_000
ENVIRONMENT = {"HOME": tempfile.gettempdir(), "PATH": os.environ["PATH"], "SWEEP_GUARD_SHARE": "1"}


def printed(url, *words):
    """What a command prints as JSON."""
    ran = subprocess.run([SWEEP, *words, "--database", url, "--output", "json"], env=ENVIRONMENT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def timeless(document):
    """A document without ages, also in words, and without times of reading."""
    if isinstance(document, str):
        return re.sub(r"\b\d+[smhd]\b", "…", document)
    if isinstance(document, dict):
        kept = {name: value for name, value in document.items() if name not in PASSING and not name.endswith("_age_seconds")}
        return {name: timeless(value) for name, value in kept.items()}
    return [timeless(value) for value in document] if isinstance(document, list) else document


def alike(one, other):
    assert timeless(one) == timeless(other), f"{json.dumps(timeless(one))}\nis not\n{json.dumps(timeless(other))}"


def server(url, *flags):
    return StdioServerParameters(command=SWEEP, args=["mcp", "--database", url, *flags], env=ENVIRONMENT)


async def call(client, tool, **arguments):
    """A tool's answer, which the client has held to the tool's schema."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert not result.is_error, f"{tool} {arguments}: {text}"
    assert json.loads(text) == result.structured_content and len(text.encode()) <= ANSWER_MAX, text
    return result.structured_content


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return result.content[0].text


async def rows(client, tool, name, **arguments):
    """The rows of all pages."""
    found = []
    while True:
        answer = await call(client, tool, **arguments)
        found += answer[name]
        if answer["next_page"] is None:
            return found
        arguments["after"] = answer["next_page"]


def demo(folder, at):
    url = f"sqlite://{folder}/acme.db"
    subprocess.run([SWEEP, "demo", "--keep", "--at", at, "--database", url], env=ENVIRONMENT, check=True, capture_output=True)
    return url


def without_commands(document):
    """A document with items that name no commands: those are a person's."""
    if isinstance(document, dict):
        return {name: [] if name == "commands" else without_commands(value) for name, value in document.items()}
    return [without_commands(value) for value in document] if isinstance(document, list) else document


async def compare(client, url, plans):
    """Each tool answers what its command prints."""
    attention = without_commands(printed(url, "attention", "--limit", "500")["items"])
    for limit in (1, 3, 100):
        alike(await rows(client, "list_attention", "items", limit=limit), attention)
    status, whole = await call(client, "status"), without_commands(printed(url, "status"))
    for name in status:
        value = whole[name][: len(status[name])] if isinstance(status[name], list) else whole[name]
        alike({name: status[name]}, {name: value})
    report = printed(url, "--dry-run")
    by_id = lambda row: row["id"]  # noqa: E731
    for limit in (1, 7, 100):
        subjects = await rows(client, "dry_run", "subjects", limit=limit)
        alike(sorted(subjects, key=by_id), sorted(report["subjects"], key=by_id))
    for row in report["subjects"]:
        alike(await call(client, "explain", kind=row["kind"], subject=row["id"]), printed(url, "explain", row["kind"], row["id"]))
    for plan in plans:
        shown = printed(url, "status", "--plan", plan)
        answer = await call(client, "get_plan_status", plan=plan)
        assert answer.pop("steps_total") == len(shown["steps"]) and answer.pop("next_page") is None
        alike(answer, shown)
    return report


async def demo_at_its_start(mode):
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "start")
        async with Client(server(url), mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == READING
            assert all(tool.annotations.read_only_hint and tool.output_schema for tool in tools)
            report = await compare(client, url, ["Release 2.4"])
            assert report["kinds"]["issues"]["continued"] and report["kinds"]["sessions"]["escalated"]
        assert printed(url, "status")["sweeper"]["sweeps"] == [], "nothing was swept"


async def demo_at_its_start_as_ever():
    await demo_at_its_start("legacy")


async def demo_at_its_start_without_initialize():
    await demo_at_its_start("2026-07-28")


async def demo_at_its_end():
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "end")
        async with Client(server(url)) as client:
            await compare(client, url, ["Release 2.4"])
            answer = await call(client, "list_attention")
            assert answer["items_total"] and answer["sweeper"]["state"] != "never"


async def what_is_wrong_is_said():
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "start")
        async with Client(server(url)) as client:
            assert "expected one of session, issue, step" in await refusal(client, "explain", kind="isue", subject="ACM-12")
            assert "there is no issue ACM-99" in await refusal(client, "explain", kind="issue", subject="ACM-99")
            assert "limit: 1000: expected a whole number from 1 to 100" in await refusal(client, "dry_run", limit=1000)
            try:
                await client.call_tool("delete_everything", {})
                raise AssertionError("there is no such tool")
            except MCPError as error:
                assert "there is no tool delete_everything" in str(error), error
            Path(folder, "acme.db").rename(Path(folder, "gone.db"))
            assert "acme.db" in await refusal(client, "status")
            Path(folder, "gone.db").rename(Path(folder, "acme.db"))
            await call(client, "status")


async def changes():
    """The commands show what an agent has changed, with who asked for it."""
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "start")
        async with Client(server(url, "--allow-changes", "--as", "ada"), client_info=Implementation(name="python", version="1.0")) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == READING + CHANGING, list(tools)
            assert not any(tools[name].annotations.read_only_hint for name in CHANGING)
            await call(client, "exempt", kind="issue", subject="ACM-12", reason="a load test", until="2d")
            assert printed(url, "exempt", "list")["exemptions"][0]["reason"] == "a load test (ada by python 1.0)"
            assert (await call(client, "explain", kind="issue", subject="ACM-12"))["history"]["exemption"]["holds"]
            for request in ("heartbeat", "pause", "resume"):
                answer = await call(client, request, session="chiara-4")
                assert (answer["request"], answer["requested_by"]) == (request, "ada by python 1.0"), answer
            assert "is not paused" in await refusal(client, "resume", session="chiara-4")
            woken = await call(client, "wake", subject="ACM-13")
            assert (woken["request"], woken["requested_by"]) == ("wake", "ada by python 1.0"), woken
            assert "a wake is queued" in await refusal(client, "wake", subject="ACM-13")
            for tool, step in (("skip_step", "SOC 2 evidence #2"), ("fail_step", "Release 2.4 #2")):
                answer = await call(client, tool, step=step)
                assert (answer["request"], answer["requested_by"]) == (tool.replace("_", "-"), "ada by python 1.0"), answer
                assert printed(url, "explain", "step", step)["recoveries"][-1]["requested_by"] == "ada by python 1.0"
        async with Client(server(url)) as client:
            assert "it was not started with --allow-changes" in await refusal(client, "pause", session="chiara-4")


async def signs_of_life():
    """Each call of a tool is a sign of life of the session that the server was started for."""
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "start")
        finding = lambda: printed(url, "explain", "session", "chiara-4")["finding"]  # noqa: E731
        async with Client(server(url, "--session", "chiara-4")) as client:
            await client.list_tools()
            assert finding() == "silent"
            await call(client, "status")
            assert finding() is None


def psql(url, sql=None, file=None):
    words = ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"] + (["-f", str(file)] if file else ["-c", sql])
    subprocess.run([*words, url], check=True, capture_output=True)


PAPERCLIP = """
insert into companies (id, name, issue_prefix, default_responsible_user_id) values ('{company}', 'Acme', 'ACM', 'user-1');
insert into agents (id, company_id, name, status) values ('{ada}', '{company}', 'Ada', 'idle'), ('{eve}', '{company}', 'Eve', 'terminated');
insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select gen_random_uuid(), '{company}', 'ACM-' || n, 'Mend the fence', 'in_progress', case when n < 30 then '{ada}'::uuid else '{eve}'::uuid end,
    now() - n * interval '1 hour', now() - n * interval '1 hour', now() - n * interval '1 hour'
from generate_series(1, 40) n;
"""


async def paperclip():
    """On Paperclip's own schema: forty issues that nobody works on, of an agent who may be woken and one who is gone."""
    server_url, name = os.environ["TEST_DATABASE_URL"], f"sweep_test_mcp_{uuid.uuid4().hex}"
    url = server_url.replace("/postgres?", f"/{name}?")
    psql(server_url, f"create database {name} template template0")
    try:
        psql(url, file=SCHEMA)
        subprocess.run([SWEEP, "migrate", "--database", url], env=ENVIRONMENT, check=True, capture_output=True)
        psql(url, PAPERCLIP.format(company=uuid.uuid4(), ada=uuid.uuid4(), eve=uuid.uuid4()))
        async with Client(server(url)) as client:
            report = await compare(client, url, [])
            assert report["kinds"]["issues"]["continued"] == 10 and report["kinds"]["issues"]["abandoned"] == 11
            assert "steps: not provided by this database" in await refusal(client, "get_plan_status", plan="Launch")
            subprocess.run([SWEEP, "--yes", "--database", url], env=ENVIRONMENT, check=True, capture_output=True)
            await compare(client, url, [])
            assert (await call(client, "list_attention"))["items_total"] == 11
    finally:
        psql(server_url, f"drop database {name} with (force)")


async def typescript():
    """The TypeScript client, which most agents are built on, gets what the Python client gets."""
    with tempfile.TemporaryDirectory() as folder:
        url = demo(folder, "end")
        calls = [("status", {}), ("list_attention", {"limit": 2}), ("dry_run", {"limit": 5}), ("get_plan_status", {"plan": "Release 2.4"})]
        calls += [("explain", {"kind": "issue", "subject": "ACM-12"}), ("explain", {"kind": "issue", "subject": "ACM-99"})]
        asked = {"command": SWEEP, "args": ["mcp", "--database", url], "calls": [{"name": name, "arguments": given} for name, given in calls]}
        ran = subprocess.run(["node", HERE / "client.mjs", CACHE, json.dumps(asked)], env=ENVIRONMENT, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        got = json.loads(ran.stdout)
        assert got["tools"] == READING, got["tools"]
        async with Client(server(url)) as client:
            for (name, given), answer in zip(calls[:-1], got["answers"]):
                alike(answer["structuredContent"], await call(client, name, **given))
        assert got["answers"][-1]["isError"] and "there is no issue ACM-99" in got["answers"][-1]["content"][0]["text"]


TESTS = [demo_at_its_start_as_ever, demo_at_its_start_without_initialize, demo_at_its_end, what_is_wrong_is_said]
TESTS += [changes, signs_of_life, paperclip, typescript]


def main():
    patterns = sys.argv[1:] or ["*"]
    chosen = [test for test in TESTS if any(fnmatch.fnmatch(test.__name__, pattern) for pattern in patterns)]
    failed = 0
    for test in chosen:
        try:
            asyncio.run(test())
            print(f"{test.__name__} ... ok", flush=True)
        except BaseException:
            failed += 1
            traceback.print_exc()
            print(f"{test.__name__} ... FAILED", flush=True)
    print(f"\n{len(chosen) - failed} passed, {failed} failed")
    sys.exit(bool(failed) or not chosen)


if __name__ == "__main__":
    main()
