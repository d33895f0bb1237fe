#!/usr/bin/env python3
"""Small programs that record.py starts where no real one will do: what hangs, what is healthy for long, and servers for real clients."""

import itertools
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from model import LINES


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def every(seconds, what):
    print("Starting")
    for n in itertools.count():
        say(what(n))
        time.sleep(seconds)


def spinner():
    every(0.1, lambda n: f"\r{'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'[n % 10]} Working")


def bars():
    every(0.15, lambda n: f"\r{'|/-' + chr(92)} ".replace("|/-" + chr(92), "|/-\\"[n % 4]) + "resolving dependencies")


def dots():
    every(0.5, lambda n: ".")


def elapsed():
    every(1, lambda n: f"\rElapsed {n}s")


def clock():
    every(1, lambda n: time.strftime("\r%H:%M:%S", time.gmtime(43200 + n)))


def title():
    every(0.5, lambda n: f"\x1b]0;{'◐◓◑◒'[n % 4]} agent\x07")


def repaint():
    rows = "\r\n".join(f"{row:2} {LINES[row]}" for row in range(22))
    say("\x1b[?1049h\x1b[?25l")
    every(1, lambda n: f"\x1b[H\x1b[2J{rows}")


def tokens():
    every(0.4, lambda n: f"\r\x1b[K↑ {(900 + n * 37) / 1000:.1f}k tokens")


def bouncing():
    """A status line below text that stands, as agents paint it: up, clear, write again."""
    print("> Please tidy up\n")
    every(0.2, lambda n: f"\r\x1b[2K{'·✢✳✶✻✽'[n % 6]} Thinking… ({n // 5}s · esc to interrupt)")


def retrying():
    every(5, lambda n: f"Connection refused; trying again in 5 s (attempt {n + 1})\n")


def blank():
    every(60, lambda n: "")


def streaming():
    """Tokens, word by word, with no end of a line."""
    for word in " ".join(LINES).split(" "):
        say(word + " ")
        time.sleep(0.12)


def steps():
    for n, line in enumerate(LINES):
        say(f"\r\x1b[2K[{n + 1}/{len(LINES)}] {line}")
        time.sleep(0.8)


def files():
    for n in range(1, 1000):
        print(f"src/module_{n:03}.py: {n * 7 % 50} statements, {n * 3 % 11} branches", flush=True)
        time.sleep(0.4)


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if "git" in self.path:
            self.send_response(401)
            self.send_header("www-authenticate", 'Basic realm="Shop"')
            self.end_headers()
            return
        size = 40_000_000
        self.send_response(200)
        self.send_header("content-length", str(size))
        self.end_headers()
        for _ in range(100):
            self.wfile.write(bytes(size // 100))
            time.sleep(0.4)


def served(*command):
    """A program beside a server, whose address stands for URL in its arguments."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.exit(subprocess.call([word.replace("URL", f"http://127.0.0.1:{server.server_port}") for word in command]))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
