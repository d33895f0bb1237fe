//! Sends HTTP requests to destinations: to no host but the one that the URL names, and within a bounded time.
//!
//! The operator configures a URL, but somebody else decides what its name resolves to: it must not reach what only
//! this machine can. No redirect, proxy or cookie is used and no connection kept; it must be https, unless the URL
//! names this machine. An error says what was wrong, but not the URL, which is a secret.

use std::fmt::{Display, Formatter};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport};
use ureq::{Agent, Error};

use super::addresses;
use crate::text::{cut, redact};

/// How long a request may take: less than the first pause between two attempts.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A URL to which requests are sent.
#[derive(Clone)]
pub struct Target {
    url: SecretString,
    /// Whether its host may be in a private network.
    private: bool,
}

/// A request that is posted: its JSON, and further headers.
pub struct HttpMessage {
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Target {
    /// Parses and checks a URL.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn parse(url: &str, private: bool) -> Result<Target, String> {
        let expected = "expected https://HOST/…";
        let (uri, is_local) = addresses::checked(url, expected, private)?;
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_local => {}
            Some("http") => {
                return Err(format!("{expected}; http:// is for this machine only, such as http://localhost/"));
            }
            _ => return Err(expected.to_owned()),
        }
        Ok(Target { url: url.into(), private })
    }

    #[cfg(test)]
    pub fn exposed(&self) -> &str {
        self.url.expose_secret()
    }

    /// This URL with a further segment at the end of its path.
    pub fn below(&self, segment: &str) -> Target {
        let url = self.url.expose_secret();
        let url = url.split('#').next().unwrap_or(url);
        let (path, query) = url.find('?').map_or((url, ""), |at| url.split_at(at));
        Target { url: format!("{}/{segment}{query}", path.trim_end_matches('/')).into(), private: self.private }
    }
}

/// Sends requests, one at a time.
pub struct HttpClient {
    /// Reaches private networks as well.
    with_private: Agent,
    public_only: Agent,
    timeout: Duration,
}

impl HttpClient {
    pub fn new(timeout: Duration) -> HttpClient {
        let agent = |private| {
            Agent::with_parts(http_config(timeout), DefaultConnector::default(), PublicOnlyResolver { private })
        };
        HttpClient { with_private: agent(true), public_only: agent(false), timeout }
    }

    fn agent(&self, target: &Target) -> &Agent {
        if target.private { &self.with_private } else { &self.public_only }
    }

    /// Posts a message; any answer of 2xx is a success.
    pub fn post(&self, target: &Target, message: &HttpMessage) -> Result<(), SendError> {
        self.judge(self.send(target, message))
    }

    /// Posts a message to an API, which answers with an object of JSON; an answer that refuses says why, in at most
    /// 1,000 characters of others' text.
    pub fn call(&self, target: &Target, message: &HttpMessage) -> Result<(), SendError> {
        let mut answer = self.send(target, message).map_err(|error| SendError::down(self.describe(error)))?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(20_000_000).read_to_string().unwrap_or_default();
        let body = serde_json::from_str::<Value>(&body).ok().filter(Value::is_object);
        if status.is_success() {
            // A page for people, such as a login, is no answer of an API.
            let why = || SendError::down(format!("HTTP {}, and its answer is no JSON", status.as_u16()));
            return body.map(|_| ()).ok_or_else(why);
        }
        let said = body.and_then(|body| Some(body.get("error")?.as_str()?.to_owned()));
        let said = said.map(|said| format!(": {}", cut(&redact(&said), 1000))).unwrap_or_default();
        Err(SendError { why: format!("HTTP {}{said}", status.as_u16()), is_down: !status.is_client_error() })
    }

    fn send(&self, target: &Target, message: &HttpMessage) -> Result<ureq::http::Response<ureq::Body>, Error> {
        let request = self.agent(target).post(target.url.expose_secret()).content_type("application/json");
        let request = message.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        request.send(message.body.as_bytes())
    }

    /// Gets a URL; any answer of 2xx is a success.
    pub fn get(&self, target: &Target) -> Result<(), SendError> {
        self.judge(self.agent(target).get(target.url.expose_secret()).call())
    }

    /// Connects to a URL's host, with TLS if the URL says so, and sends nothing.
    pub fn reach(&self, target: &Target) -> Result<(), SendError> {
        let resolver = PublicOnlyResolver { private: target.private };
        let agent = Agent::with_parts(http_config(self.timeout), DefaultConnector::default().chain(HangUp), resolver);
        match agent.get(target.url.expose_secret()).call() {
            Err(Error::Io(error)) if error.get_ref().is_some_and(|why| why.is::<Connected>()) => Ok(()),
            answer => self.judge(answer),
        }
    }

    fn judge(&self, answer: Result<ureq::http::Response<ureq::Body>, Error>) -> Result<(), SendError> {
        match answer.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) if status.is_redirection() => {
                Err(SendError::down(format!("HTTP {}: it redirects, which is not followed", status.as_u16())))
            }
            Ok(status) if MESSAGE_REFUSED.contains(&status.as_u16()) => {
                Err(SendError { why: format!("HTTP {}", status.as_u16()), is_down: false })
            }
            Ok(status) => Err(SendError::down(format!("HTTP {}", status.as_u16()))),
            Err(error) => Err(SendError::down(self.describe(error))),
        }
    }

    /// Describes an error without a URL: only the texts of errors that never have one are repeated.
    fn describe(&self, error: Error) -> String {
        match error {
            Error::Timeout(_) => format!("no answer within {} s", self.timeout.as_secs()),
            Error::HostNotFound => "its host was not found".to_owned(),
            Error::ConnectionFailed => "it cannot be connected to".to_owned(),
            Error::Io(error) => redact(&error.to_string()),
            Error::NativeTls(error) => redact(&format!("TLS: {error}")),
            Error::Tls(why) => format!("TLS: {why}"),
            Error::Protocol(_) => "its answer is no HTTP".to_owned(),
            _ => "the request failed".to_owned(),
        }
    }
}

/// Ends what `reach` began once there is a connection: before a byte of a request is sent.
#[derive(Debug)]
struct HangUp;

/// The error by which `HangUp` says so.
#[derive(Debug)]
struct Connected;

impl Display for Connected {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str("it was connected to")
    }
}

impl std::error::Error for Connected {}

impl<In: Transport> Connector<In> for HangUp {
    type Out = In;

    fn connect(&self, _: &ConnectionDetails, _: Option<In>) -> Result<Option<In>, Error> {
        Err(Error::Io(std::io::Error::other(Connected)))
    }
}

/// Statuses that refuse this message. Any other refusal comes from a destination that is busy, gone or revoked: it
/// would refuse the next message as well.
const MESSAGE_REFUSED: [u16; 4] = [400, 409, 413, 422];

/// Why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub struct SendError {
    pub why: String,
    /// Whether any other request would fail as well.
    pub is_down: bool,
}

impl SendError {
    pub fn down(why: String) -> SendError {
        SendError { why, is_down: true }
    }
}

/// How every request is made: no redirect, no proxy, no connection kept, certificates that this machine trusts.
pub fn http_config(timeout: Duration) -> Config {
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

/// Resolves a name to the addresses that may be connected to, at each connection: earlier answers prove nothing.
#[derive(Debug)]
struct PublicOnlyResolver {
    /// Whether private networks are allowed as well.
    private: bool,
}

impl Resolver for PublicOnlyResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let is_local = uri.host().is_some_and(addresses::names_this_machine);
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let found = addresses::allowed(found.iter().copied(), is_local, self.private)
            .map_err(|why| Error::Io(std::io::Error::other(why)))?;
        let mut allowed = self.empty();
        // There is place for as many as were found.
        found.into_iter().for_each(|address| allowed.push(address));
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests;
