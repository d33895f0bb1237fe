//! Serving the page: beside the daemon's other answers, or alone. What goes over the wire is a document with its ETag,
//! and the headers that keep it in its place; and the files of the page: its style sheet, and an icon for each state.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    REFRESH, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use sha2::{Digest, Sha256};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{error, info};

use super::access::{PageAccess, PageOptions};
use super::lists::{PlanPage, PlansPage, WorkPage};
use super::pages::{DatabasesPage, OverviewPage, SubjectPage, SweepsPage, TroublePage};
use super::reader::{LastKnown, ReadView, Reader, Trouble, ViewResult};
use super::route::{Here, Route, View};
use super::shown::Mark;
use super::{STYLE, STYLE_PATH, Viewed, hex};
use crate::conclusion::Conclusion;
use crate::http;
use crate::store::connect::databases::Found;
use crate::sweep::limits::{LISTENING, exit_in_any_case};

/// Says what the page is about now.
pub type ViewedNow = Box<dyn Fn() -> Viewed + Send + Sync>;

/// Everything that the answers are made of.
struct PageServer {
    access: PageAccess,
    viewed: ViewedNow,
    /// The reader of each database, by the database's name.
    readers: Mutex<BTreeMap<Option<String>, Reader>>,
    /// Bounds how many databases are read at the same time.
    turns: Arc<Semaphore>,
}

const READ_AT_ONCE: usize = 16;

/// Answers all requests that nobody else does, at this address.
pub fn router(options: PageOptions, address: SocketAddr, viewed: ViewedNow) -> Router {
    let (access, turns) = (PageAccess::new(options, http::is_local(address)), Semaphore::new(READ_AT_ONCE));
    let page = PageServer { access, viewed, readers: Mutex::default(), turns: Arc::new(turns) };
    Router::new().fallback(answer).with_state(Arc::new(page))
}

/// Serves the page and /healthz until a signal ends it.
pub fn run(options: PageOptions, address: SocketAddr, viewed: ViewedNow) -> Result<Conclusion> {
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
        if route.database.is_none() && route.view == View::everything() {
            return self.all(viewed, &route).await;
        }
        html(TroublePage::nowhere(&elsewhere(front)), false)
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
        (Ok(ReadView::List(read)), View::List { filter, after }) => {
            html((StatusCode::OK, WorkPage::of(read, (filter, after), here)), refreshes)
        }
        (Ok(ReadView::Plans(read)), View::Plans { name, .. }) => {
            html((StatusCode::OK, PlansPage::of(read, name, here)), refreshes)
        }
        (Ok(ReadView::Plan(read)), _) => html((StatusCode::OK, PlanPage::of(read, here)), refreshes),
        // Each view is read as itself.
        (Ok(ReadView::List(_) | ReadView::Plans(_)), _) => html(TroublePage::nowhere(here), false),
        (Err(trouble), _) => html(TroublePage::of(trouble, known, here), refreshes && trouble.may_pass()),
    }
}

fn html((status, page): (StatusCode, impl Template), refreshes: bool) -> PageDocument {
    match page.render() {
        Ok(html) => {
            // What says that something is wrong is not kept: it would be shown when it is no longer so.
            let caching = if status == StatusCode::OK { Caching::Checked } else { Caching::Never };
            PageDocument { status, media_type: "text/html; charset=utf-8", body: html, caching, refreshes }
        }
        Err(error) => {
            error!("the page could not be written: {error}");
            PageDocument::text((StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written.\n"))
        }
    }
}

/// How often a page refreshes itself. A header does it: an element would be one that assistive programs cannot stop,
/// and there is no script.
const REFRESH_SECONDS: u32 = 30;

/// Nothing but our own style and pictures, in no frame, with nowhere to send anything to but the page itself: its only
/// forms are searches.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

const GUARDS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// How a document may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caching {
    /// Asked for again each time, with its ETag.
    Checked,
    /// Its address changes with its content.
    Forever,
    /// Kept by nobody: it says that something is wrong.
    Never,
}

/// What a request is answered with.
#[derive(Clone, Debug)]
struct PageDocument {
    status: StatusCode,
    media_type: &'static str,
    body: String,
    caching: Caching,
    refreshes: bool,
}

impl PageDocument {
    fn text((status, words): (StatusCode, &str)) -> PageDocument {
        let (media_type, caching) = ("text/plain; charset=utf-8", Caching::Never);
        PageDocument { status, media_type, body: words.to_owned(), caching, refreshes: false }
    }

    /// The answer to a request of this method with these headers. A page is as of the minute that stands on it: when
    /// nothing else has changed since the browser got it, what it still shows is true.
    fn answer(self, method: &Method, asked: &HeaderMap) -> Response {
        let etag = format!("\"{:.32}\"", hex(&Sha256::digest(&self.body)));
        let is_known = self.caching == Caching::Checked
            && asked.get_all(IF_NONE_MATCH).iter().any(|known| {
                let known = known.to_str().unwrap_or_default().split(',');
                known.map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == etag)
            });
        let (status, body) =
            if is_known { (StatusCode::NOT_MODIFIED, String::new()) } else { (self.status, self.body) };
        let length = body.len();
        let mut response = Response::new(if method == Method::HEAD { Body::empty() } else { Body::from(body) });
        *response.status_mut() = status;
        let headers = response.headers_mut();
        for (name, value) in GUARDS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut set = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        match self.caching {
            Caching::Checked => set(CACHE_CONTROL, "private, no-cache"),
            Caching::Forever => set(CACHE_CONTROL, "private, max-age=31536000, immutable"),
            Caching::Never => set(CACHE_CONTROL, "no-store"),
        }
        if self.caching == Caching::Checked {
            set(ETAG, &etag);
        }
        if self.refreshes {
            set(REFRESH, &REFRESH_SECONDS.to_string());
        }
        if !is_known {
            set(CONTENT_TYPE, self.media_type);
            set(CONTENT_LENGTH, &length.to_string());
        }
        match status {
            StatusCode::METHOD_NOT_ALLOWED => set(ALLOW, "GET, HEAD"),
            StatusCode::UNAUTHORIZED => set(WWW_AUTHENTICATE, "Basic realm=\"sweep\", charset=\"UTF-8\""),
            _ => {}
        }
        response
    }
}

/// The file of the page that has this path.
fn file(path: &str) -> Option<PageDocument> {
    let file = |media_type, body: String, caching| {
        Some(PageDocument { status: StatusCode::OK, media_type, body, caching, refreshes: false })
    };
    if path == STYLE_PATH {
        return file("text/css; charset=utf-8", STYLE.to_owned(), Caching::Forever);
    }
    let name = path.strip_prefix("/icons/")?.strip_suffix(".svg")?;
    let mark = Mark::ALL.iter().find(|mark| mark.name() == name)?;
    file("image/svg+xml", mark.icon(), Caching::Checked)
}
