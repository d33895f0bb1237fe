//! The hosts: the control planes whose database sweep knows. Each is a folder: its SQL, and `host.toml`, which says how
//! it is recognised and which of its tables are read and written. Those of `migrations/hosts` are built in; of any
//! other the database keeps a copy.

mod folder;
pub(in crate::store) mod made;
mod recognition;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use include_dir::{Dir, include_dir};
use minijinja::{Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::conclusion::{Failure, config};
use crate::rules::Kind;
use crate::store::db::dialect::Dialect;
use crate::store::db::types::IdType;
use crate::store::hosts::links::{HostUrl, Links, Templates};
use crate::text::misread;

pub use folder::{in_directory, skeleton};
pub(in crate::store) use recognition::{
    RECORD, SchemaRecord, detect, record, recorded, recorded_by_guest, refuse_unfit, statements,
};

/// The files of all migrations.
pub(in crate::store) static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/migrations");

/// The folders of a host's migrations: those for both databases, for one of them, for listening, and what lasts in a
/// file of SQLite's.
const SOURCES: [&str; 5] = ["both", "postgres", "sqlite", "postgres_listen", "sqlite_lasting"];
/// What every host's folder has.
const MANIFEST: &str = "host.toml";
/// How its work is made, for `sweep host verify`: beside the migrations for one database, or for both.
const FIXTURES: &str = "fixtures.sql";

/// The folders of a host that are read on this kind of database.
fn sources_for(dialect: Dialect) -> [&'static str; 2] {
    [dialect.name(), "both"]
}

/// The environment of templates of SQL: what is not defined is an error.
pub fn strict_templates() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates
}

/// The control plane whose database it is.
#[derive(PartialEq)]
pub struct Host {
    manifest: Manifest,
    /// The text of each file, by its path below the host's folder.
    files: BTreeMap<String, String>,
    /// Does every program of this version have it?
    pub is_built_in: bool,
}

/// A host, for people and for programs.
#[derive(Debug, Serialize)]
pub struct Description {
    pub name: String,
    pub title: String,
    pub databases: Vec<&'static str>,
    /// The type of its ids on PostgreSQL.
    pub id: &'static str,
    pub kinds: Vec<&'static str>,
    pub derived_facts: bool,
    /// Empty: a database is its own when nothing is in it.
    pub recognised_by: Vec<String>,
    pub oldest_release: Option<String>,
    /// Empty: they are sweep's own.
    pub tables: Vec<String>,
    /// The templates of its pages, by kind.
    pub links: BTreeMap<&'static str, String>,
    /// The folders of its migrations.
    pub migrations: Vec<String>,
}

impl Debug for Host {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "Host({})", self.name())
    }
}

/// The hosts that are built in, in the order of their names.
static BUILT_IN: LazyLock<Vec<Arc<Host>>> = LazyLock::new(|| {
    let folders = FILES.get_dir("hosts").into_iter().flat_map(Dir::dirs);
    let host = |folder| Host::from_files(files_of(folder, folder)).expect("the suite reads them all");
    folders.map(|folder| Arc::new(Host { is_built_in: true, ..host(folder) })).collect()
});
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| BUILT_IN.iter().map(|host| host.name()).collect());

/// The text of each file in a folder, and in those below it, by its path below `root`.
fn files_of(root: &Dir, folder: &Dir) -> BTreeMap<String, String> {
    let texts = folder.files().filter_map(|file| {
        let below = file.path().strip_prefix(root.path()).ok()?.to_str()?;
        Some((below.to_owned(), file.contents_utf8()?.to_owned()))
    });
    texts.chain(folder.dirs().flat_map(|below| files_of(root, below))).collect()
}

/// Every host that is built in.
pub fn built_in() -> &'static [Arc<Host>] {
    &BUILT_IN
}

/// The names of the hosts that are built in.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

/// The host of each folder that an operator of this process has named, by its name.
static NAMED: RwLock<BTreeMap<String, Arc<Host>>> = RwLock::new(BTreeMap::new());

/// From now on this process runs the SQL of this host also where a SQLite file says that it is the file's.
pub fn trust(host: &Arc<Host>) {
    let mut named = NAMED.write().unwrap_or_else(PoisonError::into_inner);
    named.insert(host.name().to_owned(), Arc::clone(host));
}

/// The host of this name in a folder that was named.
fn in_named_folder(name: &str) -> Option<Arc<Host>> {
    NAMED.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// The host that is built in and is called so.
pub fn named(name: &str) -> Option<Arc<Host>> {
    BUILT_IN.iter().find(|host| host.name() == name).cloned()
}

impl Host {
    /// Makes a host of its files, that is not built in. Its errors name the file.
    fn from_files(files: BTreeMap<String, String>) -> Result<Host, String> {
        let text = files.get(MANIFEST).ok_or_else(|| format!("{MANIFEST}: there is no such file"))?;
        let manifest = Manifest::parse(text).map_err(|why| format!("{MANIFEST}: {why}"))?;
        Ok(Host { manifest, files, is_built_in: false })
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// What its makers call it.
    pub fn title(&self) -> &str {
        &self.manifest.title
    }

    /// What there is to say of it.
    pub fn describe(&self) -> Description {
        let Manifest { name, title, recognition, tables, derived_facts, links, .. } = &self.manifest;
        let recognition = recognition.as_ref();
        let databases = [Dialect::Postgres, Dialect::Sqlite].into_iter().filter(|dialect| self.is_for(*dialect));
        Description {
            name: name.clone(),
            title: title.clone(),
            databases: databases.map(Dialect::title).collect(),
            id: self.id(),
            kinds: self.kinds().into_iter().map(Kind::plural).collect(),
            derived_facts: *derived_facts,
            recognised_by: recognition.map_or(Vec::new(), |recognition| recognition.tables.clone()),
            oldest_release: recognition.and_then(|recognition| recognition.oldest_release.clone()),
            tables: tables.keys().cloned().collect(),
            links: links.written().map(|(kind, template)| (kind.name(), template.to_owned())).collect(),
            migrations: SOURCES.iter().flat_map(|source| self.migrations(source)).collect(),
        }
    }

    /// The text of each file, with its path below the host's folder.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// How its work is made on this kind of database: the file, and its text.
    pub fn fixtures(&self, dialect: Dialect) -> Option<(String, &str)> {
        let mut paths = sources_for(dialect).into_iter().map(|source| format!("{source}/{FIXTURES}"));
        paths.find_map(|path| Some((path.clone(), self.files.get(&path)?.as_str())))
    }

    /// The type of its ids.
    pub fn id_type(&self) -> IdType {
        self.manifest.id
    }

    /// Is the host known on this kind of database?
    pub fn is_for(&self, dialect: Dialect) -> bool {
        sources_for(dialect).iter().any(|source| !self.migrations(source).is_empty())
    }

    /// A digest of its files, by which one that was changed is told from one that was not: SHA-256, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (path, text) in &self.files {
            digest.update(format!("{path}\0{}\0{text}", text.len()));
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The type of its ids, as PostgreSQL calls it.
    pub(in crate::store) fn id(&self) -> &'static str {
        self.manifest.id.into()
    }

    /// Whether its SQL is known from elsewhere than the database whose host it is.
    pub(in crate::store) fn is_trusted(&self) -> bool {
        let is_same = |known: &Arc<Host>| known.files == self.files;
        self.is_built_in || BUILT_IN.iter().any(is_same) || in_named_folder(self.name()).as_ref().is_some_and(is_same)
    }

    /// Refuses SQL that only a SQLite file knows: whoever wrote the file could have it do anything to that file, under
    /// the name of a harmless look at it.
    pub(in crate::store) fn refuse_untrusted(&self, file: &str) -> Result<(), Failure> {
        let name = self.name();
        if self.is_trusted() {
            return Ok(());
        }
        Err(config(match in_named_folder(name) {
            None => format!(
                "{file}: the host {name} is not built in, and SQL that stands in a file is not run: set SWEEP_HOST_DIR \
                 to the folder of this host"
            ),
            Some(_) => format!(
                "{file}: its host {name} is not the one in the folder that was named, and SQL that stands in a file is \
                 not run: if the folder is right, run `sweep migrate --host-dir` with it"
            ),
        }))
    }

    /// The kinds of subject that it has.
    pub fn kinds(&self) -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| self.manifest.kinds.contains(kind)).collect()
    }

    /// Does sweep derive its facts itself, from its runs and wakes?
    pub fn has_derived_facts(&self) -> bool {
        self.manifest.derived_facts
    }

    /// The links into its pages, which are here.
    pub fn links(&self, base: Option<&HostUrl>) -> Links {
        Links { templates: self.manifest.links.clone(), base: base.cloned() }
    }

    /// The host's own tables, in the schema `public`; none when they are sweep's.
    pub fn tables(&self) -> Vec<&str> {
        self.manifest.tables.keys().map(String::as_str).collect()
    }

    /// Are the host's tables sweep's?
    pub fn is_native(&self) -> bool {
        self.manifest.tables.is_empty()
    }

    /// The migrations in one of its folders, by their path as in `migrations`, in the order in which they run.
    pub(in crate::store) fn migrations(&self, source: &str) -> Vec<String> {
        let up = |path: &String| {
            let below = path.strip_prefix(source)?.strip_prefix('/')?.strip_suffix("/up.sql")?;
            Some(format!("hosts/{}/{source}/{below}", self.name()))
        };
        self.files.keys().filter_map(up).collect()
    }

    /// The views that it makes on this kind of database: none of them is derived.
    pub fn views(&self, dialect: Dialect) -> Vec<String> {
        let folders = sources_for(dialect).into_iter().flat_map(|source| self.migrations(source));
        let texts = folders.filter_map(|folder| self.file(&format!("{folder}/up.sql")));
        let made = texts.flat_map(|text| text.split("create view ").skip(1));
        made.filter_map(|text| text.split(' ').next().map(str::to_owned)).collect()
    }

    /// Its files as JSON. None: every program of this version has them.
    fn files_as_json(&self) -> Option<String> {
        (!self.is_built_in).then(|| serde_json::to_string(&self.files).expect("texts by their names"))
    }

    /// The text of a file, by its path as in `migrations`.
    pub(in crate::store) fn file(&self, path: &str) -> Option<&str> {
        let below = path.strip_prefix("hosts/")?.strip_prefix(self.name())?.strip_prefix('/')?;
        self.files.get(below).map(String::as_str)
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What operators call it.
    pub name: String,
    /// What its makers call it.
    pub title: String,
    /// The type of its ids on PostgreSQL.
    pub id: IdType,
    /// The kinds of subject that it has.
    pub kinds: BTreeSet<Kind>,
    /// Does it have runs and wakes as rows, from which sweep derives the facts itself?
    #[serde(default)]
    pub derived_facts: bool,
    /// None: a database is its own when it is empty.
    pub recognition: Option<Recognition>,
    /// What is read and written in the schema `public`: each table, with those columns that older releases lack. None,
    /// when the tables are sweep's.
    #[serde(default)]
    pub tables: BTreeMap<String, Vec<String>>,
    /// Where its own pages are.
    #[serde(default)]
    pub links: Templates,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recognition {
    /// A database that has all of these tables is this host's.
    pub tables: Vec<String>,
    /// The oldest release that has all that is read and written.
    pub oldest_release: Option<String>,
}

/// A table or a column that cannot be named: names become a part of statements.
pub fn is_odd(name: &str) -> bool {
    name.is_empty() || name.contains(|c: char| c.is_control() || "'\"\\".contains(c))
}

const NAME_MAX: usize = 40;
const TITLE_MAX: usize = 100;

impl Manifest {
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| misread::toml(&error, text))?;
        manifest.refusal().map_or(Ok(manifest), Err)
    }

    fn refusal(&self) -> Option<String> {
        let Manifest { name, title, kinds, recognition, tables, .. } = self;
        let is_of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase())
            || !name.chars().all(is_of_a_name)
            || NAME_MAX < name.len()
        {
            return Some(format!(
                "name = {name:?}: expected at most {NAME_MAX} small letters, digits and underscores, and a letter first"
            ));
        }
        let length = title.chars().count();
        if length == 0 || TITLE_MAX < length || title.contains(char::is_control) {
            return Some(format!("title = {title:?}: expected one line of 1 to {TITLE_MAX} characters"));
        }
        if kinds.is_empty() {
            return Some("kinds = []: expected at least one of session, issue, step".to_owned());
        }
        let mut names = tables.iter().flat_map(|(table, columns)| [table].into_iter().chain(columns));
        if let Some(odd) = names.find(|name| is_odd(name)) {
            return Some(format!("tables: {odd:?}: expected a name without quotes and backslashes"));
        }
        let marks = recognition.as_ref().map_or(&[] as &[String], |recognition| &recognition.tables);
        match marks.iter().find(|&mark| !tables.contains_key(mark)) {
            Some(stranger) => Some(format!("recognition.tables has {stranger:?}: expected one of [tables]")),
            None if recognition.is_some() && marks.is_empty() => {
                Some("recognition.tables is empty: expected the tables by which a database is recognised".to_owned())
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GOOD: &str = "name = 'jobs'\ntitle = 'Jobs'\nid = 'text'\nkinds = ['issue']\n\
        [recognition]\ntables = ['job']\n[tables]\njob = []\n";

    #[test]
    fn what_need_not_be_said_may_be_left_out() {
        let manifest = Manifest::parse(GOOD).expect("a manifest");
        assert_eq!((manifest.name.as_str(), manifest.id), ("jobs", IdType::Text));
        assert_eq!(manifest.recognition.and_then(|recognition| recognition.oldest_release), None);
    }

    #[rstest]
    #[case::a_word_that_nobody_knows(
        "id = 'text'",
        "id = 'text'\ncolour = 'red'",
        "line 4: colour = 'red': colour is not known, expected one of name"
    )]
    #[case::no_id("id = 'text'", "", "id is missing")]
    #[case::a_type_that_is_none(
        "'text'",
        "'varchar'",
        "line 3: id = 'varchar': “varchar” is not known, expected one of uuid"
    )]
    #[case::a_kind_that_is_none(
        "['issue']",
        "['task']",
        "line 4: kinds = ['task']: “task” is not known, expected one of session"
    )]
    #[case::no_kind("['issue']", "[]", "kinds = []: expected at least one of")]
    #[case::no_toml("name =", "name", "line 1: name 'jobs': expected TOML")]
    #[case::a_name_with_capitals("'jobs'", "'Jobs'", "name = \"Jobs\": expected at most 40 small letters")]
    #[case::a_name_that_leads_elsewhere("'jobs'", "'../jobs'", "name = \"../jobs\": expected")]
    #[case::no_title("'Jobs'", "''", "title = \"\": expected one line")]
    #[case::a_mark_that_is_not_read("['job']", "['job', 'run']", "recognition.tables has \"run\": expected one of")]
    #[case::no_mark("['job']", "[]", "recognition.tables is empty")]
    #[case::a_link_to_nobody_knows_what(
        "[recognition]",
        "[links]\nissue = '{base}/{name}'\n[recognition]",
        "line 6: issue = '{base}/{name}': \"{base}/{name}\": {name}: expected one of {base}, {id}, {identifier}, \
         {prefix}, {tenant}, {agent}"
    )]
    #[case::a_table_with_a_quote("job = []", "job = []\n\"a'b\" = []", "tables: \"a'b\": expected a name without")]
    fn what_is_wrong_is_said_with_where_it_stands(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
        let why = Manifest::parse(&GOOD.replacen(from, to, 1)).expect_err("a mistake");
        assert!(why.starts_with(expected), "{why}");
    }

    #[test]
    fn each_built_in_host_has_a_folder_of_its_name_and_one_alone_has_no_tables_of_others() {
        for host in built_in() {
            assert!(FILES.get_dir(format!("hosts/{}", host.name())).is_some(), "{host:?}");
            assert_eq!(named(host.name()).as_ref(), Some(host));
            assert_eq!(folder::refusal(host), None, "{host:?}");
        }
        assert_eq!(built_in().iter().filter(|host| host.is_native()).count(), 1);
    }

    #[test]
    fn a_host_finds_its_migrations_and_nothing_else() {
        let native = named("native").expect("a host");
        let of_both = native.migrations("both");
        assert!(of_both.iter().any(|path| path.ends_with("_work")), "{of_both:?}");
        for path in &of_both {
            assert!(
                native.file(&format!("{path}/up.sql")).is_some() && native.file(&format!("{path}/down.sql")).is_some()
            );
        }
        assert_eq!(native.migrations("bot"), Vec::<String>::new());
        assert_eq!(native.file("hosts/native_too/host.toml"), None);
    }
}
