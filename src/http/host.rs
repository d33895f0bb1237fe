//! The Host header of a request says whom it means.
//!
//! A web page can have its own name lead to 127.0.0.1, or to any address; a browser that reaches it would let the page
//! read what is served there. It cannot choose the name that the browser sends.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Refuses what is not for this machine itself: where only this machine is served.
pub async fn check(request: Request, next: Next) -> Response {
    const EXPECTED: &str = "Host: expected localhost, 127.0.0.1 or [::1], since this is served on this machine alone\n";
    match refusal(request.uri(), request.headers(), names_this_machine) {
        Some(StatusCode::MISDIRECTED_REQUEST) => (StatusCode::MISDIRECTED_REQUEST, EXPECTED).into_response(),
        Some(status) => (status, ONE).into_response(),
        None => next.run(request).await,
    }
}

/// What is said of a request without one, or with several.
pub const ONE: &str = "Host: expected exactly one\n";

/// The status with which a request is refused that has not exactly one host, or means another one. The request line may
/// have a name as well (`GET http://name/ HTTP/1.1`).
pub fn refusal(uri: &Uri, headers: &HeaderMap, is_meant: impl Fn(&str) -> bool) -> Option<StatusCode> {
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
