//! The files as a migration that diesel runs and records.

use std::fmt::{Display, Formatter};

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationMetadata, MigrationName, MigrationVersion, Result};

use crate::store::hosts::catalog::version;

/// One of `catalog::folders`.
pub struct Folder<'a> {
    pub path: &'a str,
    pub up: String,
    pub down: String,
}

impl<DB: Backend> Migration<DB> for Folder<'_> {
    fn run(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(&self.up)?)
    }

    fn revert(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(&self.down)?)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        self
    }
}

impl MigrationMetadata for Folder<'_> {}

impl MigrationName for Folder<'_> {
    fn version(&self) -> MigrationVersion<'_> {
        MigrationVersion::from(version(self.path))
    }
}

impl Display for Folder<'_> {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(self.path)
    }
}
