// The page in a real browser: every link is followed, and each page is looked at in three widths, light and dark.
//
//   node tests/page/test.mjs NAME=URL…      with PAGE_TOOLS, PAGE_WORK and SWEEP as tests/page/run sets them
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

import { axeSource, browser, json, page, sweep } from "./browser.mjs";
import { assertPlan, assertSessions, assertSubject, assertWork } from "./compare.mjs";

const WIDTHS = [360, 800, 1600];
const SCHEMES = ["light", "dark"];
const pictures = "target/page";

/** What no page may do: say something on the console, break its policy, or ask another host. */
function watch(tab, address, complaints) {
  tab.on("console", (message) => complaints.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => complaints.push(`error: ${error}`));
  tab.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  tab.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
  tab.on("request", (request) => {
    if (!request.url().startsWith(address)) complaints.push(`asked elsewhere: ${request.url()}`);
  });
}

async function look(tab, name, isPicture) {
  for (const colorScheme of SCHEMES) {
    for (const width of WIDTHS) {
      await tab.emulateMedia({ colorScheme });
      await tab.setViewportSize({ width, height: 900 });
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${name} scrolls sideways by ${wide} at ${width}`);
      await tab.evaluate(axeSource);
      const { violations } = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join("; ")}`);
      assert.deepEqual(found, [], `axe on ${name}, ${colorScheme}, ${width}`);
      if (isPicture) await tab.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
}

/** Follows every link from the front page on. Of the pages of one sort only some are looked at in all ways. */
async function crawl(context, name, url, address) {
  const complaints = [];
  const tab = await context.newPage();
  watch(tab, address, complaints);
  const waiting = [`${address}/`], seen = new Set(waiting), pictured = new Set();
  let looked = 0;
  while (waiting.length > 0) {
    const here = waiting.shift();
    const response = await tab.goto(here);
    assert.equal(response.status(), 200, here);
    const headers = response.headers();
    assert.match(headers["content-security-policy"], /^default-src 'none'; style-src 'self'; img-src 'self'; /);
    const path = here.slice(address.length);
    assert.equal(headers.refresh, path.includes("refresh=off") ? undefined : "30", here);
    for (const href of await tab.$$eval("a[href]", (links) => links.map((link) => link.href))) {
      const to = href.split("#")[0];
      if (!to.startsWith(address)) assert.match(to, /^https?:\/\//);
      else if (!seen.has(to)) { seen.add(to); waiting.push(to); }
    }
    if (path.includes("refresh=off")) continue;
    const [, first, second] = path.split("?")[0].split("/");
    const sort = first === "plans" && second ? "plan" : !second && first && first !== "sweeps" ? `list-${first}` : first || "front";
    // A list of some states, or of an agent, looks as the whole list does.
    if (path.includes("?") && pictured.has(sort)) continue;
    const kind = { issues: "issue", sessions: "session", steps: "step" }[sort];
    const id = (name) => tab.getAttribute(`[data-${name}]`, name === "plan" ? "data-plan" : "data-id");
    const compare = async () => {
      if (sort === "plan") await assertPlan(tab, await json(url, "status", "--plan", await id("plan")));
      if (path === "/sessions") await assertSessions(tab, await json(url, "status", "--only", "sessions"));
      if (kind) await assertSubject(tab, await json(url, "explain", kind, await id("subject")));
    };
    // A threshold may pass between the page and the command, but not between the next two as well.
    await compare().catch(() => tab.reload().then(compare));
    await look(tab, `${name}-${sort}`, !pictured.has(sort));
    pictured.add(sort);
    looked += 1;
  }
  assert.deepEqual(complaints, [], `${name}: what the browser complained of`);
  await tab.close();
  return { seen: seen.size, looked };
}

/** With the keyboard alone, from the front page to a plan, to its steps and to one of them; and a search. */
async function visit(context, address) {
  const tab = await context.newPage();
  const complaints = [];
  watch(tab, address, complaints);
  const follow = async (selector, url) => {
    await tab.locator(selector).first().focus();
    await Promise.all([tab.waitForURL(url), tab.keyboard.press("Enter")]);
  };
  await tab.goto(`${address}/`);
  await follow(".plans .name a", /\/plans\//);
  const wanted = await tab.$$eval("main a[href]", (all) => all.length);
  await tab.locator("main a[href]").first().focus();
  const met = new Set();
  for (let step = 0; step < wanted; step += 1) {
    met.add(await tab.evaluate(() => [...document.querySelectorAll("main a[href]")].indexOf(document.activeElement)));
    await tab.keyboard.press("Tab");
  }
  assert.equal(met.size, wanted, "each link of a plan is met once");
  await follow(".steps .name a", /\/steps\//);
  await tab.goto(`${address}/sessions`);
  const rows = await tab.locator("[data-listed]").count();
  const name = await tab.locator("[data-field=listed]").first().textContent();
  await tab.locator(".search input[type=search]").focus();
  await tab.keyboard.type(` ${name} `.trim().toUpperCase());
  await Promise.all([tab.waitForURL(/\/sessions\?q=/), tab.keyboard.press("Enter")]);
  assert.equal(await tab.locator("[data-field=listed]").first().textContent(), name);
  assert.ok((await tab.locator("[data-listed]").count()) < rows, "a search finds some of them");
  assert.deepEqual(complaints, []);
  await tab.close();
}

/** With the keyboard alone: the skip link first, then every link, each of them seen to have the focus. */
async function walk(context, address) {
  const tab = await context.newPage();
  await tab.setViewportSize({ width: 800, height: 900 });
  await tab.goto(`${address}/`);
  const wanted = await tab.$$eval("a[href], summary", (all) => all.length);
  await tab.keyboard.press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement.className), "skip");
  const box = await tab.locator(".skip").boundingBox();
  assert.ok(0 <= box.y, "the skip link is seen when it has the focus");
  const met = new Set();
  for (let step = 0; step < wanted; step += 1) {
    const outline = await tab.evaluate(() => {
      const all = [...document.querySelectorAll("a[href], summary")];
      return [all.indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle];
    });
    assert.notEqual(outline[1], "none", "what has the focus shows it");
    met.add(outline[0]);
    await tab.keyboard.press("Tab");
  }
  assert.equal(met.size, wanted, "each link is met once");
  await tab.locator(".item .name a").first().focus();
  await Promise.all([tab.waitForURL(/\/(issues|sessions|steps)\//), tab.keyboard.press("Enter")]);
  await tab.goto(`${address}/`);
  await tab.locator("summary").focus();
  await tab.keyboard.press("Enter");
  assert.ok(await tab.locator("table.days").isVisible(), "the numbers can be opened");
  await tab.close();
}

/** On paper: the numbers are printed, and what is of use on a screen only is not. */
async function print(context, name, address) {
  const tab = await context.newPage();
  await tab.goto(`${address}/?refresh=off`);
  await tab.emulateMedia({ media: "print" });
  assert.equal(await tab.locator(".refresh").isVisible(), false);
  assert.ok(await tab.evaluate(() => document.querySelector("table.days tbody tr").checkVisibility({ contentVisibilityAuto: true })));
  const pdf = await tab.pdf({ format: "A4" });
  assert.ok(5000 < pdf.length);
  writeFileSync(`${pictures}/${name}.pdf`, pdf);
  spawnSync("pdftoppm", ["-png", "-r", "60", `${pictures}/${name}.pdf`, `${pictures}/${name}-print`]);
  await tab.close();
}

/** Within its half minute it shows by itself what has changed, and stays where the reader was. */
async function refresh(context, url, address) {
  const tab = await context.newPage();
  await tab.setViewportSize({ width: 800, height: 600 });
  await tab.goto(`${address}/`);
  await tab.evaluate(() => window.scrollTo(0, 300));
  const before = await tab.getAttribute("[data-state]", "data-state");
  assert.equal(before, "failing");
  await sweep(url, "--no-guard", "--yes");
  await tab.waitForSelector("[data-state=well]", { timeout: 60_000 });
  assert.ok(100 < (await tab.evaluate(() => window.scrollY)), "it stays where the reader was");
  await tab.close();
}

/** A page whose database is away says so, and comes back by itself. */
async function outage(context, url) {
  const file = url.replace("sqlite://", ""), away = `${file}.away`;
  const served = await page(url);
  const tab = await context.newPage();
  await tab.goto(`${served.address}/`);
  spawnSync("mv", [file, away]);
  await tab.waitForTimeout(2500);
  const response = await tab.goto(`${served.address}/`);
  assert.deepEqual([response.status(), response.headers()["cache-control"]], [503, "no-store"]);
  assert.equal(await tab.getAttribute("[data-state]", "data-state"), "away");
  assert.equal(await tab.locator(".item").count(), 0, "nothing that was read before is shown");
  await look(tab, "away", true);
  spawnSync("mv", [away, file]);
  await tab.waitForSelector("[data-state=failing], [data-state=well]", { timeout: 60_000 });
  await tab.close();
  await served.stop();
}

const context = await browser();
for (const [name, url] of process.argv.slice(2).map((pair) => pair.split(/=(.*)/s))) {
  const served = await page(url, name === "paperclip" ? { SWEEP_HOST_URL: "https://board.example" } : {});
  const tab = await context.newPage();
  await tab.goto(`${served.address}/`);
  await assertWork(tab, await json(url, "attention"));
  await tab.close();
  const { seen, looked } = await crawl(context, name, url, served.address);
  if (name === "demo") {
    await walk(context, served.address);
    await visit(context, served.address);
    await print(context, name, served.address);
    await refresh(context, url, served.address);
  }
  await served.stop();
  if (name === "demo") await outage(context, url);
  console.log(`${name}: ${seen} addresses followed, ${looked} pages looked at in ${WIDTHS.length} widths, light and dark`);
}
await context.close();
