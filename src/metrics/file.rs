//! The file from which node_exporter reads the metrics.

use std::fs::Permissions;
use std::io::{Result, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Error;
use tempfile::NamedTempFile;
use tracing::warn;

use super::text;
use crate::store::read::metrics::Reading;
use crate::text::redact;

/// node_exporter runs as somebody else.
const MODE: u32 = 0o644;

/// Writes what the databases say now, each by its short name. What fails is logged; when none of them answers, the old
/// file stays: its age shows it.
pub fn publish(path: &Path, read: impl Iterator<Item = (Option<String>, anyhow::Result<Reading>)>) {
    let warn = |error: &Error| {
        warn!(
            "the metrics could not be written to {}: {}",
            redact(&path.to_string_lossy()),
            redact(&format!("{error:#}"))
        );
    };
    let answered = read.filter_map(|(name, read)| Some((name, read.inspect_err(warn).ok()?)));
    let readings: Vec<_> = answered.collect();
    if !readings.is_empty()
        && let Err(error) = write(path, &text(readings, None))
    {
        warn(&error.into());
    }
}

/// Why nothing could ever be written to this path.
pub fn refuse_path(path: &Path) -> std::result::Result<(), String> {
    let shown = path.display();
    match directory(path) {
        directory if !directory.is_dir() => Err(format!("{shown}: there is no directory {}", directory.display())),
        // It would be replaced.
        _ if (path.exists() && !path.is_file()) || path.file_name().is_none() => {
            Err(format!("{shown}: expected the name of a file"))
        }
        _ => Ok(()),
    }
}

/// In one step: who reads at the same time finds the old file or the new one.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = NamedTempFile::new_in(directory(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(MODE))?;
    file.persist(path)?;
    Ok(())
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}
