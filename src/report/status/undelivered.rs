//! Notifications that were not delivered.

use owo_colors::OwoColorize;

use super::format::{age, duration, headline, section};
use crate::report::grid::with_header;
use crate::rules::display::{counted, humanize};
use crate::store::read::status::{LATE, Notifications, Status};
use crate::text::redact;

pub fn undelivered(status: &Status) -> String {
    let parts = [dead(&status.notifications), late(&status.notifications)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn dead(notifications: &Notifications) -> String {
    let Some(headline) = headline(notifications.dead_total, "notification", "notifications") else {
        return String::new();
    };
    let rows = notifications.dead.iter().map(|row| {
        let subject = row.identifier.as_deref().or(row.subject_id.as_ref().map(|id| id.0.as_str()));
        [
            redact(&row.destination),
            humanize(&redact(&row.event)),
            redact(&format!("{} {}", row.kind, subject.unwrap_or("–"))),
            age(row.age_seconds),
            redact(row.last_error.as_deref().unwrap_or_default()),
        ]
    });
    let table = with_header(["destination", "event", "subject", "since", "last error"], rows, &[3]);
    section(&format!("{headline} could not be delivered"), table, notifications.dead_total, notifications.dead.len())
}

fn late(notifications: &Notifications) -> String {
    let Some(age) = notifications.pending_age_seconds.filter(|age| LATE.num_seconds() < *age) else {
        return String::new();
    };
    let n = counted(notifications.pending, "notification waits", "notifications wait");
    let why = notifications.pending_error.as_deref().map(|why| format!(": {}", redact(why))).unwrap_or_default();
    format!("{}, the oldest for {}{why}\n", n.bold(), duration(age))
}
