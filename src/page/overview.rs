//! What needs a person, whether the sweeper is alive, what the next sweep would do, and how the work stands.

use std::collections::BTreeMap;

use askama::Template;

use super::chart::{self, Mark, Svg};
use super::pages::Frame;
use super::route::{Here, Link, Route, View};
use super::shown::{Minute, age, web_page};
use crate::report::attention::{expected, needs};
use crate::rules::board::BoardState;
use crate::rules::display::{counted, humanize};
use crate::store::read::overview::{Attention, Counts, Cursor, Day, Overview, Share, SubjectRef};

#[derive(Template)]
#[template(path = "overview.html")]
pub struct OverviewPage<'a> {
    frame: Frame,
    route: &'a Route,
    overview: &'a Overview<Attention>,
    attention: &'a Attention,
    /// `tenant` or `agent`, and its name; none: everybody's work is shown.
    whose: Option<(&'static str, &'a str)>,
    expected: String,
    needs: String,
    decisions: String,
    bar: Svg,
    kinds: Vec<&'static str>,
    states: Vec<StateRow>,
    series: Vec<Series>,
    in_progress: i64,
}

/// How many subjects are in one state: of each kind, and of all.
struct StateRow {
    state: BoardState,
    counts: Vec<i64>,
    total: i64,
}

/// The work of a tenant or of an agent.
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

impl OverviewPage<'_> {
    pub fn of<'a>(overview: &'a Overview<Attention>, here: &'a Here) -> OverviewPage<'a> {
        let route = &here.route;
        let Overview { sweeper, observed_at, part: attention, .. } = overview;
        let whom = |what, name: &'a Option<String>| name.as_deref().map(|name| (what, name));
        let whose = whom("tenant", &overview.tenant).or_else(|| whom("agent", &overview.agent));
        let (mark, needs) = (Mark::from(sweeper.state), needs(attention.items_total));
        let whose_title = whose.map(|(what, name)| format!(" · {what} {name}")).unwrap_or_default();
        let title = format!("{} · {needs}{whose_title} · sweep", mark.word());
        let (kinds, states) = states(&overview.kinds);
        let bar: Vec<(&'static str, i64)> = states.iter().map(|row| (row.state.name(), row.total)).collect();
        let decisions =
            attention.next_sweep.decisions.iter().map(|(decision, n)| format!("{n} × {}", humanize(decision)));
        OverviewPage {
            frame: Frame::of(here, mark, title).read_at(Some(&overview.host), *observed_at),
            route,
            overview,
            attention,
            whose,
            expected: sweeper.next_sweep_at.map(|at| expected(at, *observed_at)).unwrap_or_default(),
            needs,
            decisions: decisions.collect::<Vec<_>>().join(", "),
            bar: chart::stacked(&bar, "All work in progress"),
            kinds,
            in_progress: bar.iter().map(|(_, n)| n).sum(),
            states,
            series: series(&attention.days),
        }
    }

    fn shares_of_tenants(&self) -> Vec<ShareRow> {
        let row = |share: &Share| ShareRow::of(share, self.route.tenant_link(&share.name), None);
        self.attention.tenants.iter().map(row).collect()
    }

    fn shares_of_agents(&self) -> Vec<ShareRow> {
        let row = |share: &Share| {
            let name = if share.name.is_empty() { "nobody" } else { &share.name };
            let href = share.id.as_ref().and_then(|id| self.route.to_agent(Some(id), None));
            ShareRow::of(share, Link { text: name.to_owned(), href }, self.tenant(Some(&share.tenant)))
        };
        self.attention.agents.iter().map(row).collect()
    }

    /// Another page of the items that are shown here.
    fn items_after(&self, after: &Option<Cursor>) -> Route {
        let mut view = self.route.view.clone();
        if let View::Work { after: place, .. } = &mut view {
            place.clone_from(after);
        }
        self.route.to(view)
    }

    fn first_items(&self) -> Route {
        self.items_after(&None)
    }

    fn stranded(&self) -> String {
        counted(self.attention.next_sweep.stranded_total, "subject is", "subjects are")
    }

    fn is_later(&self) -> bool {
        matches!(&self.route.view, View::Work { after: Some(_), .. })
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
        let href = subject.page().and_then(|page| self.route.to_subject(page.kind, page.id));
        subject.name().map(|name| Link { text: name.to_owned(), href })
    }

    fn agent(&self, subject: &SubjectRef) -> Option<Link> {
        self.route.agent_link(subject.agent_id.as_ref(), subject.agent.as_deref())
    }

    /// The tenant, if there are several: else everybody knows whose it is.
    fn tenant(&self, tenant: Option<&str>) -> Option<Link> {
        let are_several = self.overview.tenant.is_none() && 1 < self.attention.tenants_total;
        tenant.filter(|tenant| are_several && !tenant.is_empty()).map(|tenant| self.route.tenant_link(tenant))
    }
}

/// The kinds that there are, and each state in which anything is.
fn states(kinds: &BTreeMap<&'static str, Counts>) -> (Vec<&'static str>, Vec<StateRow>) {
    let provided: Vec<_> = kinds.iter().filter(|(_, counts)| counts.provided).collect();
    const CALM: [BoardState; 5] =
        [BoardState::Skipped, BoardState::Exempt, BoardState::Waiting, BoardState::Queued, BoardState::Active];
    // What waits for a person comes first, and what goes on by itself last.
    let order = [BoardState::WAITING_FOR_PEOPLE, BoardState::STRANDED, &CALM].concat();
    let rows = order.into_iter().map(|state| {
        let counts: Vec<i64> =
            provided.iter().map(|(_, counts)| counts.states.get(&state).copied().unwrap_or_default()).collect();
        StateRow { state, total: counts.iter().sum(), counts }
    });
    (provided.iter().map(|(kind, _)| **kind).collect(), rows.filter(|row| 0 < row.total).collect())
}

impl ShareRow {
    fn of(share: &Share, name: Link, tenant: Option<Link>) -> ShareRow {
        let (waiting, stranded) = (share.count(BoardState::WAITING_FOR_PEOPLE), share.count(BoardState::STRANDED));
        ShareRow { name, tenant, waiting, stranded, others: share.total() - waiting - stranded }
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
