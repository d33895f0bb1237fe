//! All work in progress of one kind, for people: one line for each subject, healthy or not.

use anyhow::Result;
use owo_colors::OwoColorize;

use super::grid::{GridRow, ROWS_MAX, age, cells, coloured, with_header};
use crate::rules::Kind;
use crate::rules::display::format_utc;
use crate::store::read::work_list::{ListedWork, WorkList};
use crate::text::redact;

/// The list of this kind.
pub fn whole(list: &WorkList, kind: Kind) -> String {
    let WorkList { host, tenant, observed_at, provided, page, .. } = list;
    let tenant = tenant.as_deref().map(|tenant| format!(", tenant {}", redact(tenant))).unwrap_or_default();
    let heading = format!("{} in progress", named(page.rows_total, kind));
    let heading = format!("{} ({host}{tenant}) at {}\n", heading.bold(), format_utc(*observed_at));
    if !provided {
        return format!("{heading}{}: not provided by this database\n", kind.plural());
    }
    let states: Vec<String> = page.states.iter().map(|(state, n)| format!("{n} {}", coloured(state.name()))).collect();
    let states = if states.is_empty() { String::new() } else { states.join(", ") + "\n\n" };
    let rows = page.rows.iter().take(ROWS_MAX);
    let listed = rows.len() as i64;
    let table = match kind {
        Kind::Session => {
            let names = ["state", "session", "for", "agent", "directory", "question or last line"];
            with_header(names, rows.map(session), &[2])
        }
        Kind::Issue | Kind::Step => {
            with_header(["state", kind.name(), "for", "agent", "title", "why"], rows.map(woken), &[2])
        }
    };
    let more = match page.rows_total - listed {
        more if 0 < more => format!("  … and {more} more\n"),
        _ => String::new(),
    };
    format!("{heading}{states}{table}{more}")
}

/// One line about several databases.
pub fn of_all(lists: &[(String, Result<WorkList>)], kind: Kind) -> String {
    let read = || lists.iter().filter_map(|(_, list)| list.as_ref().ok());
    let total: i64 = read().map(|list| list.page.rows_total).sum();
    let databases = super::databases(lists.len(), lists.len() - read().count());
    format!("{databases}. {} in progress", named(total, kind)).bold().to_string()
}

fn named(total: i64, kind: Kind) -> String {
    match total {
        0 => format!("No {}", kind.name()),
        1 => format!("1 {}", kind.name()),
        n => format!("{n} {}", kind.plural()),
    }
}

fn session(work: &ListedWork) -> GridRow<6> {
    let [_, name, agent, _] = cells(&work.subject);
    let screen = work.screen.clone().unwrap_or_default();
    let said = match (screen.question, screen.last_line) {
        (Some(question), _) => format!("asks: {}", redact(&question)).yellow().to_string(),
        (None, line) => redact(&line.unwrap_or_default()),
    };
    let directory = redact(&screen.directory.unwrap_or_default());
    let cells = [coloured(work.state.name()), name, age(work.age.seconds), agent, directory, said];
    GridRow::of_subject(cells, &work.subject.url)
}

fn woken(work: &ListedWork) -> GridRow<6> {
    let [_, name, agent, title] = cells(&work.subject);
    let why = redact(work.detail.as_deref().unwrap_or_default());
    GridRow::of_subject(
        [coloured(work.state.name()), name, age(work.age.seconds), agent, title, why],
        &work.subject.url,
    )
}
