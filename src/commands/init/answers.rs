//! What `sweep init` is told, by options, by the environment, by what it wrote before, or by a person.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::deployment::{Deployment, OF_SERVICES, plain_path, secret_of};
use super::planned::refuse_place;
use super::questions::Asker;
use crate::cli::{InitFlags, Notified};
use crate::conclusion::{config, usage};
use crate::files;
use crate::notify::{NotifyRoute, Secret};
use crate::parse::{NOTIFIED, SWITCH};
use crate::settings::Environment;
use crate::settings::database::named_text;
use crate::settings::definition::KnownSetting;
use crate::settings::resolve::{WEBHOOK_SECRET, url_of};
use crate::settings::table::{find, notify_private};
use crate::store::Url;
use crate::store::work::outbox::Destination;

pub struct SetupAnswers {
    /// The database here and now.
    pub database: Url,
    /// The text of the URL by which sweeps will find it: below another root it is another path.
    pub database_url: String,
    /// Whether to begin in shadow; none: as the settings have it that are there.
    pub shadow: Option<bool>,
    /// The secrets besides the database's URL: the name of the file of each, and its text.
    pub secrets: Vec<(String, String)>,
    /// Whether receivers may be in a private network.
    pub is_private: bool,
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
        let is_private = notify_private(environment)?.unwrap_or_default();
        let is_first_time = !deployment.has_settings();
        let shadow = match flags.shadow {
            None if is_first_time => {
                let question = "Shadow first: decide and report for some days, and change nothing?";
                Some(asker.answer(question, "on", |answer| SWITCH.parse(answer))?)
            }
            given => given,
        };
        let secrets = choose_receivers(flags.notify, is_private, environment, asker)?;
        let host_dir = flags.host_dir.as_deref().filter(|_| matches!(database, Url::Sqlite(_)));
        let host_dir = host_dir.map(Path::canonicalize).transpose();
        let host_dir = host_dir.map_err(|error| config(format!("--host-dir: {}", files::error_text(&error))))?;
        let host_dir = host_dir.map(|folder| plain_path("--host-dir", folder)).transpose()?;
        Ok(SetupAnswers { database, database_url, shadow, secrets, is_private, host_dir })
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

    /// Whether the database is the file that a service has in its own directory.
    pub fn is_services_own(&self) -> bool {
        self.database_url == format!("sqlite://{OF_SERVICES}")
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
        let Some(directory) = path.parent().filter(|_| self.is_services_own()) else { return Ok(()) };
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
    let embedded = deployment.embedded_database(environment)?.unwrap_or_default();
    let question = "Which database: postgres://USER@HOST/NAME, or sqlite://PATH?";
    asker.answer(question, &embedded, |text| read_database(text, deployment))
}

/// Reads a URL that leads to a database from everywhere, and where that is here and now.
pub fn read_database(text: &str, deployment: &Deployment) -> Result<(Url, String), String> {
    let url = Url::parse(text);
    if deployment.is_of_pods() && (text.is_empty() || matches!(url, Ok(Url::Sqlite(_)))) {
        return Err("a CronJob has no file that stays: name a database of PostgreSQL, as postgres://…".to_owned());
    }
    Ok(match url? {
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
    is_private: bool,
    environment: &Environment,
    asker: &Asker,
) -> Result<Vec<(String, String)>> {
    let mut wanted: Vec<Notified> = flag.into_iter().collect();
    if flag.is_none() {
        for destination in Destination::ALL {
            wanted.extend(environment.secret(&url_of(*destination))?.map(|_| Some(*destination)));
        }
    }
    if wanted.is_empty() {
        let names = NOTIFIED.names().collect::<Vec<_>>().join(", ");
        let question = format!("Who is notified when work needs a person: {names}?");
        wanted.push(asker.answer(&question, NOTIFIED.name(None), |answer| NOTIFIED.parse(answer))?);
    }
    let mut secrets = Vec::new();
    for destination in wanted.into_iter().flatten() {
        let mut key = None;
        if destination == Destination::Webhook {
            let (secret, signing) = choose_secret(WEBHOOK_SECRET, environment, asker, Secret::parse)?;
            secrets.push(secret);
            key = Some(signing);
        }
        let check = |url: &str| NotifyRoute::parse(destination, url, is_private, key.clone());
        secrets.push(choose_secret(&url_of(destination), environment, asker, check)?.0);
    }
    Ok(secrets)
}

/// The name of a secret's file and its text, which the environment has or a person types, and what was read of it.
fn choose_secret<T>(
    name: &str,
    environment: &Environment,
    asker: &Asker,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<((String, String), T)> {
    let read = |text: &str| read(text).map(|what| ((secret_of(name), text.to_owned()), what));
    match environment.secret_text(name)? {
        Some(text) => read(&text).map_err(|why| config(format!("{name}: {why}")).into()),
        None => asker.secret(&find(name).map(KnownSetting::help).unwrap_or_default(), name, read),
    }
}
