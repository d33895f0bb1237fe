//! What a sweep logs: one line for each subject that was touched or could not be, and one for the sweep. To a collector
//! of OpenTelemetry's each is a span.

use tracing::field::Empty;
use tracing::{Span, error, info, info_span, warn};

use super::{Examined, Heading, Mode, Outcome, Summary};
use crate::rules::{Finding, Id, Kind};
use crate::store::Abort;
use crate::store::work::counts::Guarded;
use crate::store::work::ledger::SweepEnd;
use crate::text::redact;

/// What a program that reads the logs groups lines by.
#[derive(Clone, Copy, Debug)]
pub struct LogSource<'a> {
    pub sweep: &'a Id,
    /// None: it is not known here.
    pub host: Option<&'a str>,
    /// `sweep`, `dry_run`, `apply`, `watch`.
    pub mode: &'static str,
}

/// The target of spans, which no log shows.
pub const SPANS: &str = "sweep::spans";

/// The span of a sweep, from its first look to its end.
pub fn span_of_sweep(id: &Id, heading: &Heading) -> Span {
    let (host, mode) = (&*heading.host, heading.mode.name());
    info_span!(
        target: SPANS, "sweep", "sweep.id" = id.0, "sweep.host" = host, "sweep.mode" = mode, "sweep.ended" = Empty,
        "sweep.scanned" = Empty, "sweep.continued" = Empty, "sweep.escalated" = Empty, "sweep.recovered" = Empty,
        "sweep.failed" = Empty, "otel.status_code" = Empty
    )
}

/// The span of a subject that is written, until its transaction has ended.
pub fn span_of_subject() -> Span {
    info_span!(target: SPANS, "subject", "subject.kind" = Empty, "subject.id" = Empty, "subject.name" = Empty,
        "subject.finding" = Empty, "subject.outcome" = Empty, "subject.attempt" = Empty, "subject.reason" = Empty,
        "ledger.id" = Empty, "otel.status_code" = Empty)
}

/// Fills in the span of a subject whose transaction has ended. `entry_id`: the id of its row in the ledger.
pub fn fill_in(span: &Span, examined: &Examined, entry_id: &Id) {
    span.record("subject.kind", examined.kind.name());
    span.record("subject.id", redact(&examined.id.0));
    span.record("subject.name", examined.name());
    span.record("subject.finding", examined.finding.map(Finding::name));
    span.record("subject.outcome", examined.outcome.name());
    span.record("subject.attempt", examined.attempt);
    span.record("subject.reason", redact(&examined.reason));
    span.record("ledger.id", &entry_id.0);
    if matches!(examined.outcome, Outcome::Failed | Outcome::Unknown | Outcome::Unreadable) {
        span.record("otel.status_code", "ERROR");
    }
}

/// One line for each subject that was touched or could not be, after its commit.
pub fn subject(examined: &Examined, source: &LogSource) {
    let Examined { kind, id, outcome, .. } = examined;
    let (id, name, reason) = (redact(&id.0), examined.name(), redact(&examined.reason));
    let LogSource { sweep, host, mode } = source;
    let (finding, decision) = (examined.finding.map(Finding::name), examined.decision);
    macro_rules! line {
        ($log:ident, $would:expr) => {
            $log!(
                %kind, %id, finding, decision, outcome = outcome.name(), sweep = sweep.0, host, mode,
                "{kind} {name} {}{outcome}: {reason}", $would
            )
        };
    }
    let would = if *mode == Mode::DryRun.name() || examined.shadow { "would be " } else { "" };
    match outcome {
        Outcome::Continued | Outcome::Recovered | Outcome::HandedOver => line!(info, would),
        Outcome::Escalated | Outcome::Abandoned => line!(warn, would),
        Outcome::Changed => line!(warn, ""),
        Outcome::Failed | Outcome::Unknown | Outcome::Unreadable => line!(error, ""),
        Outcome::Waiting | Outcome::Skipped | Outcome::Healthy | Outcome::Deferred | Outcome::Busy => {}
    }
}

/// `sentence`: what was held back, and why.
pub fn guard(kind: Kind, guarded: &Guarded, sentence: &str) {
    warn!(%kind, stranded = guarded.stranded, in_progress = guarded.in_progress, "{sentence}");
}

/// Why no more of a kind was swept, as a sentence.
pub fn unswept(kind: Kind, why: &anyhow::Error) -> String {
    let sentence = format!("{} could not be swept: {}", kind.plural(), redact(&format!("{why:#}")));
    error!(%kind, "{sentence}");
    sentence
}

pub fn quarantine(kind: Kind, id: &Id, name: &str, why: &str) {
    let (id, name, why) = (redact(&id.0), redact(name), redact(why));
    error!(%kind, %id, "{kind} {name} is in quarantine from now on, since it failed in too many sweeps running: {why}");
}

/// What the quarantine should have known of a subject, and does not.
pub fn uncounted(kind: Kind, id: &Id, what: &str, why: Abort) {
    let (id, why) = (redact(&id.0), error_chain(why));
    warn!(%kind, %id, "that {kind} {id} {what} could not be recorded: {why}");
}

/// What is open about deleted subjects stays so for now; that is no reason for a sweep to fail.
pub fn unsettled(kind: Kind, why: Abort) {
    warn!(%kind, "what is open about {} that were deleted could not be settled: {}", kind.plural(), error_chain(why));
}

/// The sweep is slower with what the server knew until then, and does the same.
pub fn unrefreshed(why: Abort) {
    warn!("the statistics of sweep's own tables could not be refreshed: {}", error_chain(why));
}

/// A notification of the guard that is not in the outbox.
pub fn unqueued(kind: Kind, why: Abort) {
    warn!(%kind, "that the guard stopped the {} could not be queued as a notification: {}", kind.plural(),
        error_chain(why));
}

/// What was to be done about that which no rule for a subject sees, and could not.
pub fn surroundings(what: &str, why: Abort) {
    warn!("{what}: {}", error_chain(why));
}

fn error_chain(why: Abort) -> String {
    redact(&format!("{:#}", anyhow::Error::from(why)))
}

/// What is said of a database in which no control plane has written anything yet.
pub const EMPTY: &str = "There is no session, issue or plan in this database yet";

/// One line for the sweep, and what its operator should know of the clocks. Completes the sweep's span.
pub fn sweep(summary: &Summary, sweep: &Id) {
    for warning in summary.clocks.warnings() {
        warn!("{warning}");
    }
    if summary.empty {
        info!("{EMPTY}");
    }
    let (total, span) = (summary.total(), Span::current());
    span.record("sweep.ended", summary.ended.name());
    for (name, count) in [
        ("sweep.scanned", total.scanned),
        ("sweep.continued", total.continued),
        ("sweep.escalated", total.escalated),
        ("sweep.recovered", total.recovered),
        ("sweep.failed", total.failed),
    ] {
        span.record(name, count);
    }
    if summary.ended == SweepEnd::Failed {
        span.record("otel.status_code", "ERROR");
    }
    info!(
        ended = summary.ended.name(),
        exit = summary.conclusion as i32,
        scanned = total.scanned,
        continued = total.continued,
        escalated = total.escalated,
        recovered = total.recovered,
        handed_over = total.handed_over,
        abandoned = total.abandoned,
        deferred = total.deferred,
        busy = total.busy,
        unreadable = total.unreadable,
        unknown = total.unknown,
        failed = total.failed,
        sweep = sweep.0,
        host = summary.heading.host,
        mode = summary.heading.mode.name(),
        "{} {}",
        match summary.heading.mode {
            Mode::Sweep => "sweep",
            Mode::DryRun => "dry run, nothing was written:",
            Mode::Apply => "sweep of a plan",
        },
        summary.ended.name()
    );
}
