//! OpenTelemetry: spans and logs, sent by OTLP over HTTP. The SDK reads its own variables (`OTEL_…`) from the process's
//! environment. A collector that does not answer costs a warning, and neither a sweep nor much of its time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Error, Result, anyhow, bail};
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, LogExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::warn;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{EnvFilter, Layer, Registry};
use ureq::Agent;

use crate::notify::http_config;
use crate::settings::Environment;
use crate::sweep::logs::SPANS;
use crate::text::redact;

/// How long the collector may take for one answer, and at the end for what is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// The providers of the process, until they are closed.
static PROVIDERS: OnceLock<(SdkTracerProvider, SdkLoggerProvider)> = OnceLock::new();

/// Starts sending to the collector that the environment names. `filter` says which logs are sent.
///
/// # Errors
/// What of the environment sweep's OTLP cannot serve.
pub fn layers(environment: &Environment, filter: EnvFilter) -> Result<Vec<Box<dyn Layer<Registry> + Send + Sync>>> {
    for name in ["EXPORTER_OTLP_PROTOCOL", "EXPORTER_OTLP_TRACES_PROTOCOL", "EXPORTER_OTLP_LOGS_PROTOCOL"] {
        if let Some(protocol) = environment.otel(name).filter(|protocol| *protocol != HTTP) {
            bail!("OTEL_{name}: “{}”: expected {HTTP}", redact(protocol));
        }
    }
    let resource = resource(environment);
    let spans =
        SpanExporter::builder().with_http().with_http_client(Sender::new("traces")).build().map_err(unusable)?;
    let spans = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let logs = LogExporter::builder().with_http().with_http_client(Sender::new("logs")).build().map_err(unusable)?;
    let logs = SdkLoggerProvider::builder().with_resource(resource).with_batch_exporter(logs).build();
    let (spans, logs) = PROVIDERS.get_or_init(|| (spans, logs));
    let tracing = tracing_opentelemetry::layer::<Registry>().with_tracer(spans.tracer("sweep"));
    let tracing = tracing.with_location(false).with_threads(false).with_target(false).with_tracked_inactivity(false);
    let is_span = filter_fn(|metadata| metadata.target() == SPANS);
    Ok(vec![tracing.with_filter(is_span).boxed(), OpenTelemetryTracingBridge::new(logs).with_filter(filter).boxed()])
}

const HTTP: &str = "http/protobuf";

/// An error without what is wrong: its text would have the endpoint in it, which may hold a password.
fn unusable(_: ExporterBuildError) -> Error {
    anyhow!("OTEL_EXPORTER_OTLP_ENDPOINT, or another OTEL_EXPORTER_OTLP_…: expected http://HOST:4318 or https://…")
}

/// The service that spans and logs come from: `sweep`, unless the environment names it.
fn resource(environment: &Environment) -> Resource {
    let is_named = environment.otel("SERVICE_NAME").is_some()
        || environment.otel("RESOURCE_ATTRIBUTES").is_some_and(|attributes| attributes.contains("service.name="));
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    if is_named { resource.build() } else { resource.with_service_name("sweep").build() }
}

/// Sends what is left, and ends.
pub fn finish() {
    if let Some((spans, logs)) = PROVIDERS.get() {
        // The sender has warned of what failed.
        let _ = (spans.shutdown_with_timeout(PATIENCE), logs.shutdown_with_timeout(PATIENCE));
    }
}

/// Sends one kind of telemetry, and warns when that begins to fail. The SDK calls the sender on a thread of its own,
/// where no log is sent.
#[derive(Debug)]
struct Sender {
    agent: Agent,
    sent: &'static str,
    is_failing: AtomicBool,
}

impl Sender {
    fn new(sent: &'static str) -> Sender {
        Sender { agent: Agent::new_with_config(http_config(PATIENCE)), sent, is_failing: AtomicBool::new(false) }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let (parts, body) = request.into_parts();
        let (parts, mut answer) = self.agent.run(Request::from_parts(parts, &body[..]))?.into_parts();
        Ok(Response::from_parts(parts, answer.read_to_vec()?.into()))
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);
        // The texts of errors may have the collector's URL in them, which may hold a password.
        let failure = match &sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("HTTP {}", answer.status().as_u16())),
            Err(ureq::Error::Timeout(_)) => Some(format!("no answer within {} s", PATIENCE.as_secs())),
            Err(ureq::Error::Io(error)) => Some(redact(&error.to_string())),
            Err(_) => Some("the request failed".to_owned()),
        };
        if let Some(failure) = &failure
            && !self.is_failing.load(Ordering::Relaxed)
        {
            warn!("the {} could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT: {failure}", self.sent);
        }
        self.is_failing.store(failure.is_some(), Ordering::Relaxed);
        sent.map_err(|_| failure.unwrap_or_default().into())
    }
}
