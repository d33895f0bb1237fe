//! Several databases at once: those that an operator named, and the files that a pattern matches, looked for anew each
//! time.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::open::Url;
use super::open::pattern::{is_pattern, matching};

/// What was named, in that order: never nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Databases(pub Vec<Named>);

/// One name.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    Database(Url),
    /// The files that match this pattern.
    Files(PathBuf),
}

impl Named {
    pub fn of(url: Url) -> Named {
        match url {
            Url::Sqlite(path) if is_pattern(&path) => Named::Files(path),
            url => Named::Database(url),
        }
    }

    /// A pattern that matches nothing is the file of that name, which is not there: whoever opens it says so.
    fn find(&self) -> Vec<Url> {
        match self {
            Named::Database(url) => vec![url.clone()],
            Named::Files(pattern) => match matching(pattern) {
                files if files.is_empty() => vec![Url::Sqlite(pattern.clone())],
                files => files.into_iter().map(Url::Sqlite).collect(),
            },
        }
    }
}

impl Databases {
    /// The only one; none when several were named, or a pattern, however many files it matches now.
    pub fn only(&self) -> Option<&Url> {
        match self.0.as_slice() {
            [Named::Database(url)] => Some(url),
            _ => None,
        }
    }

    /// Those that there are now, each once: at least one.
    pub fn find(&self) -> Vec<Url> {
        let mut seen = BTreeSet::new();
        self.0.iter().flat_map(Named::find).filter(|url| seen.insert(place(url))).collect()
    }
}

/// Two names of one place are one database: a file has one inode, whatever leads to it.
fn place(url: &Url) -> String {
    match url {
        Url::Sqlite(path) => match std::fs::metadata(path) {
            Ok(metadata) => format!("{}:{}", metadata.dev(), metadata.ino()),
            Err(_) => url.name(),
        },
        Url::Postgres(..) => url.name(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn named(path: &Path) -> Databases {
        Databases(vec![Named::of(Url::Sqlite(path.to_owned()))])
    }

    fn names(databases: &Databases) -> Vec<String> {
        let name = |url: &Url| PathBuf::from(url.name()).file_name().map(|name| name.to_string_lossy().into_owned());
        databases.find().iter().filter_map(name).collect()
    }

    #[test]
    fn a_pattern_is_matched_anew_each_time_and_never_by_logs_or_hidden_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let make = |name: &str| std::fs::write(directory.path().join(name), "").expect("a file");
        let boards = named(&directory.path().join("*.d*"));
        assert_eq!(names(&boards), ["*.d*"]);
        ["b.db", "a.db", "a.db-wal", "a.db-shm", "a.db-journal", ".c.db"].into_iter().for_each(make);
        assert_eq!(names(&boards), ["a.db", "b.db"]);
        make("c.db");
        assert_eq!(names(&boards), ["a.db", "b.db", "c.db"]);
        assert_eq!(boards.only(), None);
    }

    #[test]
    fn a_file_of_that_name_is_no_pattern() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["[ab]?.db", "*.db"] {
            let path = directory.path().join(name);
            std::fs::write(&path, "").expect("a file");
            assert_eq!(named(&path).only(), Some(&Url::Sqlite(path)));
        }
        // Nor is one that is yet to be made, without a star in it.
        let new = directory.path().join("new?.db");
        assert_eq!(named(&new).only(), Some(&Url::Sqlite(new)));
        assert_eq!(named(&directory.path().join("[a-z]*[?].db")).only(), None);
    }

    #[test]
    fn what_leads_to_the_same_place_is_found_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let [file, link, linked] = ["a.db", "b.db", "c.db"].map(|name| directory.path().join(name));
        std::fs::write(&file, "").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        std::fs::hard_link(&file, &linked).expect("a link");
        let urls = [
            Url::Sqlite(link),
            Url::Sqlite(linked),
            Url::postgres("postgres://ada:secret@db.example/agents"),
            Url::postgres("host=db.example port=5432 dbname=agents user=eve"),
            Url::postgres("postgres://db.example/others"),
        ];
        let twice = urls.iter().chain(&urls).cloned().map(Named::of).collect();
        let found: Vec<String> = Databases(twice).find().iter().map(Url::name).collect();
        let first = directory.path().join("b.db").display().to_string();
        assert_eq!(found, [first.as_str(), "db.example/agents", "db.example/others"]);
    }
}
