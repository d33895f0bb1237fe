//! `sweep explain`: one subject, from the facts and by the rules of a sweep. Reads only.

use anyhow::Result;

use super::open_database::OpenDatabase;
use super::terminal::say;
use crate::cli::{ExplainFlags, Layout, SubjectName};
use crate::conclusion::{Conclusion, some_failed, usage};
use crate::report::explain::{Explanation, quarantine as told_quarantine};
use crate::report::page;
use crate::rules::Policy;
use crate::settings::Environment;
use crate::store::Label;
use crate::store::errors::{self, Refused};
use crate::store::find::find;
use crate::store::links::Links;
use crate::store::rights::Purpose;
use crate::store::{Db, Subject, for_kind, ledger, nulls, quarantine};

pub fn run(flags: ExplainFlags, environment: &Environment) -> Result<Conclusion> {
    let (policy, timeouts) = environment.policy(flags.policy)?;
    let mut opened = OpenDatabase::within(timeouts, Purpose::Explain, &flags.database, environment)?;
    let links = opened.store.host.links(environment.host_url(flags.links)?.as_ref());
    let SubjectName { kind, name } = flags.subject;
    opened.store.refuse_unprovided(kind)?;
    // One snapshot: the clauses, the history and the ledger are of one moment.
    let explanation = opened.change(|db, _| {
        let label = find(db, kind, &name)?.one(kind, &name)?;
        for_kind!(kind, S => explain::<S>(db, label, &policy, &links))
    })?;
    say(&match flags.layout.get() {
        Layout::Table => page::wrapped(&explanation.table()),
        Layout::Json => format!("{:#}\n", explanation.json()),
    });
    Ok(Conclusion::Done)
}

/// A row that cannot be read is no failure of the database: it is named, with what is wrong and what a sweep does.
fn explain<S: Subject>(db: &mut Db, label: Label, policy: &Policy, links: &Links) -> Result<Explanation, Refused> {
    let failure = quarantine::of(db, S::KIND, &label.id)?;
    let read = S::read(db, &label.id).and_then(|facts| Ok((facts, ledger::history_of(db, S::KIND, &label.id)?)));
    let (kind, name) = (S::KIND, named(&label));
    match read {
        Ok((Some(facts), past)) => Ok(Explanation::of(label, &facts, policy, links, past, failure)),
        Ok((None, _)) => Err(usage(format!("there is no {kind} {name} in this database")).into()),
        Err(error) if errors::is_undecodable(&error) => {
            let held = failure.filter(|failure| failure.quarantined_at.is_some());
            let held = held.map_or_else(
                || {
                    "each sweep reports it as unreadable and leaves it, and after three of them it is in quarantine"
                        .to_owned()
                },
                |failure| told_quarantine(&failure, kind, &label),
            );
            let why = nulls::describe(db, kind, &label.id, &error);
            Err(some_failed(format!("{kind} {name} cannot be read: {why}; {held}")).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// With its id, which the name may not show.
fn named(label: &Label) -> String {
    if label.identifier.is_some() { format!("{} ({})", label.name(), label.redact_id()) } else { label.redact_id() }
}
