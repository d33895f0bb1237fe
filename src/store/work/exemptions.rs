//! Exemptions: the operators' word that a subject, or all that an agent or a tenant has, is in progress on purpose.
//! Sweep's own tables, whatever the host.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};

use crate::conclusion::usage;
use crate::rules::display::format_utc;
use crate::rules::{Exemption, Id, Kind, Whose};
use crate::store::connect::open::{Store, Url};
use crate::store::connect::settle;
use crate::store::db::errors::Refused;
use crate::store::db::schema::{exemptions, tenant_exemptions};
use crate::store::db::types::Instant;
use crate::store::db::written::rows_written;
use crate::store::work::find::{self, CalledSo};
use crate::store::{Abort, Db, Label, Timeouts};

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

    /// The kind of the one subject that is exempt; none: all that somebody has is.
    pub fn kind(self) -> Option<Kind> {
        Kind::parse(self.name())
    }

    fn whose(self) -> Whose {
        match self {
            Exempts::Session | Exempts::Issue | Exempts::Step => Whose::Subject,
            Exempts::Agent => Whose::Agent,
            Exempts::Tenant => Whose::Tenant,
        }
    }
}

impl From<Kind> for Exempts {
    fn from(kind: Kind) -> Exempts {
        match kind {
            Kind::Session => Exempts::Session,
            Kind::Issue => Exempts::Issue,
            Kind::Step => Exempts::Step,
        }
    }
}

/// One exemption as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Exempted {
    /// As stored: a kind of subject, `agent`, `tenant`.
    pub kind: String,
    /// A tenant's is its name.
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

/// Nobody is asked about what an agent exempted for longer than that.
const AGENTS_LONGEST: TimeDelta = TimeDelta::days(7);

/// When an exemption ends, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    In(TimeDelta),
    At(DateTime<Utc>),
}

/// An exemption that is asked for.
#[derive(Clone, Debug)]
pub struct WantedExemption<'a> {
    pub of: Exempts,
    /// What it is called, or its id.
    pub name: &'a str,
    pub reason: &'a str,
    /// None: until it is removed.
    pub until: Option<Until>,
    /// What the end is called where it was given, as in `--until`.
    pub until_is_called: &'a str,
    /// Then it lasts for a week at most, and one that holds and ends later, or never, is not replaced.
    pub is_agents: bool,
}

/// What was done about it.
#[derive(Clone, Debug)]
pub struct Exempt {
    pub label: Label,
    pub row: Exempted,
    pub given: Given,
}

/// Exempts the one that is called so. Refuses a name that finds none or several, and an end that has passed.
pub fn exempt(
    url: &Url,
    store: &mut Store,
    timeouts: &Timeouts,
    wanted: &WantedExemption,
) -> Result<Exempt, Abort<Refused>> {
    if let Some(kind) = wanted.of.kind() {
        store.refuse_unprovided(kind).map_err(|failure| Abort::RolledBack(failure.into()))?;
    }
    let Store { db, kinds, .. } = store;
    let mut give = || settle::write(url, db, timeouts, |db| give_named(db, kinds, wanted));
    match give() {
        // Another operator was first: now there is a row to replace.
        Err(Abort::RolledBack(Refused::Query(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))) => give(),
        given => given,
    }
}

fn give_named(db: &mut Db, kinds: &[Kind], wanted: &WantedExemption) -> Result<Exempt, Refused> {
    let WantedExemption { of, name, reason, until, until_is_called, is_agents } = *wanted;
    let now = db.now()?;
    let until = match until {
        None => None,
        Some(Until::In(duration)) => Some(now + duration),
        Some(Until::At(at)) if now < at => Some(at),
        Some(Until::At(at)) => {
            let (at, now) = (format_utc(at), format_utc(now));
            return Err(usage(format!("{until_is_called} {at} has passed: the database's clock says {now}")).into());
        }
    };
    let label = match of {
        Exempts::Tenant => find::tenant(db, kinds, name).map(|()| Label::of_id(Id(name.to_owned())))?,
        of => found(db, of, name)?.one(of, name)?,
    };
    if is_agents {
        if until.is_none_or(|until| now + AGENTS_LONGEST < until) {
            let why = "expected an end within 7 days; a person can exempt it for longer";
            return Err(usage(format!("{until_is_called} {why}")).into());
        }
        let holding: Option<Option<DateTime<Utc>>> =
            row(of, &label.id).select(exemptions::until).first(db).optional()?;
        let end = match holding {
            Some(Some(end)) if now < end && until.is_some_and(|until| until < end) => Some(format_utc(end)),
            Some(None) => Some("it is removed".to_owned()),
            Some(Some(_)) | None => None,
        };
        if let Some(end) = end {
            let why = format!("is exempt until {end} already, which is not shortened here");
            return Err(usage(format!("{of} {} {why}", label.name())).into());
        }
    }
    let exemption = Exemption { whose: of.whose(), reason: reason.to_owned(), until };
    let row = Exempted { kind: of.name().to_owned(), id: label.id.clone(), exemption, since: now };
    let given = give(db, of, &row)?;
    Ok(Exempt { label, row, given })
}

/// What is called so. Of a tenant only its name is known.
pub fn found(db: &mut Db, of: Exempts, name: &str) -> QueryResult<CalledSo> {
    match (of, of.kind()) {
        (Exempts::Tenant, _) => Ok(CalledSo::One(Label::of_id(Id(name.to_owned())))),
        (_, Some(kind)) => find::find(db, kind, name),
        (_, None) => find::agent(db, name),
    }
}

/// Exempts it. Fails with `UniqueViolation` when somebody else was first: then it can be given again.
fn give(db: &mut Db, of: Exempts, wanted: &Exempted) -> QueryResult<Given> {
    let Exempted { id, exemption: Exemption { reason, until, .. }, since, .. } = wanted;
    let (until, since) = (until.map(Instant), Instant(*since));
    macro_rules! given {
        ($table:ident, $its:expr, $key:expr) => {{
            let values = ($table::reason.eq(reason), $table::until.eq(until), $table::created_at.eq(since));
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
    let gone = rows_written(db, |db| match of {
        Exempts::Tenant => diesel::delete(of_tenant(id)).execute(db),
        Exempts::Session | Exempts::Issue | Exempts::Step | Exempts::Agent => diesel::delete(row(of, id)).execute(db),
    });
    Ok(0 < gone?)
}

/// Rows of a list that are read: operators give exemptions one by one, and whoever gives more of them by SQL fills no
/// memory.
pub const LISTED_MAX: i64 = 1000;

/// The oldest, and how many more there are.
pub fn oldest(db: &mut Db) -> QueryResult<(Vec<Exempted>, i64)> {
    type Row<Key> = (Key, String, Option<DateTime<Utc>>, DateTime<Utc>);
    let rows: Vec<Row<(String, Id)>> = {
        use exemptions::*;
        let all = table.select(((kind, subject_id), reason, until, created_at));
        all.order((created_at, kind, subject_id)).limit(LISTED_MAX).load(db)?
    };
    let tenants: Vec<Row<String>> = {
        use tenant_exemptions::*;
        let all = table.select((tenant, reason, until, created_at));
        all.order((created_at, tenant)).limit(LISTED_MAX).load(db)?
    };
    let of_tenant =
        |(tenant, reason, until, since)| ((Exempts::Tenant.name().to_owned(), Id(tenant)), reason, until, since);
    let mut oldest: Vec<Exempted> = rows
        .into_iter()
        .chain(tenants.into_iter().map(of_tenant))
        .map(|((kind, id), reason, until, since)| {
            let of = Exempts::ALL.iter().find(|of| of.name() == kind);
            let whose = of.map_or(Whose::Subject, |of| of.whose());
            Exempted { kind, id, exemption: Exemption { whose, reason, until }, since }
        })
        .collect();
    oldest.sort_by(|one, other| (one.since, &one.kind, &one.id).cmp(&(other.since, &other.kind, &other.id)));
    oldest.truncate(LISTED_MAX as usize);
    let of_tenants: i64 = tenant_exemptions::table.count().get_result(db)?;
    let more = exemptions::table.count().get_result::<i64>(db)? + of_tenants - oldest.len() as i64;
    Ok((oldest, more))
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
