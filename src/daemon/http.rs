//! /healthz, /readyz and /metrics, over plain HTTP: for the machine itself, unless another address is configured.

mod bounded;

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tracing::error;

use super::metrics::Reader;
use super::state::Shared;
use crate::exit::config;
use bounded::Bounded;

/// Serves from now on, until the runtime ends; says where.
pub async fn serve(address: SocketAddr, shared: Shared) -> Result<SocketAddr> {
    let refuse =
        |error| config(format!("SWEEP_HTTP: cannot listen on {address}: {error}; another address, or off, will do"));
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    let bound = listener.local_addr().context("asking for the address")?;
    let router = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state((shared, Reader::default()));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(Bounded::new(listener), router).await {
            error!("HTTP is served no more: {error}");
        }
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
    ([(CONTENT_TYPE, crate::metrics::CONTENT_TYPE), (CONNECTION, "close")], page).into_response()
}

fn answer(trouble: Option<String>) -> Response {
    let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let words = format!("{}\n", trouble.as_deref().unwrap_or("ok"));
    (status, [(CONNECTION, "close")], words).into_response()
}
