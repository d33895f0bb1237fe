//! Serving the page: beside the daemon's other answers, or alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use askama::Template;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{error, info};

use super::Viewed;
use super::access::{PageAccess, PageOptions};
use super::answer::{Caching, PageDocument, file};
use super::databases::DatabasesPage;
use super::frame::TroublePage;
use super::overview::OverviewPage;
use super::reader::{LastKnown, ReadView, Reader, Trouble, ViewResult};
use super::route::{Here, Route, View};
use super::subject::SubjectPage;
use super::sweeps::SweepsPage;
use crate::conclusion::Conclusion;
use crate::http;
use crate::store::connect::databases::Found;
use crate::sweep::limits::{LISTENING, exit_in_any_case};

/// Everything that the answers are made of.
struct PageServer {
    access: PageAccess,
    viewed: Box<dyn Fn() -> Viewed + Send + Sync>,
    /// The reader of each database, by the database's name.
    readers: Mutex<BTreeMap<Option<String>, Reader>>,
    /// Bounds how many databases are read at the same time.
    turns: Arc<Semaphore>,
}

const READ_AT_ONCE: usize = 16;

/// Answers all requests that nobody else does, at this address.
pub fn router(
    options: PageOptions,
    address: SocketAddr,
    viewed: impl Fn() -> Viewed + Send + Sync + 'static,
) -> Router {
    let access = PageAccess::new(options, http::is_local(address));
    let page = PageServer {
        access,
        viewed: Box::new(viewed),
        readers: Mutex::default(),
        turns: Arc::new(Semaphore::new(READ_AT_ONCE)),
    };
    Router::new().fallback(answer).with_state(Arc::new(page))
}

/// Serves the page and /healthz until a signal ends it.
pub fn run(
    options: PageOptions,
    address: SocketAddr,
    viewed: impl Fn() -> Viewed + Send + Sync + 'static,
) -> Result<Conclusion> {
    options.refuse_open(address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the page")?;
    let ended = runtime.block_on(async {
        exit_in_any_case()?;
        let mut terminate = signal(SignalKind::terminate()).context(LISTENING)?;
        let mut interrupt = signal(SignalKind::interrupt()).context(LISTENING)?;
        let listening = http::listen(address)?;
        let bound = listening.address;
        let router = router(options, bound, viewed).route("/healthz", get(async || "ok\n"));
        info!("HTTP on {bound}: the page, /healthz");
        listening.serve(router);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("ended");
        Ok(Conclusion::Done)
    });
    // A reading of a database that does not answer is not waited for.
    runtime.shutdown_background();
    ended
}

async fn answer(State(page): State<Arc<PageServer>>, request: Request) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let document = match page.access.refusal(&request) {
        Some(refusal) => PageDocument::text(refusal),
        None if method != Method::GET && method != Method::HEAD => {
            PageDocument::text((StatusCode::METHOD_NOT_ALLOWED, "The page only reads: expected GET or HEAD\n"))
        }
        None => match file(request.uri().path()) {
            Some(file) => file,
            None => page.document(request.uri().path(), request.uri().query().unwrap_or_default()).await,
        },
    };
    document.answer(&method, &headers)
}

impl PageServer {
    async fn document(self: &Arc<PageServer>, path: &str, query: &str) -> PageDocument {
        let front = Route { database: None, view: View::everything(), refreshes: !query.contains("refresh=off") };
        let elsewhere = |route: Route| Here { route, called: "sweep".to_owned() };
        let Some(route) = Route::parse(path, query) else {
            return html(TroublePage::nowhere(&elsewhere(front)), false);
        };
        let viewed = (self.viewed)();
        if let Some(found) = viewed.databases.iter().find(|found| found.name == route.database).cloned() {
            let (reading, known) = self.read(&found, &route.view, &viewed).await;
            let called = found.name.unwrap_or_else(|| found.url.name());
            return shown(&reading, known, &Here { route, called });
        }
        if viewed.databases.is_empty() {
            let why = "it is not known yet which databases there are".to_owned();
            let trouble = Trouble { conclusion: Conclusion::Unavailable, why };
            let refreshes = route.refreshes;
            return html(TroublePage::of(&trouble, LastKnown::default(), &elsewhere(route)), refreshes);
        }
        match route {
            Route { database: None, view: View::Work { .. }, .. } if route.view == View::everything() => {
                self.all(viewed, &route).await
            }
            _ => html(TroublePage::nowhere(&elsewhere(front)), false),
        }
    }

    /// All databases at once, so that one that does not answer keeps none of the others waiting.
    async fn all(self: &Arc<PageServer>, viewed: Viewed, route: &Route) -> PageDocument {
        let mut readings = JoinSet::new();
        for (place, found) in viewed.databases.iter().cloned().enumerate() {
            let (page, viewed) = (Arc::clone(self), viewed.clone());
            readings.spawn(async move {
                let (reading, known) = page.read(&found, &View::everything(), &viewed).await;
                (place, found.name.unwrap_or_default(), reading, known)
            });
        }
        let mut read = readings.join_all().await;
        read.sort_by_key(|(place, ..)| *place);
        let read: Vec<_> = read.into_iter().map(|(_, name, reading, known)| (name, reading, known)).collect();
        let is_any_there = read.iter().any(|(_, reading, _)| reading.is_ok());
        let status = if is_any_there { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        html((status, DatabasesPage::of(&read, route)), route.refreshes)
    }

    async fn read(&self, found: &Found, view: &View, viewed: &Viewed) -> (ViewResult, LastKnown) {
        let reader = {
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            readers.retain(|name, _| viewed.databases.iter().any(|found| found.name == *name));
            readers.entry(found.name.clone()).or_default().clone()
        };
        let reading = reader.read(found, view, viewed, &self.turns).await;
        (reading, reader.known())
    }
}

fn shown(reading: &ViewResult, known: LastKnown, here: &Here) -> PageDocument {
    let refreshes = here.route.refreshes;
    match (reading, &here.route.view) {
        (Ok(ReadView::Work(read)), View::Sweeps) => html((StatusCode::OK, SweepsPage::of(read, here)), refreshes),
        (Ok(ReadView::Work(read)), _) => html((StatusCode::OK, OverviewPage::of(read, here)), refreshes),
        (Ok(ReadView::Subject(read)), _) => html((StatusCode::OK, SubjectPage::of(read, here)), refreshes),
        (Err(trouble), _) => html(TroublePage::of(trouble, known, here), refreshes && trouble.may_pass()),
    }
}

fn html((status, page): (StatusCode, impl Template), refreshes: bool) -> PageDocument {
    match page.render() {
        Ok(html) => {
            // What says that something is wrong is not kept: it would be shown when it is no longer so.
            let caching = if status == StatusCode::OK { Caching::Checked } else { Caching::Never };
            PageDocument { status, caching, ..PageDocument::html(html, refreshes) }
        }
        Err(error) => {
            error!("the page could not be written: {error}");
            PageDocument::text((StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written.\n"))
        }
    }
}
