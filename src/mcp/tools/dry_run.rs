//! `dry_run`: a dry run of a sweep, of which a page of subjects is kept.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

use anyhow::Result;
use chrono::TimeDelta;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::conclusion::usage;
use crate::cycle::sweep_apart;
use crate::mcp::answer::{ROWS, RowPage, small};
use crate::mcp::arguments::{kinds, no_place};
use crate::mcp::call::Call;
use crate::report::summary_document;
use crate::rules::Kind;
use crate::sweep::{Examined, Observer, Options, Outcome, Selection};
use crate::text::shown_in;

/// Clients do not wait for longer. What is not looked at by then is counted as deferred.
const DEADLINE: TimeDelta = TimeDelta::seconds(30);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DryRunArguments {
    /// Only this kind.
    #[schemars(with = "Option<String>", extend("enum" = kinds()))]
    kind: Option<Kind>,
    /// Only this subject of that kind: its id, or what people call it, such as ACM-12. Needs kind.
    #[schemars(length(min = 1, max = 1000))]
    subject: Option<String>,
    /// Only the work of this tenant.
    #[schemars(length(min = 1, max = 1000))]
    tenant: Option<String>,
    /// How many subjects at most; 20, unless you say otherwise.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The next_page of the answer before, for the subjects behind it.
    #[schemars(length(min = 1, max = 100))]
    after: Option<String>,
}

/// Answers what `sweep --dry-run --output json` prints, with a page of the subjects.
pub fn dry_run(call: &Call, arguments: DryRunArguments) -> Result<Value> {
    let DryRunArguments { kind, subject, tenant, limit, after } = arguments;
    let after = after.as_deref().map(Rank::from_str).transpose()?;
    let configured = &call.options.sweep;
    let selection = match (kind, subject) {
        (None, None) => configured.selection.clone(),
        (Some(kind), None) => Selection::Kinds(vec![kind]),
        (Some(kind), Some(subject)) => Selection::Subjects(vec![(kind, subject)]),
        (None, Some(_)) => return Err(usage("subject: it needs kind as well, to say what it is").into()),
    };
    let options = Options {
        selection,
        tenant: tenant.or_else(|| configured.tenant.clone()),
        dry_run: true,
        // One after the other, so that the next page is of the same sweep.
        connections: 1,
        deadline: configured.deadline.min(DEADLINE),
        ..configured.clone()
    };
    let limit = limit.unwrap_or(ROWS);
    let mut seen = SubjectsOfPage { after, limit, kept: BTreeMap::new(), total: 0 };
    let summary = sweep_apart(&options, call.cancel, &mut seen)?;
    let heading = summary.heading.redacted();
    let rows = seen.kept.into_iter().map(|(place, row)| (place.to_string(), json!(row)));
    let RowPage { rows, next } = RowPage::fill(rows, limit);
    let mut document = json!({
        "schema": heading.schema, "mode": heading.mode, "host": heading.host, "subjects": rows,
        "subjects_total": seen.total, "next_page": next,
    });
    if let (Value::Object(document), Value::Object(end)) = (&mut document, shown_in(summary_document(&summary))) {
        document.extend(end);
    }
    Ok(small(document, &[]))
}

/// Where a subject stands in the answer: what would be touched comes first, and of what is alike the oldest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    group: u8,
    kind: Kind,
    /// Microseconds; what cannot be read comes first.
    idle_since: i64,
    /// A hash of the id: what others wrote is not repeated.
    hash: u64,
}

impl Rank {
    fn of(examined: &Examined) -> Rank {
        let group = match examined.outcome {
            outcome if outcome.is_change() => 0,
            outcome if outcome.is_failure() => 1,
            Outcome::Healthy => 3,
            _ => 2,
        };
        let hash = Sha256::digest(examined.id.0.as_bytes());
        Rank {
            group,
            kind: examined.kind,
            idle_since: examined.idle_since.map_or(i64::MIN, |since| since.timestamp_micros()),
            hash: hash.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)),
        }
    }
}

impl Display for Rank {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.group, self.kind, self.idle_since, self.hash)
    }
}

impl FromStr for Rank {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Rank> {
        let read = || {
            let [group, kind, idle_since, hash] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
            let kind = Kind::parse(kind)?;
            let (group, idle_since) = (group.parse().ok()?, idle_since.parse().ok()?);
            Some(Rank { group, kind, idle_since, hash: hash.parse().ok()? })
        };
        let refused = || no_place(text);
        Ok(read().ok_or_else(refused)?)
    }
}

/// The subjects of a sweep, of which those of one page are kept, and one more.
struct SubjectsOfPage {
    after: Option<Rank>,
    limit: usize,
    kept: BTreeMap<Rank, Examined>,
    total: u64,
}

impl Observer for SubjectsOfPage {
    fn subject(&mut self, examined: &Examined) {
        self.total += 1;
        let place = Rank::of(examined);
        if self.after.as_ref().is_some_and(|after| place <= *after) {
            return;
        }
        if self.limit < self.kept.len() && self.kept.last_key_value().is_some_and(|(last, _)| *last < place) {
            return;
        }
        self.kept.insert(place, examined.redacted());
        if self.limit + 1 < self.kept.len() {
            self.kept.pop_last();
        }
    }
}
