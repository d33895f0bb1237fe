//! The files that a deployment needs: those of `deploy/`, with this program's path and that of the settings in the
//! place of theirs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use include_dir::{Dir, include_dir};

use super::answers::{SetupAnswers, read_database};
use super::deployment::{Deployment, UNITS, below};
use super::planned::{Nature, PlannedFile, read_before};
use super::settings;
use crate::cli::RunBy;

const SERVICE: &str = include_str!("../../../deploy/systemd/sweep.service");
const TIMER: &str = include_str!("../../../deploy/systemd/sweep.timer");
const RECEIVERS: &str = include_str!("../../../deploy/systemd/notify.conf");
static KUBERNETES: Dir = include_dir!("$CARGO_MANIFEST_DIR/deploy/kubernetes/base");

/// Where the files of `deploy/` say that the program is.
pub const PROGRAM: &str = "/usr/local/bin/sweep";

/// All files, in the order in which they are shown.
pub fn files(deployment: &Deployment, answers: &SetupAnswers) -> Result<Vec<PlannedFile>> {
    let mut secrets = vec![("database-url".to_owned(), answers.database_url.clone())];
    secrets.extend(answers.secrets.iter().cloned());
    if deployment.run_by == RunBy::None {
        secrets = not_named(deployment, secrets)?;
    }
    let secret = |(name, text): &(String, String)| {
        PlannedFile::plan(deployment.secret_path(name), Nature::Secret, |_| Ok(format!("{text}\n")))
    };
    let mut files = vec![settings::plan(deployment, answers, &secrets)?];
    files.extend(secrets.iter().map(secret).collect::<Result<Vec<_>>>()?);
    let names: Vec<&str> = answers.secrets.iter().map(|(name, _)| name.as_str()).collect();
    files.extend(deployed(deployment, &names)?);
    Ok(files)
}

/// The secrets but those that the settings of before name as they are: these stay where they are.
fn not_named(deployment: &Deployment, mut secrets: Vec<(String, String)>) -> Result<Vec<(String, String)>> {
    for at in (0..secrets.len()).rev() {
        let (name, text) = &secrets[at];
        let is_it = |before: &str| match name.as_str() {
            "database-url" => read_database(before, deployment).is_ok_and(|(_, before)| before == *text),
            _ => before.trim() == text.trim(),
        };
        if deployment.secret_of_before(name)?.is_some_and(|named| named.is_ok_and(|before| is_it(&before))) {
            secrets.remove(at);
        }
    }
    Ok(secrets)
}

fn deployed(deployment: &Deployment, secrets: &[&str]) -> Result<Vec<PlannedFile>> {
    let plan = |path: PathBuf, text: String| PlannedFile::plan(path, Nature::Deployed, |_| Ok(text.clone()));
    let unit = |name: &str, text: String| plan(below(&deployment.to, &Path::new(UNITS).join(name)), text);
    match deployment.run_by {
        RunBy::Helm | RunBy::None => Ok(Vec::new()),
        RunBy::Systemd => {
            let units = match deployment.is_packaged {
                true => Vec::new(),
                false => {
                    let service = SERVICE.replace(PROGRAM, &program_of_service().unwrap_or(PROGRAM.to_owned()));
                    vec![unit("sweep.service", service)?, unit("sweep.timer", TIMER.to_owned())?]
                }
            };
            let sweeping: &[&str] = if deployment.is_packaged {
                &["sweep.service.d", "sweep-daemon.service.d"]
            } else {
                &["sweep.service.d"]
            };
            let of_unit = |unit: &&str| below(&deployment.to, &Path::new(UNITS).join(unit).join("notify.conf"));
            let drop_ins = sweeping.iter().filter(|_| !secrets.is_empty()).map(of_unit);
            let receivers = drop_ins.map(|path| receivers_beside(path, &receivers(secrets)));
            units.into_iter().map(Ok).chain(receivers).collect()
        }
        RunBy::Cronjob => {
            let others = KUBERNETES.files().filter(|file| file.path() != Path::new("settings.env"));
            let texts = others.filter_map(|file| Some((file.path(), file.contents_utf8()?)));
            texts.map(|(path, text)| plan(deployment.to.join(path), where_it_is(deployment, text))).collect()
        }
    }
}

/// What a file of `deploy/kubernetes/base` says of its own place.
fn where_it_is(deployment: &Deployment, text: &str) -> String {
    text.replace("deploy/kubernetes/base", &deployment.to.to_string_lossy())
}

/// This program, if a service can run it: it sees nobody's home, and no temporary directory but its own.
pub fn program_of_service() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let is_hidden =
        ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].iter().any(|hidden| program.starts_with(hidden));
    let is_plain = |path: &&str| path.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.".contains(c));
    program.to_str().filter(|_| !is_hidden).filter(is_plain).map(str::to_owned)
}

/// The lines of the drop-in that these secrets need: a credential whose file is missing would keep the service from
/// starting.
fn receivers(secrets: &[&str]) -> String {
    let credential =
        |line: &str| line.strip_prefix("LoadCredential=").and_then(|rest| Some(rest.split_once(':')?.0.to_owned()));
    let named = |line: &str| credential(line).or_else(|| Some(line.split_once("%d/")?.1.to_owned()));
    let is_wanted = |line: &&str| named(line).is_none_or(|name| secrets.contains(&name.as_str()));
    RECEIVERS.lines().filter(is_wanted).map(|line| format!("{line}\n")).collect()
}

/// The drop-in with these lines beside those of before: the receivers of before stay.
fn receivers_beside(path: PathBuf, wanted: &str) -> Result<PlannedFile> {
    let before = read_before(&path)?.unwrap_or_default();
    if before.trim().is_empty() {
        return PlannedFile::plan(path, Nature::Settings, |_| Ok(wanted.to_owned()));
    }
    // A credential has a name, and so has a variable: each stands there once.
    let key = |line: &str| match line.split_once(':') {
        Some((credential, _)) => Some(format!("{credential}:")),
        None => line.split_once('%').map(|(variable, _)| variable.to_owned()),
    };
    let mut lines: Vec<&str> = before.lines().collect();
    let mut nature = Nature::Settings;
    let section = lines.iter().rev().find(|line| line.starts_with('[')).copied();
    let mut added = Vec::new();
    for line in wanted.lines().filter(|line| !line.starts_with('#')) {
        let Some(name) = key(line) else { continue };
        match lines.iter().position(|found| found.starts_with(&name)) {
            Some(at) if lines[at] == line => {}
            Some(at) => {
                lines[at] = line;
                nature = Nature::SettingsReplaced;
            }
            None => added.push(line),
        }
    }
    if !added.is_empty() && section != Some("[Service]") {
        lines.push("[Service]");
    }
    lines.extend(added);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    PlannedFile::plan(path, nature, |_| Ok(text.clone()))
}
