//! The files that a deployment needs: those of `deploy/`, with this program's path and that of the settings in the
//! place of theirs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use include_dir::{Dir, include_dir};

use super::answers::{SetupAnswers, read_database};
use super::deployment::{Deployment, SETTINGS_PLACE, UNITS, below, variable_of};
use super::planned::{Nature, PlannedFile, read_before};
use crate::cli::RunBy;
use crate::rules::Kind;
use crate::settings::definition::variable;
use crate::settings::file::{edited, has_value};

const SETTINGS: &str = include_str!("../../../deploy/systemd/sweep.env");
const SERVICE: &str = include_str!("../../../deploy/systemd/sweep.service");
const TIMER: &str = include_str!("../../../deploy/systemd/sweep.timer");
const RECEIVERS: &str = include_str!("../../../deploy/systemd/notify.conf");
const VALUES: &str = include_str!("../../../deploy/helm/sweep/values.yaml");
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
        PlannedFile::plan(deployment.secret_path(name), Nature::Secret, |_| format!("{text}\n"))
    };
    let mut files = vec![settings(deployment, answers, &secrets)?];
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

/// The settings: what is there, or else as `deploy/` has them, with what was answered.
fn settings(deployment: &Deployment, answers: &SetupAnswers, secrets: &[(String, String)]) -> Result<PlannedFile> {
    let template = match deployment.run_by {
        RunBy::Systemd => SETTINGS.to_owned(),
        RunBy::None => SETTINGS.replace(SETTINGS_PLACE, &deployment.place().to_string_lossy()),
        RunBy::Cronjob => kubernetes("settings.env").to_owned(),
        RunBy::Helm => VALUES.to_owned(),
    };
    if deployment.run_by == RunBy::Helm {
        return PlannedFile::plan(deployment.settings_path(), Nature::Settings, |before| {
            values(before.unwrap_or(&template), answers)
        });
    }
    let mut nature = Nature::Settings;
    if deployment.run_by == RunBy::None {
        for (secret, _) in secrets {
            let is_replaced = deployment.secret_of_before(secret)?.is_some();
            nature = if is_replaced { Nature::SettingsReplaced } else { nature };
        }
    }
    PlannedFile::plan(deployment.settings_path(), nature, |before| {
        let mut text = before.map_or(template.clone(), str::to_owned);
        for kind in Kind::ALL {
            let name = variable(kind.plural());
            text = match answers.shadow {
                Some(true) if !has_value(&text, &name, "off") => edited(&text, &name, Some("shadow")),
                Some(false) if has_value(&text, &name, "shadow") => edited(&text, &name, None),
                _ => text,
            };
        }
        if deployment.run_by == RunBy::None {
            for (secret, _) in secrets {
                let path = deployment.secret_path(secret);
                let name = variable_of(secret);
                text = edited(&edited(&text, &name, None), &format!("{name}_FILE"), Some(&path.to_string_lossy()));
            }
        }
        match &answers.host_dir {
            Some(folder) => edited(&text, "SWEEP_HOST_DIR", Some(&folder.to_string_lossy())),
            None => text,
        }
    })
}

/// The values of the chart, with what was answered.
fn values(text: &str, answers: &SetupAnswers) -> String {
    let (from, to) = if answers.shadow == Some(false) { ("shadow", "\"on\"") } else { ("\"on\"", "shadow") };
    let mut text = text.to_owned();
    for kind in Kind::ALL.iter().filter(|_| answers.shadow.is_some()) {
        let name = variable(kind.plural());
        text = text.replace(&format!("\n  {name}: {from}\n"), &format!("\n  {name}: {to}\n"));
    }
    match &answers.host_dir {
        Some(folder) if !text.contains("\n  SWEEP_HOST_DIR:") => {
            text.replacen("\nsettings:\n", &format!("\nsettings:\n  SWEEP_HOST_DIR: {}\n", folder.display()), 1)
        }
        _ => text,
    }
}

fn deployed(deployment: &Deployment, secrets: &[&str]) -> Result<Vec<PlannedFile>> {
    let plan = |path: PathBuf, text: String| PlannedFile::plan(path, Nature::Deployed, |_| text.clone());
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
            let path = below(&deployment.to, &Path::new(UNITS).join("sweep.service.d/notify.conf"));
            let receivers = (!secrets.is_empty()).then(|| receivers_beside(path, &receivers(secrets)));
            Ok(units.into_iter().chain(receivers.transpose()?).collect())
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

fn kubernetes(name: &str) -> &'static str {
    KUBERNETES.get_file(name).and_then(|file| file.contents_utf8()).unwrap_or_default()
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
        return PlannedFile::plan(path, Nature::Settings, |_| wanted.to_owned());
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
    PlannedFile::plan(path, nature, |_| text.clone())
}
