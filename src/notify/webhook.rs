//! Messages for a generic webhook: JSON, signed as specified by Standard Webhooks (standardwebhooks.com).
//!
//! `webhook-id` is the message's key, the same at each attempt; `webhook-timestamp` is the time of the attempt; and
//! `webhook-signature` is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::client::HttpMessage;
use crate::rules::Id;
use crate::store::work::outbox::{Message, Notification};
use crate::text::redact_id;

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// The key of the signatures.
#[derive(Clone)]
pub struct Secret(SecretSlice<u8>);

impl Secret {
    /// Parses `whsec_` and base64, or any other text.
    pub fn parse(text: &str) -> Result<Secret, String> {
        let key = match text.strip_prefix("whsec_") {
            None => text.as_bytes().to_vec(),
            Some(encoded) => {
                STANDARD.decode(encoded).map_err(|_| "expected base64 behind whsec_, or any other text".to_owned())?
            }
        };
        if key.is_empty() { Err("it is empty".to_owned()) } else { Ok(Secret(key.into())) }
    }

    fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()).expect("a key of any length");
        mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// A message; of nothing: a test, which a receiver acknowledges and ignores.
pub fn message(message: &Message, secret: &Secret) -> HttpMessage {
    let Message { id, at, attempt: _, counts, named, .. } = message;
    let counts: Map<String, Value> = counts.iter().map(|(event, n)| (event.name().to_owned(), json!(n))).collect();
    let body = json!({
        "schema": SCHEMA,
        "type": match message.total() {
            0 => "test",
            1 => "notification",
            _ => "digest",
        },
        "id": id,
        "total": message.total(),
        "counts": counts,
        "notifications": named.iter().map(json_of).collect::<Vec<_>>(),
    });
    signed(id, *at, &body, secret)
}

/// A notification as receivers know it.
pub fn json_of(notification: &Notification) -> Value {
    let Notification { id, event, kind, part: _, subject_id, sweep_id, created_at, details } = notification;
    let mut value = json!({
        "id": id,
        "event": event,
        "created_at": created_at,
        "sweep_id": redact_id(sweep_id),
        "kind": kind,
        "subject_id": subject_id.as_ref().map(redact_id),
    });
    if let (Value::Object(value), Value::Object(details)) = (&mut value, json!(details)) {
        value.extend(details);
    }
    value
}

fn signed(id: &Id, at: DateTime<Utc>, body: &Value, secret: &Secret) -> HttpMessage {
    let (timestamp, body) = (at.timestamp(), body.to_string());
    let headers = vec![
        ("webhook-id", id.0.clone()),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", secret.sign(&id.0, timestamp, &body)),
    ];
    HttpMessage { headers, body }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Secret;

    /// The example of the specification, and of its libraries.
    #[test]
    fn a_signature_is_as_the_specification_has_it() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[rstest]
    #[case("whsec_hunter2!", Some("expected base64"))]
    #[case("whsec_", Some("empty"))]
    #[case("any text at all", None)]
    fn a_secret_is_base64_or_any_text(#[case] text: &str, #[case] refused: Option<&str>) {
        match (Secret::parse(text), refused) {
            (Ok(_), None) => {}
            (Err(why), Some(says)) => assert!(why.contains(says) && !why.contains("hunter2"), "{why}"),
            (Ok(_), Some(_)) | (Err(_), None) => panic!("{text}"),
        }
    }
}
