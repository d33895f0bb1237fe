//! The host's own call, which a person has made by `sweep wake`: what the host itself blocked, its own API alone sets
//! to work again.

use std::time::Instant;

use anyhow::Result;
use secrecy::{ExposeSecret, SecretString};

use crate::conclusion::{config, some_failed, unavailable};
use crate::notify::{HttpClient, HttpMessage, SendError, Target};
use crate::report::{Answered, ByHost};
use crate::rules::display::counted;
use crate::store::Timeouts;
use crate::store::hosts::host_steps::{HostStep, plain_path};
use crate::store::hosts::links::HostUrl;

/// Where the host's API is, and what it asks for.
pub struct HostApi {
    pub url: Option<HostUrl>,
    pub key: Option<SecretString>,
    pub timeouts: Timeouts,
}

impl HostApi {
    /// Makes the calls, in order. The first that fails ends them: each says what was done before it.
    pub fn make_calls(&self, asked: &Answered, by_host: &ByHost) -> Result<()> {
        let calls = by_host.steps.iter().map(|step| match step {
            HostStep::Call { path, body } => plain_path(path).map(|path| (path, body)),
            // A statement is for the owner of the host's tables.
            HostStep::Statement { .. } => None,
        });
        let Some(calls) = calls.collect::<Option<Vec<_>>>().filter(|calls| !calls.is_empty()) else {
            return Err(asked.refused(by_host, None).into());
        };
        let Some(url) = &self.url else {
            let commands: Vec<String> = by_host.steps.iter().filter_map(|step| step.command(None)).collect();
            let how = format!(
                "sweep makes the host's own call if SWEEP_HOST_URL is set, and SWEEP_HOST_KEY where the host asks for \
                 a key; or make it yourself: {}",
                commands.join(" && ")
            );
            return Err(asked.refused(by_host, Some(how)).into());
        };
        let client = HttpClient::new(self.timeouts.question());
        let key = self.key.as_ref().map(|key| bearer(key)).transpose()?;
        let began = Instant::now();
        for (made, (path, body)) in calls.iter().enumerate() {
            let target = Target::parse(&format!("{}{path}", url.as_str()), true);
            let target = target.map_err(|why| config(format!("SWEEP_HOST_URL: {why}")))?;
            let message = HttpMessage { headers: key.iter().cloned().collect(), body: body.to_string() };
            let answer = match began.elapsed() < self.timeouts.question() || made == 0 {
                true => client.call(&target, &message),
                false => Err(SendError { why: "the calls before it took too long".to_owned(), is_down: true }),
            };
            answer.map_err(|SendError { why, is_down }| {
                let became =
                    if is_down { "it is not known whether the host was told" } else { "the host changed nothing" };
                let before = match made {
                    0 => String::new(),
                    n => format!("; {} before it succeeded", counted(n as i64, "call", "calls")),
                };
                let (kind, name) = (asked.kind, asked.label.name());
                let said = format!("wake: {kind} {name}: its host's call failed, and {became}{before}: {why}");
                if is_down { unavailable(said) } else { some_failed(said) }
            })?;
        }
        Ok(())
    }
}

fn bearer(key: &SecretString) -> Result<(&'static str, String)> {
    let key = key.expose_secret();
    match !key.is_empty() && key.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(("authorization", format!("Bearer {key}"))),
        false => Err(config("SWEEP_HOST_KEY: expected visible characters of ASCII alone, without spaces").into()),
    }
}
