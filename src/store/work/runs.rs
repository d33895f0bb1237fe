//! The runs of sweep's own tables, as the program that runs an agent writes them: it takes a wake, says that its run
//! lives, and ends that. Each write repeats that the run is still its own: what a sweep has taken, no one changes.

use chrono::TimeDelta;
use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::Nullable;

use crate::rules::Id;
use crate::store::Db;
use crate::store::db::schema::{issues, plan_steps};
use crate::store::db::types::sql::HostId;
use crate::store::db::types::{Bound, Instant};

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::db::types::sql::*;
    runs (id) {
        id -> HostId,
        agent_id -> HostId,
        issue_id -> Nullable<HostId>,
        plan_step_id -> Nullable<HostId>,
        wake_id -> HostId,
        status -> Text,
        finished_at -> Moment,
        heartbeat_at -> Moment,
        lease_seconds -> Nullable<Integer>,
    }
}

/// A wake that was taken, and what the run that it started is to work on.
#[derive(QueryableByName)]
pub struct TakenWake {
    #[diesel(sql_type = HostId)]
    id: Id,
    #[diesel(sql_type = HostId)]
    pub agent_id: Id,
    #[diesel(sql_type = Nullable<HostId>)]
    pub issue_id: Option<Id>,
    #[diesel(sql_type = Nullable<HostId>)]
    pub plan_step_id: Option<Id>,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RunEnd {
    Succeeded,
    Interrupted,
    Failed,
    Cancelled,
    TimedOut,
}

/// Takes the oldest wake that is queued as a run, which is lost when it is silent for longer than `lease`. None: no
/// wake is queued.
pub fn begin(db: &mut Db, lease: Option<TimeDelta>) -> QueryResult<Option<(Id, TakenWake)>> {
    let (now, at) = (db.dialect().clock(), db.now()?);
    let locked = db.dialect().either(" FOR UPDATE SKIP LOCKED", "");
    let take = sql_query(format!(
        "UPDATE wakes SET status = 'completed', updated_at = {now} WHERE id = (SELECT id FROM wakes \
         WHERE status = 'queued' ORDER BY created_at LIMIT 1{locked}) RETURNING id, agent_id, issue_id, plan_step_id"
    ));
    let Some(wake) = take.get_result::<TakenWake>(db).optional()? else { return Ok(None) };
    let (run, lease) = (Id::generate(), lease.and_then(|lease| i32::try_from(lease.num_seconds()).ok()));
    let values = (
        runs::id.eq(&run),
        runs::wake_id.eq(&wake.id),
        runs::agent_id.eq(&wake.agent_id),
        runs::issue_id.eq(Bound::optional(wake.issue_id.as_ref())),
        runs::plan_step_id.eq(Bound::optional(wake.plan_step_id.as_ref())),
        runs::status.eq("running"),
        runs::heartbeat_at.eq(Instant(at)),
        runs::lease_seconds.eq(lease),
    );
    diesel::insert_into(runs::table).values(values).execute(db)?;
    Ok(Some((run, wake)))
}

/// The run, as long as no sweep has taken it and its status is one of these.
#[diesel::dsl::auto_type(no_type_alias)]
fn own<'a>(run: &'a Id, statuses: &'a [&'a str]) -> _ {
    runs::table.filter(runs::id.eq(run)).filter(runs::status.eq_any(statuses))
}

/// A run that was queued and never began keeps its issue live as well: a person may end it.
const UNENDED: [&str; 3] = ["running", "queued", "scheduled_retry"];

/// Is there such a run, at work or not?
pub fn is_there(db: &mut Db, run: &Id) -> QueryResult<bool> {
    select(exists(runs::table.filter(runs::id.eq(run)))).get_result(db)
}

/// Notes a sign of life. False: the run is not running any more.
pub fn note_heartbeat(db: &mut Db, run: &Id) -> QueryResult<bool> {
    let at = db.now()?;
    Ok(diesel::update(own(run, &["running"])).set(runs::heartbeat_at.eq(Instant(at))).execute(db)? == 1)
}

/// Ends a run. `is_work_done`: its issue goes to review, or its step is completed. False: the run has ended already,
/// and nothing was changed.
pub fn end(db: &mut Db, run: &Id, end: RunEnd, is_work_done: bool) -> QueryResult<bool> {
    let at = Instant(db.now()?);
    let ended = (runs::status.eq(<&str>::from(end)), runs::finished_at.eq(at));
    if diesel::update(own(run, &UNENDED)).set(ended).execute(db)? == 0 {
        return Ok(false);
    }
    if is_work_done {
        let of_run = runs::table.filter(runs::id.eq(run));
        match of_run.select((runs::issue_id, runs::plan_step_id)).first::<(Option<Id>, Option<Id>)>(db)? {
            (_, Some(step)) => {
                let step = plan_steps::table.filter(plan_steps::id.eq(step));
                let done = (plan_steps::status.eq("completed"), plan_steps::updated_at.eq(at));
                diesel::update(step.filter(plan_steps::status.eq("in_progress"))).set(done).execute(db)?;
            }
            (Some(issue), None) => {
                let issue = issues::table.filter(issues::id.eq(issue)).filter(issues::status.eq("in_progress"));
                let done = (issues::status.eq("in_review"), issues::updated_at.eq(at));
                diesel::update(issue).set(done).execute(db)?;
            }
            (None, None) => {}
        }
    }
    Ok(true)
}
