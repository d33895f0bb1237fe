//! A collector on loopback, which keeps what it receives.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message;
use tokio::net::TcpListener;

#[derive(Default)]
struct Received {
    traces: Vec<ExportTraceServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
}

pub struct Collector {
    pub url: String,
    received: Arc<Mutex<Received>>,
}

/// A span as it was received: ids as bytes, times in nanoseconds.
#[derive(Debug)]
pub struct Span {
    pub name: String,
    pub trace: Vec<u8>,
    pub id: Vec<u8>,
    pub parent: Vec<u8>,
    pub start: u64,
    pub end: u64,
    attributes: Vec<KeyValue>,
}

impl Span {
    /// The text of an attribute.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> String {
        let found = self.attributes.iter().find(|attribute| attribute.key == name);
        text(found.and_then(|attribute| attribute.value.as_ref())).unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }
}

#[derive(Debug)]
pub struct Log {
    pub text: String,
    pub trace: Vec<u8>,
}

fn text(value: Option<&AnyValue>) -> Option<String> {
    match value?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        _ => None,
    }
}

impl Collector {
    pub fn start() -> Collector {
        Collector::answering(StatusCode::OK)
    }

    /// A collector that is too busy to take anything.
    pub fn refusing() -> Collector {
        Collector::answering(StatusCode::SERVICE_UNAVAILABLE)
    }

    fn answering(status: StatusCode) -> Collector {
        let received = Arc::new(Mutex::new(Received::default()));
        let (kept, (tell, told)) = (Arc::clone(&received), channel());
        // The thread ends with the process.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the test waits");
                let router = Router::new().fallback(move |uri: Uri, body: Bytes| async move {
                    let mut kept = kept.lock().expect("the collector works");
                    match uri.path() {
                        "/v1/traces" => kept.traces.push(Message::decode(body).expect("traces")),
                        "/v1/logs" => kept.logs.push(Message::decode(body).expect("logs")),
                        path => panic!("{path}"),
                    }
                    status
                });
                axum::serve(listener, router).await.expect("served");
            });
        });
        Collector { url: format!("http://{}", told.recv().expect("the collector listens")), received }
    }

    pub fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().expect("the collector works");
        let scopes = received.traces.iter().flat_map(|traces| &traces.resource_spans).flat_map(|of| &of.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans.clone()).map(|span| Span {
            name: span.name,
            trace: span.trace_id,
            id: span.span_id,
            parent: span.parent_span_id,
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano,
            attributes: span.attributes,
        });
        spans.collect()
    }

    pub fn logs(&self) -> Vec<Log> {
        let received = self.received.lock().expect("the collector works");
        let scopes = received.logs.iter().flat_map(|logs| &logs.resource_logs).flat_map(|of| &of.scope_logs);
        let records = scopes.flat_map(|scope| &scope.log_records);
        let log = |record: &opentelemetry_proto::tonic::logs::v1::LogRecord| Log {
            text: text(record.body.as_ref()).unwrap_or_default(),
            trace: record.trace_id.clone(),
        };
        records.map(log).collect()
    }

    /// The names of the services that sent spans.
    pub fn services(&self) -> BTreeSet<String> {
        let received = self.received.lock().expect("the collector works");
        let resources = received.traces.iter().flat_map(|traces| &traces.resource_spans);
        let attributes =
            resources.filter_map(|spans| spans.resource.as_ref()).flat_map(|resource| &resource.attributes);
        attributes.filter(|it| it.key == "service.name").filter_map(|it| text(it.value.as_ref())).collect()
    }
}
