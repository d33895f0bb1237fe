//! An exemption for programs.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::store::Label;
use crate::store::work::exemptions::Exempted;
use crate::text::redact;

/// One of a list.
pub fn exemption(label: &Label, row: &Exempted, now: DateTime<Utc>) -> Value {
    let Exempted { kind, id, exemption, since } = row;
    json!({
        "kind": redact(kind),
        "id": redact(&id.0),
        "identifier": label.identifier.as_deref().map(redact),
        "tenant": label.tenant.as_deref().map(redact),
        "reason": redact(&exemption.reason),
        "until": exemption.until,
        "state": if exemption.holds(now) { "holds" } else { "expired" },
        "since": since,
        "age_seconds": (now - *since).num_seconds().max(0),
    })
}
