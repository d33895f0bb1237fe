#!/usr/bin/env node
// Runs the program of the package for this platform, with this process's arguments, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `@agent-sweep/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/sweep`);
} catch {
  const known = Object.keys(require("./package.json").optionalDependencies);
  console.error(
    known.includes(platform)
      ? `sweep: the package ${platform} is not installed: install agent-sweep without --omit=optional`
      : `sweep: no program for ${process.platform}-${process.arch}, expected ${known.join(" or ")}; ` +
          "cargo install agent-sweep builds one",
  );
  process.exit(1);
}

const isOnTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"]) {
  process.on(signal, () => {
    // A terminal's keys have reached the program already: it would take a second SIGINT for “at once”.
    const isKey = isOnTerminal && (signal === "SIGINT" || signal === "SIGQUIT");
    if (!isKey) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`sweep: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
