//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::say;
use crate::cli::{Layout, StatusFlags};
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::logged;
use crate::report::{ended, failure, heading, page, status as report};
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::databases::Found;
use crate::store::open::Url;
use crate::store::status::{Status, of_database, of_plan};
use crate::text::shown_in;

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Conclusion> {
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let (layout, host_url) = (flags.layout.get(), environment.host_url(flags.links)?);
    if let Some(name) = flags.plan {
        let (url, stalled_after) = (environment.database(&flags.database)?, environment.step_stalled_after()?);
        let plan = of_plan(&url, &name, stalled_after, host_url.as_ref(), &timeouts)?;
        print(layout, &plan, report::plan);
        return Ok(Conclusion::Done);
    }
    let databases = environment.databases(&flags.database)?;
    let status = |url: &Url| of_database(url, flags.tenant.as_deref(), host_url.as_ref(), &timeouts);
    match databases.only() {
        Some(url) => print(layout, &status(url)?, report::whole),
        None => return Ok(print_each(layout, &databases.find(), status)),
    }
    Ok(Conclusion::Done)
}

/// One of several databases, for programs: what one alone prints, and how it ended.
#[derive(Serialize)]
struct OneOfSeveral<'a> {
    database_name: &'a str,
    #[serde(flatten)]
    status: Option<&'a Status>,
    #[serde(flatten)]
    ended: Value,
}

/// Of several databases, each under its name, or why it cannot be shown.
fn print_each(layout: Layout, databases: &[Found], status: impl Fn(&Url) -> Result<Status>) -> Conclusion {
    let status_of = |found: &Found| (found.name.clone().unwrap_or_default(), logged(found, status(&found.url)));
    let statuses: Vec<(String, Result<Status>)> = databases.iter().map(status_of).collect();
    let conclusion = |status: &Result<Status>| status.as_ref().map_or_else(conclusion_of, |_| Conclusion::Done);
    match layout {
        Layout::Table => {
            for (place, (name, status)) in statuses.iter().enumerate() {
                say(&heading(place == 0, name));
                say(&status.as_ref().map_or_else(failure, |status| page::wrapped(&report::whole(status))));
            }
            say(&format!("\n{}\n", report::of_all(&statuses)));
        }
        Layout::Json => {
            let one = |(name, status): &(String, Result<Status>)| {
                let ended = ended(status.as_ref().err(), conclusion(status));
                json!(OneOfSeveral { database_name: name, status: status.as_ref().ok(), ended })
            };
            let databases: Vec<Value> = statuses.iter().map(one).collect();
            say(&format!("{:#}\n", shown_in(json!({ "schema": 1, "databases": databases }))));
        }
    }
    Conclusion::gravest(statuses.iter().map(|(_, status)| conclusion(status)))
}

fn print<T: Serialize>(layout: Layout, document: &T, table: impl FnOnce(&T) -> String) {
    say(&match layout {
        Layout::Table => page::wrapped(&table(document)),
        Layout::Json => format!("{:#}\n", shown_in(json!(document))),
    });
}
