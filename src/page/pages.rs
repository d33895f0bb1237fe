//! What every page has around its content: its title, where it leads to, as of when it is, and whether it refreshes
//! itself; and the pages beside the overview: several databases, the latest sweeps, one subject explained. And the page
//! that is shown in place of another: that the database is away, that there is no such page, or that a row cannot be
//! read. What was read before is never shown as if it were so now.

use askama::Template;
use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};

use super::chart::Mark;
use super::reader::{LastKnown, ReadView, Trouble, ViewResult};
use super::route::{Here, Link, Route, View};
use super::shown::{Minute, web_page};
use super::style_address;
use crate::conclusion::Conclusion;
use crate::report::attention::{expected, needs};
use crate::report::explain::Explanation;
use crate::report::told;
use crate::rules::display::{HumanDuration, counted, format_utc, humanize};
use crate::store::read::overview::{Attention, Overview, SweepSummary, Sweeper};
use crate::sweep::Outcome;
use crate::text::redact;

#[derive(Clone, Debug)]
pub struct Frame {
    /// The title of the browser's tab.
    pub title: String,
    pub mark: Mark,
    /// None: the page is about several databases.
    pub database: Option<String>,
    /// The control plane of the database.
    pub host: Option<String>,
    /// None: nothing could be read.
    pub as_of: Option<Minute>,
    /// This page.
    pub route: Route,
}

impl Frame {
    /// Around a page of one database.
    pub fn of(Here { route, called }: &Here, mark: Mark, title: String) -> Frame {
        Frame { database: Some(called.clone()), ..Frame::of_all(route, mark, title) }
    }

    /// Around the list of several databases.
    pub fn of_all(route: &Route, mark: Mark, title: String) -> Frame {
        Frame { title, mark, database: None, host: None, as_of: None, route: route.clone() }
    }

    /// Says what was read, and when by the database's clock.
    pub fn read_at(self, host: Option<&str>, at: DateTime<Utc>) -> Frame {
        Frame { host: host.map(str::to_owned), as_of: Some(Minute(at)), ..self }
    }

    pub fn menu(&self) -> impl Iterator<Item = (&'static str, Route)> {
        let is_one_of_several = self.route.database.is_some() || self.database.is_none();
        let all = is_one_of_several.then(|| ("All databases", self.route.to_all()));
        let views = [("What needs a person", View::everything()), ("Sweeps", View::Sweeps)];
        let views = views.map(|(text, view)| (text, self.route.to(view)));
        all.into_iter().chain(views.into_iter().filter(|_| self.database.is_some()))
    }

    pub fn style(&self) -> &'static str {
        style_address()
    }
}

/// In place of another page.
#[derive(Template)]
#[template(path = "trouble.html")]
pub struct TroublePage {
    frame: Frame,
    heading: &'static str,
    why: String,
    since: String,
    is_away: bool,
    read_at: Option<Minute>,
}

impl TroublePage {
    pub fn of(trouble: &Trouble, known: LastKnown, here: &Here) -> (StatusCode, TroublePage) {
        let (status, heading) = match trouble.conclusion {
            Conclusion::Usage => (StatusCode::NOT_FOUND, "There is no such page"),
            Conclusion::SomeFailed => (StatusCode::OK, "It cannot be read"),
            Conclusion::Busy => (StatusCode::SERVICE_UNAVAILABLE, "Too many ask at once"),
            // A right is missing, a migration or a file.
            Conclusion::Config => (StatusCode::SERVICE_UNAVAILABLE, "The database cannot be read"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "The database is away"),
        };
        let page = TroublePage::plain(heading, &trouble.why, here);
        if !trouble.is_of_the_database() {
            return (status, page);
        }
        let read_at = known.read_at.map(Minute);
        (status, TroublePage { is_away: true, since: known.away_in_words(), read_at, ..page })
    }

    pub fn nowhere(here: &Here) -> (StatusCode, TroublePage) {
        let why = "Nothing is at this address. It may be that of a database that is not shown any more.";
        (StatusCode::NOT_FOUND, TroublePage::plain("There is no such page", why, here))
    }

    fn plain(heading: &'static str, why: &str, here: &Here) -> TroublePage {
        let frame = Frame::of(here, Mark::Away, format!("{heading} · sweep"));
        TroublePage { frame, heading, why: why.to_owned(), since: String::new(), is_away: false, read_at: None }
    }
}

/// Several databases: each with its headline, or why it is away.
#[derive(Template)]
#[template(path = "databases.html")]
pub struct DatabasesPage {
    frame: Frame,
    heading: String,
    databases: Vec<DatabaseView>,
}

struct DatabaseView {
    name: String,
    href: Route,
    mark: Mark,
    summary: String,
    needs: String,
    items: i64,
    as_of: Option<Minute>,
}

impl DatabasesPage {
    pub fn of(read: &[(String, ViewResult, LastKnown)], route: &Route) -> DatabasesPage {
        let databases: Vec<DatabaseView> =
            read.iter().map(|(name, reading, known)| DatabaseView::of(name, reading, *known, route)).collect();
        let total: i64 = databases.iter().map(|database| database.items).sum();
        let worst = [Mark::Away, Mark::Failing, Mark::Late, Mark::Never];
        let mark = worst.into_iter().find(|mark| databases.iter().any(|database| database.mark == *mark));
        let mark = mark.unwrap_or(Mark::Well);
        let heading = format!("{}: {}", counted(databases.len() as i64, "database", "databases"), needs(total));
        let title = format!("{} · {} · sweep", mark.word(), needs(total));
        DatabasesPage { frame: Frame::of_all(route, mark, title), heading, databases }
    }
}

impl DatabaseView {
    fn of(name: &str, reading: &ViewResult, known: LastKnown, route: &Route) -> DatabaseView {
        let href = Route { database: Some(name.to_owned()), view: View::everything(), refreshes: route.refreshes };
        let (mark, summary, needs, items, as_of) = match reading {
            Ok(ReadView::Work(read)) => {
                let (sweeper, items) = (&read.sweeper, read.part.items_total);
                (sweeper.state.into(), sweeper.summary.clone(), needs(items), items, Some(Minute(read.observed_at)))
            }
            Ok(ReadView::Subject(_)) => (Mark::Away, String::new(), String::new(), 0, None),
            Err(trouble) => (Mark::Away, trouble.why.clone(), known.away_in_words(), 0, known.read_at.map(Minute)),
        };
        DatabaseView { name: name.to_owned(), href, mark, summary, needs, items, as_of }
    }
}

/// The latest sweeps: how each ended, what it did, and what the guard holds back.
#[derive(Template)]
#[template(path = "sweeps.html")]
pub struct SweepsPage<'a> {
    frame: Frame,
    sweeper: &'a Sweeper,
    expected: String,
    interval: Option<String>,
    sweeps: Vec<SweepView<'a>>,
}

struct SweepView<'a> {
    sweep: &'a SweepSummary,
    mark: Mark,
    began: String,
    ended: String,
    took: Option<String>,
    /// Which part of all work it looked at.
    part: Option<String>,
    /// What there was any of.
    counts: Vec<(Outcome, u64)>,
}

impl SweepsPage<'_> {
    pub fn of<'a>(overview: &'a Overview<Attention>, here: &Here) -> SweepsPage<'a> {
        let Overview { sweeper, observed_at, .. } = overview;
        let frame = Frame::of(here, sweeper.state.into(), "Sweeps · sweep".to_owned());
        SweepsPage {
            frame: frame.read_at(Some(&overview.host), *observed_at),
            sweeper,
            expected: sweeper.next_sweep_at.map(|at| expected(at, *observed_at)).unwrap_or_default(),
            interval: sweeper.interval_seconds.map(|every| HumanDuration(TimeDelta::seconds(every)).to_string()),
            sweeps: sweeper.sweeps.iter().map(SweepView::of).collect(),
        }
    }
}

impl SweepView<'_> {
    fn of(sweep: &SweepSummary) -> SweepView<'_> {
        let part = (1 < sweep.shards).then(|| format!("part {} of {}", sweep.shard + 1, sweep.shards));
        let mark = match (sweep.finished_at, sweep.is_well()) {
            (_, false) => Mark::Failing,
            (None, true) => Mark::Never,
            (Some(_), true) => Mark::Well,
        };
        SweepView {
            sweep,
            mark,
            began: sweep.started_at.map_or("at an unknown time".to_owned(), format_utc),
            ended: humanize(sweep.ended.as_deref().unwrap_or("not ended")),
            took: sweep.duration_ms.map(took),
            part: part.or_else(|| sweep.partial.then(|| "a part only".to_owned())),
            counts: told(sweep.tally).collect(),
        }
    }
}

fn took(milliseconds: i64) -> String {
    match milliseconds {
        short if short < 10_000 => format!("{short} ms"),
        long => HumanDuration(TimeDelta::milliseconds(long)).to_string(),
    }
}

/// One subject explained: what a sweep would do now, every clause of its definition, what was tried, and the ledger.
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
