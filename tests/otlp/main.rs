//! OpenTelemetry: what a collector gets, received and decoded by the protocol's own crate. These tests need the feature
//! `otlp`, which the suite is built without: `make test-otlp` plays them.

mod collector;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use collector::Collector;
use tempfile::TempDir;

/// A database in which work is stranded.
struct Company(TempDir);

impl Company {
    fn new() -> Company {
        let company = Company(TempDir::new().expect("a directory"));
        let made = company.sweep(&["demo", "--keep", "--at", "start"]).output().expect("sweep");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        company
    }

    fn path(&self) -> String {
        self.0.path().join("acme.db").display().to_string()
    }

    fn sweep(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_sweep")));
        let [path, home] = [self.path(), self.0.path().display().to_string()];
        command.args(arguments).args(["--database", &format!("sqlite://{path}")]);
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        command
    }

    fn swept(&self, variables: &[(&str, &str)]) -> Output {
        self.sweep(&["--yes"]).envs(variables.iter().copied()).output().expect("sweep")
    }

    /// The ids of the ledger's rows.
    fn ledger(&self) -> BTreeSet<String> {
        let rows = Command::new("sqlite3").args([&self.path(), "select id from recoveries"]).output().expect("sqlite3");
        String::from_utf8(rows.stdout).expect("ids").lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_sweep_is_a_span_and_so_is_each_subject_it_touched_with_the_id_of_its_row_in_the_ledger() {
    let (company, collector) = (Company::new(), Collector::start());
    let before = company.ledger();
    let swept = company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]);
    assert!(swept.status.success(), "{}", String::from_utf8_lossy(&swept.stderr));

    let spans = collector.spans();
    let sweeps: Vec<_> = spans.iter().filter(|span| span.name == "sweep").collect();
    let [sweep] = sweeps[..] else { panic!("{spans:?}") };
    assert_eq!(sweep.attribute("sweep.ended"), "completed");
    assert_eq!(sweep.attribute("sweep.host"), "native");
    let subjects: Vec<_> = spans.iter().filter(|span| span.name == "subject").collect();
    let written: BTreeSet<String> = company.ledger().difference(&before).cloned().collect();
    let reported: BTreeSet<String> = subjects.iter().map(|span| span.attribute("ledger.id")).collect();
    assert!(!written.is_empty());
    assert_eq!((reported, subjects.len()), (written.clone(), written.len()));
    assert!(subjects.iter().all(|span| span.parent == sweep.id && span.trace == sweep.trace), "{spans:?}");
    assert!(subjects.iter().any(|span| span.attribute("subject.name") == "ACM-12"), "{spans:?}");
    assert!(subjects.iter().all(|span| span.start <= span.end && sweep.start <= span.start && span.end <= sweep.end));
}

#[test]
fn what_a_sweep_logs_is_sent_with_its_trace() {
    let (company, collector) = (Company::new(), Collector::start());
    let swept = company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url), ("SWEEP_LOG", "info")]);
    assert!(swept.status.success(), "{}", String::from_utf8_lossy(&swept.stderr));

    let trace = collector.spans()[0].trace.clone();
    let logs = collector.logs();
    let of_issue = logs.iter().find(|log| log.text.starts_with("issue ACM-12 continued"));
    assert_eq!(of_issue.unwrap_or_else(|| panic!("{logs:?}")).trace, trace);
    assert!(logs.iter().all(|log| !log.text.is_empty()), "{logs:?}");
}

#[test]
fn the_environment_names_the_service() {
    let (company, collector) = (Company::new(), Collector::start());
    company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]);
    company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url), ("OTEL_SERVICE_NAME", "nightly")]);
    let services = [("OTEL_RESOURCE_ATTRIBUTES", "service.name=weekly")];
    company.swept(&[&[("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url)], &services[..]].concat());
    assert_eq!(collector.services(), ["nightly", "sweep", "weekly"].map(str::to_owned).into());
}

#[test]
fn nothing_is_sent_where_nothing_is_asked_for() {
    let (company, collector) = (Company::new(), Collector::start());
    company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url), ("OTEL_SDK_DISABLED", "true")]);
    company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]);
    assert!(collector.spans().is_empty() && collector.logs().is_empty());
}

#[test]
fn a_collector_that_takes_nothing_costs_a_warning_and_no_sweep() {
    let refused = Collector::refusing();
    for (endpoint, why) in [
        (refused.url.as_str(), "HTTP 503"),
        ("http://127.0.0.1:9", "Connection refused"),
        ("no endpoint", "expected http://HOST:4318"),
        ("http://us:hunter2@[bad", "expected http://HOST:4318"),
        ("http://us:hunter2@127.0.0.1:9", "Connection refused"),
    ] {
        let (company, began) = (Company::new(), Instant::now());
        let swept = company.swept(&[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("SWEEP_LOG", "warn")]);
        let said = String::from_utf8_lossy(&swept.stderr).into_owned();
        assert!(swept.status.success() && said.contains(why), "{endpoint}: {said}");
        assert!(!said.contains("hunter2"), "{endpoint}: {said}");
        assert!(began.elapsed() < Duration::from_secs(30), "{endpoint}: {:?}", began.elapsed());
    }
}

#[test]
fn a_protocol_that_sweep_does_not_speak_is_named() {
    let company = Company::new();
    let swept = company.swept(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("SWEEP_LOG", "warn"),
    ]);
    let said = String::from_utf8_lossy(&swept.stderr).into_owned();
    assert!(swept.status.success(), "{said}");
    assert!(said.contains("OTEL_EXPORTER_OTLP_PROTOCOL: “grpc”: expected http/protobuf"), "{said}");
}
