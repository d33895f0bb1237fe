//! What runs sweeps, and where it has its settings and secrets.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::planned::read_before;
use super::questions::Asker;
use crate::cli::{InitFlags, RunBy};
use crate::conclusion::{Failure, config, usage};
use crate::files::{self, SETTINGS_BYTES_MAX};
use crate::settings::Environment;
use crate::settings::database::embedded_database;
use crate::settings::definition::{PREFIX, variable};
use crate::settings::file::value_of;
use crate::store::Url;

/// Where the files of `deploy/` say that the settings are.
pub const SETTINGS_PLACE: &str = "/etc/sweep";

/// Where a service of `deploy/systemd` has its embedded database: in its state directory.
pub const OF_SERVICES: &str = "/var/lib/sweep/sweep.db";

/// Where Debian's package has its units.
const OF_PACKAGES: [&str; 2] = ["/usr/lib/systemd/system/sweep.timer", "/lib/systemd/system/sweep.timer"];
pub const UNITS: &str = "/etc/systemd/system";

/// The public certificates of Debian, which the files of `deploy/` name.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Where files go whose place nobody names.
const HERE: &str = "sweep";

pub struct Deployment {
    pub run_by: RunBy,
    /// For systemd the root directory; for all else the folder of the files.
    pub to: PathBuf,
    /// The units are those of a package.
    pub is_packaged: bool,
}

impl Deployment {
    pub fn choose(flags: &InitFlags, asker: &Asker) -> Result<Deployment> {
        let root = flags.to.clone().unwrap_or(PathBuf::from("/"));
        let is_packaged = OF_PACKAGES.iter().any(|timer| below(&root, Path::new(timer)).exists());
        let is_booted = root == Path::new("/") && Path::new("/run/systemd/system").exists();
        let has_units = is_packaged || is_booted && rustix::process::geteuid().is_root();
        let default = if has_units { RunBy::Systemd } else { RunBy::None };
        let question = "What runs sweeps: systemd, cronjob (Kubernetes), helm, none?";
        let run_by = flags.run_by.map_or_else(|| asker.answer(question, default.name(), RunBy::read), Ok)?;
        let to = match (run_by, &flags.to) {
            (RunBy::Systemd, _) => root,
            (_, Some(to)) => to.clone(),
            (_, None) => PathBuf::from(HERE),
        };
        let to = std::path::absolute(&to).map_err(|error| config(format!("--to {}: {error}", to.display())))?;
        let to = plain_path("--to", to)?;
        Ok(Deployment { run_by, to, is_packaged: is_packaged && run_by == RunBy::Systemd })
    }

    /// The directory of the settings, as whoever runs sweeps knows it.
    pub fn place(&self) -> PathBuf {
        if self.run_by == RunBy::Systemd { PathBuf::from(SETTINGS_PLACE) } else { self.to.clone() }
    }

    /// Where something is here and now that systemd will find below its root.
    pub fn here(&self, path: &Path) -> PathBuf {
        if self.run_by == RunBy::Systemd { below(&self.to, path) } else { path.to_owned() }
    }

    pub fn settings_path(&self) -> PathBuf {
        match self.run_by {
            RunBy::Systemd => below(&self.to, &self.place().join("sweep.env")),
            RunBy::Cronjob => self.to.join("settings.env"),
            RunBy::Helm => self.to.join("values.yaml"),
            RunBy::None => self.to.join("sweep.env"),
        }
    }

    pub fn secret_path(&self, name: &str) -> PathBuf {
        match self.run_by {
            RunBy::Systemd => below(&self.to, &self.place().join(name)),
            RunBy::Cronjob | RunBy::Helm => self.to.join("secret").join(name),
            RunBy::None => self.to.join(name),
        }
    }

    /// Are there settings already, such as those of a package, or of an earlier run?
    pub fn has_settings(&self) -> bool {
        self.settings_path().symlink_metadata().is_ok()
    }

    /// The secret that the settings of before name, in a line or in a file that is not init's own; none: they name
    /// none.
    pub fn secret_of_before(&self, secret: &str) -> Result<Option<Result<String, Failure>>> {
        if self.run_by == RunBy::Helm {
            return Ok(None);
        }
        let Some(settings) = read_before(&self.settings_path())? else { return Ok(None) };
        let name = variable_of(secret);
        if let Some(text) = value_of(&settings, &name) {
            return Ok(Some(Ok(text.to_owned())));
        }
        let variable = format!("{name}_FILE");
        let path = value_of(&settings, &variable).map(Path::new).filter(|path| *path != self.secret_path(secret));
        let refuse = |path: &Path, why: &str| config(format!("{variable}: cannot read {}: {why}", path.display()));
        Ok(path.map(|path| {
            let found = files::read_own(path, SETTINGS_BYTES_MAX).map_err(|why| refuse(path, &why))?;
            String::from_utf8(found.bytes).map_err(|_| refuse(path, "expected UTF-8"))
        }))
    }

    /// The URL that an earlier run has written, or a person; a package leaves an empty file.
    pub fn database_of_before(&self) -> Result<Option<String>> {
        let in_settings = self.secret_of_before("database-url")?;
        let own = read_before(&self.secret_path("database-url"))?;
        let in_own_file = own.filter(|text| !text.trim().is_empty()).map(Ok);
        let named = match self.run_by {
            RunBy::None => in_settings.or(in_own_file),
            // A unit and a pod name that file, which comes before the settings.
            RunBy::Systemd | RunBy::Cronjob | RunBy::Helm => in_own_file.or(in_settings),
        };
        Ok(named.transpose()?.map(|text| text.trim().to_owned()))
    }

    /// The database that a newcomer has without a server; none: a pod has no file that stays.
    pub fn embedded_database(&self, environment: &Environment) -> Result<Option<String>> {
        Ok(match self.run_by {
            RunBy::Systemd => Some(format!("sqlite://{OF_SERVICES}")),
            RunBy::None => Some(format!("sqlite://{}", embedded_database(environment)?.display())),
            RunBy::Cronjob | RunBy::Helm => None,
        })
    }

    pub fn is_of_pods(&self) -> bool {
        matches!(self.run_by, RunBy::Cronjob | RunBy::Helm)
    }

    /// This URL with what the files of `deploy/` set where a URL says nothing about TLS: what connects here connects
    /// there.
    pub fn as_its_service(&self, url: Url) -> Url {
        match self.run_by {
            RunBy::None => url,
            _ if url.conninfo().is_some_and(|url| url.get("sslmode").is_some()) => url,
            RunBy::Systemd | RunBy::Cronjob | RunBy::Helm => {
                url.or("sslmode", "verify-full").or("sslrootcert", CERTIFICATES)
            }
        }
    }
}

/// Refuses a path that no line of a file can hold.
pub fn plain_path(option: &str, path: PathBuf) -> Result<PathBuf> {
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(path),
        _ => Err(usage(format!("{option} {path:?}: expected a path of UTF-8 without a control character")).into()),
    }
}

/// The variable of a secret: `slack-url` is SWEEP_SLACK_URL.
pub fn variable_of(secret: &str) -> String {
    match secret {
        "database-url" => "DATABASE_URL".to_owned(),
        secret => variable(&secret.replace('-', "_")),
    }
}

/// The secret of a variable: SWEEP_SLACK_URL is that of `slack-url`.
pub fn secret_of(variable: &str) -> String {
    variable.strip_prefix(PREFIX).unwrap_or(variable).to_lowercase().replace('_', "-")
}

/// A path of a system whose root is this directory.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
