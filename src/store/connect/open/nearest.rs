//! What a path that leads nowhere may have been meant to be.

use std::path::{Path, PathBuf};

/// Names that differ by more were not meant.
const FAR: f64 = 0.8;

/// Entries that are looked at in a directory.
const LOOKED_AT: usize = 1000;

/// In words, behind what is wrong; empty when there is nothing like it.
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
    let missing = directory.ancestors().take_while(|above| !exists(above)).last().unwrap_or(directory);
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

/// `.` for a name alone.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

fn exists(path: &Path) -> bool {
    path == Path::new("") || path.exists()
}
