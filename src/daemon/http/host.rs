//! Where only this machine is served, requests under other names are refused.
//!
//! A web page can have its own name lead to 127.0.0.1; a browser on this machine would let it read what is served here.
//! It cannot choose the name that the browser sends.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

type Failure = (StatusCode, &'static str);

pub async fn check(request: Request, next: Next) -> Response {
    match refusal(request.uri(), request.headers()) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    }
}

/// The request line may have a name as well (`GET http://name/ HTTP/1.1`).
fn refusal(uri: &Uri, headers: &HeaderMap) -> Option<Failure> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Some((StatusCode::BAD_REQUEST, "Host: expected exactly one\n"));
    };
    let is_other = |host: &str| !names_this_machine(host);
    if host.to_str().map_or(true, is_other) || uri.authority().is_some_and(|authority| is_other(authority.as_str())) {
        const EXPECTED: &str =
            "Host: expected localhost, 127.0.0.1 or [::1], since this is served on this machine alone\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, EXPECTED));
    }
    None
}

/// `localhost` or a loopback address, with a port or without.
fn names_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse().map(IpAddr::V6),
        None => name.parse().map(IpAddr::V4),
    };
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
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
