//! What needs a person, for people: whether the sweeper is alive, each thing with what can be done about it, what the
//! next sweep would do, and how the work stands.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use owo_colors::OwoColorize;

use super::grid::{CELL_MAX, GridRow, age, cells, joined, kinds, paint, section, without_header};
use super::page::Page;
use super::status::plans;
use crate::rules::board::BoardState;
use crate::rules::display::{HumanDuration, counted, format_utc, humanize};
use crate::store::read::overview::{Attention, Cursor, Day, Item, NextSweep, Overview, Share, SweeperState};
use crate::text::{cut, redact};

/// All of it for one database. Sections without rows are left out.
pub fn whole(overview: &Overview<Attention>) -> String {
    let attention = &overview.part;
    let sections = [
        items(attention),
        plans(&attention.plans, attention.plans_total),
        next_sweep(&attention.next_sweep),
        kinds(&overview.kinds, None),
        shares("tenant", &attention.tenants, attention.tenants_total),
        shares("agent", &attention.agents, attention.agents_total),
        days(&attention.days),
    ];
    heading(overview) + &joined(&sections)
}

/// One line about several databases.
pub fn of_all(all: &[(String, Result<Overview<Attention>>)]) -> String {
    let read = || all.iter().filter_map(|(_, overview)| overview.as_ref().ok());
    let total: i64 = read().map(|overview| overview.part.items_total).sum();
    let databases = super::databases(all.len(), all.len() - read().count());
    format!("{databases}. {}", needs(total)).bold().to_string()
}

/// How much there is to do, in a sentence without its full stop.
pub fn needs(total: i64) -> String {
    match total {
        0 => "Nothing needs a person".to_owned(),
        n => counted(n, "thing needs a person", "things need a person"),
    }
}

fn heading(overview: &Overview<Attention>) -> String {
    let Overview { host, tenant, agent, observed_at, sweeper, part: attention, .. } = overview;
    let named = |what: &str, name: &Option<String>| {
        name.as_deref().map(|name| format!(", {what} {}", redact(name))).unwrap_or_default()
    };
    let scope = named("tenant", tenant) + &named("agent", agent);
    let next = sweeper.next_sweep_at.map(|at| format!(" {}", expected(at, *observed_at))).unwrap_or_default();
    let summary = match sweeper.state {
        SweeperState::Well => sweeper.summary.clone(),
        SweeperState::Failing | SweeperState::Late | SweeperState::Never => sweeper.summary.red().to_string(),
    };
    let calm = match (attention.items_total, sweeper.is_well()) {
        (0, true) => format!("\n{}.", needs(0).green()),
        (0, false) => format!("\n{}, but sweeps do not do all that they should.", needs(0)),
        _ => String::new(),
    };
    format!("{} ({host}{scope}) at {}\n{summary}{next}{calm}\n", "Attention".bold(), format_utc(*observed_at))
}

/// When the next sweep can be expected.
pub fn expected(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match now <= at {
        true if at - now < TimeDelta::seconds(1) => "The next one can be expected now.".to_owned(),
        true => format!("The next one can be expected in {}.", HumanDuration(at - now)),
        false => format!("The next one was to be expected {} ago.", HumanDuration(now - at)),
    }
}

fn items(attention: &Attention) -> String {
    if attention.items.is_empty() && 0 < attention.items_total {
        return format!("{}, and none of them on this page or a later one\n", needs(attention.items_total).bold());
    }
    if attention.items.is_empty() {
        return String::new();
    }
    let listed: Vec<String> = attention.items.iter().map(item).collect();
    let more = |place: &Cursor| {
        let (shown, place) = (attention.items.len(), redact(&place.to_string()));
        format!("\n  {shown} of {} are listed here. The next page: --after '{place}'\n", attention.items_total)
    };
    format!(
        "{}, the oldest first, and those with one cause together\n\n{}{}",
        needs(attention.items_total).bold(),
        listed.join("\n"),
        attention.next_page.as_ref().map(more).unwrap_or_default()
    )
}

/// What it is, since when and why; below it what was tried, and what a person can do.
fn item(item: &Item) -> String {
    let Item { subject, .. } = item;
    let name = subject.name().map(redact);
    let name = name.map(|name| Page::of(std::io::stdout()).link(&name, subject.url.as_deref()));
    let kind = subject.kind.map(|kind| if name.is_some() { kind.name().to_owned() } else { kind.plural().to_owned() });
    let heading = kind.into_iter().chain(name).collect::<Vec<_>>().join(" ");
    let title = subject.title.as_deref();
    let title = title.map(|title| format!("  {}", cut(&redact(title), CELL_MAX))).unwrap_or_default();
    let whose = subject.agent.as_deref().map(|agent| format!(", {}", redact(agent))).unwrap_or_default();
    let (what, why) = (item.what.in_words(), redact(&item.why));
    let why = why.strip_prefix(&format!("{what}: ")).unwrap_or(&why);
    let what = paint(&what, item.what.name());
    let mut lines = Vec::new();
    let cause =
        item.cause.as_deref().map(|cause| Page::of(std::io::stdout()).link(&redact(cause), item.cause_url.as_deref()));
    if let (Some(n), Some(cause)) = (item.heads, &item.cause) {
        lines.push(format!("  {}\n", format!("{n} × {}", redact(cause)).bold()));
    }
    lines.push(format!("  {}{title}", heading.bold()));
    lines.push(format!("    {what} for {}{whose}: {}", age(item.age.seconds), why));
    lines.extend(cause.map(|cause| format!("    Its last run: {cause}")));
    lines.extend(item.tried.as_deref().map(|tried| format!("    Tried: {}", redact(tried))));
    lines.push(format!("    {}", redact(&item.advice)));
    lines.extend(item.commands.iter().map(|command| format!("      {}", command.cyan())));
    lines.join("\n") + "\n"
}

fn next_sweep(next: &NextSweep) -> String {
    let rows = next.subjects.iter().map(|planned| {
        let subject = &planned.stranded.subject;
        let [kind, name, agent, title] = cells(subject);
        let age = age(planned.stranded.age.seconds);
        GridRow::of_subject([kind, name, age, agent, redact(&planned.would), title], &subject.url)
    });
    let stranded = counted(next.stranded_total, "subject is", "subjects are");
    let sentence = format!("{} stranded: the next sweep decides", stranded.bold());
    let names = ["kind", "subject", "for", "agent", "a sweep would now", "title"];
    section(next.stranded_total, sentence, names, &[2], rows)
}

fn shares(what: &'static str, shares: &[Share], total: usize) -> String {
    // One alone is named in the heading of its work.
    if total < 2 {
        return String::new();
    }
    let rows = shares.iter().map(|share| {
        let waiting = share.count(BoardState::WAITING_FOR_PEOPLE);
        let stranded = share.count(BoardState::STRANDED);
        let others = share.total() - waiting - stranded;
        let name = if share.name.is_empty() { "nobody".to_owned() } else { redact(&share.name) };
        [name, waiting.to_string(), stranded.to_string(), others.to_string()]
    });
    let names = [what, "needs a person", "stranded", "others"];
    section(total as i64, format!("Work by {what}").bold(), names, &[1, 2, 3], rows)
}

/// One line for each thing that is counted: a column for each day, and all of them together.
fn days(days: &[Day]) -> String {
    let all = Day::SHOWN.map(|(name, of)| (humanize(name), days.iter().map(of).collect::<Vec<_>>()));
    let highest = all.iter().flat_map(|(_, counts)| counts).max().copied().unwrap_or_default();
    if highest == 0 {
        return String::new();
    }
    let rows = all.iter().map(|(name, counts)| {
        let columns: String = counts.iter().map(|n| column(*n, highest)).collect();
        [name.clone(), columns, counts.iter().sum::<i64>().to_string()]
    });
    format!("{}\n\n{}", "Each day of the last four weeks".bold(), without_header(rows))
}

/// Something is never drawn as nothing.
fn column(n: i64, highest: i64) -> char {
    const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match n {
        0 => '·',
        n => COLUMNS[usize::try_from((n * 8 - 1) / highest.max(1)).unwrap_or_default().min(7)],
    }
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn a_day_with_anything_is_never_drawn_as_one_without() {
        assert_eq!((column(0, 100), column(1, 100), column(100, 100)), ('·', '▁', '█'));
        let drawn: String = (1..=8).map(|n| column(n, 8)).collect();
        assert_eq!(drawn, "▁▂▃▄▅▆▇█");
    }
}
