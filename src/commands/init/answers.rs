//! What `sweep init` is told, by options, by the environment, by what it wrote before, or by a person.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};

use super::deployment::{Deployment, OF_SERVICES, plain_path};
use super::planned::refuse_place;
use super::questions::Asker;
use crate::cli::{InitFlags, Notified};
use crate::conclusion::{config, usage};
use crate::files;
use crate::notify::{Chat, MailRoute, PagerDuty, Secret, Target};
use crate::parse::SWITCH;
use crate::settings::Environment;
use crate::settings::database::named_text;
use crate::store::Url;

pub struct SetupAnswers {
    /// The database here and now.
    pub database: Url,
    /// The text of the URL by which sweeps will find it: below another root it is another path.
    pub database_url: String,
    /// Whether to begin in shadow; none: as the settings have it that are there.
    pub shadow: Option<bool>,
    /// The secrets besides the database's URL: the name of the file of each, and its text.
    pub secrets: Vec<(&'static str, String)>,
    /// The folder of a host that is not built in, where each sweep needs it.
    pub host_dir: Option<PathBuf>,
}

impl SetupAnswers {
    pub fn collect(
        flags: &InitFlags,
        deployment: &Deployment,
        environment: &Environment,
        asker: &Asker,
    ) -> Result<SetupAnswers> {
        let (database, database_url) = choose_database(deployment, environment, asker)?;
        deployment.refuse_database(&database)?;
        let is_first_time = !deployment.has_settings();
        let shadow = match flags.shadow {
            None if is_first_time => {
                let question = "Shadow first: decide and report for some days, and change nothing?";
                Some(asker.answer(question, "on", |answer| SWITCH.parse(answer))?)
            }
            given => given,
        };
        let secrets = choose_receivers(flags.notify, environment, asker)?;
        let host_dir = flags.host_dir.as_deref().filter(|_| matches!(database, Url::Sqlite(_)));
        let host_dir = host_dir.map(Path::canonicalize).transpose();
        let host_dir = host_dir.map_err(|error| config(format!("--host-dir: {}", files::error_text(&error))))?;
        let host_dir = host_dir.map(|folder| plain_path("--host-dir", folder)).transpose()?;
        Ok(SetupAnswers { database, database_url, shadow, secrets, host_dir })
    }

    /// The text of a URL that leads to the database here and now.
    pub fn database_text(&self) -> String {
        match &self.database {
            Url::Sqlite(path) => format!("sqlite://{}", path.display()),
            Url::Postgres(..) => self.database_url.clone(),
        }
    }

    pub fn database_shown(&self) -> String {
        Url::without_secrets(&self.database_text())
    }

    /// Refuses to create a database where another user could put something else in its place.
    pub fn refuse_place_of_database(&self) -> Result<()> {
        match &self.database {
            Url::Sqlite(path) if path.symlink_metadata().is_err() => refuse_place(path),
            Url::Sqlite(_) | Url::Postgres(..) => Ok(()),
        }
    }

    /// Makes the directory of a service's embedded database, for its user alone.
    pub fn make_directory(&self) -> Result<()> {
        let Url::Sqlite(path) = &self.database else { return Ok(()) };
        let Some(directory) = path.parent().filter(|_| self.database_url.ends_with(OF_SERVICES)) else { return Ok(()) };
        let refuse = |error| config(format!("{}: cannot create it: {error}", directory.display()));
        Ok(files::make_private_directory(directory).map_err(refuse)?)
    }
}

/// The database that is named, else the one of a file that is there, else the one that a person names.
fn choose_database(deployment: &Deployment, environment: &Environment, asker: &Asker) -> Result<(Url, String)> {
    if let Some(text) = named_text(environment)? {
        return read_database(&text, deployment).map_err(|why| usage(format!("the database: {why}")).into());
    }
    if let Some(text) = deployment.database_of_before()? {
        return read_database(&text, deployment).map_err(|why| config(why).into());
    }
    let embedded = deployment.embedded_database(environment)?;
    let question = "Which database: postgres://USER@HOST/NAME, or sqlite://PATH?";
    asker.answer(question, &embedded, |text| read_database(text, deployment))
}

/// Reads a URL that leads to a database from everywhere, and where that is here and now.
pub fn read_database(text: &str, deployment: &Deployment) -> Result<(Url, String), String> {
    Ok(match Url::parse(text)? {
        Url::Sqlite(path) => {
            let path = std::path::absolute(&path).map_err(|error| files::error_text(&error))?;
            let text = format!("sqlite://{}", path.display());
            (Url::Sqlite(deployment.here(&path)), text)
        }
        url @ Url::Postgres(..) => (deployment.as_its_service(url), text.trim().to_owned()),
    })
}

/// The secrets of the receivers: of the one that the flag names, else of all in the environment, else of the one that a
/// person names and types.
fn choose_receivers(
    flag: Option<Notified>,
    environment: &Environment,
    asker: &Asker,
) -> Result<Vec<(&'static str, String)>> {
    let mut wanted: Vec<Notified> = flag.into_iter().collect();
    if flag.is_none() {
        for &receiver in Notified::ALL {
            let Some((_, variable, ..)) = address_of(receiver) else { continue };
            if environment.secret_text(variable)?.is_some() {
                wanted.push(receiver);
            }
        }
    }
    if wanted.is_empty() {
        let names = Notified::ALL.iter().map(|receiver| receiver.name()).collect::<Vec<_>>().join(", ");
        let question = format!("Who is notified when work needs a person: {names}?");
        wanted.push(asker.answer(&question, Notified::None.name(), Notified::read)?);
    }
    let found = |file, name: &str, question: &str, read: &dyn Fn(&str) -> Result<(), String>| {
        let read = |text: &str| read(text).map(|()| text.to_owned());
        let asked = || asker.secret(question, &format!("{name} or {name}_FILE"), read);
        let given = |text: String| read(&text).map_err(|why| config(format!("{name}: {why}")).into());
        Ok::<_, Error>((file, environment.secret_text(name)?.map_or_else(asked, given)?))
    };
    let mut secrets = Vec::new();
    for receiver in wanted {
        let Some((file, variable, question, read)) = address_of(receiver) else { continue };
        secrets.push(found(file, variable, question, &read)?);
        if receiver == Notified::Webhook {
            let read = |text: &str| Secret::parse(text).map(drop).map_err(|why| why.to_string());
            secrets.push(found("webhook-secret", "SWEEP_WEBHOOK_SECRET", "What its posts are signed with", &read)?);
        }
    }
    Ok(secrets)
}

/// The file of its address, the variable, the question, and what the address must be; none: nobody is notified.
fn address_of(receiver: Notified) -> Option<ReceiverAddress> {
    Some(match receiver {
        Notified::Slack => ("slack-url", "SWEEP_SLACK_URL", "The URL of the chat's incoming webhook", |url| {
            Chat::parse(url, true).map(drop)
        }),
        Notified::Teams => {
            ("teams-url", "SWEEP_TEAMS_URL", "The URL of the workflow", |url| Target::parse(url, true).map(drop))
        }
        Notified::Email => {
            ("email-url", "SWEEP_EMAIL_URL", "The URL of the mail server", |url| MailRoute::parse(url, true).map(drop))
        }
        Notified::Pagerduty => ("pagerduty-url", "SWEEP_PAGERDUTY_URL", "The URL with the routing key", |url| {
            PagerDuty::parse(url, true).map(drop)
        }),
        Notified::Webhook => {
            ("webhook-url", "SWEEP_WEBHOOK_URL", "The webhook's URL", |url| Target::parse(url, true).map(drop))
        }
        Notified::None => return None,
    })
}

type ReceiverAddress = (&'static str, &'static str, &'static str, fn(&str) -> Result<(), String>);
