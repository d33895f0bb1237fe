//! Exemptions: the operators' word that a subject, or all that an agent or a tenant has, is in progress on purpose.
//! Sweep's own tables, whatever the host.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::schema::{exemptions, tenant_exemptions};
use super::types::Instant;
use super::written::rows_written;
use super::{Db, Label};
use crate::rules::{Exemption, Id, Kind, Whose};

/// What can be exempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Exempts {
    Session,
    Issue,
    Step,
    Agent,
    Tenant,
}

impl Exempts {
    pub const ALL: &[Exempts] = <Exempts as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Of one subject; none: of all that somebody has.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Exempts::Session => Some(Kind::Session),
            Exempts::Issue => Some(Kind::Issue),
            Exempts::Step => Some(Kind::Step),
            Exempts::Agent | Exempts::Tenant => None,
        }
    }

    fn whose(self) -> Whose {
        match self {
            Exempts::Session | Exempts::Issue | Exempts::Step => Whose::Subject,
            Exempts::Agent => Whose::Agent,
            Exempts::Tenant => Whose::Tenant,
        }
    }
}

/// What an operator says, and of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Word<'a> {
    pub of: Exempts,
    /// Of a tenant: its name.
    pub id: &'a Id,
    pub reason: &'a str,
    /// None: until it is removed.
    pub until: Option<DateTime<Utc>>,
}

/// One exemption as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Exempted {
    /// As stored: a kind of subject, `agent`, `tenant`.
    pub kind: String,
    /// Of a tenant: its name.
    pub id: Id,
    pub exemption: Exemption,
    /// When it was given, or given again.
    pub since: DateTime<Utc>,
}

/// What became of an exemption that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    New,
    /// In place of an earlier one.
    Again,
}

/// Exempts it. Fails with `UniqueViolation` when somebody else was first: then it can be given again.
pub fn give(db: &mut Db, word: &Word, now: DateTime<Utc>) -> QueryResult<Given> {
    let Word { of, id, reason, until } = *word;
    macro_rules! given {
        ($table:ident, $its:expr, $key:expr) => {{
            let values =
                ($table::reason.eq(reason), $table::until.eq(until.map(Instant)), $table::created_at.eq(Instant(now)));
            // `on_conflict` does not exist for two databases at once.
            if 0 < rows_written(db, |db| diesel::update($its).set(values).execute(db))? {
                return Ok(Given::Again);
            }
            diesel::insert_into($table::table).values(($key, values)).execute(db).map(|_| Given::New)
        }};
    }
    match of {
        Exempts::Tenant => given!(tenant_exemptions, of_tenant(id), tenant_exemptions::tenant.eq(&id.0)),
        Exempts::Session | Exempts::Issue | Exempts::Step | Exempts::Agent => {
            given!(exemptions, row(of, id), (exemptions::kind.eq(of.name()), exemptions::subject_id.eq(id)))
        }
    }
}

/// Ends an exemption. Was there one?
pub fn take_back(db: &mut Db, of: Exempts, id: &Id) -> QueryResult<bool> {
    let gone = match of {
        Exempts::Tenant => rows_written(db, |db| diesel::delete(of_tenant(id)).execute(db))?,
        Exempts::Session | Exempts::Issue | Exempts::Step | Exempts::Agent => {
            rows_written(db, |db| diesel::delete(row(of, id)).execute(db))?
        }
    };
    Ok(0 < gone)
}

/// All of them, the oldest first: operators give them one by one.
pub fn all(db: &mut Db) -> QueryResult<Vec<Exempted>> {
    type Row<Key> = (Key, String, Option<DateTime<Utc>>, DateTime<Utc>);
    let rows: Vec<Row<(String, Id)>> = {
        use exemptions::*;
        table.select(((kind, subject_id), reason, until, created_at)).load(db)?
    };
    let tenants: Vec<Row<String>> = {
        use tenant_exemptions::*;
        table.select((tenant, reason, until, created_at)).load(db)?
    };
    let of_tenant =
        |(tenant, reason, until, since)| ((Exempts::Tenant.name().to_owned(), Id(tenant)), reason, until, since);
    let mut all: Vec<Exempted> = rows
        .into_iter()
        .chain(tenants.into_iter().map(of_tenant))
        .map(|((kind, id), reason, until, since)| {
            let of = Exempts::ALL.iter().find(|of| of.name() == kind);
            let whose = of.map_or(Whose::Subject, |of| of.whose());
            Exempted { kind, id, exemption: Exemption { whose, reason, until }, since }
        })
        .collect();
    all.sort_by(|one, other| (one.since, &one.kind, &one.id).cmp(&(other.since, &other.kind, &other.id)));
    Ok(all)
}

/// A tenant, as its exemption is listed.
pub fn label_of_tenant(tenant: &Id) -> Label {
    Label { tenant: Some(tenant.0.clone()), ..Label::of_id(tenant.clone()) }
}

#[diesel::dsl::auto_type(no_type_alias)]
fn row<'a>(of: Exempts, id: &'a Id) -> _ {
    let kind: &'static str = of.name();
    exemptions::table.filter(exemptions::kind.eq(kind)).filter(exemptions::subject_id.eq(id))
}

#[diesel::dsl::auto_type(no_type_alias)]
fn of_tenant<'a>(tenant: &'a Id) -> _ {
    let name: &'a str = tenant.0.as_str();
    tenant_exemptions::table.filter(tenant_exemptions::tenant.eq(name))
}
