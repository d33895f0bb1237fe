"""The throw-away PostgreSQL server that all systems are measured on, and its databases."""

import os
import subprocess


class Failure(Exception):
    """The reason for which there is no figure, for the person who runs the benchmark."""


def run(arguments, environment=None, seconds=900):
    """Runs a program, and returns its output. Fails with its words on stderr."""
    try:
        done = subprocess.run(arguments, env=environment, timeout=seconds, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        raise Failure(f"{arguments[0]} did not end within {seconds} seconds") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(arguments[:2])} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


class Server:
    def __init__(self, port, password):
        self.base = f"postgres://postgres:{password}@127.0.0.1:{port}"

    @classmethod
    def of_environment(cls):
        try:
            return cls(os.environ["TEST_POSTGRES_PORT"], os.environ["TEST_POSTGRES_PASSWORD"])
        except KeyError:
            raise Failure("needs a PostgreSQL that does fsync: run `make bench-peers`") from None

    def url(self, database):
        """The URL of a database over TCP and without TLS, which every system's client can use."""
        return f"{self.base}/{database}?sslmode=disable"

    def psql(self, database, *arguments):
        return run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), *arguments])

    def execute(self, database, *statements):
        self.psql(database, *(word for statement in statements for word in ("-c", statement)))

    def number(self, database, query):
        return int(self.psql(database, "-c", query))

    def create(self, database):
        self.drop(database)
        self.execute("postgres", f"create database {database} template template0")

    def copy(self, template, database):
        """Makes a fresh copy of a database, and a checkpoint, which would otherwise fall into the measurement."""
        self.drop(database)
        self.execute("postgres", f"create database {database} template {template}", "checkpoint")

    def drop(self, database):
        quietly = "set client_min_messages = warning"
        self.execute("postgres", quietly, f"drop database if exists {database} with (force)")

    def describe(self):
        version, fsync = (self.psql("postgres", "-c", f"show {name}").strip() for name in ("server_version", "fsync"))
        return f"{len(os.sched_getaffinity(0))} cores, PostgreSQL {version}, fsync {fsync}"
