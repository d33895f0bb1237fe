//! HTTP to destinations: to nobody but whom the URL names, and within a bound time.
//!
//! No redirects, no proxy, no cookies, no connection that is kept; https, unless the URL names this machine. An error
//! says what was wrong, never where it went: the URL is a secret.

use std::net::IpAddr;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use super::Letter;
use super::addresses::is_allowed;
use crate::text::shown;

/// Where something is sent.
#[derive(Clone)]
pub struct Target {
    url: SecretString,
    /// It may have an address in a private network.
    private: bool,
}

impl Target {
    /// Says what is wrong with a URL, without what it is.
    pub fn parse(url: &str, private: bool) -> Result<Target, String> {
        let expected = "expected https://HOST/…";
        let uri: Uri = url.parse().map_err(|_| format!("malformed: {expected}"))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| format!("no host: {expected}"))?;
        if !has_a_port_or_none(&uri, host) {
            return Err("its port is no number from 1 to 65535".to_owned());
        }
        let is_local = names_this_machine(host);
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_local => {}
            Some("http") => {
                return Err(format!("{expected}; http:// is for this machine only, such as http://localhost/"));
            }
            _ => return Err(expected.to_owned()),
        }
        match literal(host) {
            Some(address) if !is_allowed(address, is_local, private) => {
                Err(if !private && is_allowed(address, is_local, true) { PRIVATE } else { UNREACHABLE }.to_owned())
            }
            _ => Ok(Target { url: url.into(), private }),
        }
    }

    /// The same with a further segment at the end of its path, before its query.
    pub fn below(&self, segment: &str) -> Target {
        let url = self.url.expose_secret();
        let url = url.split('#').next().unwrap_or(url);
        let (path, query) = url.find('?').map_or((url, ""), |at| url.split_at(at));
        Target { url: format!("{}/{segment}{query}", path.trim_end_matches('/')).into(), private: self.private }
    }
}

const PRIVATE: &str = "its address is in a private network: SWEEP_NOTIFY_PRIVATE=on allows that";
const UNREACHABLE: &str = "its address is link-local, multicast, unspecified or reserved";

/// A port that is none would be taken for none, and the request go to 443.
fn has_a_port_or_none(uri: &Uri, host: &str) -> bool {
    let host_and_port = uri.authority().and_then(|authority| authority.as_str().rsplit('@').next());
    host_and_port == Some(host) || uri.port_u16().is_some_and(|port| port != 0)
}

/// A host as it stands in a URL.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn names_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let name = host.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost") || literal(name).is_some_and(|address| address.is_loopback())
}

/// Sends, one request at a time.
pub struct Client {
    open: Agent,
    closed: Agent,
    timeout: Duration,
}

impl Client {
    pub fn new(timeout: Duration) -> Client {
        let agent = |private| Agent::with_parts(config(timeout), DefaultConnector::default(), Guarded { private });
        Client { open: agent(true), closed: agent(false), timeout }
    }

    fn agent(&self, target: &Target) -> &Agent {
        if target.private { &self.open } else { &self.closed }
    }

    /// Any answer of 2xx is success.
    pub(super) fn post(&self, target: &Target, letter: &Letter) -> Result<(), Failure> {
        let request = self.agent(target).post(target.url.expose_secret()).content_type("application/json");
        let request = letter.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        self.judge(request.send(letter.body.as_bytes()))
    }

    pub fn get(&self, target: &Target) -> Result<(), Failure> {
        self.judge(self.agent(target).get(target.url.expose_secret()).call())
    }

    fn judge(&self, answer: Result<ureq::http::Response<ureq::Body>, Error>) -> Result<(), Failure> {
        match answer.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) if status.is_redirection() => {
                Err(Failure::down(format!("HTTP {}: it redirects, which is not followed", status.as_u16())))
            }
            Ok(status) if OF_THE_MESSAGE.contains(&status.as_u16()) => {
                Err(Failure { why: format!("HTTP {}", status.as_u16()), is_down: false })
            }
            Ok(status) => Err(Failure::down(format!("HTTP {}", status.as_u16()))),
            Err(error) => Err(Failure::down(self.words(error))),
        }
    }

    /// Only the kinds whose words hold no URL are repeated.
    fn words(&self, error: Error) -> String {
        match error {
            Error::Timeout(_) => format!("no answer within {} s", self.timeout.as_secs()),
            Error::HostNotFound => "its host was not found".to_owned(),
            Error::ConnectionFailed => "it cannot be connected to".to_owned(),
            Error::Io(error) => shown(&error.to_string()),
            Error::NativeTls(error) => shown(&format!("TLS: {error}")),
            Error::Tls(why) => format!("TLS: {why}"),
            Error::Protocol(_) => "its answer is no HTTP".to_owned(),
            _ => "the request failed".to_owned(),
        }
    }
}

/// Answers that speak of the message. Any other is of the destination, which may be busy, gone or revoked: the next message
/// would have the same one.
const OF_THE_MESSAGE: [u16; 4] = [400, 409, 413, 422];

/// Why something was not taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub why: String,
    /// Another request would fail just so.
    pub is_down: bool,
}

impl Failure {
    fn down(why: String) -> Failure {
        Failure { why, is_down: true }
    }
}

fn config(timeout: Duration) -> Config {
    let tls = TlsConfig::builder().provider(TlsProvider::NativeTls).root_certs(RootCerts::PlatformVerifier).build();
    Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .max_idle_connections(0)
        .user_agent(concat!("sweep/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Resolves names to the addresses that may be spoken to, at the moment of connecting: what a name resolved to before
/// proves nothing.
#[derive(Debug)]
struct Guarded {
    private: bool,
}

impl Resolver for Guarded {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let is_local = uri.host().is_some_and(names_this_machine);
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        found
            .iter()
            .filter(|address| is_allowed(address.ip(), is_local, self.private))
            .for_each(|address| allowed.push(*address));
        if !allowed.is_empty() {
            return Ok(allowed);
        }
        let could_be = found.iter().any(|address| is_allowed(address.ip(), is_local, true));
        let why = match (could_be, is_local) {
            (true, _) => PRIVATE,
            (false, true) => "localhost is not this machine",
            (false, false) => "its address is this machine's, link-local, multicast, unspecified or reserved",
        };
        Err(Error::Io(std::io::Error::other(why)))
    }
}

#[cfg(test)]
mod tests;
