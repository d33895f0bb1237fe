//! Lists of work, which the numbers on the other pages lead to; plans, and one plan with its steps.

use std::collections::BTreeSet;

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};

use super::frame::Frame;
use super::route::{Here, Link, Route, View, parameters};
use super::shown::{Mark, Minute, age, stacked, web_page};
use crate::rules::board::BoardState;
use crate::rules::display::{HumanDuration, counted, humanize};
use crate::rules::step::StepCounts;
use crate::rules::{Id, Kind};
use crate::store::read::overview::{Cursor, Scope};
use crate::store::read::plan::{PLANS_SEARCHED_MAX, PlanList, PlanReport, PlanSummary, StepReport, StepWindow, Tried};
use crate::store::read::work_list::{ListPage, ListedWork, SEARCHED_MAX, WorkFilter, WorkList};
use crate::text::redact;

/// A number that leads to the list of what it counts.
pub struct Count {
    pub n: i64,
    pub href: Option<Route>,
}

impl Count {
    /// What there is none of leads nowhere.
    pub fn of(n: i64, route: &Route, filter: WorkFilter) -> Count {
        Count { n, href: if n == 0 { None } else { route.to_list(filter) } }
    }
}

/// The form by which a list is searched.
pub struct Search {
    /// The address, without what is asked for.
    action: Route,
    name: String,
    hidden: Vec<(&'static str, String)>,
    note: String,
}

impl Search {
    fn of(
        route: &Route,
        view: View,
        name: &Option<String>,
        further: Vec<(&'static str, String)>,
        note: String,
    ) -> Search {
        let refresh = (!route.refreshes).then(|| ("refresh", "off".to_owned()));
        Search {
            action: Route { refreshes: true, ..route.to(view) },
            name: name.clone().unwrap_or_default(),
            hidden: further.into_iter().filter(|(name, _)| *name != "q").chain(refresh).collect(),
            note,
        }
    }
}

/// Rows of a list, as the table of them shows each.
pub struct WorkTable<'a> {
    pub rows: Vec<ListedRow<'a>>,
    /// None: the kind of each is shown.
    pub kind: Option<Kind>,
}

pub struct ListedRow<'a> {
    pub work: &'a ListedWork,
    pub kind: &'static str,
    pub name: Link,
    pub agent: Option<Link>,
    pub tenant: Option<Link>,
    pub plan: Option<Route>,
    pub since: Option<Minute>,
}

impl WorkTable<'_> {
    pub fn of<'a>(page: &'a ListPage, kind: Option<Kind>, route: &Route) -> WorkTable<'a> {
        let tenants: BTreeSet<_> = page.rows.iter().map(|work| &work.subject.tenant).collect();
        let row = |work: &'a ListedWork| {
            let (subject, its_page) = (&work.subject, work.subject.page());
            ListedRow {
                work,
                kind: subject.kind.map(Kind::name).unwrap_or_default(),
                name: Link {
                    text: subject.name().unwrap_or_default().to_owned(),
                    href: its_page.and_then(|page| route.to_subject(page.kind, page.id)),
                },
                agent: route.agent_link(subject.agent_id.as_ref(), subject.agent.as_deref()),
                tenant: subject.tenant.as_deref().filter(|_| 1 < tenants.len()).map(|name| route.tenant_link(name)),
                plan: work.plan_id.as_ref().and_then(|plan| route.to_plan(plan)),
                since: work.age.since.map(Minute),
            }
        };
        WorkTable { rows: page.rows.iter().map(row).collect(), kind }
    }

    /// Sessions alone are listed, with what their screens show.
    pub fn is_of_sessions(&self) -> bool {
        self.kind == Some(Kind::Session)
    }
}

/// Work in progress: of one kind or of all, in each state or in some.
#[derive(Template)]
#[template(path = "list.html")]
pub struct WorkPage<'a> {
    frame: Frame,
    list: &'a WorkList,
    heading: &'static str,
    /// `sessions`; none: all work is listed.
    kind: Option<&'static str>,
    search: Search,
    /// Each state in which there is anything, and all of them.
    states: Vec<StateLink>,
    /// The tenant, the agent and the plan whose work is listed.
    limits: Vec<Limit>,
    table: WorkTable<'a>,
    first: Option<Route>,
    next: Option<Route>,
}

/// A tenant, an agent or a plan whose work alone is listed: a link to its page, and the list without that limit.
struct Limit {
    what: &'static str,
    link: Link,
    without: Option<Route>,
}

struct StateLink {
    state: Option<BoardState>,
    count: Count,
    is_shown: bool,
}

impl WorkPage<'_> {
    pub fn of<'a>(list: &'a WorkList, (filter, after): (&WorkFilter, &Option<Cursor>), here: &Here) -> WorkPage<'a> {
        let (route, page) = (&here.route, &list.page);
        let in_states = |states: Vec<BoardState>| WorkFilter { states, ..filter.clone() };
        let needs = [BoardState::WAITING_FOR_PEOPLE, BoardState::STRANDED].concat();
        let is_well = needs.iter().all(|state| !page.states.contains_key(state));
        let mark = if is_well { Mark::Well } else { Mark::Failing };
        let heading = match filter.kind {
            None => "All work in progress",
            Some(Kind::Session) => "Sessions in progress",
            Some(Kind::Issue) => "Issues in progress",
            Some(Kind::Step) => "Plan steps in progress",
        };
        let all = StateLink {
            state: None,
            count: Count::of(page.states.values().sum(), route, in_states(Vec::new())),
            is_shown: filter.states.is_empty(),
        };
        let each = page.states.iter().map(|(&state, &n)| StateLink {
            state: Some(state),
            count: Count::of(n, route, in_states(vec![state])),
            is_shown: filter.states.contains(&state),
        });
        let place = |after: Option<Cursor>| route.to(View::List { filter: filter.clone(), after });
        let note = format!("A search looks at {SEARCHED_MAX} of each kind at a time, the oldest first.");
        WorkPage {
            frame: Frame::of(here, mark, format!("{heading} · sweep")).read_at(Some(&list.host), list.observed_at),
            list,
            heading,
            kind: filter.kind.map(Kind::plural),
            search: Search::of(route, View::list_of(filter.kind), &filter.name, parameters(filter), note),
            states: [all].into_iter().chain(each).collect(),
            limits: limits(list, filter, route),
            table: WorkTable::of(page, filter.kind, route),
            first: after.is_some().then(|| place(None)),
            next: page.next_page.clone().map(|next| place(Some(next))),
        }
    }
}

fn limits(list: &WorkList, filter: &WorkFilter, route: &Route) -> Vec<Limit> {
    let WorkFilter { scope: Scope { tenant, agent }, plan, .. } = filter;
    let limit = |what, link, change: fn(&mut WorkFilter)| {
        let mut filter = filter.clone();
        change(&mut filter);
        Limit { what, link, without: route.to_list(filter) }
    };
    let tenant = tenant.as_deref().map(|name| limit("tenant", route.tenant_link(name), |it| it.scope.tenant = None));
    let agent = agent.as_deref().map(|id| {
        let name = if id.is_empty() { "nobody" } else { list.agent_name.as_deref().unwrap_or(id) };
        let link = Link { text: name.to_owned(), href: route.to_agent(None, Some(id)) };
        limit("agent", link, |it| it.scope.agent = None)
    });
    let plan = plan.as_deref().map(|id| {
        let href = route.to(View::Plan(id.to_owned(), StepWindow::Around));
        let title = list.plan_title.as_deref().unwrap_or(id);
        limit("plan", Link { text: title.to_owned(), href: Some(href) }, |it| it.plan = None)
    });
    [tenant, agent, plan].into_iter().flatten().collect()
}

/// A plan in a list, or above its steps.
pub struct PlanView<'a> {
    pub plan: &'a PlanSummary,
    pub title: Link,
    pub mark: Mark,
    /// `Stalled for 6h`, `Executing`.
    pub how: String,
    pub bar: String,
    pub done: String,
    /// Its steps that are in progress, while it is open.
    pub steps: Option<Route>,
    pub stalled: String,
}

impl PlanView<'_> {
    pub fn of<'a>(plan: &'a PlanSummary, route: &Route) -> PlanView<'a> {
        let PlanSummary { id, title, status, .. } = plan;
        let StepCounts { total, done, in_progress, stalled } = status.step_counts;
        let counts = [done, stalled, in_progress - stalled, total - done - in_progress].map(signed);
        let parts = [("done", counts[0]), ("stalled", counts[1]), ("in_progress", counts[2]), ("to_come", counts[3])];
        let is_open = ["executing", "stalled"].contains(&status.derived.as_str());
        let its_steps = WorkFilter { kind: Some(Kind::Step), plan: Some(id.0.clone()), ..WorkFilter::default() };
        PlanView {
            plan,
            title: Link { text: redact(title), href: route.to_plan(id) },
            mark: if status.stalled { Mark::Failing } else { Mark::Well },
            how: match status.stuck_seconds {
                Some(seconds) => format!("stalled for {}", age(Some(seconds))),
                None => humanize(&status.derived),
            },
            bar: stacked(&parts, "Steps"),
            done: format!(
                "{}% done: {done} of {}",
                status.progress_percent,
                counted(counts.iter().sum(), "step", "steps")
            ),
            steps: Some(its_steps).filter(|_| is_open && 0 < in_progress).and_then(|filter| route.to_list(filter)),
            stalled: counted(counts[1], "step is stalled", "steps are stalled"),
        }
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Plans: those with steps in progress, or those that a search found.
#[derive(Template)]
#[template(path = "plans.html")]
pub struct PlansPage<'a> {
    frame: Frame,
    list: &'a PlanList,
    search: Search,
    plans: Vec<PlanView<'a>>,
    /// How many there are, in a sentence.
    totals: String,
    next: Option<Route>,
}

impl PlansPage<'_> {
    pub fn of<'a>(list: &'a PlanList, name: &Option<String>, here: &Here) -> PlansPage<'a> {
        let route = &here.route;
        let mark = if list.plans.iter().any(|plan| plan.status.stalled) { Mark::Failing } else { Mark::Well };
        let totals = list.totals.map(|totals| {
            let in_progress = counted(totals.in_progress, "plan has", "plans have");
            let stuck = counted(totals.stuck, "of them is stalled", "of them are stalled");
            format!("{in_progress} steps in progress, {stuck}.")
        });
        let next = |after: &Id| route.to(View::Plans { name: name.clone(), after: Some(after.0.clone()) });
        let note = format!("A search looks at the titles of {PLANS_SEARCHED_MAX} plans at a time, open or not.");
        PlansPage {
            frame: Frame::of(here, mark, "Plans · sweep".to_owned()).read_at(Some(&list.host), list.observed_at),
            list,
            search: Search::of(route, View::plans(), name, Vec::new(), note),
            plans: list.plans.iter().map(|plan| PlanView::of(plan, route)).collect(),
            totals: totals.unwrap_or_default(),
            next: list.next.as_ref().map(next),
        }
    }
}

/// One plan: its steps in their order, who has each, what is stalled and for how long, and what was tried.
#[derive(Template)]
#[template(path = "plan.html")]
pub struct PlanPage<'a> {
    frame: Frame,
    report: &'a PlanReport,
    view: PlanView<'a>,
    tenant: Link,
    current: Option<String>,
    steps: Vec<StepView<'a>>,
    /// `Steps 91 to 190 of 100000`; empty: all are shown.
    range: String,
    /// The steps that come before these and after them.
    others: Vec<(&'static str, Route)>,
}

struct StepView<'a> {
    step: &'a StepReport,
    href: Option<Route>,
    agent: Option<Link>,
    /// Its state, else its status, by their names.
    state: &'a str,
    /// For how long it has been in progress, and its limit.
    lasting: String,
    tried: Vec<String>,
}

impl PlanPage<'_> {
    pub fn of<'a>(report: &'a PlanReport, here: &Here) -> PlanPage<'a> {
        let (route, status) = (&here.route, &report.plan.status);
        let view = PlanView::of(&report.plan, route);
        let title = format!("{} · {} · sweep", redact(&report.plan.title), view.how);
        let (total, before, shown) = (status.step_counts.total, report.steps_before, report.steps.len() as u64);
        let behind = |steps: u64| {
            let View::Plan(name, _) = &route.view else { return route.clone() };
            route.to(View::Plan(name.clone(), StepWindow::Behind(steps)))
        };
        let earlier = (0 < before).then(|| ("Earlier steps", behind(before.saturating_sub(StepWindow::ROWS))));
        let later = (before + shown < total).then(|| ("Later steps", behind(before + shown)));
        let current = status.current_step.as_ref().map(|(position, title)| format!("At step {position}: {title}"));
        PlanPage {
            frame: Frame::of(here, view.mark, title).read_at(Some(&report.host), report.observed_at),
            report,
            view,
            tenant: route.tenant_link(&report.plan.tenant),
            current,
            steps: report.steps.iter().map(|step| StepView::of(step, report, route)).collect(),
            range: match shown {
                all if all == total => String::new(),
                0 => format!("There are no more steps than {total}"),
                _ => format!("Steps {} to {} of {total}", before + 1, before + shown),
            },
            others: earlier.into_iter().chain(later).collect(),
        }
    }
}

impl StepView<'_> {
    fn of<'a>(step: &'a StepReport, report: &PlanReport, route: &Route) -> StepView<'a> {
        let limit = step.stalled_after_seconds.map_or(report.stalled_after_seconds, i64::from);
        let limit = HumanDuration(TimeDelta::seconds(limit));
        let begins = if step.state.is_some() { "in progress for" } else { "for" };
        let lasting = step.age_seconds.map(|seconds| format!("{begins} {}, its limit is {limit}", age(Some(seconds))));
        StepView {
            step,
            href: route.to_subject(Kind::Step, &step.id),
            agent: route.agent_link(step.agent_id.as_ref(), step.agent.as_deref()),
            state: step.state.as_deref().unwrap_or(&step.status),
            lasting: lasting.unwrap_or_default(),
            tried: step.tried.iter().map(|tried| done(tried, report.observed_at)).collect(),
        }
    }
}

/// `continued 2 times, the last time 3h ago`.
fn done(tried: &Tried, now: DateTime<Utc>) -> String {
    let what = match tried.action.as_str() {
        "continue" => "continued".to_owned(),
        "escalate" => "a person was notified".to_owned(),
        "recover" => "recovered".to_owned(),
        "hand_over" => "handed over".to_owned(),
        "abandon" => "reported as abandoned".to_owned(),
        other => humanize(other),
    };
    let ago = age(tried.last_at.map(|at| (now - at).num_seconds().max(0)));
    match tried.times {
        1 => format!("{what}, {ago} ago"),
        n => format!("{what} {n} times, the last time {ago} ago"),
    }
}
