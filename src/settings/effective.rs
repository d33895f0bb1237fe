//! Every setting as it will be used, and where it comes from: what `sweep config` shows. Secrets are not among it.

use secrecy::ExposeSecret;
use serde::Serialize;

use super::database::LISTEN_URL;
use super::environment::{Environment, Source, path_of_secret};
use super::flags::DatabaseFlag;
use super::names::{may_have_a_file, variables};
use super::table::all;
use crate::store::connect::open::Url;
use crate::text::redact;

/// One setting; the fields are those of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// As in the environment.
    pub name: String,
    /// As it may be shown; null: there is none.
    pub value: Option<String>,
    pub source: Origin,
    /// The file that it was read from.
    pub file: Option<String>,
    pub secret: bool,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Default,
    Environment,
    /// The one of `--config`, or the one that holds a secret.
    File,
}

/// What a secret looks like.
const HIDDEN: &str = "***";

/// What libpq reads by itself.
const LIBPQ: &str = "
    PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGREQUIREAUTH
    PGCHANNELBINDING PGOPTIONS PGAPPNAME PGCLIENTENCODING PGCONNECT_TIMEOUT PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS
    PGGSSENCMODE PGKRBSRVNAME PGSSLMODE PGSSLNEGOTIATION PGSSLCERT PGSSLKEY PGSSLCERTMODE PGSSLROOTCERT PGSSLCRL
    PGSSLSNI PGSSLMINPROTOCOLVERSION PGSSLMAXPROTOCOLVERSION";

impl Environment {
    /// The database first, then what sweep knows; of libpq's what is set.
    pub fn effective(&self) -> Vec<Setting> {
        let libpq = LIBPQ.split_whitespace().filter(|name| self.source(name).is_some());
        let database = ["DATABASE_URL", "DATABASE_URL_FILE"].into_iter().chain(libpq).map(str::to_owned);
        database.chain(variables()).map(|name| self.setting(name)).collect()
    }

    fn setting(&self, name: String) -> Setting {
        let secret = is_secret(&name);
        let hide = |value: &str| match name.as_str() {
            _ if secret => HIDDEN.to_owned(),
            name if URLS.contains(&name) => redact(&Url::without_secrets(value.trim())),
            name if name.strip_suffix("_FILE").is_some_and(may_have_a_file) => redact(path_of_secret(value.trim())),
            _ => redact(value.trim()),
        };
        let (value, source, file) = match (self.get(&name), self.source(&name)) {
            (Some(value), Some(Source::File(path, _))) => {
                (Some(hide(value)), Origin::File, Some(path.display().to_string()))
            }
            (Some(value), _) => (Some(hide(value)), Origin::Environment, None),
            (None, _) => match self.get(&format!("{name}_FILE")) {
                Some(path) => {
                    (self.in_file(&name).as_deref().map(hide), Origin::File, Some(path_of_secret(path).to_owned()))
                }
                None => (self.default_of(&name), Origin::Default, None),
            },
        };
        Setting { name, value, source, file: file.map(|path| redact(&path)), secret, error: None }
    }

    /// One that cannot be read has an error instead.
    fn in_file(&self, name: &str) -> Option<String> {
        self.secret(name).ok().flatten().map(|secret| secret.expose_secret().to_owned())
    }

    fn default_of(&self, name: &str) -> Option<String> {
        if name == "DATABASE_URL" {
            // None with libpq's variables: then they say it all.
            return match self.database(&DatabaseFlag::default()) {
                Ok(Url::Sqlite(path)) => Some(redact(&format!("sqlite://{}", path.display()))),
                Ok(Url::Postgres(..)) | Err(_) => None,
            };
        }
        let known = all().find(|known| known.variable() == name)?;
        Some(known.default.clone()).filter(|default| !default.is_empty())
    }
}

/// What libpq reads by itself and is a secret, may hold one, or names a file that does.
const OF_LIBPQ: [&str; 5] = ["PGPASSWORD", "PGPASSFILE", "PGOPTIONS", "PGSERVICEFILE", "PGSSLKEY"];

/// They are shown, without the secrets in them.
const URLS: [&str; 2] = ["DATABASE_URL", LISTEN_URL];

fn is_secret(name: &str) -> bool {
    OF_LIBPQ.contains(&name) || (may_have_a_file(name) && !URLS.contains(&name))
}
