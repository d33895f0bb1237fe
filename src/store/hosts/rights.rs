//! Does this role have the rights that it needs? Asked before the first subject, so that one message names all that are
//! missing, and not every subject one. And does this host have what a person asks for? One without the columns that a
//! request writes does not.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Text};
use serde::Deserialize;

use crate::conclusion::config;
use crate::rules::Kind;
use crate::rules::request::Request;
use crate::store::hosts::catalog::has_columns;
use crate::store::{Access, Db, DbConnection};

/// A relation, and the privileges on it that a role has to have.
type Right = (String, Vec<String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rights {
    to_know_the_version: Vec<Right>,
    to_look: Vec<Right>,
    to_explain: Vec<Right>,
    to_show: Vec<Right>,
    to_measure: Vec<Right>,
    to_sweep: Vec<Right>,
    to_ask: Vec<Right>,
    to_exempt: Vec<Right>,
    to_release: Vec<Right>,
    to_watch: Vec<Right>,
    to_run: Vec<Right>,
    to_take_up_session: Vec<Right>,
    to_take_up_issue: Vec<Right>,
    to_take_up_step: Vec<Right>,
}

static RIGHTS: LazyLock<Rights> =
    LazyLock::new(|| toml::from_str(include_str!("rights.toml")).expect("the suite reads it"));

fn to_take_up(kind: Kind) -> &'static [Right] {
    match kind {
        Kind::Issue => &RIGHTS.to_take_up_issue,
        Kind::Step => &RIGHTS.to_take_up_step,
        Kind::Session => &RIGHTS.to_take_up_session,
    }
}

/// The relations that a sweep locks and writes where it takes up a subject of this kind.
pub fn relations_taken_up(kind: Kind) -> impl Iterator<Item = &'static str> {
    to_take_up(kind).iter().map(|(relation, _)| relation.as_str())
}

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find out what a sweep would do.
    Look,
    /// To explain one subject, with its history.
    Explain,
    /// To show the state of all the work.
    Show,
    /// To read the metrics: how many of the host's rows are in which state, and no row.
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
    /// To run agents, in sweep's own tables.
    Run,
}

impl Purpose {
    pub fn access(self) -> Access {
        match self {
            Purpose::Look | Purpose::Explain | Purpose::Show | Purpose::Measure => Access::ReadOnly,
            Purpose::Sweep | Purpose::Exempt | Purpose::Release | Purpose::Ask(_) | Purpose::Watch | Purpose::Run => {
                Access::Write
            }
        }
    }

    /// The rights that are needed for it, each as its relation and its privilege, and once.
    fn rights(self) -> Vec<(String, String)> {
        let further: &[Right] = match self {
            Purpose::Measure => {
                let states = Kind::ALL.iter().map(|kind| (format!("{kind}_states"), "SELECT".to_owned()));
                return states.chain(named(&[&RIGHTS.to_look, &RIGHTS.to_measure])).collect();
            }
            Purpose::Watch => return named(&[&RIGHTS.to_watch]),
            Purpose::Run => return named(&[&RIGHTS.to_run]),
            Purpose::Look => &[],
            Purpose::Explain => &RIGHTS.to_explain,
            Purpose::Show => &RIGHTS.to_show,
            Purpose::Sweep => &RIGHTS.to_sweep,
            Purpose::Exempt => &RIGHTS.to_exempt,
            Purpose::Release => &RIGHTS.to_release,
            Purpose::Ask(_) => &RIGHTS.to_ask,
        };
        let (kinds, row) = match self {
            Purpose::Ask(request) => (request.kinds(), RequestedRow::of(request)),
            _ => (Kind::ALL, None),
        };
        let of_kinds = kinds.iter().copied().flat_map(|kind| self.rights_for(kind));
        let mut once = BTreeSet::new();
        let needed =
            of_kinds.chain(row.iter().flat_map(RequestedRow::rights)).chain(named(&[&RIGHTS.to_look, further]));
        needed.filter(|right| once.insert(right.clone())).collect()
    }

    /// The comments of the functions that are called for it, as deploy/postgres/role.sql reads them too.
    fn functions(self) -> &'static [&'static str] {
        match self {
            Purpose::Look
            | Purpose::Explain
            | Purpose::Show
            | Purpose::Measure
            | Purpose::Exempt
            | Purpose::Release => &["called by views"],
            Purpose::Watch | Purpose::Run => &[],
            Purpose::Sweep => &["called by views", "called by sweeps", "called by upkeep"],
            Purpose::Ask(_) => &["called by views", "called by sweeps"],
        }
    }

    /// The rights that are needed for it about this kind of subject.
    fn rights_for(self, kind: Kind) -> Vec<(String, String)> {
        let boards: &[&str] = if self == Purpose::Show { &["states", "details"] } else { &[] };
        let views = ["subjects", "candidates", "facts", "decided_facts"].into_iter().chain(boards.iter().copied());
        let acted = match self {
            Purpose::Sweep | Purpose::Ask(_) => named(&[to_take_up(kind)]),
            _ => Vec::new(),
        };
        let is_needed = |(relation, privilege): &(String, String)| match self {
            // Nobody is told by a comment, and only who is continued gets a wake or a command.
            Purpose::Ask(request) => privilege != "INSERT" || relation != "comments" && request.remedy().is_some(),
            _ => true,
        };
        let looked = views.map(|view| (format!("{kind}_{view}"), "SELECT".to_owned()));
        looked.chain(acted.into_iter().filter(is_needed)).collect()
    }
}

fn named(rights: &[&[Right]]) -> Vec<(String, String)> {
    let of_relation = |(relation, privileges): &Right| {
        let relation = relation.clone();
        privileges.iter().map(move |privilege| (relation.clone(), privilege.clone())).collect::<Vec<_>>()
    };
    rights.iter().copied().flatten().flat_map(of_relation).collect()
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
    refuse_without(db, &[named(&[&RIGHTS.to_know_the_version]), purpose.rights()].concat(), purpose.functions())
}

/// Refuses as `check` does, once a database is open.
pub fn check_also(db: &mut Db, purpose: Purpose) -> Result<()> {
    match db {
        Db::Postgres(db) => check(db, purpose),
        Db::Sqlite(_) => Ok(()),
    }
}

/// The rights that this role lacks for it, such as `INSERT on sweep.wakes`; none on a database without roles.
pub fn missing(db: &mut Db, purpose: Purpose) -> Result<Vec<String>> {
    match db {
        Db::Postgres(db) => Ok(lacking(db, &purpose.rights(), purpose.functions())?.1),
        Db::Sqlite(_) => Ok(Vec::new()),
    }
}

/// Refuses a role that may not even see how far the schema is migrated.
pub(in crate::store) fn check_version(db: &mut PgConnection) -> Result<()> {
    refuse_without(db, &named(&[&RIGHTS.to_know_the_version]), &[])
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
    let (role, missing) = lacking(db, needed, functions)?;
    ensure!(missing.is_empty(), config(lacks(&role, &missing)));
    Ok(())
}

/// This role, and what it lacks.
fn lacking(db: &mut PgConnection, needed: &[(String, String)], functions: &[&str]) -> Result<(String, Vec<String>)> {
    // Without USAGE the relations cannot be asked about.
    let lacking = format!(
        "SELECT {ROLE} AS role, no_usage, CASE WHEN no_usage THEN '{{}}' ELSE ARRAY({MISSING}) END AS missing \
         FROM (SELECT {NO_USAGE} AS no_usage) usage"
    );
    let (relations, privileges): (Vec<_>, Vec<_>) = needed.iter().cloned().unzip();
    let lacking = diesel::sql_query(lacking).bind::<Array<Text>, _>(relations).bind::<Array<Text>, _>(privileges);
    let lacking = lacking.bind::<Array<Text>, _>(functions);
    let Lacking { role, no_usage, missing } = lacking.get_result(db).context("checking the rights of this role")?;
    Ok((role, if no_usage { vec!["USAGE on schema sweep".to_owned()] } else { missing }))
}

/// The relation of the host's in which a request is written, beside wakes and commands.
struct RequestedRow {
    relation: &'static str,
    written: &'static [&'static str],
    /// What the write repeats of what was seen.
    as_seen: &'static [&'static str],
}

impl RequestedRow {
    fn of(request: Request) -> Option<RequestedRow> {
        let (relation, written, as_seen): (_, &[&str], &[&str]) = match request {
            Request::Wake | Request::Nudge | Request::Relaunch => return None,
            Request::Heartbeat => ("sessions", &["last_activity_at"], &["status", "stall_paused", "ended_at"]),
            Request::Pause | Request::Resume => ("sessions", &["stall_paused"], &["status", "stall_paused"]),
            Request::FailStep | Request::SkipStep => ("plan_steps", &["status", "updated_at"], &["status"]),
        };
        Some(RequestedRow { relation, written, as_seen })
    }

    /// The rights that are needed to write it.
    fn rights(&self) -> impl Iterator<Item = (String, String)> {
        let RequestedRow { relation, written, as_seen } = *self;
        let of = move |privilege: &str, column: &str| (relation.to_owned(), format!("{privilege} ({column})"));
        written.iter().map(move |it| of("UPDATE", it)).chain(as_seen.iter().map(move |it| of("SELECT", it)))
    }
}

/// Has the host what a request writes?
pub(in crate::store) fn is_provided(db: &mut Db, request: Request) -> QueryResult<bool> {
    let Some(RequestedRow { relation, written, as_seen }) = RequestedRow::of(request) else { return Ok(true) };
    has_columns(db, relation, &[written, as_seen].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_rights_is_read_whole() {
        let of_steps: Vec<&str> = relations_taken_up(Kind::Step).collect();
        assert_eq!(
            of_steps,
            ["agents", "issues", "plans", "plan_steps", "wakes", "comments", "run_locks", "subject_runs"]
        );
    }
}
