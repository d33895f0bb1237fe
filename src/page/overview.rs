//! What needs a person, whether the sweeper is alive, what the next sweep would do, and how the work stands.

use std::collections::BTreeMap;

use askama::Template;

use super::chart::{self, Mark, Svg};
use super::frame::Frame;
use super::item::{ItemView, PlannedView, Whose};
use super::route::{Here, Link, Route, View};
use super::shown::{Minute, Shown};
use crate::report::attention::{expected, needs};
use crate::rules::board::BoardState;
use crate::rules::display::{counted, humanize};
use crate::store::read::overview::{Attention, Counts, Day, Overview, Share};

#[derive(Template)]
#[template(path = "overview.html")]
pub struct OverviewPage {
    frame: Frame,
    /// Whose work it is; none: everybody's.
    whose: Option<Whom>,
    summary: Shown,
    expected: String,
    needs: String,
    is_calm: bool,
    items: Vec<ItemView>,
    /// It is not the first page of items.
    is_later: bool,
    first: Route,
    next: Option<Route>,
    stranded_total: i64,
    stranded: String,
    planned: Vec<PlannedView>,
    decisions: String,
    bar: Svg,
    kinds: Vec<&'static str>,
    states: Vec<StateRow>,
    tenants: Shares,
    agents: Shares,
    series: Vec<Series>,
    days: Vec<Day>,
    first_day: String,
    last_day: String,
    /// When they were counted, if that was before.
    days_counted_at: Option<Minute>,
    sweeps: Route,
    items_total: i64,
    in_progress: i64,
}

/// `tenant` or `agent`, and his name.
struct Whom {
    what: &'static str,
    name: Shown,
}

/// How many subjects are in one state: of each kind, and of all.
struct StateRow {
    state: &'static str,
    words: String,
    counts: Vec<i64>,
    total: i64,
}

/// The work of tenants or of agents.
struct Shares {
    rows: Vec<ShareRow>,
    more: usize,
}

struct ShareRow {
    name: Link,
    tenant: Option<Link>,
    waiting: i64,
    stranded: i64,
    others: i64,
}

/// What happened on each day.
struct Series {
    name: &'static str,
    words: String,
    total: i64,
    chart: Svg,
}

/// What waits for a person comes first, and what goes on by itself last.
const ORDER: [BoardState; 11] = [
    BoardState::Escalated,
    BoardState::Abandoned,
    BoardState::Orphaned,
    BoardState::Stalled,
    BoardState::Silent,
    BoardState::Crashed,
    BoardState::Skipped,
    BoardState::Exempt,
    BoardState::Waiting,
    BoardState::Queued,
    BoardState::Active,
];

impl OverviewPage {
    pub fn of(overview: &Overview<Attention>, here: &Here) -> OverviewPage {
        let route = &here.route;
        let Overview { sweeper, observed_at, part: attention, .. } = overview;
        let next_sweep = &attention.next_sweep;
        let mark = Mark::from(sweeper.state);
        let whom = |what, name: &Option<String>| name.as_deref().map(|name| Whom { what, name: Shown::of(name) });
        let whose = whom("tenant", &overview.tenant).or_else(|| whom("agent", &overview.agent));
        let title = title(mark, attention.items_total, whose.as_ref());
        let named = Whose::of(overview);
        let scope_and = |after| match &route.view {
            View::Work { scope, .. } => route.to(View::Work { scope: scope.clone(), after }),
            View::Subject(..) | View::Sweeps => route.to(View::everything()),
        };
        let (kinds, states) = states(&overview.kinds);
        let bar: Vec<(&'static str, i64)> = states.iter().map(|row| (row.state, row.total)).collect();
        let decisions = next_sweep.decisions.iter().map(|(decision, n)| format!("{n} × {}", humanize(decision)));
        OverviewPage {
            frame: Frame::of(here, mark, &title).read(Some(&overview.host), *observed_at),
            whose,
            summary: Shown::of(&sweeper.summary),
            expected: sweeper.next_sweep_at.map(|at| expected(at, *observed_at)).unwrap_or_default(),
            needs: needs(attention.items_total),
            is_calm: attention.items_total == 0 && sweeper.is_well(),
            items: attention.items.iter().map(|item| ItemView::of(item, route, named)).collect(),
            is_later: matches!(&route.view, View::Work { after: Some(_), .. }),
            first: scope_and(None),
            next: attention.next_page.clone().map(|after| scope_and(Some(after))),
            stranded_total: next_sweep.stranded_total,
            stranded: counted(next_sweep.stranded_total, "subject is", "subjects are"),
            planned: next_sweep.subjects.iter().map(|planned| PlannedView::of(planned, route, named)).collect(),
            decisions: decisions.collect::<Vec<_>>().join(", "),
            bar: chart::stacked(&bar, "All work in progress"),
            kinds,
            states,
            tenants: Shares::of(&attention.tenants, attention.tenants_total, |share| Link {
                text: Shown::of(&share.name),
                href: route.to_tenant(&share.name),
            }),
            agents: Shares::of(&attention.agents, attention.agents_total, |share| Link {
                text: Shown::of(if share.name.is_empty() { "nobody" } else { &share.name }),
                href: share.id.as_ref().and_then(|id| route.to_agent(Some(id), None)),
            })
            .belonging(&attention.agents, |share| named.link(route, Some(&share.tenant))),
            series: series(&attention.days),
            days: attention.days.iter().rev().cloned().collect(),
            first_day: attention.days.first().map(|day| day.date.to_string()).unwrap_or_default(),
            last_day: attention.days.last().map(|day| day.date.to_string()).unwrap_or_default(),
            days_counted_at: attention.days_counted_at.map(Minute),
            sweeps: route.to(View::Sweeps),
            items_total: attention.items_total,
            in_progress: bar.iter().map(|(_, n)| n).sum(),
        }
    }
}

fn title(mark: Mark, items: i64, whose: Option<&Whom>) -> String {
    let whose = whose.map(|Whom { what, name }| format!(" · {what} {name}")).unwrap_or_default();
    format!("{} · {}{whose} · sweep", mark.word(), needs(items))
}

/// The kinds that there are, and each state in which anything is.
fn states(kinds: &BTreeMap<&'static str, Counts>) -> (Vec<&'static str>, Vec<StateRow>) {
    let provided: Vec<_> = kinds.iter().filter(|(_, counts)| counts.provided).collect();
    let rows = ORDER.iter().map(|state| {
        let counts: Vec<i64> =
            provided.iter().map(|(_, counts)| counts.states.get(state).copied().unwrap_or_default()).collect();
        StateRow { state: state.name(), words: humanize(state.name()), total: counts.iter().sum(), counts }
    });
    (provided.iter().map(|(kind, _)| **kind).collect(), rows.filter(|row| 0 < row.total).collect())
}

impl Shares {
    fn of(shares: &[Share], total: usize, link: impl Fn(&Share) -> Link) -> Shares {
        let row = |share: &Share| {
            let (waiting, stranded) = (share.count(BoardState::WAITING_FOR_PEOPLE), share.count(BoardState::STRANDED));
            let others = share.total() - waiting - stranded;
            ShareRow { name: link(share), tenant: None, waiting, stranded, others }
        };
        Shares { rows: shares.iter().map(row).collect(), more: total - shares.len() }
    }

    fn belonging(mut self, shares: &[Share], to: impl Fn(&Share) -> Option<Link>) -> Shares {
        self.rows.iter_mut().zip(shares).for_each(|(row, share)| row.tenant = to(share));
        self
    }
}

fn series(days: &[Day]) -> Vec<Series> {
    let highest = Day::SHOWN.iter().flat_map(|(_, of)| days.iter().map(of)).max().unwrap_or_default();
    let series = Day::SHOWN.map(|(name, of)| {
        let words = humanize(name);
        let each: Vec<(String, i64)> = days.iter().map(|day| (day.date.to_string(), of(day))).collect();
        let total = each.iter().map(|(_, n)| n).sum();
        Series { name, total, chart: chart::columns(name, &words, &each, highest), words }
    });
    series.into()
}
