//! Patterns for files: `boards/*.db`. In one with a `*`, `?` and `[a-z]` have their meaning as well.

use std::path::{Path, PathBuf};

use glob::MatchOptions;

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
/// SQLite keeps beside a file.
pub fn matching(pattern: &Path) -> Vec<PathBuf> {
    const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    let found = glob::glob_with(&pattern.to_string_lossy(), options).into_iter().flatten().flatten();
    let is_log = |path: &PathBuf| LOGS.iter().any(|log| path.to_string_lossy().ends_with(log));
    let mut files: Vec<PathBuf> = found.filter(|path| path.is_file() && !is_log(path)).collect();
    files.sort();
    files
}
