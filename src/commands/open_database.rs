//! A database that a command has opened for a transaction or two, and gives up when it falls silent.

use anyhow::{Error, Result};

use crate::rules::Kind;
use crate::settings::{Environment, find_database, policy};
use crate::store::connect::settle;
use crate::store::{Abort, Access, Db, Purpose, Refused, Store, Timeouts, Url};

pub struct OpenDatabase {
    pub url: Url,
    pub store: Store,
    access: Access,
    pub timeouts: Timeouts,
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
        match self.access {
            Access::Write => settle::write(&self.url, db, &self.timeouts, |db| body(db, kinds)),
            Access::ReadOnly => db.in_transaction(Access::ReadOnly, &self.timeouts, |db| body(db, kinds)),
        }
    }

    /// Like `transact`, but what stands in its way is explained as an operator can use it.
    pub fn change<T>(&mut self, body: impl FnOnce(&mut Db, &[Kind]) -> Result<T, Refused>) -> Result<T> {
        self.transact(body).map_err(|abort| self.explain(abort))
    }

    pub fn explain(&self, abort: Abort<Refused>) -> Error {
        self.url.explain_refusal(abort)
    }
}
