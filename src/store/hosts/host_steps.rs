//! What a person runs to have the agent of an issue go on, as the facts of its host say (`resume_commands`): calls of
//! the host's own API, and statements for the owner of its tables.

use diesel::{QueryResult, deserialize};
use serde::Deserialize;
use serde_json::Value;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::columns::{Columns, FromColumns, read_many};
use crate::store::hosts::links::HostUrl;
use crate::text::is_plain;

/// A step that a person runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum HostStep {
    /// A POST of JSON to a path below the host's address.
    Call {
        path: String,
        body: Value,
    },
    Statement {
        sql: String,
    },
}

/// What the facts say of one issue for people alone.
#[derive(Clone, Debug)]
pub struct Remedy {
    pub issue: Id,
    pub advice: String,
    pub steps: Vec<HostStep>,
    /// The latest run and its agent.
    pub last_run: Option<(Id, Id)>,
    /// What that run said of its failure.
    pub last_error: Option<String>,
}

impl FromColumns for Remedy {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<Remedy> {
        let commands: Option<String> = columns.get("resume_commands")?;
        let (run, its_agent): (Option<Id>, Option<Id>) =
            (columns.get("last_run_id")?, columns.get("last_run_agent_id")?);
        let error: Option<String> = columns.get("last_run_error")?;
        Ok(Remedy {
            issue: columns.get("subject_id")?,
            advice: columns.get("resume_advice")?,
            steps: HostStep::all_of(commands.as_deref()),
            last_run: run.zip(its_agent),
            last_error: error.filter(|error| !error.trim().is_empty()),
        })
    }
}

/// Reads what the facts of these issues say for people alone.
pub fn remedies(db: &mut Db, issues: &[Id]) -> QueryResult<Vec<Remedy>> {
    read_many(db, Kind::Issue, issues)
}

impl HostStep {
    /// Reads the steps as the facts have them. What cannot be read is not run: the advice stands alone.
    pub fn all_of(text: Option<&str>) -> Vec<HostStep> {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// The command of a step, ready for a shell; none of what may not be shown as it is.
    pub fn command(&self, base: Option<&HostUrl>) -> Option<String> {
        let command = match self {
            HostStep::Call { path, body } => {
                let base = base.map_or("\"$SWEEP_HOST_URL\"", HostUrl::as_str);
                let body = shell_words::quote(&body.to_string()).into_owned();
                format!(
                    "curl -sS --fail-with-body {base}{} ${{SWEEP_HOST_KEY:+--oauth2-bearer \"$SWEEP_HOST_KEY\"}} \
                     -H 'content-type: application/json' -d {body}",
                    plain_path(path)?
                )
            }
            HostStep::Statement { sql } => format!("psql \"$DATABASE_URL\" -c {}", shell_words::quote(sql)),
        };
        is_plain(&command).then_some(command)
    }
}

/// A path that leads to the host that it is appended to, and needs no quotes.
pub fn plain_path(path: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    (path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_and_a_statement_are_ready_for_a_shell() {
        let text =
            r#"[{"path": "/api/issues/7/resolve", "body": {"note": "it's done"}}, {"sql": "update t set a = 'b'"}]"#;
        let base = HostUrl::parse("https://board.example/").expect("a URL");
        let commands: Vec<_> = HostStep::all_of(Some(text)).iter().map(|step| step.command(Some(&base))).collect();
        let [Some(call), Some(statement)] = &commands[..] else { panic!("{commands:?}") };
        assert!(call.starts_with("curl -sS --fail-with-body https://board.example/api/issues/7/resolve "), "{call}");
        let words = shell_words::split(call).expect("words");
        assert_eq!(words.last().map(String::as_str), Some(r#"{"note":"it's done"}"#));
        assert_eq!(shell_words::split(statement).expect("words")[3], "update t set a = 'b'");
    }

    #[test]
    fn a_path_that_leads_elsewhere_or_what_cannot_be_read_makes_no_command() {
        for path in ["api", "//evil.example/api", "/api/../x", "/a@b", "/a b", "/a;b", "/a$b", "/a?b", ""] {
            assert_eq!(plain_path(path), None, "{path}");
        }
        for text in ["", "{}", "[1]", r#"[{"path": "/a"}]"#, r#"[{"path": "/a", "body": {}, "sql": "x"}]"#] {
            assert_eq!(HostStep::all_of(Some(text)), Vec::new(), "{text}");
        }
    }
}
