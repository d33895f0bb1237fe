//! Who is notified of what: URLs and secrets, which no error repeats.

use anyhow::Result;
use secrecy::{ExposeSecret, SecretString};

use super::environment::Environment;
use crate::conclusion::config;
use crate::notify::{Notify, Secret, Target};

const WEBHOOK_SECRET: &str = "SWEEP_WEBHOOK_SECRET";

impl Environment {
    /// Who is notified of what.
    pub fn notify(&self) -> Result<Notify> {
        let variables = self.variables()?;
        let private = variables.notify_private()?.unwrap_or_default();
        let events = variables.notify_on()?;
        let target = |name: &str| -> Result<Option<Target>> {
            let Some(url) = self.secret(name)? else { return Ok(None) };
            let target = Target::parse(url.expose_secret(), private);
            target.map(Some).map_err(|why| config(format!("{}: {why}", self.origin(name))).into())
        };
        let webhook = match (target("SWEEP_WEBHOOK_URL")?, self.secret(WEBHOOK_SECRET)?) {
            (None, _) => None,
            (Some(_), None) => {
                let why = "what is not signed could come from anybody";
                return Err(config(format!("SWEEP_WEBHOOK_URL needs {WEBHOOK_SECRET} as well: {why}")).into());
            }
            (Some(target), Some(secret)) => Some((target, self.webhook_secret(&secret)?)),
        };
        Ok(Notify {
            slack: target("SWEEP_SLACK_URL")?,
            webhook,
            ping: target("SWEEP_PING_URL")?,
            events: events.unwrap_or_else(|| Notify::USUAL_EVENTS.to_vec()),
        })
    }

    fn webhook_secret(&self, secret: &SecretString) -> Result<Secret> {
        let secret = Secret::parse(secret.expose_secret());
        // Not behind a colon: there a secret would not be shown.
        secret.map_err(|why| config(format!("what {} holds is refused: {why}", self.origin(WEBHOOK_SECRET))).into())
    }
}
