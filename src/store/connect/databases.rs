//! Several databases at once: those that an operator named, and the files that a pattern matches, looked for anew each
//! time.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::store::connect::open::Url;
use crate::store::connect::open::conninfo::Conninfo;
use crate::store::connect::open::sqlite::{is_pattern, matching};
use crate::text::{is_plain, redact};

/// What was named, in that order: never nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Databases {
    pub named: Vec<Named>,
    /// On the command line: elsewhere the same command would lead to another one.
    pub is_typed: bool,
}

/// What one name stands for.
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

/// A database that there is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What it alone is called among those that were found; no secret is in it. None: only one was named.
    pub name: Option<String>,
    /// The name that everybody may read, as in metrics: without a directory or server, unless two databases would then
    /// be called alike.
    pub short_name: Option<String>,
    pub url: Url,
    /// A command leads here only if it names it.
    pub is_to_name: bool,
}

impl Found {
    /// The one that the settings say.
    pub fn alone(url: Url) -> Found {
        Found { name: None, short_name: None, url, is_to_name: false }
    }

    /// What leads a command here, to be put behind it; it may be nothing. None: nothing that may be shown does.
    pub fn argument(&self) -> Option<String> {
        if !self.is_to_name {
            return Some(String::new());
        }
        let url = self.url.without_credentials().filter(|url| is_plain(url))?;
        Some(format!(" --database {}", shell_words::quote(&url)))
    }
}

impl Databases {
    /// The only database that was named; none when several were named, or a pattern, however many files it matches now.
    pub fn only(&self) -> Option<&Url> {
        match self.named.as_slice() {
            [Named::Database(url)] => Some(url),
            _ => None,
        }
    }

    /// Finds the databases that there are now, each once: at least one.
    pub fn find(&self) -> Vec<Found> {
        if let Some(url) = self.only() {
            return vec![Found { is_to_name: self.is_typed, ..Found::alone(url.clone()) }];
        }
        let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
        let found = self.named.iter().flat_map(Named::find).filter(|url| seen.insert(Identity::of(url)));
        let found = found.map(|url| (name_among(&mut names, &url), url)).collect::<Vec<_>>();
        let short = short_names(&found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
        let found = found.into_iter().zip(short).map(|((name, url), short)| Found {
            name: Some(name),
            short_name: Some(short),
            url,
            is_to_name: true,
        });
        found.collect()
    }
}

/// The name of a database; if another one is called so, with a number behind it.
fn name_among(names: &mut BTreeSet<String>, url: &Url) -> String {
    let name = redact(&url.name());
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut free = std::iter::once(name.clone()).chain(numbered).filter(|name| names.insert(name.clone()));
    free.next().unwrap_or_default()
}

/// Shortens each name to as little of its end as tells it apart from the others.
fn short_names(names: &[&str]) -> Vec<String> {
    let ends = |name: &str| {
        let behind = name.rmatch_indices('/').map(|(at, _)| name[at + 1..].to_owned());
        behind.chain([name.to_owned()]).collect::<Vec<_>>()
    };
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    names.iter().flat_map(|name| ends(name)).for_each(|end| *count.entry(end).or_default() += 1);
    let short = |name: &&str| ends(name).into_iter().find(|end| count.get(end) == Some(&1));
    names.iter().map(|name| short(name).unwrap_or_else(|| (*name).to_owned())).collect()
}

/// Two URLs that have this in common lead to one database. In doubt they have not: a second sweep finds nothing left to
/// do, while nobody would notice one that is left out.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// The device and the inode of a file, whatever leads to it.
    File(u64, u64),
    /// A file that is not there.
    Path(PathBuf),
    /// What decides where libpq connects.
    Server(Vec<Option<String>>),
    /// libpq refuses it.
    Malformed(String),
}

impl Identity {
    fn of(url: &Url) -> Identity {
        match url {
            Url::Sqlite(path) => match std::fs::metadata(path) {
                Ok(metadata) => Identity::File(metadata.dev(), metadata.ino()),
                Err(_) => Identity::Path(path.clone()),
            },
            Url::Postgres(text, _) => match Conninfo::read(text).destination() {
                Some(parameters) => Identity::Server(parameters.map(|value| value.map(str::to_owned)).into()),
                None => Identity::Malformed(text.clone()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn databases(named: Vec<Named>) -> Databases {
        Databases { named, is_typed: false }
    }

    fn named(path: &Path) -> Databases {
        databases(vec![Named::of(Url::Sqlite(path.to_owned()))])
    }

    fn names(databases: &Databases) -> Vec<String> {
        let name = |name: String| name.rsplit('/').next().map(str::to_owned);
        databases.find().into_iter().filter_map(|database| database.name.and_then(name)).collect()
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
            Url::postgres("host=db.example dbname=agents user=ada password=secret application_name=x"),
            Url::postgres("postgres://db.example/others"),
        ];
        let twice = urls.iter().chain(&urls).cloned().map(Named::of).collect();
        assert_eq!(names(&databases(twice)), ["b.db", "agents", "others"]);
    }

    #[test]
    fn those_that_are_called_alike_are_numbered_and_no_secret_is_shown() {
        let urls = [
            "postgres://ada:hunter2@db.example/agents",
            "postgres://eve@db.example/agents",
            "host=db.example dbname='agents (2)'",
            "postgres://ada@db.example/agents?options=endpoint%3Dhunter2",
            "password=hunter2",
            "password='hunter2",
            "password='hunter3",
        ];
        let found = databases(urls.map(|url| Named::of(Url::postgres(url))).into()).find();
        let names: Vec<String> = found.into_iter().filter_map(|database| database.name).collect();
        let expected = [
            "db.example/agents", "db.example/agents (2)", "db.example/agents (2) (2)", "db.example/agents (3)",
            "localhost/", "***", "*** (2)",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_short_name_of_a_database_is_the_end_of_its_name_that_no_other_has() {
        let names = ["/srv/acme/sweep.db", "/srv/beta/sweep.db", "/srv/beta/other.db", "db.example/agents", "sweep.db"];
        let short = short_names(&names);
        assert_eq!(short, ["acme/sweep.db", "beta/sweep.db", "other.db", "agents", "sweep.db"]);
        assert_eq!(short_names(&["db.example/agents", "db.example/agents (2)"]), ["agents", "agents (2)"]);
        assert_eq!(short_names(&["a/b", "x/a/b", "b"]), ["a/b", "x/a/b", "b"]);
        assert_eq!(short_names(&["/a.db"]), ["a.db"]);
    }

    #[test]
    fn a_command_leads_to_the_database_that_was_typed_without_what_authenticates() {
        let argument = |url: &str, is_typed| {
            let named = vec![Named::of(Url::parse(url).expect("a URL"))];
            Databases { named, is_typed }.find().pop().expect("one").argument()
        };
        let of_everything = "postgres://ada:hunter2@db.example:6432/agents?sslmode=require&connect_timeout=9";
        for (url, expected) in [
            ("sqlite:///srv/my board.db", Some(" --database 'sqlite:///srv/my board.db'")),
            (of_everything, Some(" --database 'host=db.example port=6432 dbname=agents user=ada sslmode=require'")),
            ("host=/tmp dbname='a b'", Some(r" --database 'host=/tmp dbname='\''a b'\'''")),
            ("postgres://db.example/agents?options=endpoint%3Dhunter2", None),
            ("postgres://db.example/agents?passfile=/home/ada/.pgpass", None),
            ("postgres:///?dbname=postgres://ada:hunter2@db.example/agents", None),
        ] {
            assert_eq!(argument(url, true).as_deref(), expected, "{url}");
            assert_eq!(argument(url, false).as_deref(), Some(""), "{url}");
        }
    }
}
