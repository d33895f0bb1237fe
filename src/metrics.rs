//! The metrics, in Prometheus' text format: one text for node_exporter's textfile and for the daemon's /metrics.
//!
//! docs/metrics.md says what each means. All but the daemon's own are read from the database, so that every process
//! says the same.

mod exposition;
mod families;

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Error;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;
use tempfile::NamedTempFile;
use tracing::warn;

use crate::store::read::metrics::Reading;
use crate::text::redact;
use families::Families;
pub use families::{Condition, DaemonState, DatabaseState};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All that is known of each database that answered, and what the daemon knows by itself.
pub fn text(readings: Vec<(Option<String>, Reading)>, daemon: Option<DaemonState>) -> String {
    let mut registry = Registry::with_prefix("sweep");
    registry.register_collector(Box::new(Families { readings, daemon }));
    let mut text = String::new();
    // Without OpenMetrics' end mark: what Prometheus and node_exporter read is the older format.
    encode_registry(&mut text, &registry).expect("a String takes everything");
    text
}

/// The mode of the file: node_exporter runs as another user.
const MODE: u32 = 0o644;

/// Writes for node_exporter what the databases say now, each by its short name. What fails is logged; when none of them
/// answers, the old file stays: its age shows it.
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
pub fn refuse_path(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match directory(path) {
        directory if !directory.is_dir() => Err(format!("{shown}: there is no directory {}", directory.display())),
        // A directory or a device would be replaced.
        _ if (path.exists() && !path.is_file()) || path.file_name().is_none() => {
            Err(format!("{shown}: expected the name of a file"))
        }
        _ => Ok(()),
    }
}

/// Replaces the file in one step: who reads at the same time finds the old one or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
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
