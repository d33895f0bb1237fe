//! The embedded database of a user who has none yet.

use std::fs::{hard_link, remove_file};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use crate::rules::Id;
use crate::settings::Environment;
use crate::store::Access;
use crate::store::connect::open::Url;
use crate::store::hosts::migrate::{Wanted, migrate};

/// Makes it beside its place and then puts it there whole: of several at the same moment one makes it, and nobody sees
/// half of it.
pub fn make(path: &Path, environment: &Environment) -> Result<()> {
    // This makes its directory as well.
    environment.prepare_directory(&Url::Sqlite(path.to_owned()))?;
    let new = path.with_extension(format!("{}.new", Id::generate()));
    let url = Url::Sqlite(new.clone());
    url.create()?;
    let made = url.connect(Access::Write).and_then(|mut db| migrate(&mut db, &Wanted::default()));
    let placed = made.map_err(|error| url.explain(error)).and_then(|_| match hard_link(&new, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error).context(path.display().to_string()),
        Ok(()) | Err(_) => Ok(()),
    });
    let _ = remove_file(&new);
    placed
}
