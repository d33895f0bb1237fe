//! The file of settings, with what was answered: lines of `NAME=value`, or the values of the chart. What a person has
//! set stays.

use anyhow::Result;

use super::answers::SetupAnswers;
use super::deployment::{Deployment, SETTINGS_PLACE, variable_of};
use super::planned::{Nature, PlannedFile};
use crate::cli::RunBy;
use crate::conclusion::config;
use crate::rules::Kind;
use crate::settings::definition::variable;
use crate::settings::file::{edited, value_of, with_line};

const SETTINGS: &str = include_str!("../../../deploy/systemd/sweep.env");
const OF_PODS: &str = include_str!("../../../deploy/kubernetes/base/settings.env");
const VALUES: &str = include_str!("../../../deploy/helm/sweep/values.yaml");

/// The settings: what is there, or else as `deploy/` has them, with what was answered.
pub fn plan(deployment: &Deployment, answers: &SetupAnswers, secrets: &[(String, String)]) -> Result<PlannedFile> {
    let path = deployment.settings_path();
    let template = match deployment.run_by {
        RunBy::Helm => {
            return PlannedFile::plan(path, Nature::Settings, |before| values(before.unwrap_or(VALUES), answers));
        }
        RunBy::Systemd => SETTINGS.to_owned(),
        RunBy::None => SETTINGS.replace(SETTINGS_PLACE, &deployment.place().to_string_lossy()),
        RunBy::Cronjob => OF_PODS.to_owned(),
    };
    // A unit and a pod name the files of secrets; else the settings do.
    let named = if deployment.run_by == RunBy::None { secrets } else { &[] };
    let mut nature = Nature::Settings;
    for (secret, _) in named {
        let is_replaced = deployment.secret_of_before(secret)?.is_some();
        nature = if is_replaced { Nature::SettingsReplaced } else { nature };
    }
    PlannedFile::plan(path, nature, |before| {
        let mut text = before.map_or(template.clone(), str::to_owned);
        for kind in Kind::ALL {
            let name = variable(kind.plural());
            text = match (answers.shadow, value_of(&text, &name)) {
                (Some(true), value) if value != Some("off") => edited(&text, &name, Some("shadow")),
                (Some(false), Some("shadow")) => edited(&text, &name, None),
                _ => text,
            };
        }
        for (secret, _) in named {
            let path = deployment.secret_path(secret);
            let name = variable_of(secret);
            text = edited(&edited(&text, &name, None), &format!("{name}_FILE"), Some(&path.to_string_lossy()));
        }
        if let Some(folder) = &answers.host_dir {
            text = edited(&text, "SWEEP_HOST_DIR", Some(&folder.to_string_lossy()));
        }
        Ok(if answers.is_private { edited(&text, NOTIFY_PRIVATE, Some("on")) } else { text })
    })
}

const NOTIFY_PRIVATE: &str = "SWEEP_NOTIFY_PRIVATE";

/// The values of the chart, with what was answered. What is absent has the chart's own default, which is shadow.
fn values(text: &str, answers: &SetupAnswers) -> Result<String> {
    let mut text = text.to_owned();
    for kind in Kind::ALL {
        let name = variable(kind.plural());
        text = match (answers.shadow, value_in_yaml(&text, &name)) {
            (Some(true), value) if value != Some("off") => with_value(&text, &name, "shadow")?,
            (Some(false), None | Some("shadow")) => with_value(&text, &name, "\"on\"")?,
            _ => text,
        };
    }
    if answers.is_private { with_value(&text, NOTIFY_PRIVATE, "\"on\"") } else { Ok(text) }
}

/// A text with this value of a setting, in a line of its own below `settings:`.
fn with_value(text: &str, name: &str, value: &str) -> Result<String> {
    let is_block = |line: &str| line.trim_end() == "settings:";
    if !text.lines().any(is_block) {
        return Err(config(format!("values.yaml: expected a line “settings:”, below which to write {name}")).into());
    }
    let key = format!("  {name}:");
    Ok(with_line(text, |line| line.starts_with(&key), is_block, Some(format!("{key} {value}"))))
}

/// The value of a setting of the chart, without quotes.
fn value_in_yaml<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    let line = text.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(name)?.strip_prefix(':'))?;
    let value = line.split(" #").next().unwrap_or_default();
    Some(value.trim().trim_matches(['"', '\'']))
}
