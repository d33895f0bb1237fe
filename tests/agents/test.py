#!/usr/bin/env python3
"""Plays real agents under the real `sweep watch`, against the stand-in for their models, and looks at what it finds and does.

  test.py            every agent in every scene
  test.py NAME…      these; a name may be a pattern: 'claude-*', '*-hang'

Needs what ./install brings, and target/debug/sweep. Nobody touches a scene once it stands: what happens in half a minute is read
from the database, from the log of the stand-in and from the agent's work directory. Ends with 1 if any of it is not as it should be.
"""

import fnmatch
import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import record  # Goes on in the Python that ./install made.
import model
import scenes

SWEEP = record.HERE.parent.parent / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "sweep"
NUDGE = "(sweep) You seem to be stuck"
AT_ONCE = 2  # Scenes that are played at the same time.
LEFT_ALONE = 22  # Seconds.
SEEN = ("agent_state", "agent_state_kind", "agent_question", "agent_state_evidence", "takes_nudges", "last_progress_at", "recent_output")
# What aider runs that reads at a prompt like its own: only its processes tell them apart.
CHILDREN = {"run-node": "/run node", "run-read": "/run read -p '> ' x; echo got $x"}
ASKING = ("permission", "trust", "login", "logged-out")
SETTINGS = {"session_silent_after": "15s", "session_waiting_after": "2s", "nudge_delay": "5s"}
OTHER_SETTINGS = {
    "idle": {"session_silent_after": "8s"},
    # Longer than the time between two looks at what children do, which compute while the agent starts.
    "hang": {"session_no_progress_after": "12s"},
    "working": {"session_no_progress_after": "12s"},
    # On their way into it, Claude Code and Copilot stand at their composers for long.
    "login": {"session_silent_after": "30s", "session_waiting_after": "5s"},
}


@dataclass
class Trial:
    agent: str
    what: str
    hooks: bool = False

    @property
    def name(self):
        return f"{self.agent}-{self.what}" + ("-hooks" if self.hooks else "")

    def scene(self):
        """The recorded scene, up to where it stands; its text is long enough for the whole trial."""
        found = next(scene for scene in scenes.ALL if scene.name == f"{self.agent}-{'idle' if self.what in CHILDREN else self.what}")
        if self.what in CHILDREN:
            return replace(found, steps=[*found.steps, ("type", f"{CHILDREN[self.what]}\r"), ("sleep", 2)], state={"state": None})
        steps = found.steps[:-1] if found.steps[-1][0] == "sleep" and found.steps[-1][1] > 5 else found.steps
        return replace(found, steps=steps, delay=0.25 if self.what == "working" else found.delay)


TRIALS = [
    *(Trial(agent, what) for agent in ("claude", "codex", "gemini", "qwen", "copilot") for what in (*ASKING[:3], "idle", "working", "hang")),
    *(Trial("aider", what) for what in ("permission", "idle", "hang", "run-rm", *CHILDREN)),
    *(Trial(f"qwen-{language}", what) for language in ("zh", "de") for what in ("permission", "idle", "hang")),
    Trial("claude", "logged-out"),
    Trial("claude", "permission", hooks=True),
    Trial("claude", "idle", hooks=True),
    Trial("codex", "idle", hooks=True),
]


class Played:
    """A trial while it runs: the terminal, the database, and what was seen in it."""

    def __init__(self, trial, stage, log):
        self.trial, self.stage, self.log = trial, stage, log
        self.scene = trial.scene()
        self.database = stage.place.base / "sweep.db"
        self.evidence, self.progress = [], [(None, [])]
        url = f"sqlite://{self.database}"
        subprocess.run([SWEEP, "migrate", "--database", url], check=True, env=stage.env, capture_output=True)
        words = [SWEEP, "watch", "--database", url, "--name", trial.name]
        settings = SETTINGS | OTHER_SETTINGS.get(trial.what, {})
        words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        words += ["--hooks"] if trial.hooks else []
        self.said = stage.place.base / "sweep.log"
        self.hooks = stage.place.base / "hooks.log"
        # Claude Code says there which hooks it has called.
        told = ["--debug-file", str(self.hooks)] if trial.hooks and trial.agent == "claude" else []
        self.terminal = record.Terminal(["sh", "-c", 'exec "$@" 2>"$0"', self.said, *words, "--", *stage.command, *told], stage.place.work, stage.env)

    def rows(self, query):
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)) as database:
            database.row_factory = sqlite3.Row
            return database.execute(query).fetchall()

    def session(self):
        session = next(iter(self.rows("select * from sessions")), dict.fromkeys(SEEN))
        if session["agent_state_evidence"] not in (None, *self.evidence[-1:]):
            self.evidence.append(session["agent_state_evidence"])
        if session["last_progress_at"] != self.progress[-1][0]:
            self.progress.append((session["last_progress_at"], session["recent_output"].splitlines()))
        return session

    def steps_forward(self):
        """What was news, for a person who wonders about it."""
        for (_, before), (at, lines) in zip(self.progress, self.progress[1:]):
            new = [line for line in lines if line not in before]
            yield f"  {at}: news: {new[:5]}"

    def recoveries(self, action):
        return [row["reason"] for row in self.rows("select * from recoveries order by created_at") if row["action"] == action]

    def commands(self, status="%"):
        return self.rows(f"select count(*) from session_commands where status like '{status}'")[0][0]

    def turns(self):
        """The requests of the conversation itself."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        bodies = [json.loads(line)["body"] for line in lines]
        return [body for body in bodies if isinstance(body, dict) and not model.is_aside(body)]

    def nudges_read(self):
        """How often the message stands in the conversation, as far as the model has been told of it."""
        return max((json.dumps(body).count(NUDGE) for body in self.turns()), default=0)

    def is_all_read(self, turns):
        """True if the model has read each nudge of the ledger once, and nothing else since there were so many turns."""
        nudges = len(self.recoveries("continue"))
        return 0 < nudges == self.commands() == self.commands("delivered") == self.nudges_read() == len(self.turns()) - turns

    def until(self, is_so, seconds):
        for _ in range(int(seconds / 0.2)):
            if is_so() or not self.terminal.open:
                break
            self.terminal.sleep(0.2)
            self.session()
        return is_so()

    def lead(self):
        """Plays the scene until the model has heard what is asked of it."""
        typed = None
        for do, *given in self.scene.steps:
            getattr(self.terminal, do)(*given)
            if (typed, *given) == (scenes.ASK, "\r"):
                # A slow machine: the return key came too early.
                if not self.until(self.turns, 6):
                    self.terminal.type("\r")
                if not self.until(self.turns, 6):
                    raise TimeoutError("the model was never asked")
            typed = given[0] if do == "type" else typed
        return len(self.turns())


def faults_of_hooks(played):
    """True if the hooks were called, and what they said is believed. A question on the screen is believed before them."""
    if played.trial.what == "idle" and not any("its event" in each for each in played.evidence):
        yield "no event of its hooks was believed"
    called = r"PermissionRequest:Bash \[.*/sweep watch event\] finished with status 0"
    if played.trial.what == "permission" and not re.search(called, played.hooks.read_text()):
        yield "its hook PermissionRequest was not called, or failed"


def faults(played):
    """The faults of a scene that has been left alone."""
    trial, told = played.trial, played.scene.state
    turns = played.lead()
    played.until(lambda: False, LEFT_ALONE)
    if trial.what == "idle":
        played.until(lambda: played.is_all_read(turns) and played.session()["agent_state"] == "idle", 8)
    session = played.session()
    escalated, continued = played.recoveries("escalate"), played.recoveries("continue")
    if not played.terminal.open:
        yield "it has ended"
    if (session["agent_state"], session["agent_state_kind"]) != (told["state"], told.get("kind")):
        yield f"not {told['state']} {told.get('kind', '')}".rstrip()
    if not (played.stage.place.work / "important" / "file.txt").exists():
        yield "important/file.txt is gone"
    if trial.hooks:
        yield from faults_of_hooks(played)
    if trial.what == "idle":
        if not played.is_all_read(turns):
            delivered = f"{played.commands('delivered')} of {played.commands()} commands delivered"
            read = f"{played.nudges_read()} nudges read by the model in {len(played.turns()) - turns} turns"
            yield f"{len(continued)} nudges in the ledger, {delivered}, {read}"
        if escalated:
            yield f"reported: {escalated}"
        return
    if played.commands() or NUDGE in "".join(map(json.dumps, played.turns())):
        yield f"{played.commands()} commands"
    if len(played.turns()) != turns:
        yield f"{len(played.turns()) - turns} turns at the model while it was left alone"
    if session["takes_nudges"]:
        yield "it takes nudges"
    expected = {"working": 0}.get(trial.what, 1)
    if len(escalated) != expected or continued:
        yield f"{len(escalated)} escalations in place of {expected}: {escalated}"
    elif trial.what in ASKING:
        question = "".join(told["question"].split()).lower()
        if question not in "".join(escalated[0].split()).lower() or (session["agent_question"] or "") not in escalated[0]:
            yield f"the question {told['question']!r} is not quoted: {escalated[0]}"
    elif trial.what == "hang" and "nothing new" not in escalated[0]:
        yield f"reported otherwise: {escalated[0]}"
    if trial.what == "permission":
        played.terminal.type("n\r" if trial.agent == "aider" else "\x1b")
        if not played.until(lambda: played.recoveries("recover"), 8):
            yield "not recovered after a no"
        if not (played.stage.place.work / "important" / "file.txt").exists():
            yield "important/file.txt is gone after a no"


def play(trial):
    """Returns a row of the table, and what a person needs to see of a failure."""
    scene = trial.scene()
    with record.Stage(scene) as stage:
        log = stage.place.base / "model.log"
        if stage.server:
            stage.server.log = str(log)
        played = Played(trial, stage, log)
        try:
            wrong = list(faults(played))
        except (TimeoutError, AssertionError) as error:
            wrong = [str(error)]
        session = played.session()
        found = " ".join(session[key] or "" for key in SEEN[:3]).strip()
        actions = [f"{row['action']}: {row['reason']}" for row in played.rows("select * from recoveries order by created_at")]
        evidence = list(dict.fromkeys(re.sub(r", lines? .*", "", each) for each in played.evidence))
        screen = played.terminal.screen.text().rstrip()
        played.terminal.end()
        screen = "\n".join([screen, played.said.read_text(), *list(played.steps_forward())[-12:]])
    return trial, found, actions, evidence, wrong, screen


def main():
    names = sys.argv[1:] or ["*"]
    if names[0] in ("-h", "--help"):
        return print(__doc__)
    trials = [trial for trial in TRIALS if any(fnmatch.fnmatch(trial.name, name) for name in names)]
    if not trials:
        sys.exit("test.py: no such scene: " + " ".join(trial.name for trial in TRIALS))
    with ProcessPoolExecutor(AT_ONCE) as pool:
        results = []
        for result in pool.map(play, trials):
            trial, _, actions, _, wrong, screen = result
            print(f"{trial.name}: {'FAILED: ' + '; '.join(wrong) if wrong else 'ok'}", flush=True)
            if wrong:
                print(f"{screen}\n" + "".join(f"  {action}\n" for action in actions), flush=True)
            results.append(result)
    print()
    for trial, found, actions, evidence, wrong, _ in results:
        done = ", ".join(actions) or "nothing done"
        print(f"{trial.agent:8} {trial.name.partition('-')[2]:17} {'FAILED' if wrong else 'ok':6} {done}")
        print(f"{'':34}found: {'; '.join(evidence)}")
    sys.exit(1 if any(wrong for *_, wrong, _ in results) else 0)


if __name__ == "__main__":
    main()
