//! What those who ask are answered over plain HTTP: /healthz, /readyz and /metrics, for the machine itself, unless
//! another address is configured. The page is served there as well, if that is wanted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::Mutex;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use crate::http;
use crate::metrics::{self, Condition, DaemonState, DatabaseState};
use crate::page::{self, PageOptions, Viewed};
use crate::store::connect::databases::Found;
use crate::store::read::metrics::{KeptWork, read_from, refresh};
use crate::text::redact;

/// How the daemon is.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// What /metrics says of this process and its databases.
    pub daemon: DaemonState,
    pub is_stopping: bool,
    /// What the page is about; its timeouts also hold when the databases are asked for metrics.
    pub viewed: Viewed,
}

impl Health {
    /// Why a restart may help. One of several databases that is silent is no reason to end the sweeps of the others.
    fn illness(&self) -> Option<String> {
        self.hang().filter(|_| self.daemon.databases.len() < 2)
    }

    /// That a sweep does not get on.
    fn hang(&self) -> Option<String> {
        let hung_for = Duration::from_secs(self.daemon.hung_for?.as_secs());
        Some(format!("a sweep has made no progress for {}", humantime::format_duration(hung_for)))
    }

    /// Why its sweeps do not do what they should. No words of others: they may hold secrets.
    fn unreadiness(&self) -> Option<String> {
        if self.is_stopping {
            return Some("stopping".to_owned());
        }
        if self.daemon.databases.is_empty() {
            return Some("the database has not answered yet".to_owned());
        }
        let whys: Vec<String> = self.daemon.databases.iter().filter_map(unreadiness_of).collect();
        if whys.is_empty() { self.hang() } else { Some(whys.join("\n")) }
    }
}

fn unreadiness_of(database: &DatabaseState) -> Option<String> {
    let why = match database.condition {
        Condition::Up => return None,
        Condition::Unknown => "has not answered yet",
        Condition::Gone => "is unavailable",
        Condition::Refuses => "cannot be swept; the log says why",
    };
    let name = database.found.short_name.iter().map(|name| format!(" {name}")).collect::<String>();
    Some(format!("the database{name} {why}"))
}

/// Everything that the answers are made of.
#[derive(Clone)]
struct HttpAnswers {
    health: Receiver<Health>,
    /// How the work of each database stands, by the key of its URL. Held by the request that reads metrics: however
    /// many ask, and however slow a database is, there is one connection.
    kept: Arc<Mutex<BTreeMap<String, Arc<KeptWork>>>>,
}

/// Serves from now on, until the runtime ends; says where.
pub fn serve(address: SocketAddr, health: Receiver<Health>, page: Option<PageOptions>) -> Result<SocketAddr> {
    let listening = http::listen(address)?;
    let bound = listening.address;
    let router = Router::new()
        .route("/healthz", get(async |State(of): State<HttpAnswers>| answer(of.health.borrow().illness())))
        .route("/readyz", get(async |State(of): State<HttpAnswers>| answer(of.health.borrow().unreadiness())))
        .route("/metrics", get(metrics))
        .with_state(HttpAnswers { health: health.clone(), kept: Arc::default() });
    // Other addresses have any name: Kubernetes asks a pod by its address.
    let router = if http::is_local(bound) { router.layer(from_fn(http::check_host)) } else { router };
    listening.serve(match page {
        None => router,
        Some(options) => router.merge(page::router(options, bound, Box::new(move || health.borrow().viewed.clone()))),
    });
    Ok(bound)
}

fn answer(trouble: Option<String>) -> Response {
    let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let words = format!("{}\n", trouble.as_deref().unwrap_or("ok"));
    (status, words).into_response()
}

/// How long /metrics waits for the databases: shorter than a scrape may take. One that does not answer is no reason to
/// leave out the rest.
const PATIENCE: Duration = Duration::from_secs(4);

/// What the databases know, one read after the other, and what only this process knows.
async fn metrics(State(answers): State<HttpAnswers>) -> Response {
    let Health { daemon, viewed: Viewed { timeouts, .. }, .. } = answers.health.borrow().clone();
    let is_there = |database: &&DatabaseState| database.condition != Condition::Gone;
    let databases: Vec<Found> =
        daemon.databases.iter().filter(is_there).map(|database| database.found.clone()).collect();
    let mut readings = Vec::new();
    let reading = async {
        let mut kept = answers.kept.lock_owned().await;
        let (sender, mut read) = unbounded_channel();
        spawn_blocking(move || {
            let log = |error| debug!("metrics: {}", redact(&format!("{error:#}")));
            for Found { short_name, url, .. } in &databases {
                match read_from(url, &timeouts, kept.entry(url.key()).or_default()) {
                    Ok(reading) => drop(sender.send((short_name.clone(), reading))),
                    Err(error) => log(error),
                }
            }
            // The answer is complete, and what is slow to count is counted for those that follow.
            drop(sender);
            for Found { url, .. } in &databases {
                refresh(url, &timeouts, kept.entry(url.key()).or_default()).unwrap_or_else(log);
            }
        });
        // What was read until now is there although a database does not answer.
        while let Some(reading) = read.recv().await {
            readings.push(reading);
        }
    };
    let _ = timeout(PATIENCE, reading).await;
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(readings, Some(daemon))).into_response()
}
