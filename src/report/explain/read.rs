//! Reading what is explained: by a name, from the facts and by the rules of a sweep.

use anyhow::Result;

use super::{Explanation, quarantine as told_quarantine};
use crate::conclusion::{some_failed, usage};
use crate::rules::{Kind, Policy};
use crate::store::connect::open::Url;
use crate::store::db::errors::{self, Refused};
use crate::store::hosts::links::{HostUrl, Links};
use crate::store::hosts::rights::Purpose;
use crate::store::work::find::among;
use crate::store::work::{ledger, quarantine, supervision};
use crate::store::{Abort, Db, Label, Subject, Timeouts, for_kind, read_alone};

impl Explanation {
    /// Connects, and reads of the subject of this name: the clauses, the history and the ledger of one moment. Without
    /// a kind it may be of any. Refuses a name that finds none or several, and a row that cannot be read. `policy` is
    /// asked for by the policy of the watcher that examines the session, if one does.
    pub fn read(
        url: &Url,
        (kind, name): (Option<Kind>, &str),
        policy: impl FnOnce(Option<Policy>) -> Policy + Send + 'static,
        host_url: Option<&HostUrl>,
        timeouts: &Timeouts,
    ) -> Result<Explanation> {
        let (name, host_url, its_timeouts) = (name.to_owned(), host_url.cloned(), *timeouts);
        url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Explain)?;
            kind.map_or(Ok(()), |kind| store.refuse_unprovided(kind))?;
            let kinds = kind.map_or_else(|| store.kinds.clone(), |kind| vec![kind]);
            let links = store.host.links(host_url.as_ref());
            let read = store.db.in_transaction(Purpose::Explain.access(), &its_timeouts, |db| {
                let (kind, label) = among(db, &kinds, &name)?;
                let now = db.now()?;
                let watchers = match kind {
                    Kind::Session => supervision::policy_of_watcher(db, &label.id, now)?,
                    Kind::Issue | Kind::Step => None,
                };
                let is_watched = watchers.is_some();
                let policy = policy(watchers);
                let explanation = for_kind!(kind, S => read::<S>(db, label, &policy, &links))?;
                Ok(Explanation { is_watched, ..explanation })
            });
            read.map_err(|abort: Abort<Refused>| url.explain(abort.into()))
        })
    }
}

/// A row that cannot be read is no failure of the database: it is named, with what is wrong and what a sweep does.
fn read<S: Subject>(db: &mut Db, label: Label, policy: &Policy, links: &Links) -> Result<Explanation, Refused> {
    let failure = quarantine::of(db, S::KIND, &label.id)?;
    let read = read_alone::<S>(db, &label.id, policy);
    let read = read.and_then(|facts| Ok((facts, ledger::history_of(db, S::KIND, &label.id)?)));
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
            let why = errors::of_row(kind, &error);
            Err(some_failed(format!("{kind} {name} cannot be read: {why}; {held}")).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// With its id, which the name may not show.
fn named(label: &Label) -> String {
    if label.identifier.is_some() { format!("{} ({})", label.name(), label.redact_id()) } else { label.redact_id() }
}
