//! A sweep's own row in the ledger: written when it begins, and when it has ended.

use anyhow::Result;
use diesel::QueryResult;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;

use super::Sweep;
use super::guard::Memory;
use super::options::Options;
use super::summary::Summary;
use super::tally::StopReason;
use crate::store::work::ledger::{self, Closing, Opening};
use crate::store::work::outbox::delivery;
use crate::store::{Access, Db, DbConnection};

impl Sweep<'_> {
    /// Writes the sweep's own row; a dry run has none.
    fn record<T>(&self, db: &mut DbConnection, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<Option<T>> {
        match self.access {
            Access::ReadOnly => Ok(None),
            Access::Write => Ok(Some(db.in_transaction(Access::Write, &self.options.timeouts, body)?)),
        }
    }

    /// Opens its row, unless all of it can be written at once.
    pub(super) fn open(&self, db: &mut DbConnection, summary: &Summary) -> Result<()> {
        if self.glance.is_calm {
            return Ok(());
        }
        let (host, opening) = (&summary.heading.host, self.opening(summary));
        self.record(db, |db| ledger::open_sweep(db, &self.id, host, &opening)).map(drop)
    }

    fn opening(&self, summary: &Summary) -> Opening<'_> {
        let Options { shard, policy, .. } = self.options;
        let (began_at, is_restricted) = (summary.began_at, self.is_restricted);
        Opening { began_at, is_restricted, shard: *shard, policy }
    }

    /// Does anything wait to be delivered? Asked here, so that nobody connects again just to learn that there is
    /// nothing.
    pub(super) fn close(&self, db: &mut DbConnection, summary: &Summary) -> Result<Option<bool>> {
        let closing = Closing {
            ended: summary.ended,
            conclusion: summary.conclusion,
            partial: self.is_restricted || summary.stopped_by == Some(StopReason::Deadline),
            counts: summary.counts(),
            oldest_left: summary.oldest_left,
            guard: self.memory.as_ref().and_then(Memory::remembered),
        };
        if self.glance.is_calm {
            let (host, opening) = (&summary.heading.host, self.opening(summary));
            let written =
                self.record(db, |db| match ledger::record_calm_sweep(db, &self.id, host, &opening, closing) {
                    // The answer to a commit was lost: it is there.
                    Err(DatabaseError(UniqueViolation, _)) => Ok(()),
                    written => written,
                });
            return Ok(written?.map(|()| false));
        }
        self.record(db, |db| {
            ledger::close_sweep(db, &self.id, closing)?;
            delivery::is_any_waiting(db)
        })
    }
}
