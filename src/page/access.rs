//! Access to the page: each request is asked under which name it came, and who sent it.
//!
//! On a loopback address everybody on this machine may, unless a token or a proxy is set. What is refused costs the
//! same however often it is tried, and locks nobody out.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use tracing::{debug, warn};

use crate::conclusion::config;
use crate::http::{self, Peer, is_local};
use crate::text::redact;

/// The header in which a proxy says who asks.
const WHO: HeaderName = HeaderName::from_static("x-forwarded-user");

/// Refusals are logged once in this time.
const QUIET: Duration = Duration::from_secs(60);

/// Says who may see the page. Without a token and a proxy: everybody on this machine.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Names under which it may be asked for, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The proxies that say who asks.
    pub proxies: Vec<IpAddr>,
    /// A person or program that has it may see the page.
    pub token: Option<SecretString>,
}

impl PageOptions {
    /// Characters that a token has at least: it can be tried as often as one likes.
    pub const TOKEN_MIN: usize = 16;

    /// Refuses an address at which others than this machine's users would see it.
    pub fn refuse_open(&self, address: SocketAddr) -> Result<()> {
        if is_local(address) || self.token.is_some() || !self.proxies.is_empty() {
            return Ok(());
        }
        Err(config(format!(
            "SWEEP_HTTP is {address}: there everybody could read the page: set SWEEP_PAGE_TOKEN, or SWEEP_PAGE_PROXY \
             to the addresses of the proxies that say who asks, or serve it at 127.0.0.1"
        ))
        .into())
    }
}

/// Why a request is not answered: its status, and one line for people.
pub type Refusal = (StatusCode, &'static str);

/// Answers of each request whether it may be answered.
pub struct PageAccess {
    options: PageOptions,
    is_local: bool,
    refusals: Mutex<Refusals>,
}

/// How many were refused since the log said so.
#[derive(Default)]
struct Refusals {
    said_at: Option<Instant>,
    unsaid: u64,
}

impl PageAccess {
    pub fn new(options: PageOptions, is_local: bool) -> PageAccess {
        PageAccess { options, is_local, refusals: Mutex::default() }
    }

    /// Why this request is refused; none: it may be answered.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        if let Some(status) = http::host_refusal(request.uri(), request.headers(), |host| self.is_meant(host)) {
            let several = "Host: expected an address, or a name that SWEEP_PAGE_HOST has\n";
            return Some((status, if status == StatusCode::BAD_REQUEST { http::ONE_HOST } else { several }));
        }
        if is_fetched_elsewhere(request.headers()) {
            return Some((StatusCode::FORBIDDEN, "The page is for people: another page may link to it, no more.\n"));
        }
        let peer = request.extensions().get::<Peer>().map(|Peer(address)| address.ip());
        let refusal = self.refusal_of(peer, request.headers())?;
        self.log(peer);
        Some(refusal)
    }

    /// True if the page may be asked for under this name. Where only this machine is served, an address is one of its
    /// own.
    fn is_meant(&self, host: &str) -> bool {
        let name = http::without_port(host);
        let is_address = if self.is_local { http::names_this_machine(host) } else { http::address_in(host).is_some() };
        is_address || self.options.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Why a request from this address is refused, by what it says of who sent it.
    fn refusal_of(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<Refusal> {
        let PageOptions { proxies, token, .. } = &self.options;
        let is_same = |proxy: &IpAddr, peer: &IpAddr| proxy.to_canonical() == peer.to_canonical();
        let is_proxy = peer.is_some_and(|peer| proxies.iter().any(|proxy| is_same(proxy, &peer)));
        let who = one(headers, WHO).map(|who| String::from_utf8_lossy(who.as_bytes()));
        if let Some(who) = who.filter(|who| is_proxy && !who.trim().is_empty()) {
            debug!("the page is asked for by {}", redact(&who));
            return None;
        }
        match token {
            None if proxies.is_empty() => None,
            Some(token) if headers_hold(headers, token) => None,
            Some(_) => Some((StatusCode::UNAUTHORIZED, "The page needs its token: SWEEP_PAGE_TOKEN.\n")),
            None => {
                let why = "The page is for those whom a proxy of SWEEP_PAGE_PROXY names in X-Forwarded-User.\n";
                Some((StatusCode::FORBIDDEN, why))
            }
        }
    }

    /// Logs the first refusal of a minute, with how many there were since the last.
    fn log(&self, peer: Option<IpAddr>) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.unsaid += 1;
        if refusals.said_at.is_none_or(|at| QUIET < at.elapsed()) {
            let (from, n) = (peer.map(|peer| peer.to_string()).unwrap_or_default(), refusals.unsaid);
            warn!("the page was refused to {from}, which did not say who it is ({n} since this was last said)");
            *refusals = Refusals { said_at: Some(Instant::now()), unsaid: 0 };
        }
    }
}

/// The value of a header that there is once.
fn one(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// True if a page of somebody else's loads this one, other than by a link that a person follows. All current browsers
/// say so. Such a page could have the database read as often as it likes. <https://www.w3.org/TR/fetch-metadata/>
fn is_fetched_elsewhere(headers: &HeaderMap) -> bool {
    let said = |name| one(headers, HeaderName::from_static(name)).map(HeaderValue::as_bytes);
    let is_elsewhere = matches!(said("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
    is_elsewhere && said("sec-fetch-dest") != Some(b"document")
}

/// True if the headers hold the token: as a browser sends it, as the password of any user; or as `Bearer`.
fn headers_hold(headers: &HeaderMap, token: &SecretString) -> bool {
    let Some((scheme, given)) = one(headers, AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '))
    else {
        return false;
    };
    let given = given.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return is_same(given.as_bytes(), token);
    }
    let decoded = STANDARD.decode(given).ok().filter(|_| scheme.eq_ignore_ascii_case("basic")).unwrap_or_default();
    let password = decoded.iter().position(|byte| *byte == b':').map(|at| &decoded[at + 1..]);
    password.is_some_and(|password| is_same(password, token))
}

/// Compares what was given with the token. How long that takes says nothing of how much of it is right.
fn is_same(given: &[u8], token: &SecretString) -> bool {
    let signed = |key: &[u8]| {
        let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        mac.chain_update(b"the page of sweep")
    };
    let expected = signed(token.expose_secret().as_bytes()).finalize().into_bytes();
    signed(given).verify_slice(&expected).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TOKEN: &str = "correct horse battery";

    fn access(token: Option<&str>, proxies: &[&str]) -> PageAccess {
        let proxies = proxies.iter().map(|proxy| proxy.parse().expect("an address")).collect();
        let options = PageOptions { hosts: vec!["ops.example".to_owned()], proxies, token: token.map(Into::into) };
        PageAccess::new(options, false)
    }

    fn status(access: &PageAccess, peer: &str, headers: &[(&'static str, String)]) -> u16 {
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            sent.append(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"));
        }
        let refused = access.refusal_of(peer.parse().ok(), &sent);
        refused.map_or(200, |(status, _)| status.as_u16())
    }

    fn basic(pair: &str) -> [(&'static str, String); 1] {
        [("authorization", format!("Basic {}", STANDARD.encode(pair)))]
    }

    #[rstest]
    #[case::with_any_user(&format!("ada:{TOKEN}"), 200)]
    #[case::with_no_user(&format!(":{TOKEN}"), 200)]
    #[case::shorter(":correct horse batter", 401)]
    #[case::longer(&format!(":{TOKEN}!"), 401)]
    #[case::as_the_user(&format!("{TOKEN}:"), 401)]
    #[case::alone(TOKEN, 401)]
    #[case::nothing("", 401)]
    fn a_browser_sends_the_token_as_a_password(#[case] pair: &str, #[case] expected: u16) {
        assert_eq!(status(&access(Some(TOKEN), &[]), "10.0.0.9", &basic(pair)), expected);
    }

    #[test]
    fn a_program_sends_it_as_a_bearer_and_no_other_header_counts() {
        let access = access(Some(TOKEN), &[]);
        let said = |value: &str| status(&access, "10.0.0.9", &[("authorization", value.to_owned())]);
        assert_eq!([said(&format!("Bearer {TOKEN}")), said(&format!("bearer  {TOKEN}"))], [200, 200]);
        for wrong in ["Bearer", "Bearer ", "Bearer x", TOKEN, "Basic", "Basic !", &format!("Digest {TOKEN}")] {
            assert_eq!(said(wrong), 401, "{wrong}");
        }
        assert_eq!(status(&access, "10.0.0.9", &[("x-forwarded-user", "ada".to_owned())]), 401);
    }

    #[test]
    fn a_proxy_has_to_be_one_of_ours_and_to_name_somebody() {
        let access = access(None, &["10.0.0.1", "::1"]);
        let named = |user: &str| [("x-forwarded-user", user.to_owned())];
        for (peer, headers, expected) in [
            ("10.0.0.1", &named("ada")[..], 200),
            ("::ffff:10.0.0.1", &named("ada"), 200),
            ("::1", &named("ada"), 200),
            ("10.0.0.2", &named("ada"), 403),
            ("10.0.0.1", &named("Žofie"), 200),
            ("10.0.0.1", &named(" "), 403),
            ("10.0.0.1", &[], 403),
            ("10.0.0.1", &[named("ada"), named("eve")].concat(), 403),
            ("10.0.0.1", &basic(&format!(":{TOKEN}")), 403),
        ] {
            assert_eq!(status(&access, peer, headers), expected, "{peer}: {headers:?}");
        }
    }

    #[test]
    fn another_page_may_link_to_it_and_not_load_it() {
        let fetched = |site: &'static str, dest: &'static str| {
            let headers = [("sec-fetch-site", site), ("sec-fetch-dest", dest)];
            is_fetched_elsewhere(&HeaderMap::from_iter(
                headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))),
            ))
        };
        for site in ["cross-site", "same-site"] {
            assert!(!fetched(site, "document") && fetched(site, "image") && fetched(site, "iframe"), "{site}");
            assert!(fetched(site, "empty"), "{site}");
        }
        assert!(
            !fetched("none", "document")
                && !fetched("same-origin", "style")
                && !is_fetched_elsewhere(&HeaderMap::new())
        );
    }

    #[test]
    fn elsewhere_it_has_an_address_or_a_name_that_is_known() {
        let elsewhere = access(None, &[]);
        for host in ["10.0.0.1:9464", "[fe80::1]", "ops.example", "OPS.example:443"] {
            assert!(elsewhere.is_meant(host), "{host}");
        }
        for host in ["evil.example", "localhost", "ops.example.evil", ""] {
            assert!(!elsewhere.is_meant(host), "{host}");
        }
        let here = PageAccess { is_local: true, ..access(None, &[]) };
        assert!(here.is_meant("localhost:1") && here.is_meant("127.0.0.1") && here.is_meant("ops.example"));
        assert!(!here.is_meant("10.0.0.1") && !here.is_meant("evil.example"));
    }
}
