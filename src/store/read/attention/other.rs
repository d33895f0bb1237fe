//! What needs a person besides work of which people were notified: what the guard or the host holds, wakes that are
//! stuck, rows in quarantine, and notifications that were given up.

use diesel::dsl::exists;
use diesel::prelude::*;

use super::items::{Command, Item, OfSource, Placed, Reading, What, place};
use super::owner::Owner;
use super::request::Source;
use super::sweeper::{HeldWork, Sweeper};
use crate::rules::board::Need;
use crate::rules::display::humanize;
use crate::rules::{Id, Kind, Reason};
use crate::store::db::after::{After, after};
use crate::store::db::schema::{failures, issue_subjects, left_issues, session_subjects, step_subjects};
use crate::store::db::types::{LossyText, RawInstant, age_seconds};
use crate::store::hosts::catalog;
use crate::store::read::status;
use crate::store::work::find;
use crate::store::work::left_issues::UNSTARTED;
use crate::store::work::wakes::{self, Wanted};
use crate::store::{Db, Label};

pub fn read(db: &mut Db, reading: &Reading, sweeper: &Sweeper) -> QueryResult<Vec<OfSource>> {
    let mut sources = vec![held_back(reading, sweeper), left_issues(db, reading)?, stuck_wakes(db, reading)?];
    for &kind in reading.kinds {
        sources.push(quarantined(db, reading, kind)?);
    }
    // To whom they were to go is nobody's business but the operators'.
    if *reading.owner == Owner::default() {
        sources.push(undelivered(db, reading)?);
    }
    Ok(sources)
}

/// There are few of them, in the row of one sweep. What is held back of more than is asked for holds that back as well.
fn held_back(reading: &Reading, sweeper: &Sweeper) -> OfSource {
    let Owner { tenant, agent } = reading.owner;
    let is_meant = |held: &&HeldWork| {
        (tenant.is_none() || held.tenant.is_none() || held.tenant == *tenant)
            && (agent.is_none() || held.agent_id.is_none() || held.agent_id == *agent)
    };
    let held = sweeper.guard.iter().filter(is_meant).enumerate();
    let placed = held.map(|(number, held)| {
        let item = Item {
            kind: Some(held.kind),
            tenant: held.tenant.clone(),
            agent_id: held.agent_id.clone(),
            agent: held.agent.clone(),
            since: Some(held.since),
            age_seconds: Some(age_seconds(held.since, reading.now)),
            offers: &[Command::DryRun, Command::Unguarded],
            ..Item::new(What::HeldBack, Need::HeldBack, held.why.clone())
        };
        let cursor = place(Some(held.place.clone()), Source::Guard, Id(format!("{number:04}")));
        Placed { cursor, item }
    });
    let placed: Vec<Placed> = placed.collect();
    let total = placed.len() as i64;
    let after = reading.page.after(Source::Guard);
    let is_later = |Placed { cursor, .. }: &Placed| match &after {
        After::Nothing => true,
        After::From(at) => *at <= cursor.since,
        After::Since(at) => *at < cursor.since,
        After::Row(at, key) => (at, &key.0) < (&cursor.since, &cursor.key.0),
    };
    (placed.into_iter().filter(is_later).collect(), total)
}

fn left_issues(db: &mut Db, reading: &Reading) -> QueryResult<OfSource> {
    use left_issues::*;
    if !catalog::is_readable(db, "left_issues")? {
        return Ok((Vec::new(), 0));
    }
    let left = || {
        let all = left_issues::table.into_boxed();
        let of_tenant = match &reading.owner.tenant {
            None => all,
            Some(one) => all.filter(tenant.eq(one)),
        };
        match &reading.owner.agent {
            None => of_tenant,
            Some(one) => of_tenant.filter(agent_id.eq(one)),
        }
    };
    let total = left().count().get_result(db)?;
    let columns = (subject_id, tenant, identifier, title, (agent_id, agent_name), status, since, reason);
    let later = after!(left(), reading.page.after(Source::LeftIssue), since, subject_id);
    let later = later.order((since, subject_id)).limit(reading.page.rows()).select(columns);
    type Agent = (Option<Id>, Option<LossyText>);
    type Row = (Id, LossyText, Option<LossyText>, LossyText, Agent, LossyText, RawInstant, LossyText);
    let rows: Vec<Row> = later.load(db)?;
    let placed = rows.into_iter().map(|(id, of_tenant, name, its_title, (its_agent, agent), its_status, at, why)| {
        let (what, need, offers): (_, _, &[Command]) = match its_status.0 == UNSTARTED {
            true => (What::Unstarted, Need::Unstarted, &[Command::Explain, Command::Wake]),
            false => (What::BlockedByHost, Need::Blocked(reading.resume_advice), &[Command::Explain]),
        };
        let (its_since, age_seconds) = at.with_age(reading.now);
        let item = Item {
            kind: Some(Kind::Issue),
            id: Some(id.clone()),
            tenant: Some(of_tenant.into()),
            identifier: name.map(String::from),
            title: Some(its_title.into()),
            agent_id: its_agent,
            agent: agent.map(String::from),
            since: its_since,
            age_seconds,
            offers,
            ..Item::new(what, need, why.into())
        };
        Placed { cursor: place(Some(at), Source::LeftIssue, id), item }
    });
    Ok((placed.collect(), total))
}

fn stuck_wakes(db: &mut Db, reading: &Reading) -> QueryResult<OfSource> {
    let (limit, now) = (reading.limits.wake_stuck_after, reading.now);
    let Owner { tenant, agent } = reading.owner;
    let wanted = Wanted { tenant: tenant.as_deref(), agent: agent.as_ref(), after: limit, now };
    let total = wakes::count(db, &wanted)?;
    let rows = wakes::oldest(db, &wanted, &reading.page.after(Source::Wake), reading.page.rows())?;
    let placed = rows.into_iter().map(|wake| {
        let queued_for = wake.since.map_or(limit, |since| now - since);
        let item = Item {
            kind: wake.kind.as_deref().and_then(Kind::parse),
            id: wake.subject_id,
            tenant: Some(wake.tenant),
            identifier: wake.identifier,
            title: wake.title,
            agent_id: wake.agent_id,
            agent: wake.agent,
            since: wake.since,
            age_seconds: wake.age_seconds,
            offers: if wake.kind.is_some() { &[Command::Explain] } else { &[] },
            ..Item::new(What::StuckWake, Need::StuckWake, Reason::StuckWake(queued_for).to_string())
        };
        Placed { cursor: place(Some(wake.place), Source::Wake, wake.id), item }
    });
    Ok((placed.collect(), total))
}

fn quarantined(db: &mut Db, reading: &Reading, of: Kind) -> QueryResult<OfSource> {
    use failures::{kind, quarantined_at, reason, subject_id};
    let (Owner { tenant, agent }, source) = (reading.owner, Source::quarantined(of));
    macro_rules! owned {
        ($held:expr, $subjects:ident) => {{
            let its = || $subjects::table.filter($subjects::subject_id.eq(subject_id));
            let of_tenant = match tenant {
                None => $held,
                Some(one) => $held.filter(exists(its().filter($subjects::tenant.eq(one)))),
            };
            match agent {
                None => of_tenant,
                Some(one) => of_tenant.filter(exists(its().filter($subjects::group_id.eq(one)))),
            }
        }};
    }
    let held = || {
        let held = failures::table.filter(kind.eq(of.name())).filter(quarantined_at.is_not_null()).into_boxed();
        match of {
            Kind::Session => owned!(held, session_subjects),
            Kind::Issue => owned!(held, issue_subjects),
            Kind::Step => owned!(held, step_subjects),
        }
    };
    let total = held().count().get_result(db)?;
    let later = after!(held(), reading.page.after(source), quarantined_at, subject_id);
    let later = later.order((quarantined_at, subject_id)).limit(reading.page.rows());
    let rows: Vec<(Id, LossyText, Option<RawInstant>)> = later.select((subject_id, reason, quarantined_at)).load(db)?;
    let placed = rows.into_iter().map(|(id, why, at)| {
        let label = find::label(db, of, &id)?.unwrap_or_else(|| Label::of_id(id.clone()));
        let (since, age_seconds) = at.as_ref().map_or((None, None), |at| at.with_age(reading.now));
        let item = Item {
            kind: Some(of),
            id: Some(id.clone()),
            tenant: label.tenant,
            identifier: label.identifier,
            since,
            age_seconds,
            offers: &[Command::Explain, Command::Release],
            ..Item::new(What::Quarantined, Need::Quarantined, why.into())
        };
        Ok(Placed { cursor: place(at, source, id), item })
    });
    Ok((placed.collect::<QueryResult<_>>()?, total))
}

fn undelivered(db: &mut Db, reading: &Reading) -> QueryResult<OfSource> {
    let from = reading.page.after(Source::Notification);
    let (rows, total) = status::failing_from(db, reading.now, &from, reading.page.rows())?;
    let placed = rows.into_iter().map(|dead| {
        let error = dead.last_error.map(|error| format!(": {error}")).unwrap_or_default();
        let (event, destination) = (humanize(&dead.event), dead.destination);
        let how = if dead.is_given_up { "could not be" } else { "has not been" };
        let why = format!("the notification “{event}” {how} delivered to {destination}{error}");
        let item = Item {
            kind: Kind::parse(&dead.kind),
            id: dead.subject_id,
            identifier: dead.identifier,
            since: dead.since,
            age_seconds: dead.age_seconds,
            offers: &[Command::TestNotification],
            ..Item::new(What::Undelivered, Need::Undelivered, why)
        };
        Placed { cursor: place(Some(dead.place), Source::Notification, dead.id), item }
    });
    Ok((placed.collect(), total))
}
