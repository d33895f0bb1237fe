//! The pages, each as its template has it. One is shown in place of another: that the database is away, that there is
//! no such page, or that a row cannot be read. What was read before is never shown as if it were so now.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;
use chrono::TimeDelta;

use super::frame::Frame;
use super::lists::{Count, PlanView, WorkTable};
use super::reader::{LastKnown, ReadView, Trouble, ViewResult};
use super::route::{Here, Link, Route, View};
use super::shown::{Mark, Minute, age, columns, stacked, web_page};
use crate::conclusion::Conclusion;
use crate::report::attention::{expected, needs};
use crate::report::explain::Explanation;
use crate::report::told;
use crate::rules::board::BoardState;
use crate::rules::display::{HumanDuration, counted, format_utc, humanize};
use crate::rules::{Id, Kind};
use crate::store::read::overview::{
    Attention, Counts, Cursor, Day, Overview, Scope, Share, SubjectRef, SweepSummary, Sweeper,
};
use crate::store::read::work_list::WorkFilter;
use crate::sweep::Outcome;
use crate::text::redact;

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

/// What needs a person, whether the sweeper is alive, what the next sweep would do, and how the work stands.
#[derive(Template)]
#[template(path = "overview.html")]
pub struct OverviewPage<'a> {
    frame: Frame,
    overview: &'a Overview<Attention>,
    attention: &'a Attention,
    /// `tenant` or `agent`, and its name; none: everybody's work is shown.
    whose: Option<(&'static str, &'a str)>,
    /// All work of the agent.
    work: Option<WorkTable<'a>>,
    plans: Vec<PlanView<'a>>,
    expected: String,
    needs: String,
    decisions: String,
    bar: String,
    kinds: Vec<&'static str>,
    states: Vec<StateRow>,
    series: Vec<Series>,
    stranded: Count,
    in_progress: Count,
}

/// How many subjects are in one state: of each kind, and of all.
struct StateRow {
    state: BoardState,
    counts: Vec<Count>,
    total: Count,
}

/// The work of a tenant or of an agent.
struct ShareRow {
    name: Link,
    tenant: Option<Link>,
    waiting: Count,
    stranded: Count,
    others: Count,
}

/// What happened on each day.
struct Series {
    name: &'static str,
    words: String,
    total: i64,
    chart: String,
}

impl OverviewPage<'_> {
    pub fn of<'a>(overview: &'a Overview<Attention>, here: &Here) -> OverviewPage<'a> {
        let Overview { sweeper, observed_at, part: attention, .. } = overview;
        let whom = |what, name: &'a Option<String>| name.as_deref().map(|name| (what, name));
        let agent = overview.agent_name.as_ref().or(overview.agent.as_ref());
        let whose = whom("tenant", &overview.tenant).or_else(|| agent.map(|name| ("agent", name.as_str())));
        let (mark, needs) = (Mark::from(sweeper.state), needs(attention.items_total));
        let whose_title = whose.map(|(what, name)| format!(" · {what} {name}")).unwrap_or_default();
        let title = format!("{} · {needs}{whose_title} · sweep", mark.word());
        let scope = Scope { tenant: overview.tenant.clone(), agent: overview.agent.clone() };
        let (kinds, states) = states(&overview.kinds, &scope, &here.route);
        let bar: Vec<(&'static str, i64)> = states.iter().map(|row| (row.state.name(), row.total.n)).collect();
        let count = |n, states: &[BoardState]| Count::of(n, &here.route, filter(states, None, &scope));
        let decisions =
            attention.next_sweep.decisions.iter().map(|(decision, n)| format!("{n} × {}", humanize(decision)));
        OverviewPage {
            frame: Frame::of(here, mark, title).read_at(Some(&overview.host), *observed_at),
            overview,
            attention,
            whose,
            work: attention.work.as_ref().map(|page| WorkTable::of(page, None, &here.route)),
            plans: attention.plans.iter().map(|plan| PlanView::of(plan, &here.route)).collect(),
            expected: sweeper.next_sweep_at.map(|at| expected(at, *observed_at)).unwrap_or_default(),
            needs,
            decisions: decisions.collect::<Vec<_>>().join(", "),
            bar: stacked(&bar, "All work in progress"),
            kinds,
            stranded: count(attention.next_sweep.stranded_total, BoardState::STRANDED),
            in_progress: count(bar.iter().map(|(_, n)| n).sum(), &[]),
            states,
            series: series(&attention.days),
        }
    }

    fn shares_of_tenants(&self) -> Vec<ShareRow> {
        let row = |share: &Share| {
            let scope = Scope { tenant: Some(share.name.clone()), ..Scope::default() };
            ShareRow::of(share, (self.frame.route.tenant_link(&share.name), None), &scope, &self.frame.route)
        };
        self.attention.tenants.iter().map(row).collect()
    }

    fn shares_of_agents(&self) -> Vec<ShareRow> {
        let row = |share: &Share| {
            let name = if share.name.is_empty() { "nobody" } else { &share.name };
            let href = share.id.as_ref().and_then(|id| self.frame.route.to_agent(Some(id), None));
            let names = (Link { text: name.to_owned(), href }, self.tenant(Some(&share.tenant)));
            let agent = share.id.as_ref().map_or(String::new(), |Id(id)| id.clone());
            let scope = Scope { tenant: Some(share.tenant.clone()), agent: Some(agent) };
            ShareRow::of(share, names, &scope, &self.frame.route)
        };
        self.attention.agents.iter().map(row).collect()
    }

    /// Another page of the items that are shown here.
    fn items_after(&self, after: &Option<Cursor>) -> Route {
        let mut view = self.frame.route.view.clone();
        if let View::Work { after: place, .. } = &mut view {
            place.clone_from(after);
        }
        self.frame.route.to(view)
    }

    fn is_later(&self) -> bool {
        matches!(&self.frame.route.view, View::Work { after: Some(_), .. })
    }

    /// True if nothing needs a person, and sweeps do what they should.
    fn is_calm(&self) -> bool {
        self.attention.items_total == 0 && self.overview.sweeper.is_well()
    }

    /// `issue`, or of several `issues`; empty: the item is about no work.
    fn kind(&self, subject: &SubjectRef) -> &'static str {
        let name = subject.kind.map(|kind| if subject.id.is_some() { kind.name() } else { kind.plural() });
        name.unwrap_or_default()
    }

    fn link(&self, subject: &SubjectRef) -> Option<Link> {
        let href = subject.page().and_then(|page| self.frame.route.to_subject(page.kind, page.id));
        subject.name().map(|name| Link { text: name.to_owned(), href })
    }

    fn agent(&self, subject: &SubjectRef) -> Option<Link> {
        self.frame.route.agent_link(subject.agent_id.as_ref(), subject.agent.as_deref())
    }

    /// The tenant, if there are several: else everybody knows whose it is.
    fn tenant(&self, tenant: Option<&str>) -> Option<Link> {
        let are_several = self.overview.tenant.is_none() && 1 < self.attention.tenants_total;
        tenant.filter(|tenant| are_several && !tenant.is_empty()).map(|tenant| self.frame.route.tenant_link(tenant))
    }
}

/// What goes on by itself.
const CALM: [BoardState; 5] =
    [BoardState::Skipped, BoardState::Exempt, BoardState::Waiting, BoardState::Queued, BoardState::Active];

/// The list of what is in these states.
fn filter(states: &[BoardState], kind: Option<Kind>, scope: &Scope) -> WorkFilter {
    WorkFilter { kind, states: states.to_vec(), scope: scope.clone(), ..WorkFilter::default() }
}

/// The kinds that there are, and each state in which anything is.
fn states(kinds: &BTreeMap<&'static str, Counts>, scope: &Scope, route: &Route) -> (Vec<&'static str>, Vec<StateRow>) {
    let provided: Vec<_> = kinds.iter().filter(|(_, counts)| counts.provided).collect();
    // What waits for a person comes first, and what goes on by itself last.
    let order = [BoardState::WAITING_FOR_PEOPLE, BoardState::STRANDED, &CALM].concat();
    let rows = order.into_iter().map(|state| {
        let count = |kind, n| Count::of(n, route, filter(&[state], kind, scope));
        let of_kind = |name: &str| Kind::ALL.iter().copied().find(|kind| kind.plural() == name);
        let counts: Vec<Count> = provided
            .iter()
            .map(|(kind, counts)| count(of_kind(kind), counts.states.get(&state).copied().unwrap_or_default()))
            .collect();
        StateRow { state, total: count(None, counts.iter().map(|count| count.n).sum()), counts }
    });
    (provided.iter().map(|(kind, _)| **kind).collect(), rows.filter(|row| 0 < row.total.n).collect())
}

impl ShareRow {
    fn of(share: &Share, (name, tenant): (Link, Option<Link>), scope: &Scope, route: &Route) -> ShareRow {
        let count = |states: &[BoardState]| Count::of(share.count(states), route, filter(states, None, scope));
        ShareRow {
            name,
            tenant,
            waiting: count(BoardState::WAITING_FOR_PEOPLE),
            stranded: count(BoardState::STRANDED),
            others: count(&CALM),
        }
    }
}

fn series(days: &[Day]) -> Vec<Series> {
    let highest = Day::SHOWN.iter().flat_map(|(_, of)| days.iter().map(of)).max().unwrap_or_default();
    let series = Day::SHOWN.map(|(name, of)| {
        let words = humanize(name);
        let each: Vec<(String, i64)> = days.iter().map(|day| (day.date.to_string(), of(day))).collect();
        let total = each.iter().map(|(_, n)| n).sum();
        Series { name, total, chart: columns(name, &words, &each, highest), words }
    });
    series.into()
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
            Ok(_) => (Mark::Away, String::new(), String::new(), 0, None),
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
    objection: Option<String>,
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
            would: verdict.announce(),
            objection: explanation.objection(),
        }
    }
}
