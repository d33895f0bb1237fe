//! A database that a command has opened for a transaction or two, and gives up when it falls silent.

use std::fmt::Display;

use anyhow::{Error, Result};
use diesel::QueryResult;
use serde_json::{Value, json};

use super::terminal::{Layout, print_wrapped, say};
use crate::conclusion::usage;
use crate::report::grid::ROWS_MAX;
use crate::rules::{Id, Kind};
use crate::settings::Environment;
use crate::settings::database::find_database;
use crate::settings::resolve::policy;
use crate::store::connect::open::{Store, Url};
use crate::store::db::errors::Refused;
use crate::store::db::types::IdType;
use crate::store::hosts::rights::Purpose;
use crate::store::work::exemptions::{self, Exempt, Wanted};
use crate::store::work::find::Found;
use crate::store::{Abort, Access, Db, Timeouts};

pub struct OpenDatabase {
    url: Url,
    pub store: Store,
    access: Access,
    timeouts: Timeouts,
}

impl OpenDatabase {
    /// Has `body` ask or change something in the database that is named.
    pub fn ask<T: Send + 'static>(
        purpose: Purpose,
        environment: &Environment,
        body: impl FnOnce(&mut OpenDatabase) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (_, timeouts) = policy(environment)?;
        find_database(environment)?.ask(&timeouts, move |url| body(&mut OpenDatabase::of(url, timeouts, purpose)?))
    }

    pub fn of(url: &Url, timeouts: Timeouts, purpose: Purpose) -> Result<OpenDatabase> {
        let store = url.open_to(purpose)?;
        Ok(OpenDatabase { url: url.clone(), store, access: purpose.access(), timeouts })
    }

    /// One transaction; `body` gets the kinds that the host has.
    pub fn transact<T>(
        &mut self,
        body: impl FnOnce(&mut Db, &[Kind]) -> Result<T, Refused>,
    ) -> Result<T, Abort<Refused>> {
        let Store { db, kinds, .. } = &mut self.store;
        db.in_transaction(self.access, &self.timeouts, |db| body(db, kinds))
    }

    /// Like `transact`, but what stands in its way is explained as an operator can use it.
    pub fn change<T>(&mut self, body: impl FnOnce(&mut Db, &[Kind]) -> Result<T, Refused>) -> Result<T> {
        self.transact(body).map_err(|abort| self.explain(abort))
    }

    /// Undoes something about what `find` finds, which may be gone meanwhile, and returns what it is called. `body`
    /// says whether there was anything to undo; if not, what was found `is_not` so.
    pub fn undo(
        &mut self,
        kind: impl Display + Copy,
        name: &str,
        is_not: &str,
        find: impl FnOnce(&mut Db) -> QueryResult<Found>,
        body: impl FnOnce(&mut Db, &Id) -> QueryResult<bool>,
    ) -> Result<String> {
        self.change(|db, _| {
            let found = find(db)?;
            let label = found.clone().one_or_gone(IdType::of(db)?, kind, name)?;
            if body(db, &label.id)? {
                return Ok(label.name());
            }
            let label = found.one(kind, name)?;
            Err(usage(format!("{kind} {} is not {is_not}", label.name())).into())
        })
    }

    /// Exempts a subject.
    pub fn exempt(&mut self, wanted: &Wanted) -> Result<Exempt> {
        exemptions::exempt(&mut self.store, &self.timeouts, wanted).map_err(|abort| self.explain(abort))
    }

    pub fn explain(&self, abort: Abort<Refused>) -> Error {
        self.url.explain_refusal(abort)
    }
}

/// Prints a list, `named` so in JSON, and how many `more` there are; of a long one people see the beginning.
pub fn say_list<T>(
    layout: Layout,
    name: &str,
    (rows, more): (&[T], i64),
    json: impl Fn(&T) -> Value,
    table: impl Fn(&[T]) -> String,
) {
    match layout {
        Layout::Json => {
            let mut list = json!({ "schema": 1, name: rows.iter().map(json).collect::<Vec<_>>() });
            if 0 < more {
                list["more"] = more.into();
            }
            say(&format!("{list:#}\n"))
        }
        Layout::Table => {
            print_wrapped(&table(&rows[..rows.len().min(ROWS_MAX)]));
            if ROWS_MAX < rows.len() {
                let left_out = (rows.len() - ROWS_MAX) as i64 + more;
                let shown = if more == 0 { "all".to_owned() } else { format!("{} of all", rows.len()) };
                say(&format!("  … and {left_out} more: --output json shows {shown}\n"));
            }
        }
    }
}
