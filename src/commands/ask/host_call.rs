//! The host's own call, which a person has made by `sweep wake`: what the host itself blocked, its own API alone sets
//! to work again.

use anyhow::Result;
use secrecy::{ExposeSecret, SecretString};

use crate::conclusion::{config, some_failed, unavailable};
use crate::notify::{Client, Failure, HttpMessage, Target};
use crate::report::HostCan;
use crate::rules::display::counted;
use crate::store::Timeouts;
use crate::store::host_steps::{HostStep, plain_path};
use crate::store::links::HostUrl;

/// Where the host's API is, and what it asks for.
pub struct HostApi {
    pub url: Option<HostUrl>,
    pub key: Option<SecretString>,
    pub timeouts: Timeouts,
}

impl HostApi {
    /// Makes the calls, in order. The first that fails ends them: each says what was done before it.
    pub fn make_calls(&self, host: &HostCan) -> Result<()> {
        let calls = host.steps.iter().map(|step| match step {
            HostStep::Call { path, body } => plain_path(path).map(|path| (path, body)),
            // A statement is for the owner of the host's tables.
            HostStep::Statement { .. } => None,
        });
        let Some(calls) = calls.collect::<Option<Vec<_>>>().filter(|calls| !calls.is_empty()) else {
            return Err(host.refused(None).into());
        };
        let Some(url) = &self.url else {
            let commands: Vec<String> = host.steps.iter().filter_map(|step| step.command(None)).collect();
            let how = format!(
                "sweep makes the host's own call if SWEEP_HOST_URL is set, and SWEEP_HOST_KEY where the host asks for \
                 a key; or make it yourself: {}",
                commands.join(" && ")
            );
            return Err(host.refused(Some(how)).into());
        };
        let client = Client::new(self.timeouts.question());
        let key = self.key.as_ref().map(|key| ("authorization", format!("Bearer {}", key.expose_secret())));
        for (made, (path, body)) in calls.iter().enumerate() {
            let target = Target::parse(&format!("{}{path}", url.as_str()), true);
            let target = target.map_err(|why| config(format!("SWEEP_HOST_URL: {why}")))?;
            let message = HttpMessage { headers: key.iter().cloned().collect(), body: body.to_string() };
            let before = match made {
                0 => "nothing was changed".to_owned(),
                n => format!("{} before it succeeded", counted(n as i64, "call", "calls")),
            };
            client.call(&target, &message).map_err(|Failure { why, is_down }| {
                let said =
                    format!("wake: {} {}: its host's call failed ({before}): {why}", host.kind, host.label.name());
                if is_down { unavailable(said) } else { some_failed(said) }
            })?;
        }
        Ok(())
    }
}
