//! Is an installation well? Each check finds out one thing, and says what to do where that is not well. A check that
//! fails keeps no other one from being made, unless that needs what is not there. Nothing is written: a standby will
//! do, and a role that may only read.

mod database;
mod diagnosis;
mod file;
mod schema;
mod work;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::notify::{Notify, trial};
use crate::store::Url;
use crate::store::connect::databases::Found;

pub use diagnosis::{CheckMark, CheckName, CheckUp, Diagnosis, DoctorOptions};

/// Examines one database, and says again what all have in common. `pooler`: the transaction pooler that its URL leads
/// to, if its name says so.
pub fn examine(found: &Found, pooler: Option<&str>, options: &DoctorOptions) -> Diagnosis {
    let mut checkups = options.in_common.clone();
    if let Url::Sqlite(path) = &found.url {
        checkups.extend(file::check(path));
    }
    let reached = match database::reach(&found.url, &options.timeouts) {
        Ok(reached) => reached,
        Err(error) => {
            let advice = match conclusion_of(&error) {
                Conclusion::Config => "name another database by DATABASE_URL, or set this one up: `sweep init`",
                _ => "see the section SweepDatabaseDown of docs/runbook.md",
            };
            checkups.push(CheckUp::failed(CheckName::Connection, &error, advice));
            return Diagnosis::of(None, checkups);
        }
    };
    checkups.extend(database::check(&reached, pooler, &found.url, options));
    let host = match schema::read(&found.url, &options.timeouts) {
        Ok(host) => host,
        Err(error) => {
            checkups.push(schema::failed(&error));
            checkups.extend(database::check_clock(&found.url, None, &options.timeouts));
            return Diagnosis::of(None, checkups);
        }
    };
    checkups.extend(schema::check(&host, &reached, &found.url, options));
    checkups.extend(database::check_clock(&found.url, Some(&host), &options.timeouts));
    checkups.extend(work::check(found, &options.timeouts));
    Diagnosis::of(Some(host.name().to_owned()), checkups)
}

/// Connects to each receiver that is configured; no message is sent.
pub fn check_receivers(notify: &Notify) -> Vec<CheckUp> {
    let check = |(name, reached): (&str, Result<(), String>)| {
        let name = name.parse().expect("each receiver has a check of its name");
        match reached {
            Ok(()) => CheckUp::ok(name, "it can be connected to; nothing was sent"),
            Err(why) => {
                let advice = "mend the way to it, then `sweep notify test`: docs/notifications.md";
                CheckUp::problem(name, Conclusion::Unavailable, format!("it cannot be reached: {why}"), advice)
            }
        }
    };
    trial::reach_all(notify).into_iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::work::outbox::Destination;

    #[test]
    fn each_destination_has_a_check_of_its_name() {
        for destination in Destination::ALL {
            assert!(destination.name().parse::<CheckName>().is_ok(), "{destination:?}");
        }
    }
}
