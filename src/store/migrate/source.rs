//! The embedded files as migrations that diesel runs and records.

use std::fmt::{Display, Formatter};

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationMetadata, MigrationName, MigrationSource, MigrationVersion, Result};

use crate::store::catalog::{down, up, version};
use crate::store::hosts::Host;

/// These folders of a host's, of `catalog::folders`.
pub struct Folders<'a> {
    pub folders: &'a [String],
    pub host: &'a Host,
    pub is_sqlite: bool,
}

struct Folder {
    name: String,
    up: String,
}

impl<DB: Backend> MigrationSource<DB> for Folders<'_> {
    fn migrations(&self) -> Result<Vec<Box<dyn Migration<DB>>>> {
        let migration = |name: &String| Folder { name: name.clone(), up: up(name, self.host, self.is_sqlite) };
        Ok(self.folders.iter().map(|folder| Box::new(migration(folder)) as Box<dyn Migration<DB>>).collect())
    }
}

impl<DB: Backend> Migration<DB> for Folder {
    fn run(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(&self.up)?)
    }

    fn revert(&self, db: &mut dyn BoxableConnection<DB>) -> Result<()> {
        Ok(db.batch_execute(down(&self.name))?)
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
        MigrationVersion::from(version(&self.name))
    }
}

impl Display for Folder {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}
