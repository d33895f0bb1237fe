//! Names that begin so, for whoever types one: a few of them, of what is in progress.

use std::collections::BTreeSet;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use crate::rules::{Id, Kind};
use crate::store::db::lists::labels;
use crate::store::db::schema::{
    agents, issue_facts, issue_subjects, plans, session_facts, session_subjects, step_facts, step_subjects,
};
use crate::store::db::types::LossyText;
use crate::store::hosts::catalog::has_columns;
use crate::store::{Db, Label};

/// More than these are no help.
const MOST: i64 = 50;

/// Subjects in progress whose identifier begins so.
pub fn of_subjects(db: &mut Db, kind: Kind, beginning: &str) -> QueryResult<Vec<Label>> {
    let pattern = pattern(beginning);
    macro_rules! labelled {
        ($facts:ident, $subjects:ident) => {
            labels!($facts)
                .filter($facts::subject_id.eq_any($subjects::table.select($subjects::subject_id)))
                .filter($facts::identifier.like(pattern).escape('\\'))
                .order($facts::identifier)
                .limit(MOST)
                .load(db)
        };
    }
    match kind {
        Kind::Session => labelled!(session_facts, session_subjects),
        Kind::Issue => labelled!(issue_facts, issue_subjects),
        Kind::Step => labelled!(step_facts, step_subjects),
    }
}

/// Agents whose name begins so, if the host's agents have one.
pub fn of_agents(db: &mut Db, beginning: &str) -> QueryResult<Vec<Label>> {
    if !has_columns(db, "agents", &["name"])? {
        return Ok(Vec::new());
    }
    let named = agents::table.filter(agents::name.like(pattern(beginning)).escape('\\'));
    let columns = (agents::id, sql::<Nullable<Text>>("NULL"), sql::<Nullable<Text>>("substr(name, 1, 1000)"));
    named.order(agents::name).limit(MOST).select(columns).load(db)
}

/// Plans whose title begins so, those that were changed last.
pub fn of_plans(db: &mut Db, beginning: &str) -> QueryResult<Vec<Label>> {
    let named = plans::table.filter(plans::title.like(pattern(beginning)).escape('\\'));
    let columns = (plans::id, plans::tenant.nullable(), sql::<Nullable<Text>>("substr(title, 1, 1000)"));
    named.order(plans::id.desc()).limit(MOST).select(columns).load(db)
}

/// Tenants of subjects of these kinds that are in progress.
pub fn of_tenants(db: &mut Db, kinds: &[Kind], beginning: &str) -> QueryResult<Vec<Label>> {
    let mut found = BTreeSet::new();
    for kind in kinds {
        macro_rules! tenants {
            ($subjects:ident) => {
                $subjects::table
                    .filter($subjects::tenant.like(pattern(beginning)).escape('\\'))
                    .select($subjects::tenant)
                    .distinct()
                    .limit(MOST)
                    .load::<LossyText>(db)?
            };
        }
        let tenants = match kind {
            Kind::Session => tenants!(session_subjects),
            Kind::Issue => tenants!(issue_subjects),
            Kind::Step => tenants!(step_subjects),
        };
        found.extend(tenants.into_iter().map(|tenant| tenant.0));
    }
    Ok(found.into_iter().map(|tenant| Label::of_id(Id(tenant))).collect())
}

fn pattern(beginning: &str) -> String {
    format!("{}%", beginning.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
}
