//! What people look at: whether the sweeper is alive, how the work stands, and beside it what one command needs. All of
//! it is read in one snapshot, and nothing is written.
//!
//! Every column is read whatever it holds: a row that is broken is shown as far as it goes, and costs the others
//! nothing.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::rules::board::BoardState;
use crate::store::connect::databases::Found;
use crate::store::connect::open::Store;
use crate::store::db::errors::Refused;
use crate::store::hosts::rights::Purpose;
use crate::store::read::SCHEMA;
use crate::store::read::board::Boards;
pub use crate::store::read::counts::{Counts, Share};
use crate::store::read::counts::{counts_of_kinds, most_urgent};
use crate::store::read::effect::count_days;
pub use crate::store::read::effect::{Day, Effect, Exemptions};
use crate::store::read::effect::{count_exemptions, read_effect};
pub use crate::store::read::items::{Item, ItemKind};
use crate::store::read::items::{add_help, oldest_of_each, one_page, together};
pub use crate::store::read::next_sweep::{NextSweep, Stranded, StrandedPlan};
use crate::store::read::plan::{PlanSummary, read_summaries};
pub use crate::store::read::request::{Cursor, OverviewRequest, PageRequest, Scope};
use crate::store::read::request::{Inquiry, inquire};
use crate::store::read::sources::{self, read_notifications};
pub use crate::store::read::sources::{LATE, Notifications, Undelivered};
pub use crate::store::read::subject::{Age, SubjectRef};
pub use crate::store::read::sweeper::{HeldWork, LeftAlone, SweepSummary, Sweeper, SweeperState};
use crate::store::read::work_list::{ListPage, WorkFilter};
use crate::store::work::surroundings::is_none_taken;
use crate::store::{Db, Timeouts, has_any};

/// What people are shown of one database.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Overview<P> {
    /// The version of this format. It grows only when something that is promised changes.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// The host of the tables: `native`, `paperclip`, or the name of another one.
    pub host: String,
    /// With `--tenant`: only this tenant's work; what sweeps did is everybody's. Null: all.
    pub tenant: Option<String>,
    /// With `--agent`: only this agent's work, by its id or its name. Null: all.
    pub agent: Option<String>,
    /// What people call that agent.
    #[serde(skip)]
    pub agent_name: Option<String>,
    /// When it was read, by the database's clock.
    pub observed_at: DateTime<Utc>,
    /// Whether somebody sweeps.
    pub sweeper: Sweeper,
    /// How all work in progress stands, by the kind's plural.
    #[schemars(schema_with = "counts_of_kinds")]
    pub kinds: BTreeMap<&'static str, Counts>,
    #[serde(flatten)]
    pub part: P,
}

/// The part of an overview that one command shows.
pub trait OverviewPart: Sized + Send + 'static {
    /// The states of work that waits for a person: the next rows of each list are read.
    const WAITING: &[&[BoardState]];

    /// How many of the subjects that are stranded are listed.
    const STRANDED_MAX: i64;

    fn read(db: &mut Db, inquiry: &Inquiry, boards: &Boards, sources: &Sources) -> Result<Self, Refused>;
}

/// What the parts are made from besides the boards.
pub struct Sources<'a> {
    pub sweeper: &'a Sweeper,
    /// What leads a command to this database; none: nothing that may be shown does.
    pub database_argument: Option<&'a str>,
}

/// What `sweep attention`, the page and the tools for agents show beside the work: what needs a person, page by page,
/// what the next sweep would do, whose the work is, and what sweeps did on each day.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Attention {
    /// What needs a person, the oldest first: one page of it.
    pub items: Vec<Item>,
    /// How many there are on all pages.
    pub items_total: i64,
    /// Where the next page begins, for `--after`; null: there is none.
    #[schemars(with = "Option<String>")]
    pub next_page: Option<Cursor>,
    /// What the next sweep would do, by the limits and modes of the latest one.
    pub next_sweep: NextSweep,
    /// The plans that have a stalled step, the longest stuck first: at most 20.
    pub plans: Vec<PlanSummary>,
    /// How many there are.
    pub plans_total: i64,
    /// All work of the agent that was asked for: as much of it as a page has.
    #[serde(skip)]
    pub work: Option<ListPage>,
    /// Work by tenant: at most 50, those of whose work most needs a person first.
    pub tenants: Vec<Share>,
    /// How many there are.
    pub tenants_total: usize,
    /// Work by agent: at most 50, in the same order.
    pub agents: Vec<Share>,
    /// How many there are.
    pub agents_total: usize,
    /// Each day of the last four weeks, the oldest first; the last one is today.
    pub days: Vec<Day>,
}

/// What `sweep status` shows beside the work: of each list the oldest 50, and how many there are; and how well sweep
/// does.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Status {
    /// A wake counts as stuck when it has been pending for longer, in seconds.
    pub wake_stuck_after_seconds: i64,
    /// Whether the database has no session, issue or plan step at all.
    pub empty: bool,
    /// Issues that are orphaned, steps that are stalled, and sessions that are silent or crashed.
    pub orphans: Vec<Stranded>,
    /// How many there are.
    pub orphans_total: i64,
    /// What waits for a person.
    pub escalations: Vec<Item>,
    /// How many there are.
    pub escalations_total: i64,
    /// What nobody goes on with: the agent is gone or cannot be woken for long, and people were notified of it.
    pub abandoned: Vec<Item>,
    /// How many there are.
    pub abandoned_total: i64,
    /// The plans that have a stalled step, the longest stuck first.
    pub plans: Vec<PlanSummary>,
    /// How many there are.
    pub plans_total: i64,
    /// The wakes that have been queued for too long and that nobody took up.
    pub stuck_wakes: Vec<Item>,
    /// How many there are.
    pub stuck_wakes_total: i64,
    /// Whether no wake at all was taken up for as long, while some are stuck.
    pub no_wake_is_taken: bool,
    /// What sweeps look at no more, since it failed in three of them running.
    pub quarantined: Vec<Item>,
    /// How many there are.
    pub quarantined_total: i64,
    /// The exemptions of everybody.
    pub exemptions: Exemptions,
    /// Notifications that were not delivered.
    pub notifications: Notifications,
    /// What came of everybody's continuations.
    pub effect: Effect,
}

impl<P: OverviewPart> Overview<P> {
    /// Connects to a database and reads what is asked of it. Refuses a tenant or an agent that is unknown, and a place
    /// in another database's list.
    pub fn read_from(database: &Found, request: &OverviewRequest, timeouts: &Timeouts) -> Result<Overview<P>> {
        let (database, request, its_timeouts) = (database.clone(), request.clone(), *timeouts);
        database.url.clone().ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Show)?;
            let argument = database.argument();
            let read = Overview::read(&mut store, argument.as_deref(), &request, &its_timeouts);
            read.map_err(|error| url.explain(error))
        })
    }

    fn read(
        store: &mut Store,
        database_argument: Option<&str>,
        request: &OverviewRequest,
        timeouts: &Timeouts,
    ) -> Result<Overview<P>> {
        let OverviewRequest { scope, page, host_url } = request;
        let host = store.host.name().to_owned();
        inquire(store, (scope, page), host_url.as_ref(), timeouts, |db, inquiry| {
            let sweeper = Sweeper::read(db, inquiry.now)?;
            let boards = Boards::read(db, inquiry, P::WAITING, P::STRANDED_MAX)?;
            let part = P::read(db, inquiry, &boards, &Sources { sweeper: &sweeper, database_argument })?;
            Ok(Overview {
                schema: SCHEMA,
                host,
                tenant: scope.tenant.clone(),
                agent: scope.agent.clone(),
                agent_name: inquiry.owner.agent_name.clone(),
                observed_at: inquiry.now,
                sweeper,
                kinds: boards.work.kinds(inquiry.kinds),
                part,
            })
        })
    }
}

/// Each costs a look at all of its steps.
const PLANS_LISTED_MAX: usize = 20;

impl OverviewPart for Attention {
    const WAITING: &[&[BoardState]] = &[BoardState::WAITING_FOR_PEOPLE];
    const STRANDED_MAX: i64 = 20;

    fn read(db: &mut Db, inquiry: &Inquiry, boards: &Boards, sources: &Sources) -> Result<Attention, Refused> {
        let mut placed: Vec<_> = boards.waiting.iter().map(|row| Item::waiting(row, inquiry)).collect();
        let mut items_total = boards.work.count(BoardState::WAITING_FOR_PEOPLE);
        for (of_source, n) in sources::read_all(db, inquiry, sources.sweeper)? {
            placed.extend(of_source);
            items_total += n;
        }
        let (mut items, next_page) = one_page(placed, inquiry.page.limit);
        add_help(&mut items, db, inquiry, sources.database_argument)?;
        let (tenants, tenants_total) = most_urgent(boards.work.tenants.values());
        let (agents, agents_total) = most_urgent(boards.work.agents.values());
        let (stuck, plans_total) = &boards.plans.stuck;
        let is_agents = inquiry.owner.agent.is_some();
        let work = is_agents.then(|| ListPage::read(db, &inquiry.begun_anew(), &WorkFilter::default()));
        Ok(Attention {
            items: together(items),
            items_total,
            next_page,
            next_sweep: NextSweep::read(db, boards, sources.sweeper, inquiry.now)?,
            plans: read_summaries(db, &stuck[..stuck.len().min(PLANS_LISTED_MAX)], inquiry)?,
            plans_total: *plans_total,
            work: work.transpose()?,
            tenants,
            tenants_total,
            agents,
            agents_total,
            days: count_days(db, inquiry.now)?,
        })
    }
}

impl OverviewPart for Status {
    const WAITING: &[&[BoardState]] = &[&[BoardState::Escalated], &[BoardState::Abandoned]];
    const STRANDED_MAX: i64 = PageRequest::LIMIT as i64;

    fn read(db: &mut Db, inquiry: &Inquiry, boards: &Boards, sources: &Sources) -> Result<Status, Refused> {
        let (now, (stuck, plans_total)) = (inquiry.now, &boards.plans.stuck);
        let (stuck_wakes, stuck_wakes_total) = sources::stuck_wakes(db, inquiry)?;
        let (quarantined, quarantined_total) = sources::quarantined(db, inquiry)?;
        let waiting = boards.waiting.iter().map(|row| Item::waiting(row, inquiry));
        let placed = waiting.chain(stuck_wakes).chain(quarantined).collect();
        let mut items = oldest_of_each(placed, inquiry.page.limit);
        add_help(&mut items, db, inquiry, sources.database_argument)?;
        let mut take = |what: ItemKind| items.extract_if(.., |item| item.what == what).collect();
        Ok(Status {
            wake_stuck_after_seconds: inquiry.limits.wake_stuck_after.num_seconds(),
            empty: boards.work.count(BoardState::ALL) == 0 && !has_any(db, inquiry.kinds, None)?,
            orphans: boards.stranded.iter().map(|row| Stranded::new(row, now)).collect(),
            orphans_total: boards.work.count(BoardState::STRANDED),
            escalations: take(ItemKind::Escalated),
            escalations_total: boards.work.count(&[BoardState::Escalated]),
            abandoned: take(ItemKind::Abandoned),
            abandoned_total: boards.work.count(&[BoardState::Abandoned]),
            plans: read_summaries(db, stuck, inquiry)?,
            plans_total: *plans_total,
            stuck_wakes: take(ItemKind::StuckWake),
            stuck_wakes_total,
            no_wake_is_taken: is_none_taken(db, &inquiry.stuck_wakes(), stuck_wakes_total)?,
            quarantined: take(ItemKind::Quarantined),
            quarantined_total,
            exemptions: count_exemptions(db, now)?,
            notifications: read_notifications(db, now)?,
            effect: read_effect(db, now)?,
        })
    }
}
