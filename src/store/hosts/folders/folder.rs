//! The folder of a host that is not built in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FILES, FIXTURES, Host, MANIFEST, SOURCES, names};
use crate::conclusion::{Failure, config};
use crate::files;
use crate::store::hosts::catalog::version;

const BYTES_MAX: u64 = 1 << 20;
const MIGRATIONS_MAX: usize = 200;
/// Bytes of all files together, as the database keeps them: with what JSON puts around them.
const KEPT_MAX: usize = 900_000;
const DIGITS_MAX: usize = 20;

/// Reads the host in this directory. Whatever else stands there is not read.
pub fn in_directory(directory: &Path) -> Result<Arc<Host>, Failure> {
    let host = read_files(directory).and_then(Host::from_files);
    match host.and_then(|host| refusal(&host).map_or(Ok(host), Err)) {
        Ok(host) if names().contains(&host.name()) => {
            Err(format!("{MANIFEST}: name = {:?}: a host of this name is built in: choose another", host.name()))
        }
        // The owner of no table would be asked for.
        Ok(host) if host.is_native() => {
            Err(format!("{MANIFEST}: [tables] names none: expected every table that is read or written"))
        }
        outcome => outcome,
    }
    .map(Arc::new)
    .map_err(|why| config(format!("{}: {why}", directory.display())))
}

fn read_files(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::from([(MANIFEST.to_owned(), read_text(directory, MANIFEST)?)]);
    for source in SOURCES {
        let fixtures = format!("{source}/{FIXTURES}");
        if directory.join(&fixtures).exists() {
            files.insert(fixtures.clone(), read_text(directory, &fixtures)?);
        }
        for migration in folders_in(&directory.join(source)).map_err(|why| format!("{source}: {why}"))? {
            for way in ["up", "down"] {
                let path = format!("{source}/{migration}/{way}.sql");
                files.insert(path.clone(), read_text(directory, &path)?);
            }
            if 2 * MIGRATIONS_MAX < files.len() {
                return Err(format!("expected at most {MIGRATIONS_MAX} migrations"));
            }
        }
    }
    Ok(files)
}

fn read_text(directory: &Path, path: &str) -> Result<String, String> {
    let found = files::read(&directory.join(path), BYTES_MAX).map_err(|why| format!("{path}: {why}"))?;
    let text = String::from_utf8(found.bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("{path}: expected UTF-8"))
}

/// The names of the folders in a directory; none, where there is no such directory.
fn folders_in(directory: &PathBuf) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| files::error_text(&error))?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| files::error_text(&error))?.path();
        // A host may keep a README beside them.
        if path.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str());
            folders.push(name.ok_or_else(|| format!("{}: expected UTF-8", path.display()))?.to_owned());
        }
    }
    Ok(folders)
}

/// What is wrong with its migrations, as far as their names say.
pub(super) fn refusal(host: &Host) -> Option<String> {
    let of_sweep: BTreeSet<String> =
        ["postgres", "ledger", "ledger_views", "board/session", "board/issue", "board/step"]
            .iter()
            .flat_map(|source| FILES.get_dir(source).into_iter().flat_map(|source| source.dirs()))
            .map(|folder| version(&folder.path().display().to_string()))
            .collect();
    if SOURCES.iter().all(|source| host.migrations(source).is_empty()) {
        return Some("there are no migrations: expected some in postgres/, sqlite/ or both/".to_owned());
    }
    let kept = host.files_as_json().map_or(0, |files| files.len());
    if KEPT_MAX < kept {
        return Some(format!("its files have {kept} bytes as JSON: expected at most {KEPT_MAX} of all together"));
    }
    let misnamed = |folder: &String| {
        let (name, number) = (folder.rsplit('/').next()?, version(folder));
        let is_number = !number.is_empty() && number.len() <= DIGITS_MAX && number.chars().all(|c| c.is_ascii_digit());
        if !is_number || !name.contains('_') {
            return Some(format!("{folder}: expected a name like 0001_work: a number, _ and words"));
        }
        of_sweep.contains(&number).then(|| format!("{folder}: {number} is the number of one of sweep's own migrations"))
    };
    let folders = SOURCES.iter().flat_map(|source| host.migrations(source));
    folders.collect::<Vec<_>>().iter().find_map(misnamed).or_else(|| {
        let of_one_database = [&["both", "postgres", "postgres_listen"][..], &["both", "sqlite", "sqlite_lasting"]];
        of_one_database.iter().find_map(|sources| {
            let mut seen = BTreeMap::new();
            sources.iter().flat_map(|source| host.migrations(source)).find_map(|folder| {
                let other = seen.insert(version(&folder), folder.clone())?;
                Some(format!("{folder} has the number of {other}: expected one of its own"))
            })
        })
    })
}
