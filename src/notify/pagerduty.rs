//! Incidents of PagerDuty, by its Events API v2: one for each subject, which a recovery resolves.
//!
//! An incident is known by a key that a subject always has, so that a second notification about it opens no second
//! incident. The key of the API itself is in the URL, before the host.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{HttpMessage, Target};
use super::lines::{MessageLine, headline, lines};
use super::webhook;
use crate::store::work::outbox::{Event, Message, Notification};
use crate::text::cut;

/// An integration of PagerDuty's.
#[derive(Clone)]
pub struct PagerDuty {
    target: Target,
    routing_key: SecretString,
}

impl PagerDuty {
    /// Parses and checks a URL.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn parse(url: &str, private: bool) -> Result<PagerDuty, String> {
        let expected = || {
            "expected https://events.pagerduty.com/v2/enqueue, with the routing key and @ before the host".to_owned()
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(expected)?;
        let (key, address) = rest.split_once('@').ok_or_else(expected)?;
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(expected());
        }
        Ok(PagerDuty { target: Target::parse(&format!("{scheme}://{address}"), private)?, routing_key: key.into() })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The events of a message: one for each notification. A test opens an incident and resolves it.
    pub fn events(&self, message: &Message) -> Vec<HttpMessage> {
        let events = match message.named.as_slice() {
            [] => {
                let key = incident_key(&["test", &message.id.0]);
                let summary = lines(message).first().map(MessageLine::text);
                let payload = json!({ "summary": summary, "severity": "info", "source": "sweep" });
                vec![json!({ "event_action": "trigger", "dedup_key": key, "payload": payload }), resolve(&key)]
            }
            named => named.iter().map(event).collect(),
        };
        events.into_iter().map(|event| self.signed(event)).collect()
    }

    fn signed(&self, mut event: Value) -> HttpMessage {
        event["routing_key"] = json!(self.routing_key.expose_secret());
        HttpMessage { headers: Vec::new(), body: event.to_string() }
    }
}

fn event(one: &Notification) -> Value {
    let subject = one.subject_id.as_ref().map_or("", |id| id.0.as_str());
    let key = incident_key(&[&one.kind, subject, &one.part]);
    let event = Event::parse(&one.event);
    if event == Some(Event::Recovered) || one.details.resolved == Some(true) {
        return resolve(&key);
    }
    let line = headline(one);
    let mut payload = json!({
        "summary": cut(&line.text(), SUMMARY_MAX),
        "severity": severity(event),
        "source": "sweep",
        "timestamp": one.created_at,
        "component": one.kind,
        "group": one.details.tenant,
        "class": one.event,
        "custom_details": webhook::json_of(one),
    });
    // A field is a text or absent.
    payload.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
    let links: Vec<Value> = line.url.iter().map(|url| json!({ "href": url, "text": line.name })).collect();
    json!({ "event_action": "trigger", "dedup_key": key, "client": "sweep", "payload": payload, "links": links })
}

fn resolve(key: &str) -> Value {
    json!({ "event_action": "resolve", "dedup_key": key })
}

/// PagerDuty's bound of a summary in characters.
const SUMMARY_MAX: usize = 1024;

/// The key of an incident, at most 255 characters as PagerDuty has it, whatever a subject's id is.
fn incident_key(about: &[&str]) -> String {
    let digest = Sha256::digest(json!(about).to_string());
    format!("sweep-{}-{}", about[0], URL_SAFE_NO_PAD.encode(digest))
}

fn severity(event: Option<Event>) -> &'static str {
    match event {
        Some(Event::WakesStuck) => "critical",
        Some(
            Event::Escalated
            | Event::SessionStuck
            | Event::HostBlocked
            | Event::Unstarted
            | Event::GuardStopped
            | Event::Quarantined,
        )
        | None => "error",
        Some(Event::RunUnheard | Event::Abandoned) => "warning",
        Some(Event::Recovered) => "info",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::PagerDuty;

    #[rstest]
    #[case("https://hunter2@events.pagerduty.com/v2/enqueue", None)]
    #[case("https://hunter2@events.eu.pagerduty.com/v2/enqueue", None)]
    #[case("http://hunter2@localhost:8080/v2/enqueue", None)]
    #[case("https://events.pagerduty.com/v2/hunter2", Some("with the routing key and @"))]
    #[case("https://@events.pagerduty.com/hunter2", Some("with the routing key and @"))]
    #[case("https://user:hunter2@events.pagerduty.com/v2/enqueue", Some("with the routing key and @"))]
    #[case("https://hunter2@10.0.0.1/v2/enqueue", Some("SWEEP_NOTIFY_PRIVATE=on"))]
    #[case("http://hunter2@events.pagerduty.com/v2/enqueue", Some("http:// is for this machine only"))]
    fn the_key_stands_before_the_host(#[case] url: &str, #[case] refused: Option<&str>) {
        match (PagerDuty::parse(url, false), refused) {
            (Ok(parsed), None) => assert!(!parsed.target.exposed().contains("hunter2"), "the key is not sent twice"),
            (Err(why), Some(says)) => assert!(why.contains(says) && !why.contains("hunter2"), "{why}"),
            (Ok(_), Some(_)) | (Err(_), None) => panic!("{url}"),
        }
    }
}
