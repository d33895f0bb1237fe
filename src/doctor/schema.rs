//! Sweep's schema: is it up to date and as it was made, whose tables does it read, what may this role do there, and
//! does the host tell of runs that end?

use std::sync::Arc;

use anyhow::{Error, Result};

use super::database::Reached;
use super::diagnosis::{CheckName, CheckUp, DoctorOptions};
use crate::conclusion::{Conclusion, conclusion_of};
use crate::store::connect::listen::{ListenMode, refuse_silence};
use crate::store::hosts::folders::Host;
use crate::store::hosts::rights;
use crate::store::read::installation::{DatabasePlace, examine_schema};
use crate::store::{Access, Purpose, Timeouts, Url};

/// The host of a schema that is as it should be.
pub fn read(url: &Url, timeouts: &Timeouts) -> Result<Arc<Host>> {
    let its_timeouts = *timeouts;
    url.ask(timeouts, move |url| {
        let examined = examine_schema(&mut url.connect(Access::ReadOnly)?, &its_timeouts);
        examined.map_err(|error| url.explain(error))
    })
}

pub fn failed(error: &Error) -> CheckUp {
    let advice = match format!("{error:#}") {
        words if words.contains("is broken") => "see the section A broken schema of docs/operating.md",
        words if words.contains("lacks rights") => ROLES,
        words if words.contains("sweep migrate") => "run `sweep migrate` as the owner: docs/commands.md",
        _ => "see the exit codes of docs/runbook.md",
    };
    CheckUp::failed(CheckName::Schema, error, advice)
}

const ROLES: &str = "run deploy/postgres/role.sql as the owner: see the section The roles of docs/operating.md";

/// What there is to say of a schema that is as it should be.
pub fn check(host: &Arc<Host>, reached: &Reached, url: &Url, options: &DoctorOptions) -> Vec<CheckUp> {
    let schema = CheckUp::ok(CheckName::Schema, "up to date, and as `sweep migrate` made it");
    let rights = check_rights(reached, url, &options.timeouts);
    [schema, check_host(host)].into_iter().chain(rights).chain([check_listening(host, url, options)]).collect()
}

fn check_host(host: &Host) -> CheckUp {
    let (name, title) = (host.name(), host.title());
    let oldest = host.describe().oldest_release.map(|oldest| format!(", release {oldest} or newer"));
    let digest = host.digest();
    let origin =
        if host.is_built_in { "built in".to_owned() } else { format!("of a folder, digest {}", &digest[..12]) };
    CheckUp::ok(CheckName::Host, format!("{name} ({title}{}), {origin}", oldest.unwrap_or_default()))
}

/// May this role look, sweep, migrate? A file's rights are looked at where the file is.
fn check_rights(reached: &Reached, url: &Url, timeouts: &Timeouts) -> Option<CheckUp> {
    let DatabasePlace::Server(server) = &reached.installation.place else { return None };
    let missing = url.ask(timeouts, |url| {
        let of = |purpose| url.connect(Access::ReadOnly)?.look(|db| rights::missing(db, purpose));
        Ok((of(Purpose::Show)?, of(Purpose::Sweep)?))
    });
    let (to_look, to_sweep) = match missing {
        Ok(missing) => missing,
        Err(error) => return Some(CheckUp::failed(CheckName::Rights, &error, ROLES)),
    };
    let migrates = if server.may_migrate == Some(true) { "may migrate" } else { "may not migrate" };
    Some(match (to_look.as_slice(), to_sweep.as_slice()) {
        ([], []) => CheckUp::ok(CheckName::Rights, format!("this role may look and sweep, and {migrates}")),
        ([], lacks) => CheckUp::warning(
            CheckName::Rights,
            format!("this role may look, and not sweep: it lacks {}", listed(lacks)),
            ROLES,
        ),
        (lacks, _) => {
            let found = format!("this role may not look: it lacks {}", listed(lacks));
            CheckUp::problem(CheckName::Rights, Conclusion::Config, found, ROLES)
        }
    })
}

/// The first rights, and how many there are besides.
fn listed(rights: &[String]) -> String {
    const FEW: usize = 3;
    let first = rights.iter().take(FEW).map(String::as_str).collect::<Vec<_>>().join(", ");
    match rights.len().saturating_sub(FEW) {
        0 => first,
        more => format!("{first} and {more} more rights"),
    }
}

fn check_listening(host: &Arc<Host>, url: &Url, options: &DoctorOptions) -> CheckUp {
    if options.listen == ListenMode::Off {
        return CheckUp::ok(CheckName::Listening, "off (SWEEP_LISTEN): the schedule finds runs that end");
    }
    let host = host.clone();
    let silence =
        url.ask(&options.timeouts, move |url| url.connect(Access::ReadOnly)?.look(|db| refuse_silence(db, &host)));
    match (silence, options.listen) {
        (Ok(()), _) => CheckUp::ok(CheckName::Listening, "the host tells of runs that end: a daemon can hear of them"),
        (Err(error), ListenMode::On) => {
            CheckUp::failed(CheckName::Listening, &error, "see the section Runs that end of docs/daemon.md")
        }
        (Err(error), _) if conclusion_of(&error) == Conclusion::Config => {
            CheckUp::ok(CheckName::Listening, format!("the schedule finds runs that end ({error:#})"))
        }
        (Err(error), _) => {
            CheckUp::failed(CheckName::Listening, &error, "see the section SweepDatabaseDown of docs/runbook.md")
        }
    }
}
