//! Does this role have the rights that it needs? Asked before the first subject, so that one message names all that are
//! missing, and not every subject one.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Text};

use crate::conclusion::config;
use crate::rules::Kind;
use crate::rules::request::Request;
use crate::store::hosts::catalog::VERSIONS;
use crate::store::hosts::folders::RECORD;
use crate::store::hosts::requests::Row;
use crate::store::{Access, Db, DbConnection};

/// A relation, and what a role has to be allowed to do with it.
pub type Right = (&'static str, &'static str);

const TO_KNOW_THE_VERSION: &[Right] = &[(VERSIONS, "SELECT"), (RECORD, "SELECT")];

const TO_LOOK: &[Right] = &[
    ("exemptions", "SELECT"),
    ("agent_exemptions", "SELECT"),
    ("tenant_exemptions", "SELECT"),
    ("failures", "SELECT"),
];

const TO_EXPLAIN: &[Right] = &[("issues", "SELECT"), ("recoveries", "SELECT")];

const TO_SHOW: &[Right] = &[
    ("host_behavior", "SELECT"),
    ("left_issues", "SELECT"),
    ("escalated_issues", "SELECT"),
    ("agents", "SELECT (name)"),
    ("agent_names", "SELECT"),
    ("plans", "SELECT"),
    ("step_work_state", "SELECT"),
    ("policy", "SELECT"),
    ("false_rescues", "SELECT"),
    ("recoveries", "SELECT"),
    ("sweeps", "SELECT"),
    ("notifications", "SELECT"),
    ("untaken_wakes", "SELECT"),
    ("wake_pickups", "SELECT"),
];

const TO_MEASURE: &[Right] = &[
    ("sweeps", "SELECT"),
    ("recoveries", "SELECT"),
    ("exemptions", "SELECT"),
    ("agent_exemptions", "SELECT"),
    ("tenant_exemptions", "SELECT"),
    ("failures", "SELECT"),
    ("notifications", "SELECT"),
    ("false_rescues", "SELECT"),
    ("policy", "SELECT"),
    ("untaken_wakes", "SELECT"),
    ("wake_pickups", "SELECT"),
];

/// Besides what each kind needs.
const TO_ACT: &[Right] = &[
    ("host_behavior", "SELECT"),
    ("left_issues", "SELECT"),
    ("host_clock", "SELECT"),
    ("untaken_wakes", "SELECT"),
    ("wake_pickups", "SELECT"),
    ("activity", "INSERT"),
    ("policy", "SELECT"),
    ("policy", "INSERT"),
    ("policy", "UPDATE"),
    ("recoveries", "SELECT"),
    ("recoveries", "INSERT"),
    ("recoveries", "UPDATE"),
    ("sweeps", "SELECT"),
    ("sweeps", "INSERT"),
    ("sweeps", "UPDATE"),
    ("failures", "INSERT"),
    ("failures", "UPDATE"),
    ("notifications", "SELECT"),
    ("notifications", "INSERT"),
    ("notifications", "UPDATE"),
];

/// What a person asks for is recorded as what a sweep does.
const TO_TAKE_UP_ISSUES: &[Right] = &[
    ("agents", "SELECT"),
    ("agents", "UPDATE"),
    ("issues", "SELECT"),
    ("issues", "UPDATE"),
    ("wakes", "INSERT"),
    ("comments", "INSERT"),
];

const TO_TAKE_UP_STEPS: &[Right] = &[
    ("agents", "SELECT"),
    ("agents", "UPDATE"),
    ("issues", "SELECT"),
    ("issues", "UPDATE"),
    ("plans", "SELECT"),
    ("plans", "UPDATE"),
    ("plan_steps", "SELECT"),
    ("plan_steps", "UPDATE"),
    ("wakes", "INSERT"),
    ("comments", "INSERT"),
];

const TO_TAKE_UP_SESSIONS: &[Right] = &[
    ("agents", "SELECT"),
    ("agents", "UPDATE"),
    ("issues", "SELECT"),
    ("issues", "UPDATE"),
    ("sessions", "SELECT"),
    ("sessions", "UPDATE"),
    ("session_commands", "INSERT"),
    ("comments", "INSERT"),
];

const TO_ASK: &[Right] = &[
    ("issues", "SELECT"),
    ("activity", "INSERT"),
    ("recoveries", "SELECT"),
    ("recoveries", "INSERT"),
    ("recoveries", "UPDATE"),
    ("notifications", "SELECT"),
    ("notifications", "INSERT"),
    ("notifications", "UPDATE"),
];

/// An operator's rights; the sweeper needs none of them.
const TO_EXEMPT: &[Right] = &[
    ("issues", "SELECT"),
    ("agents", "SELECT (name)"),
    ("exemptions", "INSERT"),
    ("exemptions", "UPDATE"),
    ("exemptions", "DELETE"),
    ("tenant_exemptions", "INSERT"),
    ("tenant_exemptions", "UPDATE"),
    ("tenant_exemptions", "DELETE"),
];

const TO_RELEASE: &[Right] = &[("issues", "SELECT"), ("failures", "UPDATE")];

/// Besides what a sweep needs.
const TO_WATCH: &[Right] = &[
    ("sessions", "SELECT (*)"),
    ("sessions", "INSERT"),
    ("sessions", "UPDATE (*)"),
    ("session_commands", "SELECT (*)"),
    ("session_commands", "UPDATE (*)"),
];

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find out what a sweep would do.
    Look,
    /// To explain one subject, with its history.
    Explain,
    /// To show the state of all the work.
    Show,
    /// To read the metrics: no row of the host's.
    Measure,
    Sweep,
    /// To give exemptions and take them back.
    Exempt,
    /// To release subjects from quarantine.
    Release,
    /// To have something done with one subject.
    Ask(Request),
    /// To keep a session, beside sweeping.
    Watch,
}

impl Purpose {
    pub fn access(self) -> Access {
        match self {
            Purpose::Look | Purpose::Explain | Purpose::Show | Purpose::Measure => Access::ReadOnly,
            Purpose::Sweep | Purpose::Exempt | Purpose::Release | Purpose::Ask(_) | Purpose::Watch => Access::Write,
        }
    }

    fn rights(self) -> Vec<(String, String)> {
        let further = match self {
            Purpose::Measure => return named(TO_MEASURE),
            Purpose::Watch => return named(TO_WATCH),
            Purpose::Look => &[],
            Purpose::Explain => TO_EXPLAIN,
            Purpose::Show => TO_SHOW,
            Purpose::Sweep => TO_ACT,
            Purpose::Exempt => TO_EXEMPT,
            Purpose::Release => TO_RELEASE,
            Purpose::Ask(_) => TO_ASK,
        };
        let (kinds, row) = match self {
            Purpose::Ask(request) => (request.kinds(), Row::of(request)),
            _ => (Kind::ALL, None),
        };
        let of_kinds = kinds.iter().copied().flat_map(|kind| self.rights_for(kind));
        let mut once = BTreeSet::new();
        let needed = of_kinds.chain(row.iter().flat_map(Row::rights)).chain(named(&[TO_LOOK, further].concat()));
        needed.filter(|right| once.insert(right.clone())).collect()
    }

    /// The comments of the functions that are called for it, as deploy/postgres/role.sql reads them too.
    fn functions(self) -> Vec<&'static str> {
        match self {
            Purpose::Look | Purpose::Explain | Purpose::Show | Purpose::Exempt | Purpose::Release => {
                vec!["called by views"]
            }
            Purpose::Measure | Purpose::Watch => Vec::new(),
            Purpose::Sweep | Purpose::Ask(_) => vec!["called by views", "called by sweeps"],
        }
    }

    fn rights_for(self, kind: Kind) -> Vec<(String, String)> {
        let boards: &[&str] = if self == Purpose::Show { &["states", "details"] } else { &[] };
        let views = ["subjects", "candidates", "facts", "decided_facts"].into_iter().chain(boards.iter().copied());
        let acted: Vec<Right> = match self {
            Purpose::Sweep => to_take_up(kind).to_vec(),
            Purpose::Ask(request) => to_take_up(kind).iter().copied().filter(of_request(request)).collect(),
            _ => Vec::new(),
        };
        views.map(|view| (format!("{kind}_{view}"), "SELECT".to_owned())).chain(named(&acted)).collect()
    }
}

/// The rights with which a sweep locks a subject, and continues, escalates and recovers it, beside those to read the
/// views. A row is locked with the right to UPDATE some column of it and to SELECT its id.
pub fn to_take_up(kind: Kind) -> &'static [Right] {
    match kind {
        Kind::Issue => TO_TAKE_UP_ISSUES,
        Kind::Step => TO_TAKE_UP_STEPS,
        Kind::Session => TO_TAKE_UP_SESSIONS,
    }
}

fn named(rights: &[Right]) -> Vec<(String, String)> {
    rights.iter().map(|(relation, privilege)| ((*relation).to_owned(), (*privilege).to_owned())).collect()
}

/// Nobody is told by a comment, and only who is continued gets a wake or a command.
fn of_request(request: Request) -> impl Fn(&Right) -> bool {
    move |(relation, privilege)| *privilege != "INSERT" || *relation != "comments" && request.remedy().is_some()
}

/// A right on one column is enough to pass here, unless it is named as in `UPDATE (status)`, or all are as in `UPDATE
/// (*)`; views and triggers check the rest. What the host does not have needs no rights. Who calls a function stands in
/// its comment.
const MISSING: &str = "SELECT missing FROM ( \
        SELECT place, replace(privilege, ' (*)', '') || ' on sweep.' || relation \
        FROM unnest($1, $2) WITH ORDINALITY AS needed (relation, privilege, place), \
            substring(privilege FROM '[(](.*)[)]') column_of \
        WHERE to_regclass('sweep.' || relation) IS NOT NULL AND NOT CASE privilege \
            WHEN 'DELETE' THEN has_table_privilege('sweep.' || relation, privilege) \
            WHEN split_part(privilege, ' ', 1) || ' (' || column_of || ')' THEN coalesce((SELECT \
                bool_and(has_column_privilege(attrelid, attnum, split_part(privilege, ' ', 1))) FROM pg_attribute \
                WHERE attrelid = to_regclass('sweep.' || relation) AND column_of IN (attname, '*') AND 0 < attnum \
                AND NOT attisdropped), true) \
            ELSE has_any_column_privilege('sweep.' || relation, privilege) END \
        UNION ALL \
        SELECT NULL, 'EXECUTE on function sweep.' || proname FROM pg_proc \
        WHERE pronamespace = to_regnamespace('sweep') AND obj_description(oid, 'pg_proc') = ANY ($3) \
            AND NOT has_function_privilege(oid, 'EXECUTE') \
    ) lacking (place, missing) ORDER BY place, missing";

const WHERE: &str = "deploy/postgres/role.sql grants what each role needs: sweeper sweeps, sweep_reader looks, and \
    sweep_operator has something done";

const NO_USAGE: &str =
    "EXISTS (SELECT FROM pg_namespace WHERE nspname = 'sweep' AND NOT has_schema_privilege(oid, 'USAGE'))";

#[derive(QueryableByName)]
struct Lacking {
    #[diesel(sql_type = Text)]
    role: String,
    #[diesel(sql_type = Bool)]
    no_usage: bool,
    #[diesel(sql_type = Array<Text>)]
    missing: Vec<String>,
}

/// Refuses a role that may not do what it is there for, and names the relations.
pub(in crate::store) fn check(db: &mut PgConnection, purpose: Purpose) -> Result<()> {
    refuse_without(db, &[named(TO_KNOW_THE_VERSION), purpose.rights()].concat(), &purpose.functions())
}

/// Refuses as `check` does, once a database is open.
pub fn check_also(db: &mut Db, purpose: Purpose) -> Result<()> {
    match db {
        Db::Postgres(db) => check(db, purpose),
        Db::Sqlite(_) => Ok(()),
    }
}

/// Refuses a role that may not even see how far the schema is migrated.
pub(in crate::store) fn check_version(db: &mut PgConnection) -> Result<()> {
    refuse_without(db, &named(TO_KNOW_THE_VERSION), &[])
}

/// What the server denied, with the role, which its own words leave out.
pub fn denial(db: Option<&mut DbConnection>, words: &str) -> String {
    let ask = |db: &mut Db| Ok(diesel::select(sql::<Text>(ROLE)).get_result::<String>(db)?);
    let role = db.and_then(|db| db.look(ask).ok()).map_or("this role".to_owned(), |role| format!("the role {role}"));
    format!("{role} lacks rights: {words}. {WHERE}")
}

/// Names the rights that a role lacks; those on few relations as the owner can give them.
fn lacks(role: &str, missing: &[String]) -> String {
    const FEW: usize = 3;
    let mut relations: Vec<(&str, Vec<&str>)> = Vec::new();
    for (privilege, relation) in missing.iter().filter_map(|right| right.split_once(" on ")) {
        match relations.iter_mut().find(|(known, _)| *known == relation) {
            Some((_, privileges)) => privileges.push(privilege),
            None => relations.push((relation, vec![privilege])),
        }
    }
    let grant = |(on, privileges): &(&str, Vec<&str>)| format!("GRANT {} ON {on} TO {role}", privileges.join(", "));
    let grants: Vec<String> = relations.iter().map(grant).collect();
    let given = if grants.len() <= FEW { format!("As the owner: {}. ", grants.join("; ")) } else { String::new() };
    format!("the role {role} lacks rights: {}. {given}{WHERE}", missing.join(", "))
}

const ROLE: &str = "quote_ident(current_user)";

fn refuse_without(db: &mut PgConnection, needed: &[(String, String)], functions: &[&str]) -> Result<()> {
    // Without USAGE the relations cannot be asked about.
    let lacking = format!(
        "SELECT {ROLE} AS role, no_usage, CASE WHEN no_usage THEN '{{}}' ELSE ARRAY({MISSING}) END AS missing \
         FROM (SELECT {NO_USAGE} AS no_usage) usage"
    );
    let (relations, privileges): (Vec<_>, Vec<_>) = needed.iter().cloned().unzip();
    let lacking = diesel::sql_query(lacking).bind::<Array<Text>, _>(relations).bind::<Array<Text>, _>(privileges);
    let lacking = lacking.bind::<Array<Text>, _>(functions);
    let Lacking { role, no_usage, missing } = lacking.get_result(db).context("checking the rights of this role")?;
    let missing = if no_usage { vec!["USAGE on schema sweep".to_owned()] } else { missing };
    if missing.is_empty() { Ok(()) } else { Err(config(lacks(&role, &missing)).into()) }
}
