//! Which database it is, and the embedded one.

use std::path::PathBuf;
use std::sync::Once;

use anyhow::{Context, Result};
use secrecy::ExposeSecret;
use tracing::warn;

use super::environment::{Environment, shown_path};
use super::table;
use crate::conclusion::{config, usage};
use crate::files;
use crate::store::connect::databases::{Databases, Found, Named};
use crate::store::connect::open::conninfo::{Conninfo, without_clear_text};
use crate::store::connect::open::patience::CONNECT_TIMEOUT;
use crate::store::connect::open::{StatementCache, Url};
use crate::store::hosts::folders;
use crate::text::redact;

/// After half a minute a connection over TCP counts as lost whose other end confirms nothing (seconds, milliseconds).
const DEAD_AFTER: [(&str, &str); 4] =
    [("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000")];

/// How many are named of those that are too many.
const NAMES_MAX: usize = 5;

pub const LISTEN_URL: &str = "SWEEP_LISTEN_URL";

/// The one database of a command that takes no more.
pub fn find_database(environment: &Environment) -> Result<Url> {
    let databases = find_databases(environment)?;
    match (databases.only(), databases.find().as_slice()) {
        (Some(url), _) | (None, [Found { url, .. }]) => Ok(url.clone()),
        (None, several) => {
            let number = several.len();
            let names = several.iter().take(NAMES_MAX).filter_map(|found| found.name.as_deref());
            let names: Vec<&str> = names.chain((NAMES_MAX < number).then_some("…")).collect();
            let names = names.join(", ");
            Err(usage(format!("{number} databases are named, and this command takes one: {names}")).into())
        }
    }
}

/// `--database`, else DATABASE_URL, else the file that DATABASE_URL_FILE names, else libpq's PG*, else the embedded
/// database in the data directory.
pub fn find_databases(environment: &Environment) -> Result<Databases> {
    if let Some(directory) = table::host_dir(environment)? {
        folders::trust(&folders::in_directory(&directory).context("SWEEP_HOST_DIR")?);
    }
    let urls = named_databases(environment)?.into_iter();
    let named = urls.map(|url| {
        let url = complete(url, environment)?;
        let url = if pooler_at(&url, environment).is_some() { url.with(StatementCache::off()) } else { url };
        Ok(Named::of(with_patience(url, environment)))
    });
    let is_typed = !environment.typed_databases.is_empty();
    Ok(Databases { named: named.collect::<Result<_>>()?, is_typed })
}

/// Where the daemon listens, if that is not where it sweeps.
pub fn listen_url(environment: &Environment) -> Result<Option<Url>> {
    let Some(url) = environment.secret(LISTEN_URL)? else { return Ok(None) };
    let refuse = |why: &str| config(format!("{}: {why}", environment.origin(LISTEN_URL)));
    match Url::parse(url.expose_secret()).map_err(|why| refuse(&why))? {
        Url::Sqlite(_) => Err(refuse("only PostgreSQL can notify of runs that end, expected postgres://…").into()),
        url @ Url::Postgres(..) => Ok(Some(with_patience(complete(url, environment)?, environment))),
    }
}

/// The transaction pooler that this URL leads to, if its name says so.
pub fn pooler_at(url: &Url, environment: &Environment) -> Option<String> {
    let conninfo = url.conninfo()?;
    let port = conninfo.get("port").or_else(|| environment.get("PGPORT")).unwrap_or("5432");
    pooler(conninfo.get("host")?, port).map(str::to_owned)
}

/// Libpq would wait for ever, also for a server that vanished without a word.
fn with_patience(url: Url, environment: &Environment) -> Url {
    warn_if_unverified(&url);
    let url = url.or("fallback_application_name", "sweep");
    let url = DEAD_AFTER.iter().fold(url, |url, (parameter, value)| url.or(parameter, value));
    url.or("connect_timeout", environment.get("PGCONNECT_TIMEOUT").unwrap_or(CONNECT_TIMEOUT))
}

/// The text of the URL that is named, where one is; it may hold a password, which nobody may have typed as an argument.
pub fn named_text(environment: &Environment) -> Result<Option<String>> {
    match environment.typed_databases.as_slice() {
        [] => {
            let is_by_libpq = OF_LIBPQ.iter().any(|name| environment.get(name).is_some());
            let text = environment.secret_text("DATABASE_URL")?;
            if text.is_none() && is_by_libpq {
                let why = "what runs sweeps has none of libpq's variables";
                return Err(usage(format!("name the database by DATABASE_URL or --database: {why}")).into());
            }
            Ok(text)
        }
        [text] => match Url::parse(text).map_err(|why| usage(format!("--database: {why}")))? {
            url if url.conninfo().is_some_and(|conninfo| conninfo.has_password()) => Err(usage(
                "--database holds a password, which every user of this machine can read: use DATABASE_URL_FILE or \
                 DATABASE_URL, or type it when you are asked",
            )
            .into()),
            _ => Ok(Some(text.clone())),
        },
        several => Err(usage(format!("{} databases are named, and this command takes one", several.len())).into()),
    }
}

/// What names a database to libpq.
const OF_LIBPQ: [&str; 4] = ["PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE"];

fn named_databases(environment: &Environment) -> Result<Vec<Url>> {
    let typed = &environment.typed_databases;
    if !typed.is_empty() {
        let urls = typed.iter().map(|url| Url::parse(url)).collect::<Result<Vec<Url>, String>>();
        let urls = urls.map_err(|why| usage(format!("--database: {why}")))?;
        if urls.iter().any(|url| url.conninfo().is_some_and(|conninfo| conninfo.has_password())) {
            // Once: the database is named again for each connection, the command line is the same.
            static SAID: Once = Once::new();
            let why = "which every user of this machine can read as long as sweep runs";
            let instead = "use DATABASE_URL_FILE, DATABASE_URL or libpq's passfile";
            SAID.call_once(|| warn!("--database holds a password, {why}: {instead}"));
        }
        return Ok(urls);
    }
    if let Some(url) = environment.secret("DATABASE_URL")? {
        let refuse = |why| config(format!("{}: {why}", environment.origin("DATABASE_URL")));
        return Url::parse(url.expose_secret()).map(|url| vec![url]).map_err(|why| refuse(why).into());
    }
    if OF_LIBPQ.iter().any(|name| environment.get(name).is_some()) {
        return Ok(vec![Url::postgres("")]);
    }
    Ok(vec![Url::Sqlite(embedded_database(environment)?)])
}

/// Adds what libpq would take from its own variables, as far as it matters for where a password goes. A service's
/// file would come before them: then libpq is left alone with it.
fn complete(url: Url, environment: &Environment) -> Result<Url> {
    let service = [("PGSERVICE", "service")];
    let others = [("PGHOST", "host"), ("PGHOSTADDR", "hostaddr"), ("PGSSLMODE", "sslmode")];
    let add = |url: Url, variables: &[(&str, &str)]| {
        let set = variables.iter().filter_map(|(variable, parameter)| Some((*parameter, environment.get(variable)?)));
        set.fold(url, |url, (parameter, value)| url.or(parameter, value))
    };
    let url = add(url, &service);
    let has_service = url.conninfo().is_some_and(|conninfo| conninfo.get("service").is_some());
    let url = if has_service { url } else { add(url, &others) };
    refuse_others_files(&url, environment)?;
    with_authentication(url, environment)
}

/// Adds the methods of PGREQUIREAUTH, which libpq would read. Over TLS it may allow a password in clear text, but
/// elsewhere only the URL itself may.
fn with_authentication(url: Url, environment: &Environment) -> Result<Url> {
    let is_settled = |conninfo: &Conninfo| conninfo.get("require_auth").is_some() || conninfo.is_encrypted();
    match (url.conninfo(), environment.get("PGREQUIREAUTH")) {
        (Some(conninfo), Some(methods)) if !is_settled(&conninfo) => match without_clear_text(methods) {
            Some(methods) => Ok(url.or("require_auth", &methods)),
            None => Err(config(format!(
                "PGREQUIREAUTH={methods}: a password is given in clear text over TLS alone (sslmode=require or \
                 more), or if the URL itself says require_auth=password"
            ))
            .into()),
        },
        _ => Ok(url),
    }
}

/// Refuses files of others that libpq reads besides: their owners would choose which server gets the password, or
/// which password it gets. libpq itself says what it leaves out of account on stderr, if at all.
fn refuse_others_files(url: &Url, environment: &Environment) -> Result<()> {
    const FILES: [(&str, &str, &str); 2] =
        [("servicefile", "PGSERVICEFILE", ".pg_service.conf"), ("passfile", "PGPASSFILE", ".pgpass")];
    let Some(conninfo) = url.conninfo() else { return Ok(()) };
    for (parameter, variable, at_home) in FILES {
        let named = conninfo.get(parameter).map(|path| (parameter, path));
        let named = named.or_else(|| Some((variable, environment.get(variable)?)));
        let (name, path) = match named {
            Some((name, path)) => (format!("{name} {}", shown_path(path)), PathBuf::from(path)),
            None => match dirs::home_dir() {
                Some(home) => (format!("~/{at_home}"), home.join(at_home)),
                None => continue,
            },
        };
        let is_private = files::is_private(&path).map_err(|why| config(format!("{name}: {why}")))?;
        if parameter == "passfile" && !is_private {
            static SAID: Once = Once::new();
            let why = "libpq leaves it out of account, since others than its owner may read it: chmod 600";
            SAID.call_once(|| warn!("{}: {why}", redact(&name)));
        }
    }
    Ok(())
}

/// Makes the file of an embedded database that does not exist yet. Its directory is made for the default one only:
/// in a path that was given, one that is missing is more likely a mistake.
pub fn create_database(url: &Url, environment: &Environment) -> Result<()> {
    prepare_directory(url, environment)?;
    url.create()
}

pub fn prepare_directory(url: &Url, environment: &Environment) -> Result<()> {
    if let (Url::Sqlite(path), Ok(default)) = (url, embedded_database(environment))
        && let Some(directory) = default.parent().filter(|_| *path == default)
    {
        let refuse = |error| config(format!("{}: cannot create it: {error}", directory.display()));
        files::make_private_directory(directory).map_err(refuse)?;
    }
    Ok(())
}

pub fn embedded_database(environment: &Environment) -> Result<PathBuf> {
    let directory = environment
        .data_directory()
        .ok_or_else(|| config("no home directory for the embedded database: set DATABASE_URL"))?;
    Ok(directory.join("sweep.db"))
}

/// True if it is the embedded database of this user, which nobody has used yet.
pub fn is_new(url: &Url, environment: &Environment) -> bool {
    let default = embedded_database(environment);
    matches!((url, default), (Url::Sqlite(path), Ok(default)) if *path == default && !path.exists())
}

/// Recognises a pooler in transaction mode by its host's name. Supabase's is one at port 6543, and keeps a session at
/// 5432.
fn pooler<'a>(host: &'a str, port: &str) -> Option<&'a str> {
    let is_of_supabase = host.ends_with(".pooler.supabase.com") && port == "6543";
    let is_of_neon = host.ends_with(".neon.tech") && host.split('.').next()?.ends_with("-pooler");
    (is_of_supabase || is_of_neon).then_some(host)
}

/// Said once: a daemon reads its settings again and again.
fn warn_if_unverified(url: &Url) {
    static SAID: Once = Once::new();
    let Some(conninfo) = url.conninfo() else { return };
    if let Some(sslmode) = conninfo.unverified() {
        SAID.call_once(|| {
            warn!(
                "others on the way to the database could read what is sent, or answer in its place (sslmode={}): \
                 add sslmode=verify-full and sslrootcert to its URL",
                redact(sslmode)
            );
        });
    }
}
