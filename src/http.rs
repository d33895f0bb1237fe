//! Plain HTTP within bounds: what the daemon and the page are served with. What is answered, they know themselves.
//!
//! Each connection carries one request, and is bounded, so that clients that dawdle or flood cost little and keep
//! nobody else from an answer.
//!
//! The Host header of a request says whom it means. A web page can have its own name lead to 127.0.0.1, or to any
//! address; a browser that reaches it would let the page read what is served there. It cannot choose the name that the
//! browser sends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::conclusion::config;

/// A port that is open, and answers nothing yet.
pub struct Listening {
    listener: TcpListener,
    pub address: SocketAddr,
}

/// Opens the port of an address; 0: one that is free.
///
/// # Errors
/// A failure with exit code 78 when it is taken, or no address of this machine's.
pub fn listen(address: SocketAddr) -> Result<Listening> {
    let refuse =
        |error| config(format!("SWEEP_HTTP: cannot listen on {address}: {error}; another address, or off, will do"));
    let open = || -> io::Result<TcpListener> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let listener = open().map_err(refuse)?;
    let address = listener.local_addr().context("asking for the address")?;
    Ok(Listening { listener, address })
}

impl Listening {
    /// Answers from now on, until the runtime ends.
    pub fn serve(self, router: Router) {
        tokio::spawn(serve(self.listener, router));
    }
}

/// Can only this machine connect to it?
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

const PLACES: usize = 64;

/// How many may wait to be accepted: one that finds no room here is not heard of for a second. The system's own bound
/// is often the same.
const BACKLOG: u32 = 4096;

/// Until the header of a request is complete.
const HEADER_LASTS: Duration = Duration::from_secs(2);

/// From its beginning to its end.
const CONNECTION_LASTS: Duration = Duration::from_secs(10);

const HEADER_BYTES_MAX: usize = 16 * 1024;

/// The client that sent a request: an extension of each request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

struct Connection {
    task: JoinHandle<()>,
    has_request: Arc<AtomicBool>,
}

/// Serves for ever. When all places are taken, a new client gets that of the oldest connection whose request is not
/// complete; where all are, that of the oldest: what is answered from memory is done long before it is the oldest.
async fn serve(mut listener: TcpListener, router: Router) {
    // The oldest first.
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let (stream, peer) = axum::serve::Listener::accept(&mut listener).await;
        connections.retain(|connection| !connection.task.is_finished());
        if connections.len() == PLACES {
            let is_idle = |connection: &Connection| !connection.has_request.load(Ordering::Relaxed);
            let gives_way = connections.iter().position(is_idle).unwrap_or_default();
            connections.remove(gives_way).task.abort();
        }
        connections.push(Connection::begin(stream, Peer(peer), &router));
        // However many wait to be accepted, a request that is there already is answered first.
        yield_now().await;
    }
}

impl Connection {
    fn begin(stream: TcpStream, peer: Peer, router: &Router) -> Connection {
        let has_request = Arc::new(AtomicBool::new(false));
        let (router, has_one) = (TowerToHyperService::new(router.clone()), Arc::clone(&has_request));
        let answers = service_fn(move |mut request: hyper::Request<_>| {
            request.extensions_mut().insert(peer);
            has_one.store(true, Ordering::Relaxed);
            router.call(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEADER_LASTS)
            .max_buf_size(HEADER_BYTES_MAX)
            .keep_alive(false);
        let connection = http.serve_connection(TokioIo::new(stream), answers);
        // That a client has gone, or took too long, is its own affair.
        let task = tokio::spawn(async { drop(timeout(CONNECTION_LASTS, connection).await) });
        Connection { task, has_request }
    }
}

/// Refuses what is not for this machine itself: where only this machine is served.
pub async fn check_host(request: Request, next: Next) -> Response {
    const EXPECTED: &str = "Host: expected localhost, 127.0.0.1 or [::1], since this is served on this machine alone\n";
    match host_refusal(request.uri(), request.headers(), names_this_machine) {
        Some(StatusCode::MISDIRECTED_REQUEST) => (StatusCode::MISDIRECTED_REQUEST, EXPECTED).into_response(),
        Some(status) => (status, ONE_HOST).into_response(),
        None => next.run(request).await,
    }
}

/// What is said of a request without one, or with several.
pub const ONE_HOST: &str = "Host: expected exactly one\n";

/// The status with which a request is refused that has not exactly one host, or means another one. The request line may
/// have a name as well (`GET http://name/ HTTP/1.1`).
pub fn host_refusal(uri: &Uri, headers: &HeaderMap, is_meant: impl Fn(&str) -> bool) -> Option<StatusCode> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Some(StatusCode::BAD_REQUEST) };
    let is_other = |host: &str| !is_meant(host);
    let is_wrong =
        host.to_str().map_or(true, is_other) || uri.authority().is_some_and(|authority| is_other(authority.as_str()));
    is_wrong.then_some(StatusCode::MISDIRECTED_REQUEST)
}

/// `localhost` or a loopback address, with a port or without.
pub fn names_this_machine(host: &str) -> bool {
    without_port(host).eq_ignore_ascii_case("localhost")
        || address_in(host).is_some_and(|address| address.to_canonical().is_loopback())
}

/// The address of a host that is one and no name: `10.1.2.3:9464`, `[::1]`.
pub fn address_in(host: &str) -> Option<IpAddr> {
    let name = without_port(host);
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse().ok().map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    }
}

/// `board.example` of `board.example:9464`.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::names_this_machine;

    #[rstest]
    fn these_name_this_machine(
        #[values(
            "localhost", "localhost:9464", "localhost:1", "localhost:", "LOCALHOST", "LocalHost:9464", "127.0.0.1",
            "127.0.0.1:9464", "127.0.0.2:9464", "[::1]", "[::1]:9464", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]:9464"
        )]
        host: &str,
    ) {
        assert!(names_this_machine(host), "{host}");
    }

    #[rstest]
    fn these_do_not(
        #[values(
            "", " ", ":", ":9464", "evil.example", "evil.example:9464", "localhost.", "localhost.evil.example",
            "evil.localhost", "localhost@evil", "127.0.0.1:9464@evil", "evil@localhost", "evil:x@127.0.0.1:9464",
            "127.0.0.1.evil.example", "127.0.0.1:94a64", "localhost:80:80", "localhost:-1", "localhost, evil",
            "localhost/", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0", "10.1.2.3:9464", "::1",
            "[127.0.0.1]", "[::1", "::1]", "[::1]evil", "[::]", "[fe80::1]", "[::1%25lo]", "[::1]:x"
        )]
        host: &str,
    ) {
        assert!(!names_this_machine(host), "{host}");
    }
}
