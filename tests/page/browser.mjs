// A real Chromium, Debian's, without a sandbox of its own, and `sweep page` beside it.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.PAGE_TOOLS, "package.json"));
const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

const ARGUMENTS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
];

/** A browser with a new profile. */
export async function browser(options = {}) {
  const profile = mkdtempSync(join(process.env.PAGE_WORK, "profile-"));
  return chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", headless: true, chromiumSandbox: false, args: ARGUMENTS,
    ignoreDefaultArgs: ["--enable-unsafe-swiftshader"], locale: "en-GB", timezoneId: "UTC", ...options,
  });
}

/** Environment in which only what is given is set. */
function environment(more) {
  return { PATH: process.env.PATH, HOME: process.env.PAGE_WORK, ...more };
}

/** `sweep page` on a port of its own: its address, and how it is ended. */
export async function page(url, more = {}) {
  const child = spawn(process.env.SWEEP, ["page", "--http", "127.0.0.1:0"], {
    cwd: process.env.PAGE_WORK, env: environment({ DATABASE_URL: url, ...more }),
  });
  // A test that fails ends this process at once.
  process.on("exit", () => child.kill());
  let log = "";
  const address = await new Promise((resolve, reject) => {
    child.stderr.on("data", (bytes) => {
      log += bytes;
      const found = /HTTP on (127\.0\.0\.1:\d+)/.exec(log);
      if (found) resolve(`http://${found[1]}`);
    });
    child.on("exit", (code) => reject(new Error(`sweep page ended with ${code}: ${log}`)));
  });
  return { address, stop: () => new Promise((done) => { child.removeAllListeners("exit"); child.on("exit", done); child.kill("SIGTERM"); }) };
}

/** What a command of sweep's prints. */
export function sweep(url, ...words) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env.SWEEP, words, { env: environment({ DATABASE_URL: url }) });
    let out = "", err = "";
    child.stdout.on("data", (bytes) => (out += bytes));
    child.stderr.on("data", (bytes) => (err += bytes));
    child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(`${words.join(" ")}: exit ${code}: ${err}`))));
  });
}

export const json = async (url, ...words) => JSON.parse(await sweep(url, ...words, "--output", "json"));
