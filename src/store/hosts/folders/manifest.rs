//! `host.toml`: what a host is called, and which tables of it are read and written.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::rules::Kind;
use crate::store::db::types::IdType;
use crate::store::hosts::links::Templates;
use crate::text::misread;

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
        match manifest.refusal() {
            Some(why) => Err(why),
            None => Ok(manifest),
        }
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
}
