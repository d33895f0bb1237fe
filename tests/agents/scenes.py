"""What record.py records: how each program is started, what is typed, and what a person would say stands there at the end."""

import json
import os
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
    """One agent's scenes, each with what all of them share; a language may follow its name."""
    for what, given in scenes.items():
        named = {key: common.get(key, {}) | given.pop(key, {}) for key in ("files", "env")}
        scene(f"{name}-{what}", name.partition("-")[0], run + given.pop("more", []), given.pop("steps"), given.pop("state"), **named, **given)


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
        # It says so ten seconds after its start.
        "logged-out": dict(
            env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""},
            steps=[("wait", r"Not logged in"), ("sleep", 3)],
            state=waiting("login", "run /login"),
        ),
        "key": dict(
            files=claude_json(customApiKeyResponses={}),
            steps=[("wait", r"(?i)API key"), ("sleep", 2)],
            state=waiting("choice", "use this API key"),
        ),
        "trust": dict(files=claude_json(projects={}), steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 3)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 1), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(model="edit", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=waiting("permission", "notes.txt")),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        "working": dict(model="text", steps=[*ask, ("sleep", 15)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 25)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 8)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
        # Its own default: nobody is asked.
        "auto-done": dict(more=["--permission-mode", "auto"], model="tool", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        # In terminals that show notifications.
        "notified": dict(
            env={"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.9"},
            model="tool",
            steps=[("wait", READY), ("type", "\x1b[O"), *ask, ("wait", r"(?i)do you want"), ("sleep", 9)],
            state=PERMISSION,
        ),
        "notified-777": dict(
            env={"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.3.1"},
            model="tool",
            steps=[("wait", READY), ("type", "\x1b[O"), *ask, ("wait", r"(?i)do you want"), ("sleep", 9)],
            state=PERMISSION,
        ),
        "notified-working": dict(
            env={"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.3.1"}, model="hang", steps=[*ask, ("sleep", 8)], state=WORKING
        ),
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
        "login": dict(
            files={".codex/config.toml": ""},
            env={"OPENAI_API_KEY": ""},
            steps=[("wait", r"(?i)sign in"), ("sleep", 2)],
            state=waiting("login", "Sign in with ChatGPT"),
        ),
        "trust": dict(
            model="short", files={".codex/config.toml": CODEX}, steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")
        ),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 2), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)would you like"), ("sleep", 4)], state=PERMISSION),
        # It notifies once the terminal has said that nobody looks; by BEL, unless it is told otherwise.
        "bell": dict(
            model="tool", steps=[("wait", READY), ("type", "\x1b[O"), *ask, ("wait", r"(?i)would you like"), ("sleep", 4)], state=PERMISSION
        ),
        "notified": dict(
            more=["-c", 'tui.notification_method="osc9"'],
            model="tool",
            steps=[("wait", READY), ("type", "\x1b[O"), *ask, ("wait", r"(?i)would you like"), ("sleep", 4)],
            state=PERMISSION,
        ),
        "notified-done": dict(
            more=["-c", 'tui.notification_method="osc9"'],
            model="short",
            steps=[("wait", READY), ("type", "\x1b[O"), *ask, ("wait", r"Done: there"), ("sleep", 4)],
            state=IDLE,
        ),
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
        "login": dict(
            files=settings(GEMINI, auth={}),
            env={"GEMINI_API_KEY": ""},
            steps=[("wait", r"(?i)authenticate"), ("sleep", 2)],
            state=waiting("login", "How would you like to authenticate"),
        ),
        "trust": dict(
            model="short",
            files=settings(GEMINI, folderTrust={"enabled": True}),
            steps=[("wait", r"(?i)trust"), ("sleep", 2)],
            state=waiting("trust", "trust"),
        ),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 2), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)allow"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(
            model="edit", steps=[*ask, ("wait", r"(?i)apply this change|allow"), ("sleep", 3)], state=waiting("permission", "notes.txt")
        ),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        # It paints everything again with each word and each turn of its spinner.
        "working": dict(model="text", delay=0.3, steps=[*ask, ("sleep", 6)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 12)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 10)], state=state("exhausted", "quota", "Usage limit reached")),
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


# Qwen Code

QWEN = {
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "tools": {"approvalMode": "default"},
    "model": {"name": "stand-in"},
    "ui": {"theme": "Qwen Dark"},
    "ide": {"hasSeenNudge": True},
}


def qwen(**security):
    return {".qwen/settings.json": json.dumps(QWEN | {"security": QWEN["security"] | security})}


READY = r"Type your message"
ask = [("wait", READY), ("sleep", 2), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "qwen",
    ["qwen"],
    {
        "login": dict(
            files=qwen(auth={}),
            env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""},
            steps=[("wait", r"(?i)authenticat|sign in|log in|connect"), ("sleep", 2)],
            state=waiting("login", "Connect a Provider"),
        ),
        "trust": dict(
            model="short", files=qwen(folderTrust={"enabled": True}), steps=[("wait", r"(?i)trust"), ("sleep", 2)], state=waiting("trust", "trust")
        ),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 2), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)allow"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(
            model="edit", steps=[*ask, ("wait", r"(?i)apply this change|allow"), ("sleep", 3)], state=waiting("permission", "notes.txt")
        ),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        "working": dict(model="text", delay=0.2, steps=[*ask, ("sleep", 3)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 6)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        # It tries again and again, and does not say why.
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 4)], state=WORKING),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
    },
    dict(
        files=qwen(),
        env={
            "OPENAI_API_KEY": "sk-not-a-key",
            "OPENAI_BASE_URL": "http://127.0.0.1:{port}/v1",
            "OPENAI_MODEL": "stand-in",
            "QWEN_TELEMETRY_ENABLED": "false",
        },
    ),
)

# In other languages

READY = r"(?m)^>   \S"
ask = [("wait", READY), ("sleep", 2), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
for language, allows in (("zh", r"允许一次"), ("de", r"einmal erlauben")):
    agent(
        f"qwen-{language}",
        ["qwen"],
        {
            "idle": dict(model="short", steps=[("wait", READY), ("sleep", 4)], state=IDLE),
            "permission": dict(model="tool", steps=[*ask, ("wait", allows), ("sleep", 3)], state=PERMISSION),
            "edit-permission": dict(model="edit", steps=[*ask, ("wait", allows), ("sleep", 3)], state=waiting("permission", "notes.txt")),
            "question": dict(
                model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")
            ),
            "hang": dict(model="hang", steps=[*ask, ("sleep", 14)], state=WORKING),
            "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
        },
        dict(
            files={".qwen/settings.json": json.dumps(QWEN | {"general": QWEN["general"] | {"language": language}})},
            env={
                "OPENAI_API_KEY": "sk-not-a-key",
                "OPENAI_BASE_URL": "http://127.0.0.1:{port}/v1",
                "OPENAI_MODEL": "stand-in",
                "QWEN_TELEMETRY_ENABLED": "false",
            },
        ),
    )


# GitHub Copilot

READY = r"(?m)^ ?[❯>]|for shortcuts|for commands"
ask = [("wait", READY), ("sleep", 3), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
COPILOT = {"trusted_folders": ["{work}"], "trustedFolders": ["{work}"], "banner": "never"}


def copilot(**changes):
    return {f".copilot/{name}.json": json.dumps(COPILOT | changes) for name in ("config", "settings")}


agent(
    "copilot",
    ["copilot", "--no-auto-update", "--disable-client-telemetry"],
    {
        "login": dict(
            env={"COPILOT_PROVIDER_BASE_URL": "", "COPILOT_OFFLINE": "", "COPILOT_PROVIDER_API_KEY": "", "COPILOT_MODEL": ""},
            steps=[("wait", READY), ("sleep", 3), ("type", "/login"), ("sleep", 1), ("type", "\r"), ("sleep", 4)],
            state=waiting("login", "log into"),
        ),
        "trust": dict(
            model="short",
            files=copilot(trusted_folders=[], trustedFolders=[]),
            steps=[("wait", r"(?i)trust"), ("sleep", 2)],
            state=waiting("trust", "trust"),
        ),
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 5)], state=IDLE),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 3), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=PERMISSION),
        "notified": dict(
            env={"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.3.1"},
            model="tool",
            steps=[("wait", READY), ("sleep", 2), ("type", "\x1b[O"), *ask, ("wait", r"(?i)do you want"), ("sleep", 4)],
            state=PERMISSION,
        ),
        "edit-permission": dict(model="edit", steps=[*ask, ("wait", r"(?i)do you want"), ("sleep", 3)], state=waiting("permission", "notes.txt")),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        "working": dict(model="text", steps=[*ask, ("sleep", 10)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 25)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=IDLE),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 12)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 10)], state=state("exhausted", "context")),
    },
    dict(
        files=copilot(),
        env={
            "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:{port}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-not-a-key",
            "COPILOT_MODEL": "stand-in",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
)


# opencode, whose composer is not known

OPENCODE = {
    "model": "stand-in/stand-in",
    "small_model": "stand-in/stand-in",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"bash": "ask", "edit": "ask"},
    "provider": {
        "stand-in": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": {"baseURL": "http://127.0.0.1:{port}/v1", "apiKey": "sk-not-a-key"},
            "models": {"stand-in": {"name": "Stand-in", "limit": {"context": 128000, "output": 8000}}},
        }
    },
}
READY = r"Ask anything"
ask = [("wait", READY), ("sleep", 3), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "opencode",
    ["opencode"],
    {
        "idle": dict(model="short", steps=[("wait", READY), ("sleep", 5)], state=UNKNOWN),
        "typed": dict(model="short", steps=[("wait", READY), ("sleep", 3), ("type", DRAFT), ("sleep", 1)], state=UNKNOWN),
        "permission": dict(model="tool", steps=[*ask, ("wait", r"(?i)permission"), ("sleep", 3)], state=PERMISSION),
        "edit-permission": dict(model="edit", steps=[*ask, ("wait", r"(?i)permission"), ("sleep", 3)], state=waiting("permission", "notes.txt")),
        "question": dict(model="question", steps=[*ask, ("wait", r"(?i)which database"), ("sleep", 3)], state=waiting("question", "Which database")),
        "working": dict(model="text", steps=[*ask, ("sleep", 8)], state=WORKING),
        "hang": dict(model="hang", steps=[*ask, ("sleep", 15)], state=WORKING),
        "done": dict(model="short", steps=[*ask, ("wait", r"Done: there"), ("sleep", 4)], state=UNKNOWN),
        "quota": dict(model="refuse-quota", steps=[*ask, ("sleep", 10)], state=state("exhausted", "quota")),
        "context": dict(model="context", steps=[*ask, ("sleep", 8)], state=state("exhausted", "context")),
    },
    dict(
        files={".config/opencode/opencode.json": json.dumps(OPENCODE)},
        env={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
    ),
)


# aider: a chat in lines, whose model proposes commands and edits in its text

READY = r"(?m)^>"
ask = [("wait", READY), ("sleep", 1), ("type", ASK), ("sleep", 0.7), ("type", "\r")]
agent(
    "aider",
    ["aider", "--model", "openai/stand-in", "--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--no-show-release-notes"],
    {
        "gitignore": dict(
            model="short",
            setup="git config user.name ada; git config user.email ada@example.org",
            steps=[("wait", r"\(Y\)es"), ("sleep", 1)],
            state=waiting("confirmation", ".gitignore"),
        ),
        "idle": dict(model="short", more=["--no-gitignore"], steps=[("wait", READY), ("sleep", 3)], state=IDLE),
        "typed": dict(model="short", more=["--no-gitignore"], steps=[("wait", READY), ("sleep", 1), ("type", DRAFT), ("sleep", 1)], state=IDLE),
        "permission": dict(
            model="aider", more=["--no-gitignore"], steps=[*ask, ("wait", r"Run shell command"), ("sleep", 2)], state=waiting("permission", REMOVE)
        ),
        "edit-permission": dict(
            model="aider-edit", more=["--no-gitignore"], steps=[*ask, ("wait", r"\(Y\)es"), ("sleep", 2)], state=waiting("permission", "notes.txt")
        ),
        # What it runs asks.
        "run-rm": dict(
            model="short",
            more=["--no-gitignore"],
            steps=[("wait", READY), ("sleep", 1), ("type", "/run rm -i README.md\r"), ("wait", r"remove"), ("sleep", 2)],
            state=waiting("question", "remove regular file 'README.md'?"),
        ),
        "working": dict(model="text", more=["--no-gitignore"], steps=[*ask, ("sleep", 10)], state=WORKING),
        "hang": dict(model="hang", more=["--no-gitignore"], steps=[*ask, ("sleep", 20)], state=WORKING),
        "done": dict(model="short", more=["--no-gitignore"], steps=[*ask, ("wait", r"Done: there"), ("sleep", 3)], state=IDLE),
        # It tries again and again.
        "quota": dict(model="refuse-quota", more=["--no-gitignore"], steps=[*ask, ("sleep", 10)], state=WORKING),
        "context": dict(
            model="context", more=["--no-gitignore"], steps=[*ask, ("sleep", 8)], state=waiting("confirmation", "Open URL for more info?")
        ),
    },
    dict(
        files={
            ".aider.model.settings.yml": "- name: openai/stand-in\n  edit_format: diff\n",
            ".gitconfig": "[user]\n\tname = ada\n\temail = ada@example.org\n",
            ".aider/caches/model_prices_and_context_window.json": '{"openai/stand-in": {"max_input_tokens": 128000, "litellm_provider": "openai", "mode": "chat"}}',
        },
        env={
            "OPENAI_API_KEY": "sk-not-a-key",
            "OPENAI_API_BASE": "http://127.0.0.1:{port}/v1",
            "AIDER_ANALYTICS_DISABLE": "true",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    ),
)


# Ordinary programs that ask


def prompt(name, command, run, shows, said, typed=(), then=1.0, **more):
    """A program, what its screen shows when it asks, and what a person would say stands there."""
    run = ["bash", "-c", run] if isinstance(run, str) else run
    scene(f"prompt-{name}", command, run, [*typed, ("wait", shows), ("sleep", then)], said, **more)


def confirm(question):
    return waiting("confirmation", question)


def secret(question):
    return waiting("password", question)


def answer(question):
    return waiting("question", question)


def choose(question):
    return waiting("choice", question)


AS_NOBODY = '{ [ $EUID != 0 ] || set -- setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; exec "$@"; }'
KEYGEN = "ssh-keygen -q -t ed25519 -f key"
LONG = 'for n in $(seq 1 99); do echo "line $n of the log"; done > log.txt'

prompt("bash", "bash", ["bash", "--norc", "--noprofile"], r"\$", UNKNOWN)
prompt("bash-typed", "bash", ["bash", "--norc", "--noprofile"], r"git status", UNKNOWN, [("wait", r"\$"), ("type", "git status")])
prompt("bash-after-work", "bash", ["bash", "--norc", "--noprofile"], r"README.md +important\n.*\$", UNKNOWN, [("wait", r"\$"), ("type", "ls\r")])
prompt("sh-continuation", "bash", ["bash", "--norc", "--noprofile"], r"\n>", UNKNOWN, [("wait", r"\$"), ("type", "for f in *; do\r")])
prompt("rm-i", "rm", "rm -i README.md", r"\?", confirm("remove regular file 'README.md'?"))
prompt("rm-ri", "rm", "rm -ri important", r"\?", confirm("descend into directory 'important'?"))
prompt("mv-i", "mv", "cp README.md b; mv -i b README.md", r"\?", confirm("overwrite 'README.md'?"))
prompt(
    "apt-remove",
    "apt-get",
    f"set -- apt-get -o Debug::NoLocking=1 -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/dev/null remove less; {AS_NOBODY}",
    r"\[Y/n\]",
    confirm("Do you want to continue? [Y/n]"),
)
prompt("unzip", "unzip", "unzip a.zip", r"\?", choose("replace README.md?"), setup="python3 -m zipfile -c a.zip README.md")
prompt("ssh-keygen-overwrite", "ssh-keygen", KEYGEN, r"\(y/n\)", confirm("Overwrite (y/n)?"), setup=f"{KEYGEN} -N ''")
prompt("ssh-keygen-passphrase", "ssh-keygen", KEYGEN, r"passphrase", secret("Enter passphrase"))
prompt("ssh-keygen-file", "ssh-keygen", "ssh-keygen -t ed25519", r"file in which", answer("Enter file in which to save the key"))
prompt("git-clean", "git", "git clean -id", r"What now>", choose("What now>"), setup="touch a b; mkdir c; touch c/d")
prompt("git-add-p", "git", "git add -p", r"Stage this hunk", choose("Stage this hunk"), setup="echo more >> README.md")
prompt(
    "git-username",
    "git",
    "exec python3 {here}/programs.py served git -c credential.helper= clone URL/shop.git c",
    r"Username",
    answer("Username for"),
)
prompt(
    "git-password",
    "git",
    "exec python3 {here}/programs.py served git -c credential.helper= clone URL/shop.git c",
    r"Password",
    secret("Password for"),
    [("wait", "Username"), ("type", "ada\r")],
)
prompt("git-difftool", "git", "git difftool -t vimdiff", r"Launch", confirm("Launch 'vimdiff' [Y/n]?"), setup="echo more >> README.md")
prompt(
    "git-log",
    "less",
    'seq 60 | while read n; do git commit -q --allow-empty -m "change $n"; done; git log',
    r"\n:$",
    UNKNOWN,
    setup="git config user.name ada; git config user.email ada@example.org",
    then=1,
)
prompt(
    "git-commit",
    "vi",
    "git add -A; git commit",
    r"Please enter the commit",
    UNKNOWN,
    setup="echo more >> README.md; git config user.name ada; git config user.email ada@example.org",
    env={"GIT_EDITOR": "vi"},
)
prompt(
    "git-rebase",
    "vi",
    "git rebase -i --root",
    r"Rebase",
    UNKNOWN,
    setup="git config user.name ada; git config user.email ada@example.org",
    env={"GIT_EDITOR": "vi"},
)
prompt("getpass", "python3", ["python3", "-c", "import getpass; getpass.getpass()"], r"Password:", secret("Password:"))
prompt("input", "python3", ["python3", "-c", "input('What is the name of the branch? ')"], r"branch\?", answer("What is the name of the branch?"))
prompt("python", "python3", ["python3", "-q"], r">>>", UNKNOWN)
prompt("pdb", "python3", "echo 'a = 1' > a.py; python3 -m pdb a.py", r"\(Pdb\)", UNKNOWN)
prompt("node", "node", ["node"], r">", UNKNOWN)
prompt("sqlite", "sqlite3", ["sqlite3", "shop.db"], r"sqlite>", UNKNOWN)
prompt("less", "less", f"{LONG}; less log.txt", r"line 20", UNKNOWN)
prompt("less-end", "less", f"{LONG}; less log.txt", r"\(END\)", UNKNOWN, [("wait", "line 20"), ("type", "G")])
prompt("more", "more", f"{LONG}; more log.txt", r"--More--", UNKNOWN)
prompt("vi", "vi", ["vi", "README.md"], r"# Shop", UNKNOWN)
prompt("vi-insert", "vi", ["vi", "README.md"], r"-- INSERT --", UNKNOWN, [("wait", "# Shop"), ("type", "i")])
prompt("vi-enter", "vi", ["vi", "-c", "!echo done", "README.md"], r"Press ENTER", waiting("enter", "Press ENTER or type command to continue"))
prompt(
    "vi-swap",
    "vi",
    "vi README.md",
    r"(?i)swap file",
    waiting("choice", "bort"),
    setup="printf 'ix\\033:preserve\\n' | timeout 2 script -qc 'vi README.md' /dev/null || true; ls .README.md.swp",
)
prompt("ed", "ed", ["ed", "-p*", "README.md"], r"\*", UNKNOWN)
prompt("top", "top", "top -p $$", r"%Cpu", UNKNOWN, then=4)
prompt("read", "bash", "read -rp 'Continue? [y/N] '", r"\[y/N\]", confirm("Continue? [y/N]"))
prompt("read-key", "bash", "read -rsn1 -p 'Press any key to continue . . . '", r"any key", waiting("enter", "Press any key to continue"))
prompt("press-enter", "bash", "echo 'Plug in the device.'; read -rp 'Press ENTER to continue'", r"ENTER", waiting("enter", "Press ENTER to continue"))
prompt("select", "bash", "PS3='Which environment? '; select e in staging production; do :; done", r"environment\?", choose("Which environment?"))
prompt(
    "yes-only",
    "bash",
    "printf 'Do you want to perform these actions?\\n  Only \"yes\" will be accepted to approve.\\n\\n'; read -rp '  Enter a value: '",
    r"value:",
    confirm("Enter a value:"),
)
prompt("sudo", "bash", "read -rsp '[sudo] password for ada: '", r"password for", secret("[sudo] password for ada:"))
prompt("su", "su", f"set -- su; {AS_NOBODY}", r"Password:", secret("Password:"))
prompt("npm-init", "npm", ["npm", "init"], r"package name", answer("package name: (shop)"), env={"NO_UPDATE_NOTIFIER": "1"})
prompt("npx", "npx", ["npx", "cowsay", "moo"], r"proceed", confirm("Ok to proceed? (y)"), then=1, env={"NO_UPDATE_NOTIFIER": "1"})
prompt(
    "pip-uninstall", "pip", ["{cache}/tools/bin/pip", "--disable-pip-version-check", "uninstall", "wcwidth"], r"Proceed", confirm("Proceed (Y/n)?")
)
prompt("gpg-kind", "gpg", ["gpg", "--full-generate-key"], r"Your selection", choose("Your selection?"))
prompt("gpg-name", "gpg", ["gpg", "--gen-key"], r"Real name", answer("Real name:"))
prompt(
    "gpg-pinentry",
    "pinentry",
    "GPG_TTY=$(tty) gpg --yes --quick-gen-key ada",
    r"(?i)passphrase",
    secret("passphrase"),
    env={"PINENTRY_USER_DATA": "USE_CURSES=1"},
)
prompt("gdb", "gdb", ["gdb", "-q", "-nx"], r"\(gdb\)", UNKNOWN)

for library, kinds in {
    "inquirer": {"list": choose, "checkbox": choose, "confirm": confirm, "password": secret, "input": answer},
    "enquirer": {"select": choose, "confirm": confirm, "password": secret, "input": answer},
    "clack": {"select": choose, "multiselect": choose, "confirm": confirm, "password": secret, "text": answer},
}.items():
    questions = {
        "inquirer": [
            "Which package manager?",
            "Which features?",
            "Overwrite the existing files?",
            "Enter your token:",
            "What is your project called?",
        ],
        "enquirer": ["Pick a flavor", "Are you sure you want to deploy?", "Database password", "What is your username?"],
        "clack": [
            "Pick a project type.",
            "Select additional tools.",
            "Install dependencies?",
            "Provide a password",
            "Where should we create your project?",
        ],
    }[library]
    for (kind, said), question in zip(kinds.items(), questions):
        prompt(f"{library}-{kind}", "node", ["node", "{here}/prompts.mjs", "{cache}", library, kind], question.replace("?", r"\?"), said(question))


# What hangs, though its screen moves

for what in ("spinner", "bars", "dots", "elapsed", "clock", "title", "repaint", "tokens", "bouncing", "retrying", "blank"):
    scene(f"hang-{what}", "python3", ["python3", "{here}/programs.py", what], [("sleep", 25)], WORKING)
scene("hang-clack", "node", ["node", "{here}/prompts.mjs", "{cache}", "clack", "spinner"], [("sleep", 15)], WORKING)


# What is healthy for long

CRATES = """mkdir crates; for n in $(seq 1 30); do mkdir -p crates/part$n/src
printf '[package]\\nname = "part%s"\\nversion = "0.1.0"\\nedition = "2021"\\n' $n > crates/part$n/Cargo.toml
echo 'fn main() { std::thread::sleep(std::time::Duration::from_millis(900)); }' > crates/part$n/build.rs
echo 'pub fn part() {}' > crates/part$n/src/lib.rs; done
printf '[workspace]\\nmembers = ["crates/*"]\\nresolver = "2"\\n' > Cargo.toml"""
MAKE = """for n in $(seq 1 40); do echo "int part$n(void) { return $n; }" > part$n.c; done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard part*.c))\\n%%.o: %%.c\\n\\tcc -O2 -Wall -c -o $@ $<\\n\\t@sleep 0.8\\n' > Makefile"""
TESTS = """mkdir tests; for n in $(seq 1 12); do printf 'import time, unittest\\n\\nclass T(unittest.TestCase):\\n' > tests/test_part$n.py
for k in $(seq 1 12); do printf '    def test_%s(self):\\n        time.sleep(0.25)\\n' $k >> tests/test_part$n.py; done; touch tests/__init__.py; done"""
# The toolchain's home, where it is not below the real home of whoever records.
TOOLCHAIN = {
    key: os.path.realpath(os.environ.get(key) or os.path.expanduser(path)) for key, path in (("CARGO_HOME", "~/.cargo"), ("RUSTUP_HOME", "~/.rustup"))
}


def healthy(name, command, run, seconds=25, said=WORKING, **more):
    run = ["bash", "-c", run] if isinstance(run, str) else run
    scene(f"healthy-{name}", command, run, [("sleep", seconds)], said, **more)


healthy("cargo", "cargo", "exec cargo build -j1 --offline", 30, setup=CRATES, env=TOOLCHAIN)
healthy("make", "make", ["make"], 25, setup=MAKE)
healthy("unittest", "python3", ["python3", "-m", "unittest"], 25, setup=TESTS)
healthy("pytest", "pytest", ["{cache}/tools/bin/python", "-m", "pytest", "-p", "no:cacheprovider"], 30, setup=TESTS)
healthy("curl", "curl", ["python3", "{here}/programs.py", "served", "curl", "-o", "/dev/null", "URL/file"], 20)
healthy("wget", "wget", ["python3", "{here}/programs.py", "served", "wget", "-O", "/dev/null", "URL/file"], 20)
healthy(
    "pip-download",
    "pip",
    ["python3", "{here}/programs.py", "served", "{cache}/tools/bin/pip", "download", "--no-deps", "--isolated", "URL/part-1.0-py3-none-any.whl"],
    20,
)
healthy("streaming", "python3", ["python3", "{here}/programs.py", "streaming"], 25)
healthy("steps", "python3", ["python3", "{here}/programs.py", "steps"], 25)
healthy("files", "python3", ["python3", "{here}/programs.py", "files"], 25)
scene(
    "healthy-npm-install",
    "npm",
    ["bash", "--norc", "--noprofile"],
    [("wait", r"\$"), ("type", "npm install @inquirer/prompts@8.8.0 enquirer@2.4.1 cowsay@1.6.0\r"), ("wait", r"added \d+"), ("sleep", 1)],
    UNKNOWN,
    env={"NO_UPDATE_NOTIFIER": "1"},
)
for name, seconds in (("claude", 25), ("codex", 25), ("gemini", 8)):
    like = next(each for each in ALL if each.name == f"{name}-working")
    steps = [("sleep", seconds) if step[0] == "sleep" and step[1] >= 6 else step for step in like.steps]
    scene(f"healthy-{name}", name, like.run, steps, WORKING, model="text", delay=0.25, files=like.files, env=like.env)
