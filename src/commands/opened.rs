//! A database that a command has opened for one transaction.

use anyhow::{Error, Result};
use diesel::QueryResult;
use serde_json::{Value, json};

use super::{say, tell};
use crate::cli::{DatabaseFlag, Layout, PolicyFlags};
use crate::exit::{busy, usage};
use crate::report::grid::ROWS_MAX;
use crate::rules::{Id, Kind};
use crate::settings::Environment;
use crate::store::find::find;
use crate::store::open::{Store, Url};
use crate::store::rights::Purpose;
use crate::store::{Abort, Access, Db, Timeouts, errors};

pub struct Opened {
    url: Url,
    pub store: Store,
    access: Access,
    timeouts: Timeouts,
}

impl Opened {
    pub fn with(purpose: Purpose, flag: &DatabaseFlag, environment: &Environment) -> Result<Opened> {
        let (_, timeouts) = environment.policy(PolicyFlags::default())?;
        Opened::within(timeouts, purpose, flag, environment)
    }

    pub fn within(
        timeouts: Timeouts,
        purpose: Purpose,
        flag: &DatabaseFlag,
        environment: &Environment,
    ) -> Result<Opened> {
        let url = environment.database(flag)?;
        let store = url.open_to(purpose)?;
        Ok(Opened { url, store, access: purpose.access(), timeouts })
    }

    /// One transaction; `body` is told the kinds that the host has.
    pub fn transact<T>(&mut self, body: impl FnOnce(&mut Db, &[Kind]) -> QueryResult<T>) -> Result<T, Abort> {
        let Store { db, kinds, .. } = &mut self.store;
        db.in_transaction(self.access, &self.timeouts, |db| body(db, kinds))
    }

    /// The same; what stands in its way is told as an operator can use it.
    pub fn change<T>(&mut self, body: impl FnOnce(&mut Db, &[Kind]) -> QueryResult<T>) -> Result<T> {
        self.transact(body).map_err(|abort| self.explain(abort))
    }

    /// Undoes something about a subject, which may be gone meanwhile, and returns what it is called. `body` says whether
    /// there was anything to undo; if not, the subject `is_not` so.
    pub fn undo(
        &mut self,
        kind: Kind,
        name: &str,
        is_not: &str,
        body: impl FnOnce(&mut Db, &Id) -> QueryResult<bool>,
    ) -> Result<String> {
        self.store.refuse_unprovided(kind)?;
        let undone = self.change(|db, _| {
            let found = find(db, kind, name)?;
            Ok(match found.clone().one_or_gone(db, kind, name) {
                Err(refusal) => Err(refusal),
                Ok(label) if body(db, &label.id)? => Ok(label.name()),
                Ok(_) => found
                    .one(kind, name)
                    .and_then(|label| Err(usage(format!("{kind} {} is not {is_not}", label.name())))),
            })
        });
        Ok(undone??)
    }

    pub fn explain(&self, abort: Abort) -> Error {
        match &abort {
            Abort::RolledBack(error) if errors::is_contention(error) || errors::is_lock_timeout(error) => {
                busy(format!("somebody else is at it, try again: {}", errors::words(error))).into()
            }
            Abort::RolledBack(_) | Abort::Lost(_) | Abort::Unknown(_) => self.url.explain(abort.into()),
        }
    }
}

/// Prints a list, `named` so in JSON; of a long one people see the beginning.
pub fn say_list<T>(layout: Layout, name: &str, rows: &[T], json: impl Fn(&T) -> Value, table: impl Fn(&[T]) -> String) {
    match layout {
        Layout::Json => {
            say(&format!("{:#}\n", json!({ "schema": 1, name: rows.iter().map(json).collect::<Vec<_>>() })))
        }
        Layout::Table => {
            tell(&table(&rows[..rows.len().min(ROWS_MAX)]));
            if ROWS_MAX < rows.len() {
                say(&format!("  … and {} more: --output json shows all\n", rows.len() - ROWS_MAX));
            }
        }
    }
}
