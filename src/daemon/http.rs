//! /healthz, /readyz and /metrics, over plain HTTP: for the machine itself, unless another address is configured. The
//! page is served there as well, if that is wanted.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::health::Shared;
use super::metrics::Reader;
use crate::http::{self, host};
use crate::page::{self, PageOptions};

/// Serves from now on, until the runtime ends; says where.
pub fn serve(address: SocketAddr, shared: Shared, page: Option<PageOptions>) -> Result<SocketAddr> {
    let listening = http::listen(address)?;
    let bound = listening.address;
    let router = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state((shared.clone(), Reader::default()));
    // Elsewhere it has any name: Kubernetes asks a pod by its address.
    let router = if listening.is_local() { router.layer(from_fn(host::check)) } else { router };
    listening.serve(match page {
        None => router,
        Some(options) => router.merge(page::router(options, bound, move || shared.read().viewed())),
    });
    Ok(bound)
}

type Known = State<(Shared, Reader)>;

async fn healthz(State((shared, _)): Known) -> Response {
    answer(shared.read().illness())
}

async fn readyz(State((shared, _)): Known) -> Response {
    answer(shared.read().unreadiness())
}

async fn metrics(State((shared, reader)): Known) -> Response {
    let page = reader.page(shared.read()).await;
    ([(CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], page).into_response()
}

fn answer(trouble: Option<String>) -> Response {
    let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let words = format!("{}\n", trouble.as_deref().unwrap_or("ok"));
    (status, words).into_response()
}
