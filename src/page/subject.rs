//! One subject explained: what a sweep would do now, every clause of its definition, what was tried, and the ledger.

use askama::Template;
use chrono::{DateTime, Utc};

use super::chart::Mark;
use super::frame::Frame;
use super::route::{Here, Link};
use super::shown::web_page;
use crate::report::explain::Explanation;
use crate::rules::display::{format_utc, humanize};
use crate::text::redact;

#[derive(Template)]
#[template(path = "subject.html")]
pub struct SubjectPage<'a> {
    frame: Frame,
    explanation: &'a Explanation,
    name: String,
    /// The title as it is shown, of which nothing may be left.
    title: String,
    assignee: String,
    agent: Option<Link>,
    tenant: Option<Link>,
    would: String,
    quarantine: Option<String>,
}

impl SubjectPage<'_> {
    pub fn of<'a>(explanation: &'a Explanation, here: &Here) -> SubjectPage<'a> {
        let Explanation { label, kind, verdict, .. } = explanation;
        let (name, assignee) = (label.name(), explanation.assignee.describe());
        // Nothing is known here of the sweeper: the mark says how the subject stands.
        let mark = if verdict.finding.is_some() { Mark::Failing } else { Mark::Well };
        let title = format!("{kind} {name} · {} · sweep", explanation.title);
        SubjectPage {
            frame: Frame::of(here, mark, title).read_at(None, explanation.observed_at()),
            explanation,
            name: name.to_string(),
            title: redact(&explanation.title),
            agent: explanation.assignee.id().and_then(|id| here.route.agent_link(Some(id), Some(&assignee))),
            assignee,
            tenant: label.tenant.as_deref().map(|tenant| here.route.tenant_link(tenant)),
            would: verdict.decision.announce(verdict.attempts_max),
            quarantine: explanation.quarantine(),
        }
    }
}

fn shown_at(at: &DateTime<Utc>) -> String {
    format_utc(*at)
}
