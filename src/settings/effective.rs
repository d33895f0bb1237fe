//! Every setting as it will be used, and where it comes from: what `sweep config` shows. Secrets are not among it.

use secrecy::ExposeSecret;
use serde::Serialize;

use super::database::{LISTEN_URL, find_database};
use super::environment::{Environment, HIDDEN, SetIn, path_of_secret};
use super::file::{may_have_a_file, variables};
use super::table::find;
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
    /// An option, such as `--set`.
    CommandLine,
    Environment,
    /// The one of `--config`, or the one that holds a secret.
    File,
}

/// What libpq reads by itself.
const LIBPQ: &str = "
    PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGREQUIREAUTH
    PGCHANNELBINDING PGOPTIONS PGAPPNAME PGCLIENTENCODING PGCONNECT_TIMEOUT PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS
    PGGSSENCMODE PGKRBSRVNAME PGSSLMODE PGSSLNEGOTIATION PGSSLCERT PGSSLKEY PGSSLCERTMODE PGSSLROOTCERT PGSSLCRL
    PGSSLSNI PGSSLMINPROTOCOLVERSION PGSSLMAXPROTOCOLVERSION";

/// The database first, then what sweep knows; of libpq's what is set.
pub fn effective(environment: &Environment) -> Vec<Setting> {
    let libpq = LIBPQ.split_whitespace().filter(|name| environment.source(name).is_some());
    let database = ["DATABASE_URL", "DATABASE_URL_FILE"].into_iter().chain(libpq).map(str::to_owned);
    database.chain(variables()).map(|name| setting(name, environment)).collect()
}

fn setting(name: String, environment: &Environment) -> Setting {
    let secret = is_secret(&name);
    let hide = |value: &str| match name.as_str() {
        _ if secret => HIDDEN.to_owned(),
        name if URLS.contains(&name) => redact(&Url::without_secrets(value.trim())),
        name if name.strip_suffix("_FILE").is_some_and(may_have_a_file) => redact(path_of_secret(value.trim())),
        _ => redact(value.trim()),
    };
    let (value, source, file) = match (environment.get(&name), environment.source(&name)) {
        (Some(value), Some(SetIn::File(path, _))) => {
            (Some(hide(value)), Origin::File, Some(path.display().to_string()))
        }
        (Some(value), Some(SetIn::CommandLine)) => (Some(hide(value)), Origin::CommandLine, None),
        (Some(value), _) => (Some(hide(value)), Origin::Environment, None),
        (None, _) => match environment.get(&format!("{name}_FILE")) {
            Some(path) => {
                (in_file(&name, environment).as_deref().map(hide), Origin::File, Some(path_of_secret(path).to_owned()))
            }
            None => (default_of(&name, environment), Origin::Default, None),
        },
    };
    Setting { name, value, source, file: file.map(|path| redact(&path)), secret, error: None }
}

/// One that cannot be read has an error instead.
fn in_file(name: &str, environment: &Environment) -> Option<String> {
    environment.secret(name).ok().flatten().map(|secret| secret.expose_secret().to_owned())
}

fn default_of(name: &str, environment: &Environment) -> Option<String> {
    if name == "DATABASE_URL" {
        // None with libpq's variables: then they say it all.
        return match find_database(environment) {
            Ok(Url::Sqlite(path)) => Some(redact(&format!("sqlite://{}", path.display()))),
            Ok(Url::Postgres(..)) | Err(_) => None,
        };
    }
    Some(find(name)?.default.clone()).filter(|default| !default.is_empty())
}

/// What libpq reads by itself and is a secret, may hold one, or names a file that does.
const OF_LIBPQ: [&str; 5] = ["PGPASSWORD", "PGPASSFILE", "PGOPTIONS", "PGSERVICEFILE", "PGSSLKEY"];

/// They are shown, without the secrets in them.
const URLS: [&str; 2] = ["DATABASE_URL", LISTEN_URL];

fn is_secret(name: &str) -> bool {
    OF_LIBPQ.contains(&name) || (may_have_a_file(name) && !URLS.contains(&name))
}
