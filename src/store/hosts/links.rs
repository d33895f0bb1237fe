//! How people get at a host: links into its own pages, all of them made here, by the templates of its `host.toml` and
//! by the setting that says where its pages are; and what a person runs to have the agent of an issue go on, as the
//! facts of its host say (`resume_commands`): calls of the host's own API, and statements for the owner of its tables.
//!
//! What a link is filled with is others' text. It is percent-encoded but for letters, digits and `-._~`, so that
//! nothing in it ends a link in a terminal, in Markdown, in Slack or in JSON; and text that may not be shown makes no
//! link.

use std::net::Ipv6Addr;

use diesel::deserialize;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::Value;
use strum::VariantArray;

use crate::rules::{Id, Kind};
use crate::store::db::columns::{Columns, FromColumns};
use crate::text::{NOT_UNRESERVED, is_plain};

/// Longer ones are cut by some browsers and boards, and no link is.
const URL_MAX: usize = 2000;

/// What of a URL is no placeholder may consist of these, beside letters and digits. None of them ends a link.
const PLAIN: &str = "-._~:/?#[]@!$&+;=%";

/// Where the pages of a host begin, such as `https://board.example`.
#[derive(Clone, Debug, PartialEq)]
pub struct HostUrl(String);

impl HostUrl {
    /// # Errors
    /// What was expected, without the URL itself.
    pub fn parse(url: &str) -> Result<HostUrl, String> {
        let expected = "expected https://HOST/… or http://HOST/…, without a user, a query or a fragment";
        let rest = ["https://", "http://"].into_iter().find_map(|scheme| url.strip_prefix(scheme));
        let (server, path) = rest.map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len()))).unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/%".contains(c);
        if !is_server(server) || !path.chars().all(is_plain) || URL_MAX / 2 < url.len() {
            return Err(expected.to_owned());
        }
        Ok(HostUrl(url.trim_end_matches('/').to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `board.example`, `10.0.0.1:3100` or `[::1]:3100`.
fn is_server(server: &str) -> bool {
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (server, None),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_address = address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    let is_port =
        |port: &str| port.bytes().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| 0 < port);
    (is_address || is_name) && port.is_none_or(is_port)
}

/// What a template is filled with.
#[derive(Clone, Copy, Debug, PartialEq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
enum Placeholder {
    /// The setting `SWEEP_HOST_URL`.
    Base,
    Id,
    Identifier,
    /// What its identifier begins with, before the first hyphen: `ACM` of `ACM-12`.
    Prefix,
    Tenant,
    /// The id of its agent.
    Agent,
}

/// The URL of a page, such as `{base}/issues/{identifier}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(String);

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Template, String> {
        let known = || {
            let names = Placeholder::VARIANTS.iter().map(|known| format!("{{{}}}", <&str>::from(known)));
            names.collect::<Vec<_>>().join(", ")
        };
        if !["{base}/", "https://", "http://"].iter().any(|beginning| text.starts_with(beginning)) {
            return Err(format!("{text:?}: expected {{base}}/… or https://…"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
        for (between, name) in parts(&text) {
            if !between.chars().all(is_plain) {
                return Err(format!("{text:?}: expected a URL, and in braces one of {}", known()));
            }
            if name.is_some_and(|name| name.parse::<Placeholder>().is_err()) {
                return Err(format!("{text:?}: {{{}}}: expected one of {}", name.unwrap_or_default(), known()));
            }
        }
        Ok(Template(text))
    }
}

/// What stands before each placeholder, and its name; at the end without a name.
fn parts(template: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    template.split_inclusive('}').map(|part| match part.strip_suffix('}').and_then(|part| part.split_once('{')) {
        Some((between, name)) => (between, Some(name)),
        None => (part, None),
    })
}

/// `[links]` of a host's `host.toml`: the page of a subject, by its kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Templates {
    session: Option<Template>,
    issue: Option<Template>,
    step: Option<Template>,
    /// The page of an issue's run.
    run: Option<Template>,
}

impl Templates {
    fn for_kind(&self, kind: Kind) -> Option<&Template> {
        match kind {
            Kind::Session => self.session.as_ref(),
            Kind::Issue => self.issue.as_ref(),
            Kind::Step => self.step.as_ref(),
        }
    }

    /// The templates that there are, as they are written.
    pub fn written(&self) -> impl Iterator<Item = (Kind, &str)> {
        Kind::ALL.iter().filter_map(|&kind| Some((kind, self.for_kind(kind)?.0.as_str())))
    }
}

/// What a link is to, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct LinkTarget<'a> {
    pub kind: Kind,
    pub id: &'a Id,
    pub identifier: Option<&'a str>,
    pub tenant: Option<&'a str>,
    pub agent: Option<&'a Id>,
}

/// The links of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    pub templates: Templates,
    pub base: Option<HostUrl>,
}

impl Links {
    /// None: the host has no such page, or it is not known where it is, or what its URL needs is missing.
    pub fn to(&self, page: &LinkTarget) -> Option<String> {
        self.filled(self.templates.for_kind(page.kind)?, page)
    }

    /// The page of a run of an issue: with the run's id and agent, and what else is known of the issue.
    pub fn to_run(&self, page: &LinkTarget) -> Option<String> {
        self.filled(self.templates.run.as_ref()?, page)
    }

    fn filled(&self, template: &Template, page: &LinkTarget) -> Option<String> {
        let mut url = String::new();
        for (between, name) in parts(&template.0) {
            url.push_str(between);
            let Some(name) = name else { continue };
            match name.parse().ok()? {
                Placeholder::Base => url.push_str(&self.base.as_ref()?.0),
                Placeholder::Id => url.push_str(&encoded(&page.id.0)?),
                Placeholder::Identifier => url.push_str(&encoded(page.identifier?)?),
                Placeholder::Prefix => url.push_str(&encoded(page.identifier?.split_once('-')?.0)?),
                Placeholder::Tenant => url.push_str(&encoded(page.tenant?)?),
                Placeholder::Agent => url.push_str(&encoded(&page.agent?.0)?),
            }
        }
        (url.len() <= URL_MAX).then_some(url)
    }
}

/// None of nothing, of what may not be shown as it is, and of what browsers take for a way up.
fn encoded(text: &str) -> Option<String> {
    let is_dots = text.chars().all(|c| c == '.');
    (!is_dots && is_plain(text)).then(|| utf8_percent_encode(text, NOT_UNRESERVED).to_string())
}

/// A step that a person runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum HostStep {
    /// A POST of JSON to a path below the host's address.
    Call {
        path: String,
        body: Value,
    },
    Statement {
        sql: String,
    },
}

/// What the facts say of one issue for people alone.
#[derive(Clone, Debug)]
pub struct Remedy {
    pub issue: Id,
    pub advice: String,
    pub steps: Vec<HostStep>,
    /// The latest run and its agent.
    pub last_run: Option<(Id, Id)>,
    /// What that run said of its failure.
    pub last_error: Option<String>,
}

impl FromColumns for Remedy {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<Remedy> {
        let commands: Option<String> = columns.get("resume_commands")?;
        let (run, its_agent): (Option<Id>, Option<Id>) =
            (columns.get("last_run_id")?, columns.get("last_run_agent_id")?);
        let error: Option<String> = columns.get("last_run_error")?;
        Ok(Remedy {
            issue: columns.get("subject_id")?,
            advice: columns.get("resume_advice")?,
            steps: HostStep::all_of(commands.as_deref()),
            last_run: run.zip(its_agent),
            last_error: error.filter(|error| !error.trim().is_empty()),
        })
    }
}

impl HostStep {
    /// Reads the steps as the facts have them. What cannot be read is not run: the advice stands alone.
    pub fn all_of(text: Option<&str>) -> Vec<HostStep> {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// The command of a step, ready for a shell; none of what may not be shown as it is.
    pub fn command(&self, base: Option<&HostUrl>) -> Option<String> {
        let command = match self {
            HostStep::Call { path, body } => {
                let base = base.map_or("\"$SWEEP_HOST_URL\"", HostUrl::as_str);
                let body = shell_words::quote(&body.to_string()).into_owned();
                format!(
                    "curl -sS --fail-with-body {base}{} ${{SWEEP_HOST_KEY:+--oauth2-bearer \"$SWEEP_HOST_KEY\"}} \
                     -H 'content-type: application/json' -d {body}",
                    plain_path(path)?
                )
            }
            HostStep::Statement { sql } => format!("psql \"$DATABASE_URL\" -c {}", shell_words::quote(sql)),
        };
        is_plain(&command).then_some(command)
    }
}

/// A path that leads to the host that it is appended to, and needs no quotes.
pub fn plain_path(path: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    (path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain)).then_some(path)
}

#[cfg(test)]
mod tests;
