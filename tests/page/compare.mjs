// What a page shows, beside what sweep prints for programs.
import assert from "node:assert/strict";

const texts = (from, selector) => from.$$eval(selector, (all) => all.map((one) => one.textContent));

/** Time passes between the two: ages in sentences are left out. */
const ageless = (text) => text.replace(/\b\d+(ms|[smhd])\b( \d+[smhd]\b)?/g, "…");

/** The front page, and `sweep attention --output json`. */
export async function assertWork(tab, attention) {
  const { sweeper, items, next_sweep, kinds, agents, tenants, days } = attention;
  assert.equal(await tab.getAttribute("[data-state]", "data-state"), sweeper.state);
  assert.equal(ageless(await tab.textContent("[data-field=summary]")), ageless(sweeper.summary));
  const total = attention.items_total;
  const needs = ["Nothing needs a person", "1 thing needs a person"][total] ?? `${total} things need a person`;
  assert.equal(await tab.textContent("[data-field=needs]"), needs);

  const shown = await tab.$$eval(".item", (all) => all.map((item) => {
    const field = (name) => item.querySelector(`[data-field=${name}]`)?.textContent ?? null;
    const commands = [...item.querySelectorAll("[data-field=command]")].map((command) => command.textContent);
    const { what, kind = "", id = null } = item.dataset;
    return { what, kind, id, title: field("title"), why: field("why"), tried: field("tried"), advice: field("advice"), commands };
  }));
  const named = (kind, id) => (kind && !id ? `${kind}s` : kind ?? "");
  const printed = items.map(({ what, kind, id, title, why, tried, advice, commands }) =>
    ({ what, kind: named(kind, id), id, title, why: ageless(why), tried, advice, commands }));
  assert.deepEqual(shown.map((item) => ({ ...item, why: ageless(item.why) })), printed);

  const planned = await tab.$$eval("[data-planned]", (all) => all.map(({ dataset: { planned, kind, id } }) => [planned, kind, id]));
  assert.deepEqual(planned, next_sweep.subjects.map(({ decision, kind, id }) => [decision ?? "unreadable", kind, id]));
  assert.deepEqual((await texts(tab, "[data-field=would]")).map(ageless), next_sweep.subjects.map(({ would }) => ageless(would)));
  const stranded = await tab.$$eval("[data-field=stranded_total]", (all) => all.map((one) => Number(one.dataset.n)));
  assert.equal(stranded[0] ?? 0, next_sweep.stranded_total);

  const provided = Object.values(kinds).filter((kind) => kind.provided);
  const states = await tab.$$eval("[data-row]", (all) => all.map((row) =>
    [row.dataset.row, ...[...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))]));
  for (const [state, ...counts] of states) {
    const each = provided.map((kind) => kind[state] ?? 0);
    assert.deepEqual(counts, [...each, each.reduce((sum, n) => sum + n, 0)], state);
  }
  const all = (rows) => rows.flat().filter((n) => typeof n === "number").reduce((sum, n) => sum + n, 0);
  assert.equal(all(states), 2 * all(provided.map((kind) => Object.values(kind))), "no state is left out");

  for (const [what, shares] of [["agents", agents], ["tenants", tenants]]) {
    const rows = await tab.$$eval(`[data-share=${what}]`, (all) => all.map((row) =>
      [row.querySelector("th").firstChild.textContent, ...[...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))]));
    const count = (share, ...states) => states.reduce((sum, state) => sum + (share.states[state] ?? 0), 0);
    const expected = shares.map((share) => {
      const waiting = count(share, "escalated", "abandoned"), stranded = count(share, "orphaned", "stalled", "silent", "crashed");
      return [share.name || "nobody", waiting, stranded, count(share, ...Object.keys(share.states)) - waiting - stranded];
    });
    assert.deepEqual(rows, shares.length < 2 ? [] : expected, what);
  }

  const rows = await tab.$$eval("[data-day]", (all) => all.map((row) =>
    [row.dataset.day, ...[...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))]));
  const columns = ["continued", "recovered", "handed_over", "escalated", "abandoned", "false_rescues"];
  assert.deepEqual(rows.reverse(), days.map((day) => [day.date, ...columns.map((name) => day[name])]));
}

/** The page of a subject, and `sweep explain … --output json`. */
export async function assertSubject(tab, explained) {
  const shown = async (name) => (await texts(tab, `[data-field=${name}]`)).map(ageless);
  assert.deepEqual(await shown("title"), explained.title ? [ageless(explained.title)] : []);
  assert.equal(await tab.getAttribute("[data-decision]", "data-decision"), explained.decision);
  assert.deepEqual(await shown("would_change"), [ageless(explained.what_would_change_it)]);
  assert.deepEqual(await shown("demand"), explained.clauses.map(({ demand }) => ageless(demand)));
  assert.deepEqual(await shown("found"), explained.clauses.map(({ found }) => ageless(found)));
  const holds = await tab.$$eval("[data-holds]", (all) => all.map((one) => one.dataset.holds === "true"));
  assert.deepEqual(holds, explained.clauses.map((clause) => clause.holds));
  assert.equal(Number(await tab.getAttribute("[data-recoveries]", "data-recoveries")), explained.recoveries_total);
  assert.deepEqual(await shown("reason"), explained.recoveries.map(({ reason }) => ageless(reason)).reverse());
}

/** The page of a plan, and `sweep status --plan … --output json`. */
export async function assertPlan(tab, plan) {
  assert.equal(await tab.getAttribute("[data-derived]", "data-derived"), plan.derived);
  const { total, done } = plan.step_counts;
  const steps = total === 1 ? "1 step" : `${total} steps`;
  assert.deepEqual(await texts(tab, "[data-field=progress]"), [`${plan.progress_percent}% done: ${done} of ${steps}`]);
  const shown = await tab.$$eval("[data-step]", (all) => all.map(({ dataset: { step, of } }) => [step, of]));
  const listed = plan.steps.filter(({ id }) => shown.some(([shownId]) => shownId === id));
  assert.deepEqual(shown, listed.map(({ id, state, status }) => [id, state ?? status]));
  assert.equal(shown.length, Math.min(total, 100));
  assert.deepEqual(await texts(tab, "[data-field=agent]"), listed.map(({ agent }) => agent).filter((agent) => agent));
  const lasting = (await texts(tab, "[data-field=lasting]")).length;
  assert.equal(lasting, listed.filter(({ age_seconds }) => age_seconds !== null).length);
  assert.equal((await texts(tab, "[data-field=tried]")).length, listed.flatMap(({ tried }) => tried).length);
}

/** The table of the sessions, and `sweep status --only sessions --output json`. */
export async function assertSessions(tab, { rows, provided }) {
  const states = await tab.$$eval("[data-listed]", (all) => all.map((row) => row.dataset.of));
  assert.deepEqual(states, provided ? rows.map(({ state }) => state) : []);
  const said = (name) => rows.map((row) => row[name]).filter((text) => text);
  assert.deepEqual(await texts(tab, "[data-field=question]"), said("question"));
  assert.deepEqual(await texts(tab, "[data-field=last_line]"), rows.filter((row) => !row.question).map((row) => row.last_line).filter((line) => line));
}
