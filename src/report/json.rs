//! Reports for programs: one document, or a line for each part of it. docs/json.md describes every field.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::store::Label;
use crate::store::work::exemptions::Exempted;
use crate::sweep::Summary;
use crate::text::redact;

/// An object's fields, one line each.
pub(super) fn fields(object: &impl Serialize) -> String {
    let object = json!(object);
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("  \"{name}\": {value}")).collect::<Vec<_>>().join(",\n")
}

/// One line of NDJSON: what it is (`heading`, `subject`, `summary`), of which database, if there are several, then its
/// fields.
pub(super) fn line(of: &str, database: Option<&str>, object: &impl Serialize) -> String {
    let mut line = match database {
        None => json!({ "type": of }),
        Some(name) => json!({ "type": of, "database_name": name }),
    };
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, json!(object)) {
        line.extend(fields);
    }
    format!("{line}\n")
}

/// What stands below the subjects.
pub fn end(summary: &Summary) -> Value {
    json!({
        "began_at": summary.began_at,
        "kinds": summary.counts(),
        "unswept": summary.unswept,
        "stopped_by": summary.stopped_by,
        "stuck_wakes": summary.stuck_wakes,
        "clocks": summary.clocks,
        "empty": summary.empty,
        "ended": summary.ended.name(),
        "duration_ms": u64::try_from(summary.took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// An exemption of a list.
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
