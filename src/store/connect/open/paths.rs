//! What a path may mean: several files, where it is a pattern such as `boards/*.db`, or a file whose name was mistyped.
//! In a pattern with a `*`, `?` and `[a-z]` have their meaning as well.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::DirEntry;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

/// Names that differ by more were not meant.
const FAR: f64 = 0.8;

/// Entries that are looked at in a directory.
const LOOKED_AT: usize = 1000;

/// A pattern that is given without `sqlite://`, as a file that is there may be. What has another character may be a
/// connection string, or a password.
pub fn names_files(text: &str) -> bool {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./*?[]".contains(c);
    text.contains('*') && text.contains(['.', '/']) && text.chars().all(is_of_path)
}

/// A path with `*`, unless there is a file of that name. With a `?` or `[` alone it is one only if it matches a file.
pub fn is_pattern(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !path.exists() && (text.contains('*') || (text.contains(['?', '[']) && !matching(path).is_empty()))
}

/// The databases among the files that match, in the order of their names: not those that are hidden, nor the logs that
/// SQLite keeps beside a file. What cannot be read is among them, so that whoever opens it says why.
pub fn matching(pattern: &Path) -> Vec<PathBuf> {
    let components: Vec<&OsStr> = pattern.iter().collect();
    let mut found = BTreeSet::new();
    walk(PathBuf::new(), &components, &mut found);
    found.into_iter().collect()
}

/// Goes on from this place by the components that are left. Nobody looks first whether it is a directory: what cannot
/// be read is not the same as what is none.
fn walk(place: PathBuf, components: &[&OsStr], found: &mut BTreeSet<PathBuf>) {
    let Some((component, rest)) = components.split_first() else {
        found.extend(is_meant(&place).then_some(place));
        return;
    };
    let text = component.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return walk(place.join(component), rest, found);
    }
    let is_any_depth = text == "**";
    if is_any_depth {
        walk(place.clone(), rest, found);
    }
    let Ok(pattern) = Pattern::new(&text) else { return };
    match entries(&place) {
        Ok(entries) => {
            for (name, is_directory) in entries.into_iter().filter(|(name, _)| is_match(&pattern, name)) {
                if !is_any_depth || is_directory {
                    walk(place.join(name), if is_any_depth { components } else { rest }, found);
                }
            }
        }
        Err(error) if is_nothing(&error) => {}
        Err(_) => drop(found.insert(place)),
    }
}

/// The names in a directory, and which of them are directories themselves: links are not.
fn entries(directory: &Path) -> Result<Vec<(OsString, bool)>> {
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    let entry = |entry: Result<DirEntry>| {
        entry.map(|entry| (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
    };
    std::fs::read_dir(directory)?.map(entry).collect()
}

/// `*` matches a name that is no UTF-8 as well; no hidden one, unless the pattern has its dot.
fn is_match(pattern: &Pattern, name: &OsStr) -> bool {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    pattern.matches_with(&name.to_string_lossy(), options)
}

/// A file that is no log of SQLite's, a link to nothing, or what cannot be looked at.
fn is_meant(path: &Path) -> bool {
    const LOGS: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];
    match path.metadata() {
        Ok(metadata) => metadata.is_file() && !LOGS.iter().any(|log| path.as_os_str().as_bytes().ends_with(log)),
        Err(error) => !is_nothing(&error) || path.is_symlink(),
    }
}

/// There is nothing at the path, or it leads through a file.
fn is_nothing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What a path that leads nowhere may have been meant to be, in words to stand behind what is wrong; empty when there
/// is nothing like it.
pub fn hint(path: &Path) -> String {
    let directory = directory_of(path);
    // Where the embedded database would be: nobody has typed that.
    if dirs::data_dir().is_some_and(|data| path.starts_with(data)) {
        return String::new();
    }
    if !directory.is_dir() {
        return missing_directory(path, directory);
    }
    match nearest(directory, path, Path::is_file) {
        Some(file) => format!(" (did you mean {}?)", file.display()),
        None => String::new(),
    }
}

/// Which directory of the path is missing, and which one may have been meant.
fn missing_directory(path: &Path, directory: &Path) -> String {
    let is_missing = |above: &&Path| **above != *Path::new("") && !above.exists();
    let missing = directory.ancestors().take_while(is_missing).last().unwrap_or(directory);
    let meant = nearest(directory_of(missing), missing, Path::is_dir).map(|meant| {
        let whole = path.strip_prefix(missing).map(|rest| meant.join(rest)).ok().filter(|whole| whole.exists());
        whole.unwrap_or(meant)
    });
    let meant = meant.map(|meant| format!(" (did you mean {}?)", meant.display())).unwrap_or_default();
    format!(", since there is no directory {}{meant}", missing.display())
}

/// The entry of this kind whose name is most like that of the path.
fn nearest(directory: &Path, path: &Path, is_meant: fn(&Path) -> bool) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let entries = std::fs::read_dir(directory).ok()?.flatten().take(LOOKED_AT);
    let alike = entries.filter_map(|entry| {
        let found = entry.file_name();
        let likeness = strsim::jaro_winkler(&name, &found.to_string_lossy());
        (FAR <= likeness).then_some((likeness, found))
    });
    let (_, name) =
        alike.filter(|(_, name)| is_meant(&directory.join(name))).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    Some(if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) })
}

/// The directory of a path; `.` for a name alone.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}
