#!/usr/bin/env python3
"""Records what real agents and programs show in a terminal of 80 columns and 24 rows, as asciicast v2 files.

  record.py                  say what can be recorded
  record.py NAME…            record these; a name may be a pattern: 'claude-*'
  record.py --states         write recordings/states.json and the table in README.md from what scenes.py says
  record.py --show NAME…     show the screen at the end of recordings, and what was said beside the screen

Needs what ./install brings. Each recording is made in a throw-away home and a throw-away git work directory.
"""

import argparse
import codecs
import fcntl
import fnmatch
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE / "recordings"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sweep" / "agents"
COLUMNS, ROWS = 80, 24

try:
    import pyte
except ImportError:
    python = CACHE / "tools" / "bin" / "python"
    if not python.exists():
        sys.exit("record.py: run tests/agents/install first")
    os.execv(python, [str(python), *sys.argv])

import model
import scenes

# What pyte would print instead of passing over it: strings (DCS, APC, PM, SOS), and CSI with private marks or intermediates.
STRANGE = re.compile(
    rb"\x1b[PX^_].*?(?:\x1b\\|\x07)|\x1b\[[<=>][0-?]*[ -/]*[@-~]|\x1b\[\?[0-9;:]*(?:[ -/]+[@-~]|[^hlJK0-9;: -/])|\x1b\[[0-9;:]*[ !$'\"*][@-~]"
    rb"|\x1b\[[0-9;]*:[0-9;:]*m|\x1b\[[0-9;]*t|\x1b\[[us]",
    re.S,
)
UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_](?:(?!\x07|\x1b\\).)*|[ -/]*)?\Z", re.S)


class Screen:
    """The screen as a person sees it, from bytes that may be cut anywhere."""

    def __init__(self, columns=COLUMNS, rows=ROWS):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.rest = b""
        self.alternate = False

    def feed(self, data):
        data = self.rest + data
        cut = UNFINISHED.search(data)
        self.rest = data[cut.start() :] if cut else b""
        data = data[: len(data) - len(self.rest)]
        for part in re.split(rb"(\x1b\[\?(?:1049|1047|47)[hl])", data):
            if re.fullmatch(rb"\x1b\[\?(?:1049|1047|47)[hl]", part):
                self.alternate = part.endswith(b"h")
                # pyte knows no alternate screen: a blank one is near enough, programs paint all of it.
                self.screen.erase_in_display(2)
            else:
                self.stream.feed(STRANGE.sub(b"", part))

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)


class Terminal:
    """A program in a pty, what it wrote and when, and the answers that a terminal gives."""

    def __init__(self, command, cwd, env, status=False):
        self.status = status  # Whether it says that it understands reports of a program's status (OSC 7501).
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, COLUMNS * 8, ROWS * 16))

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead)
        os.close(slave)
        self.start = time.monotonic()
        self.events, self.screen, self.tail = [], Screen(), b""
        self.open = True

    def pump(self, seconds):
        """Reads until something comes, or so much time has passed."""
        ready, _, _ = select.select([self.master], [], [], max(0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        if not data:
            self.open = False
            return False
        self.events.append((time.monotonic() - self.start, data))
        self.screen.feed(data)
        self.reply(data)
        return True

    def reply(self, data):
        data = self.tail + data
        end = 0
        for query in re.finditer(
            rb"\x1b\[0?c|\x1b\[>0?c|\x1b\[5n|\x1b\[\??6n|\x1b\]1([01]);\?(?:\x07|\x1b\\)|\x1b\[18t|\x1b\[\?(\d+)\$p|\x1b\[>0?q|\x1b\]7501;\?(?:\x07|\x1b\\)",
            data,
        ):
            end = query.end()
            asked = query.group()
            if b"7501" in asked:
                answer = b"\x1b]7501;?\x1b\\" if self.status else b""
            elif asked.endswith(b"$p"):
                answer = b"\x1b[?%s;%d$y" % (query.group(2), 2 if query.group(2) in (b"2004", b"1004") else 0)
            elif asked.endswith(b"c"):
                answer = b"\x1b[>41;370;0c" if b">" in asked else b"\x1b[?62;22c"
            elif asked.endswith(b"5n"):
                answer = b"\x1b[0n"
            elif asked.endswith(b"6n"):
                cursor = self.screen.screen.cursor
                answer = b"\x1b[%s%d;%dR" % (b"?" if b"?" in asked else b"", cursor.y + 1, cursor.x + 1)
            elif asked.endswith(b"t"):
                answer = b"\x1b[8;%d;%dt" % (ROWS, COLUMNS)
            elif asked.endswith(b"q"):
                answer = b"\x1bP>|XTerm(370)\x1b\\"
            else:
                colour = b"rgb:d0d0/d0d0/d0d0" if query.group(1) == b"0" else b"rgb:1c1c/1c1c/1c1c"
                answer = b"\x1b]1%s;%s\x1b\\" % (query.group(1), colour)
            os.write(self.master, answer)
        self.tail = data[max(end, len(data) - 32) :]

    def sleep(self, seconds):
        until = time.monotonic() + seconds
        while self.open and (left := until - time.monotonic()) > 0:
            self.pump(left)

    def wait(self, pattern, seconds=30):
        """Waits until the screen shows a pattern, and has then been still for a moment, or a second has passed."""
        until = time.monotonic() + seconds
        while not re.search(pattern, self.screen.text()):
            if time.monotonic() > until or not self.open:
                raise TimeoutError(f"no {pattern!r} within {seconds} s on:\n{self.screen.text().rstrip()}")
            self.pump(0.2)
        until = time.monotonic() + 1
        while time.monotonic() < until and self.pump(0.4):
            pass

    def type(self, text):
        os.write(self.master, text.encode())

    def state(self):
        if not self.open:
            return {"echo": None, "canonical": None}
        flags = termios.tcgetattr(self.master)[3]
        return {"echo": bool(flags & termios.ECHO), "canonical": bool(flags & termios.ICANON)}

    def end(self):
        for sign in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
            except (ProcessLookupError, PermissionError):
                pass
            try:
                self.process.wait(1)
                break
            except subprocess.TimeoutExpired:
                pass
        os.close(self.master)


class Place:
    """A throw-away home, whose name is as long as the one that stands for it in recordings, and in it a git work directory."""

    NEUTRAL = "/var/home/ada"

    def __init__(self):
        while True:
            name = "".join("jkqvxz"[byte % 6] for byte in os.urandom(4))
            self.base = Path("/tmp") / name
            self.home = self.base / "ada"
            try:
                self.base.mkdir()
                break
            except FileExistsError:
                pass
        self.work = self.home / "shop"
        (self.work / "important").mkdir(parents=True)
        (self.home / "tmp").mkdir()
        (self.work / "important" / "file.txt").write_text("what must not be lost\n")
        (self.work / "README.md").write_text("# Shop\n")
        git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "-C", self.work]
        env = self.env()
        for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "--message=shop"]):
            subprocess.run([*git, *arguments], check=True, env=env)

    def env(self, **more):
        path = [CACHE / "node_modules" / ".bin", CACHE / "aider" / "bin", *os.environ.get("PATH", os.defpath).split(":")]
        given = {
            "PATH": ":".join(map(str, path)),
            "HOME": self.home,
            "TMPDIR": self.home / "tmp",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "USER": "ada",
            "LOGNAME": "ada",
            "SHELL": "/bin/bash",
            "PS1": "ada@shop:~/shop$ ",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # Where these authorities' certificates are, if the machine has its own.
        given |= {key: os.environ[key] for key in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR") if key in os.environ}
        return {key: str(value) for key, value in (given | more).items()}

    def clean(self, data):
        # Some agents name folders after the work directory.
        for old, new in ((str(self.home), self.NEUTRAL), (str(self.home).replace("/", "-"), self.NEUTRAL.replace("/", "-"))):
            data = data.replace(old.encode(), new.encode())
        for real in (CACHE, HERE, CACHE.parent):
            neutral = f"/opt/{'agents/' * 30}"[: len(str(real))].rstrip("/")
            data = data.replace(str(real).encode(), neutral.ljust(len(str(real)), "s").encode())
        return data

    def end_all(self):
        """Ends what was started in this home and went on by itself, as Codex's server does."""
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"HOME={self.home}".encode() in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)
            except OSError:
                pass

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


class Stage:
    """A scene's home with its files, the stand-in for its model, and its command and variables; all that ran there ends with it."""

    def __init__(self, scene, log=None):
        self.place, self.server = Place(), None
        try:
            if scene.model:
                self.server = model.serve(scene.model, str(self.place.work), scene.delay, log)
                threading.Thread(target=self.server.serve_forever, daemon=True).start()
            port = self.server.server_port if self.server else 0
            home, work = self.place.home, self.place.work
            self.fill = {"{port}": str(port), "{home}": str(home), "{work}": str(work), "{here}": str(HERE), "{cache}": str(CACHE)}
            for name, content in scene.files.items():
                path = home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.filled(content))
            if scene.setup:
                setup = ["bash", "-ec", self.filled(scene.setup)]
                subprocess.run(setup, check=True, cwd=work, env=self.place.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.command = [self.filled(word) for word in scene.run]
            full = self.place.env(**{key: self.filled(value) for key, value in scene.env.items()})
            self.env = {key: value for key, value in full.items() if value != ""}
        except BaseException:
            self.end()
            raise

    def filled(self, text):
        for key, value in self.fill.items():
            text = text.replace(key, value)
        return text

    def end(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.place.end_all()
        if os.environ.get("KEEP_HOME"):
            print("kept", self.place.home)
        else:
            self.place.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def record(scene, out=None):
    failed = None
    with Stage(scene, os.environ.get("MODEL_LOG")) as stage:
        terminal = Terminal(stage.command, stage.place.work, stage.env, scene.status)
        try:
            for do, *given in scene.steps:
                getattr(terminal, do)(*given)
        except TimeoutError as error:
            failed = error
        finally:
            state = terminal.state()
            terminal.end()
    write(out or RECORDINGS / f"{scene.name}.cast", scene, terminal.events, state, stage.place)
    if failed:
        raise failed


def write(path, scene, events, state, place):
    whole = b"".join(data for _, data in events)
    cleaned = place.clean(whole)
    assert len(cleaned) == len(whole)
    if place.base.name.encode() in cleaned:
        print(f"{scene.name}: the name of the throw-away home is still in it", file=sys.stderr)
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": scene.name, "command": scene.command}
    header |= {"env": {"TERM": "xterm-256color", "SHELL": "/bin/bash"}} | state
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines, at = [json.dumps(header)], 0
    for moment, data in events:
        text = decoder.decode(cleaned[at : at + len(data)])
        at += len(data)
        if text:
            lines.append(json.dumps([round(moment, 3), "o", text], ensure_ascii=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def read(name):
    path = Path(name) if name.endswith(".cast") else RECORDINGS / f"{name}.cast"
    with open(path) as file:
        header = json.loads(file.readline())
        return header, [json.loads(line) for line in file]


def show(name):
    header, events = read(name)
    screen = Screen(header["width"], header["height"])
    said = {}
    whole = "".join(data for _, _, data in events)
    for _, _, data in events:
        screen.feed(data.encode())
    for match in re.finditer(r"\x1b\](.*?)(\x07|\x1b\\)|\x07|\x1b\[\?(\d+)([hl])|\x1b\[[<>=][0-9;]*u|\x1b\[\?u|\x1b\[>[0-9;]*[qm]", whole, re.S):
        text = match.group()
        text = repr(text).strip("'")
        said[text] = said.get(text, 0) + 1
    cursor = screen.screen.cursor
    tty = f"echo={header.get('echo')} canonical={header.get('canonical')}"
    where = f"cursor row {cursor.y} column {cursor.x}{' hidden' if cursor.hidden else ''}"
    where += ", alternate screen" if screen.alternate else ""
    print(f"=== {name}: {events[-1][0] if events else 0} s, {len(whole)} characters, {tty}, {where}")
    for n, line in enumerate(screen.text().split("\n")):
        print(f"{n:2}|{line}")
    print("said: " + "  ".join(f"{text}×{count}" if count > 1 else text for text, count in list(said.items())[:60]))


def states():
    """What scenes.py says of each recording that is there."""
    found = {}
    for scene in scenes.ALL:
        if (RECORDINGS / f"{scene.name}.cast").exists():
            found[scene.name] = {"command": scene.command} | scene.state
            header, events = read(scene.name)
            screen = Screen()
            for _, _, data in events:
                screen.feed(data.encode())
            question = scene.state.get("question", "")
            if question.split() != [] and "".join(question.split()).lower() not in "".join(re.sub("[│┃]", "", screen.text()).split()).lower():
                print(f"record.py: {scene.name} does not show {question!r} at its end", file=sys.stderr)
    readme = HERE / "README.md"
    before, mark, _ = readme.read_text().partition("<!-- what follows is written by record.py --states -->\n")
    rows = [
        f"| {name} | {told['command']} | {' '.join(told[key] for key in ('state', 'kind') if key in told)} | {told.get('question', '').replace('|', '')} |"
        for name, told in sorted(found.items())
    ]
    table = "\n".join(["", "| Recording | Program | At its end | Question |", "|---|---|---|---|", *rows, ""])
    readme.write_text(before + mark + table)
    path = RECORDINGS / "states.json"
    path.write_text(
        "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in sorted(found.items())) + "\n}\n"
    )
    for path in RECORDINGS.glob("*.cast"):
        if path.stem not in found:
            print(f"record.py: nobody says what {path.name} shows", file=sys.stderr)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--show", action="store_true")
    arguments.add_argument("--states", action="store_true")
    arguments.add_argument("--out", help="a folder to write to instead")
    given = arguments.parse_args()
    if given.show:
        for name in given.names:
            if "*" in name:
                for path in sorted(RECORDINGS.glob(f"{name}.cast")):
                    show(path.stem)
            else:
                show(name)
        return
    if given.states:
        return states()
    if not given.names:
        for scene in scenes.ALL:
            print(scene.name)
        return
    failures = 0
    for scene in scenes.ALL:
        if any(fnmatch.fnmatch(scene.name, name) for name in given.names):
            try:
                out = Path(given.out) / f"{scene.name}.cast" if given.out else None
                record(scene, out)
                print(f"{scene.name}: recorded", flush=True)
            except Exception as error:
                failures += 1
                print(f"{scene.name}: {error!r}".replace("\\n", "\n"), flush=True)
    states()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
