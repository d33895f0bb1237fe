//! The latest sweeps: how each ended, what it did, and what the guard holds back.

use askama::Template;
use chrono::TimeDelta;

use super::chart::Mark;
use super::frame::Frame;
use super::route::Here;
use super::shown::{Minute, Shown};
use crate::report::attention::expected;
use crate::rules::display::{HumanDuration, format_utc, humanize};
use crate::store::read::overview::{Attention, Overview, SweepSummary};

#[derive(Template)]
#[template(path = "sweeps.html")]
pub struct SweepsPage {
    frame: Frame,
    summary: Shown,
    expected: String,
    last_success: Option<Minute>,
    interval: Option<String>,
    guard: Vec<Shown>,
    sweeps: Vec<SweepView>,
}

struct SweepView {
    mark: Mark,
    began: String,
    ended: Shown,
    took: Option<String>,
    is_guarded: bool,
    exit_code: Option<i32>,
    /// It looked at a part only, and at which.
    part: Option<String>,
    /// What there was any of.
    counts: Vec<(&'static str, u64)>,
}

impl SweepsPage {
    pub fn of(overview: &Overview<Attention>, here: &Here) -> SweepsPage {
        let Overview { sweeper, observed_at, .. } = overview;
        let mark = Mark::from(sweeper.state);
        SweepsPage {
            frame: Frame::of(here, mark, "Sweeps · sweep").read(Some(&overview.host), *observed_at),
            summary: Shown::of(&sweeper.summary),
            expected: sweeper.next_sweep_at.map(|at| expected(at, *observed_at)).unwrap_or_default(),
            last_success: sweeper.last_success_at.map(Minute),
            interval: sweeper.interval_seconds.map(|every| HumanDuration(TimeDelta::seconds(every)).to_string()),
            guard: sweeper.guard.iter().map(|held| Shown::of(&held.why)).collect(),
            sweeps: sweeper.sweeps.iter().map(SweepView::of).collect(),
        }
    }
}

impl SweepView {
    fn of(sweep: &SweepSummary) -> SweepView {
        let SweepSummary { tally, .. } = sweep;
        let counts = [
            ("continued", tally.continued),
            ("escalated", tally.escalated),
            ("recovered", tally.recovered),
            ("handed over", tally.handed_over),
            ("abandoned", tally.abandoned),
            ("failed", tally.failed),
            ("deferred", tally.deferred),
        ];
        let part = (1 < sweep.shards).then(|| format!("part {} of {}", sweep.shard + 1, sweep.shards));
        let mark = match (sweep.finished_at, sweep.is_well()) {
            (_, false) => Mark::Failing,
            (None, true) => Mark::Never,
            (Some(_), true) => Mark::Well,
        };
        SweepView {
            mark,
            began: sweep.started_at.map_or("at an unknown time".to_owned(), format_utc),
            ended: Shown::of(&humanize(sweep.ended.as_deref().unwrap_or("not ended"))),
            took: sweep.duration_ms.map(took),
            is_guarded: sweep.is_guarded(),
            exit_code: sweep.exit_code,
            part: part.or_else(|| sweep.partial.then(|| "a part only".to_owned())),
            counts: counts.into_iter().filter(|(_, n)| 0 < *n).collect(),
        }
    }
}

fn took(milliseconds: i64) -> String {
    match milliseconds {
        short if short < 10_000 => format!("{short} ms"),
        long => HumanDuration(TimeDelta::milliseconds(long)).to_string(),
    }
}
