//! What a diagnosis consists of: for each check what was found, how that is, and what to do about it.

use anyhow::Error;
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::store::connect::listen::ListenMode;
use crate::store::read::SCHEMA;
use crate::store::{Timeouts, Url};
use crate::text::redact;

/// What the checks go by.
pub struct DoctorOptions {
    pub timeouts: Timeouts,
    pub listen: ListenMode,
    /// The connection that listens, if it is not the sweeps'.
    pub listen_url: Option<Url>,
    /// What was found of the settings and the receivers, which all databases have in common.
    pub in_common: Vec<CheckUp>,
}

/// How an installation is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// The version of this format. It grows only when something that is promised changes.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// The gravest of the checks' marks.
    pub mark: CheckMark,
    /// The host of the tables: `native`, `paperclip`, or the name of another one; null: it could not be found out.
    pub host: Option<String>,
    /// What was checked, in the order in which it was.
    pub checkups: Vec<CheckUp>,
}

/// What one check found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckUp {
    /// What was checked.
    pub name: CheckName,
    /// How it is.
    pub mark: CheckMark,
    /// What was found, in words: for people.
    pub found: String,
    /// What to do, in words: for people; null: nothing.
    pub advice: Option<String>,
    /// How the command ends for it.
    #[serde(skip)]
    conclusion: Conclusion,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, strum::IntoStaticStr, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum CheckName {
    /// The settings.
    Settings,
    /// Slack, or a chat that is like it, which was only connected to.
    Slack,
    /// Microsoft Teams, which was only connected to.
    Teams,
    /// The server of mail, which was only logged in to.
    Email,
    /// PagerDuty, which was only connected to.
    Pagerduty,
    /// The webhook, which was only connected to.
    Webhook,
    /// The dead-man's switch, which was only connected to.
    Ping,
    /// The rights on the file of an embedded database.
    File,
    /// The room beside that file.
    Disk,
    /// The way to the database, and what answers there.
    Connection,
    /// The mode of a file's journal.
    Journal,
    /// Whether the server can be written to.
    Server,
    /// The encryption of the connection.
    Tls,
    /// A pooler in between.
    Pooler,
    /// The schema `sweep`.
    Schema,
    /// The control plane whose tables are read.
    Host,
    /// The rights of this role.
    Rights,
    /// The news of runs that end.
    Listening,
    /// The clocks of the database, of this machine and of the host.
    Clock,
    /// The sweeps that should run.
    Schedule,
    /// The work that the guard holds back.
    Guard,
    /// The subjects that sweeps look at no more.
    Quarantine,
    /// The wakes that nobody takes up.
    Wakes,
    /// The notifications that did not arrive.
    Notifications,
}

impl CheckName {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum CheckMark {
    /// As it should be.
    Ok,
    /// Sweeps go on, and somebody should know of it; the exit code does not tell.
    Warning,
    /// Something has to be done: the exit code says so.
    Problem,
}

impl CheckMark {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl CheckUp {
    pub fn ok(name: CheckName, found: impl Into<String>) -> CheckUp {
        let (mark, advice, conclusion) = (CheckMark::Ok, None, Conclusion::Done);
        CheckUp { name, mark, found: redact(&found.into()), advice, conclusion }
    }

    pub fn warning(name: CheckName, found: impl Into<String>, advice: impl Into<String>) -> CheckUp {
        let advice = Some(redact(&advice.into()));
        CheckUp { mark: CheckMark::Warning, advice, ..CheckUp::ok(name, found) }
    }

    pub fn problem(
        name: CheckName,
        conclusion: Conclusion,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> CheckUp {
        CheckUp { mark: CheckMark::Problem, conclusion, ..CheckUp::warning(name, found, advice) }
    }

    /// A check that ended by an error.
    pub fn failed(name: CheckName, error: &Error, advice: impl Into<String>) -> CheckUp {
        CheckUp::problem(name, conclusion_of(error), format!("{error:#}"), advice)
    }
}

impl Diagnosis {
    pub fn of(host: Option<String>, checkups: Vec<CheckUp>) -> Diagnosis {
        let mark = checkups.iter().map(|checkup| checkup.mark).max().unwrap_or(CheckMark::Ok);
        Diagnosis { schema: SCHEMA, mark, host, checkups }
    }

    /// How many checks came to this.
    pub fn count(&self, mark: CheckMark) -> i64 {
        self.checkups.iter().filter(|checkup| checkup.mark == mark).count() as i64
    }

    /// How the command ends: as the gravest problem would end a sweep.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::gravest(self.checkups.iter().map(|checkup| checkup.conclusion))
    }
}
