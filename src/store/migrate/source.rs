//! The embedded files as migrations that diesel runs and records.

use std::fmt::{Display, Formatter};

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationMetadata, MigrationName, MigrationSource, MigrationVersion, Result};

use crate::store::catalog::{text, version};

/// These folders, of `catalog::folders`.
pub struct Folders<'a>(pub &'a [String]);

#[derive(Clone)]
struct Folder(String);

impl<DB: Backend> MigrationSource<DB> for Folders<'_> {
    fn migrations(&self) -> Result<Vec<Box<dyn Migration<DB>>>> {
        Ok(self.0.iter().map(|folder| Box::new(Folder(folder.clone())) as Box<dyn Migration<DB>>).collect())
    }
}

impl<DB: Backend> Migration<DB> for Folder {
    fn run(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(text(&self.0, "up.sql"))?)
    }

    fn revert(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(text(&self.0, "down.sql"))?)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        self
    }
}

impl MigrationMetadata for Folder {}

impl MigrationName for Folder {
    fn version(&self) -> MigrationVersion<'_> {
        MigrationVersion::from(version(&self.0))
    }
}

impl Display for Folder {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
