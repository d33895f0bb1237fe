//! The nominations: which subjects of a kind to look at, oldest first, and how many there are.
//!
//! What is in quarantine is not nominated. Whom a name means is asked of every kind in the same way as well.

use std::collections::HashMap;
use std::fmt::{Display, Formatter};

use diesel::dsl::{count_star, exists, not, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use serde::{Deserialize, Serialize};

use crate::rules::issue::IssueFacts;
use crate::rules::session::SessionFacts;
use crate::rules::step::StepFacts;
use crate::rules::{Id, Kind};
use crate::store::db::connection::for_each_row;
use crate::store::db::lists::{labels, owned};
use crate::store::db::schema::{
    failures, issue_candidates, issue_facts, issue_subjects, session_candidates, session_facts, session_subjects,
    step_candidates, step_facts, step_subjects,
};
use crate::store::db::types::sql::Moment;
use crate::store::db::types::{IsOneOf, LossyText, RawInstant};
use crate::store::{Db, Label};

/// One nomination. Its fields decode whatever the row holds; a row that is wrong is found when its facts are read.
#[derive(Clone, Debug, PartialEq, diesel::Queryable)]
pub struct Candidate {
    pub id: Id,
    /// Subjects of one group are examined one after the other, since they lock the same rows.
    pub group: Id,
    pub since: RawInstant,
}

/// A part of the candidates: those after a place in the scan to which all the rest applies.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The candidate before the first one; none: from the beginning.
    pub after: Option<&'a Candidate>,
    pub tenant: Option<&'a str>,
    /// The agent whose candidates they are.
    pub group: Option<&'a Id>,
    pub only_ids: Option<&'a [Id]>,
    /// The portions that are left out.
    pub except: &'a [Portion],
}

impl Part<'_> {
    /// All candidates.
    pub fn whole<'a>() -> Part<'a> {
        Part { after: None, tenant: None, group: None, only_ids: None, except: &[] }
    }
}

/// A tenant's subjects of one kind; with a group, those of one agent of the tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Portion {
    pub tenant: String,
    pub group: Option<Id>,
}

impl Portion {
    pub fn of_tenant(tenant: &str) -> Portion {
        Portion { tenant: tenant.to_owned(), group: None }
    }

    /// All candidates of the portion.
    pub fn part<'a>(&'a self, except: &'a [Portion]) -> Part<'a> {
        Part { tenant: Some(&self.tenant), group: self.group.as_ref(), except, ..Part::whole() }
    }
}

/// As it is remembered of which part people were notified.
impl Display for Portion {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        match &self.group {
            Some(group) => write!(f, "agent {group} of {}", self.tenant),
            None => write!(f, "tenant {}", self.tenant),
        }
    }
}

/// What is asked of the views of one kind of subject.
pub trait Nominated {
    const KIND: Kind;

    /// One whose group is null, which no host's view may say.
    fn candidate_without_group(db: &mut Db) -> QueryResult<Option<Id>>;

    /// The candidates in turns, at most `limit`: the oldest of each tenant, then the second oldest of each, and so on.
    /// A tenant's work that has an open row in the ledger, which mostly waits for its wake, takes turns with the rest.
    /// In each turn the tenant comes first for which a sweep did something the longest time ago.
    fn candidates_in_turns(db: &mut Db, part: &Part, limit: i64) -> QueryResult<Vec<Candidate>>;
    /// The next candidates by their age alone, at most `limit`.
    fn candidates(db: &mut Db, part: &Part, limit: i64) -> QueryResult<Vec<Candidate>>;
    /// Gives all candidates of the part to `each`, in no order. One is in memory at a time.
    fn each_candidate(db: &mut Db, part: &Part, each: impl FnMut(Candidate)) -> QueryResult<()>;
    fn count_candidates(db: &mut Db, part: &Part) -> QueryResult<i64>;
    /// How many in progress are not examined any more.
    fn count_in_quarantine(db: &mut Db, tenant: Option<&str>) -> QueryResult<i64>;
    /// How many of a part there are in progress, healthy or not.
    fn count_in_progress(db: &mut Db, part: &Part) -> QueryResult<i64>;
    /// The tenants that have more than so many candidates, those with the most first.
    fn tenants_of_candidates(db: &mut Db, part: &Part, more_than: i64, limit: i64) -> QueryResult<Vec<(String, i64)>>;
    /// How many subjects each of these tenants has in progress, if it has any.
    fn in_progress_of(db: &mut Db, part: &Part, tenants: &[&str]) -> QueryResult<HashMap<String, i64>>;
    /// The group that has the most subjects in progress, and how many.
    fn largest_group(db: &mut Db, part: &Part) -> QueryResult<Option<(Id, i64)>>;
    /// Is there any subject, in whatever state? Of this tenant, or at all.
    fn has_any(db: &mut Db, tenant: Option<&str>) -> QueryResult<bool>;
    /// What a subject is called, whatever else its row holds.
    fn label(db: &mut Db, id: &Id) -> QueryResult<Option<Label>>;
    /// The first two subjects that people call so: of a kind whose names no index helps to find.
    fn labels_called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>>;
    /// The first subjects in progress whose identifier is like a pattern.
    fn labels_like(db: &mut Db, pattern: &str, limit: i64) -> QueryResult<Vec<Label>>;
    /// Tenants of subjects in progress whose name is like a pattern.
    fn tenants_like(db: &mut Db, pattern: &str, limit: i64) -> QueryResult<Vec<LossyText>>;
    /// Those of these ids that subjects have, in whatever state.
    fn existing(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<Id>>;
}

/// The failures that keep the subjects of a view in quarantine.
macro_rules! quarantined {
    ($view:ident, $kind:expr) => {
        failures::table
            .filter(failures::kind.eq($kind.name()))
            .filter(failures::subject_id.eq($view::subject_id))
            .filter(failures::quarantined_at.is_not_null())
    };
}

/// Restricts a boxed query of a view to a part, wherever that begins.
macro_rules! within {
    ($view:ident, $query:expr, $part:expr) => {{
        let query = owned!($query, $view::tenant, $view::group_id, ($part.tenant, $part.group));
        // One condition for all tenants: SQLite takes no expression that is a hundred levels deep.
        let whole: Vec<&str> = $part.except.iter().filter(|of| of.group.is_none()).map(|of| &*of.tenant).collect();
        let query = if whole.is_empty() { query } else { query.filter($view::tenant.ne_all(whole)) };
        $part.except.iter().fold(query, |query, portion| match &portion.group {
            None => query,
            Some(group) => query.filter(not($view::tenant.eq(&portion.tenant).and($view::group_id.eq(group)))),
        })
    }};
}

/// Keyset pagination: however large the table, a page costs a page, and nothing is read twice.
macro_rules! candidates {
    ($view:ident, $kind:expr, $part:expr) => {
        candidates!($view, $kind, $part, $view::table)
    };
    ($view:ident, $kind:expr, $part:expr, rows) => {
        candidates!($view, $kind, $part).select(($view::subject_id, $view::group_id, $view::since))
    };
    ($view:ident, $kind:expr, $part:expr, $from:expr) => {{
        let quarantined = quarantined!($view, $kind);
        let query = $from.filter(not(exists(quarantined))).into_boxed();
        let query = match $part.after {
            None => query,
            Some(after) => query
                .filter($view::since.ge(&after.since))
                .filter($view::since.gt(&after.since).or($view::subject_id.gt(&after.id))),
        };
        let query = match $part.only_ids {
            None => query,
            Some(ids) => query.filter(IsOneOf::new($view::subject_id, ids)),
        };
        within!($view, query, $part)
    }};
}

macro_rules! nominations {
    ($kind:expr, $type:ty: $subjects:ident, $candidates:ident, $facts:ident) => {
        impl Nominated for $type {
            const KIND: Kind = $kind;

            fn candidates_in_turns(db: &mut Db, part: &Part, limit: i64) -> QueryResult<Vec<Candidate>> {
                let view = stringify!($candidates);
                let kind = Self::KIND;
                let is_open = format!(
                    "CASE WHEN EXISTS (SELECT 1 FROM interventions o WHERE o.kind = '{kind}' \
                         AND o.subject_id = {view}.subject_id AND o.settled_at IS NULL) THEN 1 ELSE 0 END"
                );
                // A tenant's open subjects and its others come by turns, as long as there are both.
                let (tenant, alike) = (format!("{view}.tenant"), format!("{view}.tenant, {is_open}"));
                let place =
                    format!("row_number() OVER (PARTITION BY {alike} ORDER BY {view}.since, {view}.subject_id)");
                let turn = sql::<BigInt>(&format!(
                    "{place} + {least}({place} - 1 + {is_open}, \
                         count(*) OVER (PARTITION BY {tenant}) - count(*) OVER (PARTITION BY {alike}))",
                    least = db.dialect().either("least", "min"),
                ));
                let served_at = sql::<Nullable<Moment>>(&format!(
                    "(SELECT max(created_at) FROM interventions t WHERE t.kind = '{kind}' AND t.tenant = {view}.tenant \
                          AND t.created_at <= {now}) NULLS FIRST",
                    now = db.dialect().clock(),
                ));
                candidates!($candidates, Self::KIND, part, rows)
                    .order((turn, served_at, $candidates::since, $candidates::subject_id))
                    .limit(limit)
                    .load(db)
            }

            fn candidates(db: &mut Db, part: &Part, limit: i64) -> QueryResult<Vec<Candidate>> {
                candidates!($candidates, Self::KIND, part, rows)
                    .order(($candidates::since, $candidates::subject_id))
                    .limit(limit)
                    .load(db)
            }

            fn each_candidate(db: &mut Db, part: &Part, mut each: impl FnMut(Candidate)) -> QueryResult<()> {
                let each = |row: QueryResult<Candidate>| row.map(&mut each);
                for_each_row!(db, candidates!($candidates, Self::KIND, part, rows), Candidate, each)
            }

            fn candidate_without_group(db: &mut Db) -> QueryResult<Option<Id>> {
                let lacking = $candidates::table.filter($candidates::group_id.is_null());
                lacking.select($candidates::subject_id).first(db).optional()
            }

            fn count_candidates(db: &mut Db, part: &Part) -> QueryResult<i64> {
                candidates!($candidates, Self::KIND, part).count().get_result(db)
            }

            fn count_in_quarantine(db: &mut Db, tenant: Option<&str>) -> QueryResult<i64> {
                let quarantined = quarantined!($subjects, Self::KIND);
                let query = $subjects::table.filter(exists(quarantined)).into_boxed();
                owned!(query, $subjects::tenant, $subjects::group_id, (tenant, None)).count().get_result(db)
            }

            fn count_in_progress(db: &mut Db, part: &Part) -> QueryResult<i64> {
                within!($subjects, $subjects::table.into_boxed(), part).count().get_result(db)
            }

            fn tenants_of_candidates(
                db: &mut Db,
                part: &Part,
                more_than: i64,
                limit: i64,
            ) -> QueryResult<Vec<(String, i64)>> {
                let tenants = $candidates::table
                    .group_by($candidates::tenant)
                    .having(count_star().gt(more_than))
                    .select(($candidates::tenant, count_star()));
                let named: Vec<(LossyText, i64)> = candidates!($candidates, Self::KIND, part, tenants)
                    .order((count_star().desc(), $candidates::tenant))
                    .limit(limit)
                    .load(db)?;
                Ok(named.into_iter().map(|(tenant, candidates)| (tenant.0, candidates)).collect())
            }

            fn in_progress_of(db: &mut Db, part: &Part, tenants: &[&str]) -> QueryResult<HashMap<String, i64>> {
                let each = $subjects::table.group_by($subjects::tenant).select(($subjects::tenant, count_star()));
                let named = within!($subjects, each.into_boxed(), part).filter($subjects::tenant.eq_any(tenants));
                let named: Vec<(LossyText, i64)> = named.load(db)?;
                Ok(named.into_iter().map(|(tenant, subjects)| (tenant.0, subjects)).collect())
            }

            fn largest_group(db: &mut Db, part: &Part) -> QueryResult<Option<(Id, i64)>> {
                let groups = $subjects::table.group_by($subjects::group_id).select(($subjects::group_id, count_star()));
                within!($subjects, groups.into_boxed(), part)
                    .order((count_star().desc(), $subjects::group_id))
                    .first(db)
                    .optional()
            }

            fn has_any(db: &mut Db, tenant: Option<&str>) -> QueryResult<bool> {
                let all = $facts::table.select($facts::subject_id).into_boxed();
                let all = owned!(all, $facts::tenant, $facts::subject_id, (tenant, None));
                Ok(all.first::<Id>(db).optional()?.is_some())
            }

            fn label(db: &mut Db, id: &Id) -> QueryResult<Option<Label>> {
                labels!($facts).filter($facts::subject_id.eq(id)).first(db).optional()
            }

            fn labels_called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
                let called = labels!($facts).filter($facts::identifier.eq(identifier));
                called.order($facts::subject_id).limit(2).load(db)
            }

            fn labels_like(db: &mut Db, pattern: &str, limit: i64) -> QueryResult<Vec<Label>> {
                let in_progress = $facts::subject_id.eq_any($subjects::table.select($subjects::subject_id));
                let like = labels!($facts).filter(in_progress).filter($facts::identifier.like(pattern).escape('\\'));
                like.order($facts::identifier).limit(limit).load(db)
            }

            fn tenants_like(db: &mut Db, pattern: &str, limit: i64) -> QueryResult<Vec<LossyText>> {
                let like = $subjects::table.filter($subjects::tenant.like(pattern).escape('\\'));
                like.select($subjects::tenant).distinct().limit(limit).load(db)
            }

            fn existing(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<Id>> {
                let id = $facts::subject_id;
                $facts::table.filter(IsOneOf::new(id, ids)).select(id).load(db)
            }
        }
    };
}
nominations!(Kind::Session, SessionFacts: session_subjects, session_candidates, session_facts);
nominations!(Kind::Issue, IssueFacts: issue_subjects, issue_candidates, issue_facts);
nominations!(Kind::Step, StepFacts: step_subjects, step_candidates, step_facts);

/// One of several sweeps that share the subjects: by agent, so that each agent's wakes are counted by one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    pub count: u32,
}

impl Shard {
    pub const COUNT_MAX: u32 = 256;
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Does this shard leave out any subject?
    pub fn is_part(&self) -> bool {
        1 < self.count
    }

    /// Are the subjects of this group its own? FNV-1a: the sweeps of one database may be of different versions, and
    /// must split it alike.
    pub fn has(&self, group: &Id) -> bool {
        let hash = group
            .0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        // The low bits of FNV alone are poor.
        (hash ^ (hash >> 32)) % u64::from(self.count) == u64::from(self.index)
    }
}
