//! A host's folder that a test may change.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::program::{Ran, migrate_at};
use crate::support::scratch::Scratch;

pub struct Folder {
    directory: TempDir,
}

impl Folder {
    /// Copies what `examples/host` has for PostgreSQL.
    pub fn new() -> Folder {
        let folder = Folder::empty();
        for file in ["host.toml", "postgres/fixtures.sql", "postgres/0001_work/up.sql", "postgres/0001_work/down.sql"] {
            folder.write(file, &std::fs::read_to_string(example(file)).expect("a file"));
        }
        folder
    }

    pub fn empty() -> Folder {
        Folder { directory: tempfile::tempdir().expect("a directory") }
    }

    /// Copies a folder of the project.
    pub fn copy_of(folder: &Path) -> Folder {
        let copy = Folder::empty();
        copy.add(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), Path::new(""));
        copy
    }

    fn add(&self, root: &Path, below: &Path) {
        for entry in std::fs::read_dir(root.join(below)).expect("a directory") {
            let path = below.join(entry.expect("an entry").file_name());
            match root.join(&path).is_dir() {
                true => self.add(root, &path),
                false => {
                    let text = std::fs::read_to_string(root.join(&path)).expect("a file");
                    self.write(&path.display().to_string(), &text);
                }
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    #[track_caller]
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path().join(file)).expect("a file");
        assert!(text.contains(from), "{from}");
        self.write(file, &text.replacen(from, to, 1));
    }

    pub fn migrate(&self, database: &Scratch) -> Ran {
        migrate_at(&database.url, ["--host-dir", &self.path().display().to_string()]).run()
    }
}

/// A file of `examples/host`.
pub fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/host").join(file)
}
