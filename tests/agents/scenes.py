"""What record.py records: how each program is started, what is typed, and what a person would say stands there at the end."""

import json
from dataclasses import dataclass, field


@dataclass
class Scene:
    name: str
    command: str  # What a person would say runs there.
    run: list
    steps: list
    state: dict
    model: str = ""  # What the models' stand-in answers; none runs if empty.
    delay: float = 0.08
    files: dict = field(default_factory=dict)  # Below the home.
    setup: str = ""  # For bash, in the work directory.
    env: dict = field(default_factory=dict)  # An empty value takes a variable away.
    status: bool = False  # Whether the terminal says that it understands OSC 7501.


ALL = []


def scene(*given, **named):
    ALL.append(Scene(*given, **named))


def state(name, kind=None, question=None):
    return {"state": name} | ({"kind": kind} if kind else {}) | ({"question": question} if question else {})


IDLE, WORKING, UNKNOWN = state("idle"), state("working"), state("unknown")
REMOVE, ASK, DRAFT = "rm -rf ./important", "Please tidy up", "and then look at the"
PERMISSION = state("waiting", "permission", REMOVE)


def waiting(kind, question=None):
    return state("waiting", kind, question)


def agent(name, run, scenes, common):
    """One agent's scenes, each with what all of them share."""
    for what, given in scenes.items():
        named = {key: common.get(key, {}) | given.pop(key, {}) for key in ("files", "env")}
        scene(f"{name}-{what}", name, run + given.pop("more", []), given.pop("steps"), given.pop("state"), **named, **given)


# Claude Code

KEY = "sk-ant-api03-not-a-key-" + "0" * 40
CLAUDE = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
    "projects": {"{work}": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}


def claude_json(**changes):
    return {".claude.json": json.dumps(CLAUDE | changes)}


READY = r"❯"
ask = [("wait", READY), ("sleep", 1), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "claude",
    ["claude", "--permission-mode", "manual"],
    {
        # The first start asks for a theme, but not without the provider's network. So do the login of a first start, and this one:
        "offline": dict(files={".claude.json": "{}"}, steps=[("sleep", 5)], state=UNKNOWN),
        "theme": dict(
            model="short",
            steps=[("wait", READY), ("sleep", 1), ("type", "/theme"), ("sleep", 1), ("type", "\r"), ("wait", r"(?i)dark mode"), ("sleep", 1)],
            state=waiting("choice", "Dark mode"),
        ),
        "login": dict(
            env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""},
            steps=[("wait", r"(?i)login method|not logged in|/login"), ("sleep", 1), ("type", "/login"), ("sleep", 1), ("type", "\r"), ("sleep", 4)],
            state=waiting("login", "Select login method"),
        ),
        "key": dict(
            files=claude_json(customApiKeyResponses={}),
            steps=[("wait", r"(?i)API key"), ("sleep", 2)],
            state=waiting("choice", "use this API key"),
        ),
        "trust": dict(
            files=claude_json(projects={}), steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")
        ),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 3)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 1), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(
            model="edit", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=waiting("permission", "notes.txt")
        ),
        "question": dict(
            model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")
        ),
        "working": dict(model="text", steps=[*ask, ("sleep", 15)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 25)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 8)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
        # In a terminal that says it understands reports of a program's status.
        "status-idle": dict(status=True, model="short", steps=[("wait", READY), ("sleep", 3)], state=IDLE),
        "status-permission": dict(status=True, model="tool", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=PERMISSION),
        "status-question": dict(
            status=True, model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")
        ),
        "status-trust": dict(
            status=True, files=claude_json(projects={}), steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")
        ),
        "status-working": dict(status=True, model="text", steps=[*ask, ("sleep", 6)], state=WORKING),
        "status-hang": dict(status=True, model="hang", steps=[*ask, ("sleep", 12)], state=WORKING),
        "status-done": dict(status=True, model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "status-quota": dict(status=True, model="refuse-quota", steps=[*ask, ("sleep", 8)], state=state("exhausted", "quota")),
        "status-context": dict(status=True, model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
    },
    dict(
        files=claude_json(),
        env={
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_INSTALLATION_CHECKS": "1",
        },
    ),
)


# Codex

CODEX = """model = "gpt-6-sol"
model_provider = "stand-in"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.stand-in]
name = "Stand-in"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""
TRUSTED = """[projects."{work}"]
trust_level = "trusted"
"""
READY = r"›"
ask = [("wait", READY), ("sleep", 2), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "codex",
    ["codex"],
    {
        "login": dict(files={".codex/config.toml": ""}, env={"OPENAI_API_KEY": ""}, steps=[("wait", r"(?i)sign in"), ("sleep", 2)], state=waiting("login", "Sign in with ChatGPT")),
        "trust": dict(model="short", files={".codex/config.toml": CODEX}, steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 2), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)would you like"), ("sleep", 4)], state=PERMISSION),
        "edit-permission": dict(model="edit", steps=[*ask, ("wait", r"(?i)would you like"), ("sleep", 3)], state=waiting("permission", "notes.txt")),
        "working": dict(model="text", steps=[*ask, ("sleep", 15)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 25)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 8)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
    },
    dict(files={".codex/config.toml": CODEX + TRUSTED}, env={"OPENAI_API_KEY": "sk-not-a-key"}),
)


# Gemini CLI

GEMINI = {
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "ide": {"hasSeenNudge": True},
}


def settings(given, **security):
    return {".gemini/settings.json": json.dumps(given | {"security": given["security"] | security})}


READY = r"Type your message"
ask = [("wait", READY), ("sleep", 2), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "gemini",
    ["gemini"],
    {
        "login": dict(files=settings(GEMINI, auth={}), env={"GEMINI_API_KEY": ""}, steps=[("wait", r"(?i)authenticate"), ("sleep", 2)], state=waiting("login", "How would you like to authenticate")),
        "trust": dict(model="short", files=settings(GEMINI, folderTrust={"enabled": True}), steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 2), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)allow"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(model="edit", steps=[*ask, ("wait", r"(?i)apply this change|allow"), ("sleep", 3)], state=waiting("permission", "notes.txt")),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        # It paints everything again with each word and each turn of its spinner.
        "working": dict(model="text", delay=0.3, steps=[*ask, ("sleep", 6)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 12)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 10)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
    },
    dict(
        files=settings(GEMINI),
        env={
            "GEMINI_API_KEY": "not-a-key",
            "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:{port}",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "NO_BROWSER": "true",
        },
    ),
)
