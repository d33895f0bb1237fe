//! Subjects by what an operator calls them: an id, or the identifier that people use, such as `ACM-12`; and for whoever
//! types a name, those that begin so.

use std::collections::BTreeSet;
use std::fmt::Display;

use anyhow::{Result, ensure};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use crate::conclusion::{Failure, usage};
use crate::rules::display::enumerated;
use crate::rules::request::Request;
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::db::errors::{self, Refused};
use crate::store::db::schema::{agents, plans};
use crate::store::db::types::IdType;
use crate::store::hosts::catalog::has_columns;
use crate::store::hosts::rights::is_provided;
use crate::store::{Access, Db, Label, Nominated, Subject, Timeouts, for_kind, has_any};
use crate::text::redact;

/// What a name finds.
#[derive(Clone, Debug, PartialEq)]
pub enum CalledSo {
    One(Label),
    Nothing,
    /// People call more than one so; the first two.
    Several(Vec<Label>),
}

/// Looks for a subject, by its id first.
pub fn find(db: &mut Db, kind: Kind, name: &str) -> QueryResult<CalledSo> {
    if let Some(id) = IdType::of(db)?.parse(name)
        && let Some(label) = label(db, kind, &id)?
    {
        return Ok(CalledSo::One(label));
    }
    for_kind!(kind, S => S::called(db, name)).map(CalledSo::of)
}

/// Looks for the one subject of this name, of whichever of these kinds it is.
pub fn among(db: &mut Db, kinds: &[Kind], name: &str) -> Result<(Kind, Label), Refused> {
    let mut found = Vec::new();
    for kind in kinds {
        match find(db, *kind, name)? {
            CalledSo::Nothing => {}
            several_or_one => found.push((*kind, several_or_one.one(kind, name)?)),
        }
    }
    let name = redact(name);
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            Err(usage(format!("there is no {} {name} in this database", enumerated(&kinds, "or"))).into())
        }
        several => {
            let kinds: Vec<&str> = several.iter().map(|(kind, _)| kind.with_article()).collect();
            let both = if several.len() == 2 { "both " } else { "" };
            let ids: Vec<String> = several.iter().map(|(kind, one)| format!("{} ({kind})", one.redact_id())).collect();
            let (kinds, ids) = (enumerated(&kinds, "and"), enumerated(&ids, "or"));
            Err(usage(format!("{both}{kinds} are called {name}; give the id: {ids}")).into())
        }
    }
}

/// What a subject is called; of one whose names cannot be read, its id. None: there is no such subject.
pub fn label(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<Label>> {
    match for_kind!(kind, S => S::label(db, id)) {
        Err(error) if errors::is_undecodable(&error) => Ok(Some(Label::of_id(id.clone()))),
        label => label,
    }
}

impl CalledSo {
    fn of(mut called: Vec<Label>) -> CalledSo {
        match called.len() {
            0 => CalledSo::Nothing,
            1 => CalledSo::One(called.remove(0)),
            _ => CalledSo::Several(called),
        }
    }

    /// The one subject, or plan, that there must be.
    pub fn one(self, kind: impl Display, name: &str) -> Result<Label, Failure> {
        let name = redact(name);
        match self {
            CalledSo::One(label) => Ok(label),
            CalledSo::Nothing => Err(usage(format!("there is no {kind} {name} in this database"))),
            CalledSo::Several(labels) => {
                let ids: Vec<String> = labels.iter().map(with_tenant).collect();
                Err(usage(format!("more than one {kind} is called {name}; give the id: {}", ids.join(", "))))
            }
        }
    }

    /// Like `one`, but accepts an id that only sweep's own tables know: its subject may be gone.
    pub fn one_or_gone(self, ids: IdType, kind: impl Display, name: &str) -> Result<Label, Failure> {
        match (&self, ids.parse(name)) {
            (CalledSo::Nothing, Some(id)) => Ok(Label::of_id(id)),
            _ => self.one(kind, name),
        }
    }
}

fn with_tenant(label: &Label) -> String {
    let tenant = label.tenant.as_ref().map(|tenant| format!(" (tenant {})", redact(tenant)));
    label.redact_id() + &tenant.unwrap_or_default()
}

/// Looks for a plan, by its id first, then by its title.
pub fn plan(db: &mut Db, name: &str) -> QueryResult<CalledSo> {
    // A title may be of any length.
    let part = |text| sql::<Nullable<Text>>(text);
    let columns = || (plans::id, part("substr(tenant, 1, 1000)"), part("substr(title, 1, 1000)"));
    if let Some(id) = IdType::of(db)?.parse(name)
        && let Some(label) = plans::table.filter(plans::id.eq(id)).select(columns()).first(db).optional()?
    {
        return Ok(CalledSo::One(label));
    }
    let titled = plans::table.filter(plans::title.eq(name)).order(plans::id).limit(2);
    titled.select(columns()).load(db).map(CalledSo::of)
}

/// Looks for an agent, by its id first, then by its name, if the host's agents have one.
pub fn agent(db: &mut Db, name: &str) -> QueryResult<CalledSo> {
    let has_names = has_columns(db, "agents", &["name"])?;
    let called = if has_names { "substr(name, 1, 1000)" } else { "NULL" };
    let columns = || (agents::id, sql::<Nullable<Text>>("NULL"), sql::<Nullable<Text>>(called));
    if let Some(id) = IdType::of(db)?.parse(name)
        && let Some(label) = agents::table.filter(agents::id.eq(id)).select(columns()).first(db).optional()?
    {
        return Ok(CalledSo::One(label));
    }
    if !has_names {
        return Ok(CalledSo::Nothing);
    }
    let named = agents::table.filter(agents::name.eq(name)).order(agents::id).limit(2);
    named.select(columns()).load(db).map(CalledSo::of)
}

/// Finds the one subject of a name, in a transaction of its own. Refuses a name that finds none or several.
pub fn subject(store: &mut Store, timeouts: &Timeouts, kind: Kind, name: &str) -> Result<Label> {
    store.refuse_unprovided(kind)?;
    Ok(store.db.in_transaction(Access::ReadOnly, timeouts, |db| find(db, kind, name))?.one(kind, name)?)
}

impl Store {
    /// Refuses a kind that the host does not have.
    pub fn refuse_unprovided(&self, kind: Kind) -> Result<(), Failure> {
        if self.kinds.contains(&kind) { Ok(()) } else { Err(not_provided(kind.plural())) }
    }

    /// Refuses a request that this host has no kind of subject, or no columns, for.
    pub fn refuse_request(&mut self, request: Request) -> Result<()> {
        let kinds = request.kinds();
        if !kinds.iter().any(|kind| self.kinds.contains(kind)) {
            kinds.iter().try_for_each(|kind| self.refuse_unprovided(*kind))?;
        }
        ensure!(self.db.look(|db| Ok(is_provided(db, request)?))?, not_provided(request.name()));
        Ok(())
    }
}

fn not_provided(what: &str) -> Failure {
    usage(format!("{what}: not provided by this database"))
}

/// What the subject of a row of sweep's own is called; by its id when it is gone, or of no kind that is provided.
pub fn label_of_row(db: &mut Db, kinds: &[Kind], kind: &str, id: &Id) -> QueryResult<Label> {
    let provided = Kind::parse(kind).filter(|kind| kinds.contains(kind));
    let label = provided.map(|kind| label(db, kind, id)).transpose()?.flatten();
    Ok(label.unwrap_or_else(|| Label::of_id(id.clone())))
}

/// Refuses a tenant to whom nothing belongs: it is more likely a typing error.
pub fn tenant(db: &mut Db, kinds: &[Kind], tenant: &str) -> Result<(), Refused> {
    match has_any(db, kinds, Some(tenant))? {
        true => Ok(()),
        false => Err(usage(format!("there is no tenant {} in this database", redact(tenant))).into()),
    }
}

/// More names that begin alike are no help.
const BEGINNING_MAX: i64 = 50;

/// Subjects in progress whose identifier begins so.
pub fn subjects_beginning(db: &mut Db, kind: Kind, beginning: &str) -> QueryResult<Vec<Label>> {
    for_kind!(kind, S => S::labels_like(db, &beginning_with(beginning), BEGINNING_MAX))
}

/// Agents whose name begins so, if the host's agents have one.
pub fn agents_beginning(db: &mut Db, beginning: &str) -> QueryResult<Vec<Label>> {
    if !has_columns(db, "agents", &["name"])? {
        return Ok(Vec::new());
    }
    let named = agents::table.filter(agents::name.like(beginning_with(beginning)).escape('\\'));
    let columns = (agents::id, sql::<Nullable<Text>>("NULL"), sql::<Nullable<Text>>("substr(name, 1, 1000)"));
    named.order(agents::name).limit(BEGINNING_MAX).select(columns).load(db)
}

/// Plans whose title begins so, those that were changed last.
pub fn plans_beginning(db: &mut Db, beginning: &str) -> QueryResult<Vec<Label>> {
    let named = plans::table.filter(plans::title.like(beginning_with(beginning)).escape('\\'));
    let columns = (plans::id, plans::tenant.nullable(), sql::<Nullable<Text>>("substr(title, 1, 1000)"));
    named.order(plans::id.desc()).limit(BEGINNING_MAX).select(columns).load(db)
}

/// Tenants of subjects of these kinds that are in progress.
pub fn tenants_beginning(db: &mut Db, kinds: &[Kind], beginning: &str) -> QueryResult<Vec<Label>> {
    let mut found = BTreeSet::new();
    for kind in kinds {
        let like = for_kind!(*kind, S => S::tenants_like(db, &beginning_with(beginning), BEGINNING_MAX))?;
        found.extend(like.into_iter().map(|tenant| tenant.0));
    }
    Ok(found.into_iter().map(|tenant| Label::of_id(Id(tenant))).collect())
}

fn beginning_with(beginning: &str) -> String {
    format!("{}%", beginning.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
}
