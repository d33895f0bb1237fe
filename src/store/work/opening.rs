//! What is asked of a database when a sweep begins: which it is and what time it is there, and whether there is
//! anything to do at all. Most sweeps find nothing, and of a server that is far away each question costs a round trip:
//! so all of it is asked at once.

use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select, sql};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::rules::{Id, Kind, Policy};
use crate::store::db::schema::{unheard_runs, untaken_wakes};
use crate::store::db::types::{Instant, LossyText, RawInstant, sql as types};
use crate::store::hosts::{boards, catalog};
use crate::store::work::ledger;
use crate::store::work::outbox::waiting;
use crate::store::work::surroundings::{all_stuck, all_unheard};
use crate::store::work::upkeep::due;
use crate::store::{Access, Db, Subject, for_kind};

/// What is known of a database when a sweep begins.
pub struct Start {
    /// As `Db::identity`.
    pub database: String,
    pub now: DateTime<Utc>,
    /// The newest sweeps, the latest first; none if this role may not read them, as a dry run need not.
    pub newest_sweeps: Vec<Id>,
    /// When the ledger's newest row was written; none that cannot be read, and none for a dry run.
    pub newest_recovery: Option<DateTime<Utc>>,
    has_untaken_wakes: bool,
    has_unheard_runs: bool,
    /// A table of the database has partitions.
    pub has_partitions: bool,
    /// The kinds of which there is any subject, of those that were asked for.
    there: Vec<Kind>,
}

fn any(relation: &str) -> String {
    format!("EXISTS (SELECT 1 FROM {relation})")
}

/// The number of sweeps that distinguish a database from a copy of it.
const NEWEST_SWEEPS: i64 = 3;

impl Start {
    /// Also asks whether there is any subject of these kinds.
    pub fn read(db: &mut Db, access: Access, kinds: &[Kind]) -> QueryResult<Start> {
        let knows_sweeps = access == Access::Write || catalog::is_readable(db, "sweeps")?;
        let now = db.dialect().clock();
        let newest =
            format!("FROM sweeps WHERE started_at <= {now} ORDER BY started_at DESC, id LIMIT {NEWEST_SWEEPS}");
        let list = db.dialect().either("string_agg(id::text, ',')", "group_concat(id)");
        let none = db.dialect().either("NULL::timestamptz", "NULL");
        let there = |kind: Kind| match kinds.contains(&kind) {
            true => for_kind!(kind, S => any(S::RELATION)),
            false => "false".to_owned(),
        };
        let columns = [
            db.dialect().identity().to_owned(),
            now.to_owned(),
            if knows_sweeps { format!("(SELECT {list} FROM (SELECT id {newest}) newest)") } else { "NULL".to_owned() },
            match access {
                Access::Write => "(SELECT created_at FROM recoveries ORDER BY created_at DESC LIMIT 1)".to_owned(),
                Access::ReadOnly => none.to_owned(),
            },
            catalog::readable(db.dialect(), "untaken_wakes"),
            catalog::readable(db.dialect(), "unheard_runs"),
            there(Kind::Session),
            there(Kind::Issue),
            there(Kind::Step),
            db.dialect().either("EXISTS (SELECT FROM pg_inherits)", "false").to_owned(),
        ];
        type Row = (LossyText, DateTime<Utc>, Option<String>, Option<RawInstant>, bool, bool, bool, bool, bool, bool);
        type Types = (Text, types::Moment, Nullable<Text>, Nullable<types::Moment>, Bool, Bool, Bool, Bool, Bool, Bool);
        let columns = sql::<Types>(&columns.join(", "));
        let row: Row = select(columns).get_result(db)?;
        let (database, now, sweeps, newest_recovery, has_untaken_wakes, has_unheard_runs, ..) = row;
        Ok(Start {
            database: database.into(),
            now,
            newest_sweeps: sweeps.iter().flat_map(|ids| ids.split(',')).map(|id| Id(id.to_owned())).collect(),
            newest_recovery: newest_recovery.and_then(|at| at.instant()),
            has_untaken_wakes,
            has_unheard_runs,
            there: of_kinds([row.6, row.7, row.8]),
            has_partitions: row.9,
        })
    }

    /// Asks what there is to do about these kinds, in all tenants. The server plans no question about a kind that it
    /// has no subject of: planning takes most of the time of a sweep that finds nothing.
    pub fn glance(&self, db: &mut Db, kinds: &[Kind], policy: &Policy) -> QueryResult<Glance> {
        let any_of = |relations: Vec<String>| relations.iter().map(|it| any(it)).collect::<Vec<_>>().join(" OR ");
        let candidates = Kind::ALL.iter().map(|kind| match self.there.contains(kind) {
            true => any(&format!("{kind}_candidates")),
            false => "false".to_owned(),
        });
        let open_of_deleted =
            |&kind: &Kind| for_kind!(kind, S => format!("recoveries WHERE {}", ledger::open_of_deleted::<S>()));
        let open = any_of(kinds.iter().map(open_of_deleted).collect());
        let is_policy_new = format!("NOT {}", any(&format!("policy WHERE {}", boards::says(policy))));
        let others = [
            any("failures WHERE sweeps > 0"),
            format!("{} OR {open}", any("failures WHERE quarantined_at IS NOT NULL")),
            is_policy_new,
        ];
        let asked: Vec<String> = candidates.chain(others).collect();
        let asked = sql::<(Bool, Bool, Bool, Bool, Bool, Bool)>(&asked.join(", "));
        let (upkeep, waits) = (exists(due!(self.now)), exists(waiting!()));
        let stuck = exists(all_stuck!(policy.wake_stuck_after, self.now));
        let unheard = exists(all_unheard!(policy.run_silent_after, self.now));
        let (found, has_upkeep, is_due): (Answers, bool, bool) = match (self.has_untaken_wakes, self.has_unheard_runs) {
            (true, true) => select((asked, upkeep, waits.or(stuck).or(unheard))).get_result(db)?,
            (true, false) => select((asked, upkeep, waits.or(stuck))).get_result(db)?,
            (false, _) => select((asked, upkeep, waits)).get_result(db)?,
        };
        let Answers { has_sessions, has_issues, has_steps, has_failures, is_unsettled, is_policy_new } = found;
        let (candidates, is_empty) = (of_kinds([has_sessions, has_issues, has_steps]), self.there.is_empty());
        let is_calm = candidates.is_empty() && !is_unsettled && !is_policy_new && !is_due;
        Ok(Glance { candidates, has_failures, is_unsettled, has_upkeep, is_calm, is_empty })
    }
}

/// Has a server look again at those of sweep's own tables that have changed since it last did. SQLite plans without.
pub fn refresh_statistics(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Postgres(db) => diesel::sql_query("SELECT refresh_statistics()").execute(db).map(drop),
        Db::Sqlite(_) => Ok(()),
    }
}

/// The answers to the questions of a glance, in their order.
#[derive(Clone, Copy, Queryable)]
struct Answers {
    has_sessions: bool,
    has_issues: bool,
    has_steps: bool,
    has_failures: bool,
    is_unsettled: bool,
    is_policy_new: bool,
}

/// The kinds of which this is so, in the order of `Kind::ALL`.
fn of_kinds(is_so: [bool; 3]) -> Vec<Kind> {
    Kind::ALL.iter().copied().zip(is_so).filter_map(|(kind, is_so)| is_so.then_some(kind)).collect()
}

/// What there is in a database, at the first glance.
#[derive(Clone, Debug)]
pub struct Glance {
    /// The kinds that have candidates.
    pub candidates: Vec<Kind>,
    /// A subject failed in a sweep before.
    pub has_failures: bool,
    /// A subject is in quarantine, or one of which something is open was deleted.
    pub is_unsettled: bool,
    /// There may be something to do for sweep's own tables.
    pub has_upkeep: bool,
    /// A sweep would look at nothing, write nothing, and notify nobody.
    pub is_calm: bool,
    /// There is no subject at all.
    pub is_empty: bool,
}

impl Glance {
    /// Nobody has looked: there may be anything.
    pub fn unknown() -> Glance {
        let candidates = Kind::ALL.to_vec();
        Glance { candidates, has_failures: true, is_unsettled: true, has_upkeep: true, is_calm: false, is_empty: false }
    }
}
