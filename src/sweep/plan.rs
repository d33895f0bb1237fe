//! A plan: the JSON report of a dry run, read back as an order. `--apply` touches what it says would be touched, if a
//! fresh decision is the same.

use std::collections::HashMap;
use std::io::Read;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Examined, Heading, Mode, Outcome, SCHEMA};
use crate::rules::{Finding, Id, Kind};
use crate::text::misread;

/// What a dry run would have done, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub heading: Heading,
    /// In the order of the report.
    pub order: Vec<(Kind, Id)>,
    planned: HashMap<(Kind, Id), PlannedSubject>,
}

/// One subject, as it was shown.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct PlannedSubject {
    finding: Option<Finding>,
    decision: Option<String>,
    reason: String,
    attempt: Option<u32>,
    agent_id: Option<Id>,
}

#[derive(Deserialize)]
struct PlannedRow {
    kind: Kind,
    id: Id,
    outcome: Outcome,
    /// Never written, and no order.
    #[serde(default)]
    shadow: bool,
    #[serde(flatten)]
    planned: PlannedSubject,
}

#[derive(Deserialize)]
struct PlanFormat {
    schema: u32,
    #[serde(default)]
    databases: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct PlanDocument {
    #[serde(flatten)]
    heading: Heading,
    subjects: Vec<PlannedRow>,
}

impl Plan {
    /// The plan of a dry run that has just ended: what it would touch.
    pub fn of<'a>(heading: Heading, rows: impl Iterator<Item = &'a Examined>) -> Plan {
        let planned = |row: &Examined| PlannedSubject {
            finding: row.finding,
            decision: row.decision.map(str::to_owned),
            reason: row.reason.clone(),
            attempt: row.attempt,
            agent_id: row.agent_id.clone(),
        };
        let rows: Vec<_> = rows.map(|row| ((row.kind, row.id.clone()), planned(row))).collect();
        Plan {
            heading,
            order: rows.iter().map(|(subject, _)| subject.clone()).collect(),
            planned: rows.into_iter().collect(),
        }
    }

    /// Errors say what is wrong with the document.
    pub fn read(mut from: impl Read) -> Result<Plan, String> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "expected a text in valid UTF-8".to_owned())?;
        // Asked first: another format may have other fields.
        match serde_json::from_str(&text) {
            Ok(PlanFormat { schema, .. }) if schema != SCHEMA => {
                return Err(format!("it has the format {schema}, expected {SCHEMA}: make it anew"));
            }
            Ok(PlanFormat { databases: Some(_), .. }) => {
                return Err("it is of several databases, expected a dry run of one".to_owned());
            }
            Ok(PlanFormat { databases: None, .. }) | Err(_) => {}
        }
        let document: PlanDocument = serde_json::from_str(&text).map_err(|error| {
            format!("expected the output of `sweep --dry-run --output json` ({})", misread::json(&error))
        })?;
        match document.heading.mode {
            Mode::DryRun => {}
            Mode::Sweep | Mode::Apply => {
                return Err("it is the report of what was done already, expected that of a dry run".to_owned());
            }
        }
        let changes = document.subjects.into_iter().filter(|row| row.outcome.is_change() && !row.shadow);
        let changes: Vec<PlannedRow> = changes.collect();
        if changes.iter().any(|row| row.id.0.contains('\0')) {
            return Err("a NUL character is in the id of no subject: make it anew".to_owned());
        }
        let order = changes.iter().map(|row| (row.kind, row.id.clone())).collect();
        let planned = changes.into_iter().map(|row| ((row.kind, row.id), row.planned)).collect();
        Ok(Plan { heading: document.heading, order, planned })
    }

    /// Why it is no plan for this database and these rules: `what: planned, now`.
    pub fn differs_from(&self, now: &Heading) -> Option<String> {
        let Heading { schema: _, mode: _, host, database, schema_version, policy, newest_sweeps: _ } = &self.heading;
        // The plan's was printed.
        let now = &now.redacted();
        let same = |what: &str, planned: &str, now: &str| {
            (planned != now).then(|| format!("it was made for the {what} {planned}, this is {now}"))
        };
        let differing_policy = || (*policy != now.policy).then(|| differing_settings(&self.heading, now));
        same("database", database, &now.database)
            .or_else(|| same("host", host, &now.host))
            .or_else(|| same("schema", schema_version, &now.schema_version))
            .or_else(differing_policy)
    }

    /// How a fresh decision differs from what was shown, in words.
    pub fn change(&self, now: &Examined) -> Option<String> {
        let Some(planned) = self.planned.get(&(now.kind, now.id.clone())) else {
            return Some("nothing was planned for it".to_owned());
        };
        let PlannedSubject { finding, decision, reason, attempt, agent_id } = planned;
        let decided = |decision: &str, reason: &str| format!("{decision} ({reason})");
        let then = decided(decision.as_deref().unwrap_or("nothing"), reason);
        let is = decided(now.decision.unwrap_or("nothing"), &now.reason);
        if (finding, &then) != (&now.finding, &is) {
            return Some(format!("planned: {then}; now: {is}"));
        }
        if *attempt != now.attempt {
            let number = |attempt: Option<u32>| attempt.map_or("none".to_owned(), |n| n.to_string());
            return Some(format!("planned: attempt {}; now: {}", number(*attempt), number(now.attempt)));
        }
        (*agent_id != now.agent_id).then(|| "it has another agent now".to_owned())
    }
}

/// The settings that are others now, by name.
fn differing_settings(planned: &Heading, now: &Heading) -> String {
    let fields = |heading: &Heading| serde_json::to_value(&heading.policy).unwrap_or_default();
    let (planned, now) = (fields(planned), fields(now));
    let differing = planned.as_object().into_iter().flatten().filter(|(name, value)| now[name.as_str()] != **value);
    let changes: Vec<String> =
        differing.map(|(name, value)| format!("{name} {value}, now {}", now[name.as_str()])).collect();
    format!("it was made with other settings: {}", changes.join("; "))
}
