//! The file of an embedded database: who may read and write it, and is there room beside it?

use std::path::Path;

use rustix::fs::{Access, access, statvfs};

use super::diagnosis::{CheckName, CheckUp};
use crate::conclusion::Conclusion;
use crate::files;

/// A sweep that has no room is rolled back; the journal of a migration needs some MiB.
const FULL: u64 = 16 << 20;

/// So much is soon gone.
const NEARLY_FULL: u64 = 256 << 20;

/// That there is no such file the connection says.
pub fn check(path: &Path) -> Vec<CheckUp> {
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let of_file = path.metadata().is_ok().then(|| check_rights(path, directory));
    of_file.into_iter().chain(check_room(directory)).collect()
}

/// SQLite keeps its journal beside the file, and so writes to the directory as well.
fn check_rights(path: &Path, directory: &Path) -> CheckUp {
    const NAME: CheckName = CheckName::File;
    let shown = path.display();
    let files_page = "see the section Files of docs/operating.md";
    if files::is_writable_by_others(path) {
        let advice = format!("chmod go-w {}", shell_words::quote(&path.to_string_lossy()));
        return CheckUp::warning(NAME, format!("{shown}: others may write to it"), advice);
    }
    let may_write = |at: &Path| access(at, Access::WRITE_OK).is_ok();
    match (may_write(path), may_write(directory)) {
        (true, true) => CheckUp::ok(NAME, format!("{shown} can be written to")),
        (false, _) => {
            let found = format!("{shown} can be read and not written to: it can be looked at, and not be swept");
            CheckUp::warning(NAME, found, format!("sweep as the file's owner: {files_page}"))
        }
        (true, false) => {
            let found = format!("{}: nothing can be written there, and the journal stands there", directory.display());
            CheckUp::warning(NAME, found, format!("let sweep's user write to the directory: {files_page}"))
        }
    }
}

fn check_room(directory: &Path) -> Option<CheckUp> {
    const NAME: CheckName = CheckName::Disk;
    let stat = statvfs(directory).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let found = format!("{} MiB are free beside the file", free >> 20);
    let advice = format!("make room: `df -h {}`", shell_words::quote(&directory.to_string_lossy()));
    Some(match free {
        ..FULL => CheckUp::problem(NAME, Conclusion::Unavailable, found, advice),
        FULL..NEARLY_FULL => CheckUp::warning(NAME, found, advice),
        NEARLY_FULL.. => CheckUp::ok(NAME, found),
    })
}
