//! The latest sweeps: how each ended, what it did, and what the guard holds back.

use askama::Template;
use chrono::TimeDelta;

use super::chart::Mark;
use super::frame::Frame;
use super::route::Here;
use super::shown::Minute;
use crate::report::attention::expected;
use crate::rules::display::{HumanDuration, format_utc, humanize};
use crate::store::read::overview::{Attention, Overview, SweepSummary, Sweeper};

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
    counts: Vec<(&'static str, u64)>,
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
            sweep,
            mark,
            began: sweep.started_at.map_or("at an unknown time".to_owned(), format_utc),
            ended: humanize(sweep.ended.as_deref().unwrap_or("not ended")),
            took: sweep.duration_ms.map(took),
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
