//! Messages by e-mail, through a server to which mail is submitted: plain text, over TLS.
//!
//! `smtps://` begins with TLS, `smtp://` asks for it by STARTTLS and sends nothing without it; only mail without a
//! password to this machine goes without. An error names the code of the server's answer and not its text, which could
//! repeat the password.

mod bounded;

use std::net::IpAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message as Mail};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_native_tls::{TlsConnector, native_tls};

use self::bounded::Bounded;
use super::addresses;
use super::client::{REQUEST_TIMEOUT, SendError};
use super::lines::MessageLine;
use crate::rules::Id;
use crate::text::{cut, redact};

/// A server to which mail is submitted, and whose mail it is.
#[derive(Clone)]
pub struct MailRoute {
    host: String,
    port: u16,
    /// Whether the host is this machine, and whether it may be in a private network.
    is_local: bool,
    private: bool,
    tls: MailTls,
    login: Option<(String, SecretString)>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MailTls {
    /// From the first byte.
    Implicit,
    /// After the command STARTTLS.
    StartTls,
    /// None: to this machine alone, and without a password.
    Plain,
}

/// Without USER:PASSWORD@ in its place, which would be hidden as a password.
const EXPECTED: &str = "expected smtps://HOST/?from=ADDRESS&to=ADDRESS, with USER:PASSWORD@ before HOST";

impl MailRoute {
    /// Parses and checks a URL.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn parse(url: &str, private: bool) -> Result<MailRoute, String> {
        let (uri, is_local) = addresses::checked(url, EXPECTED, private)?;
        let login = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(login, _)| login);
        let login = login.map(|login| {
            let (user, password) = login.split_once(':').ok_or("a user and no password; ".to_owned() + EXPECTED)?;
            Ok::<_, String>((decoded(user)?, decoded(password)?.into()))
        });
        let login = login.transpose()?;
        let (tls, usual_port) = match uri.scheme_str() {
            Some("smtps") => (MailTls::Implicit, 465),
            Some("smtp") if is_local && login.is_none() => (MailTls::Plain, 25),
            Some("smtp") => (MailTls::StartTls, 587),
            _ => return Err(EXPECTED.to_owned()),
        };
        let (from, to) = people(uri.query().unwrap_or_default())?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(usual_port);
        Ok(MailRoute { host, port, is_local, private, tls, login, from, to })
    }

    /// Sends a mail with these lines within the time that a request may take.
    pub fn send(&self, id: &Id, at: DateTime<Utc>, lines: &[MessageLine]) -> Result<(), SendError> {
        let mail = self.mail(id, at, lines).map_err(|error| SendError {
            why: format!("no mail can be made of it: {}", redact(&error.to_string())),
            is_down: false,
        })?;
        within_time(self.submit(&mail))
    }

    /// Connects and logs in, and sends nothing.
    pub fn reach(&self) -> Result<(), SendError> {
        within_time(self.log_in())
    }

    /// The mail, with the same `Message-ID` at each attempt.
    fn mail(&self, id: &Id, at: DateTime<Utc>, lines: &[MessageLine]) -> Result<Mail, lettre::error::Error> {
        let text: Vec<String> = lines
            .iter()
            .map(|line| match &line.url {
                Some(url) => format!("{}\n  {url}\n", line.text()),
                None => format!("{}\n", line.text()),
            })
            .collect();
        // The id is chosen by those who can write to the outbox.
        let key: String = id.0.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let subject = lines.first().map(MessageLine::text).unwrap_or_default();
        let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
        let mail = Mail::builder()
            .from(self.from.clone())
            .subject(cut(&subject, SUBJECT_MAX))
            .date(at.into())
            .message_id(Some(format!("<{key}@{}>", self.from.email.domain())))
            .raw_header(automatic)
            .header(ContentType::TEXT_PLAIN);
        self.to.iter().cloned().fold(mail, |mail, to| mail.to(to)).body(text.concat())
    }

    async fn submit(&self, mail: &Mail) -> Result<AsyncSmtpConnection, SendError> {
        let mut server = self.log_in().await?;
        let sent = server.send(mail.envelope(), &mail.formatted()).await;
        sent.map_err(|error| SendError { is_down: !error.is_permanent(), ..failed("the mail was not taken", &error) })?;
        Ok(server)
    }

    async fn log_in(&self) -> Result<AsyncSmtpConnection, SendError> {
        let mut server = self.connect().await?;
        if let Some((user, password)) = &self.login {
            let login = Credentials::new(user.clone(), password.expose_secret().to_owned());
            server.auth(DEFAULT_MECHANISMS, &login).await.map_err(|error| match error.status() {
                Some(code) => SendError::down(format!("SMTP {code}: the user or the password is refused")),
                None => failed("it takes no login by PLAIN or LOGIN", &error),
            })?;
        }
        Ok(server)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SendError> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map_err(|_| SendError::down("its host was not found".to_owned()))?;
        let allowed = addresses::allowed(found, self.is_local, self.private);
        let allowed = allowed.map_err(|why| SendError::down(why.to_owned()))?;
        self.converse(TcpStream::connect(&allowed[..]).await).await
    }

    /// Greets the server, and sees to TLS.
    async fn converse(&self, connected: std::io::Result<TcpStream>) -> Result<AsyncSmtpConnection, SendError> {
        let tcp = connected.map_err(|_| SendError::down("it cannot be connected to".to_owned()))?;
        let own = tcp.local_addr().map_err(|error| SendError::down(error.to_string()))?.ip();
        let name = match own {
            IpAddr::V4(own) => ClientId::Ipv4(own),
            IpAddr::V6(own) => ClientId::Ipv6(own),
        };
        let no_tls = |why: String| SendError::down(format!("TLS: {}", redact(&why)));
        let stream: Box<dyn AsyncTokioStream> = match self.tls {
            MailTls::Implicit => {
                let tls = native_tls::TlsConnector::new().map_err(|error| no_tls(error.to_string()))?;
                let tls = TlsConnector::from(tls).connect(&self.host, tcp).await;
                Box::new(Bounded::new(tls.map_err(|error| no_tls(error.to_string()))?))
            }
            MailTls::StartTls | MailTls::Plain => Box::new(Bounded::new(tcp)),
        };
        let greeted = AsyncSmtpConnection::connect_with_transport(stream, &name).await;
        let mut server = greeted.map_err(|error| failed("it does not greet", &error))?;
        if self.tls == MailTls::StartTls {
            if !server.can_starttls() {
                return Err(SendError::down("it offers no STARTTLS, without which nothing is sent".to_owned()));
            }
            let tls = TlsParameters::new(self.host.clone()).map_err(|error| no_tls(error.to_string()))?;
            server.starttls(tls, &name).await.map_err(|error| match error.status() {
                Some(_) => failed("STARTTLS", &error),
                None => no_tls(source(&error)),
            })?;
        }
        Ok(server)
    }
}

/// Converses with a server within the time that a request may take, and takes leave: a mail that was sent is taken,
/// whatever the server says to that, and however late.
fn within_time(conversation: impl Future<Output = Result<AsyncSmtpConnection, SendError>>) -> Result<(), SendError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| SendError::down(format!("no runtime: {error}")))?;
    let ended = runtime.block_on(async {
        let mut server = timeout(REQUEST_TIMEOUT, conversation).await?;
        if let Ok(server) = &mut server {
            let _ = timeout(GOODBYE_TIMEOUT, server.quit()).await;
        }
        Ok::<_, Elapsed>(server.map(drop))
    });
    // A name that is still being looked up holds nobody up.
    runtime.shutdown_background();
    ended.unwrap_or_else(|_| Err(SendError::down(format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()))))
}

/// The length of a subject in characters.
const SUBJECT_MAX: usize = 200;

/// How long a server that took a mail is waited for.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| format!("expected UTF-8: {EXPECTED}"))?;
    if decoded.contains(char::is_control) { Err(format!("malformed: {EXPECTED}")) } else { Ok(decoded.into_owned()) }
}

/// From whom a mail is, and to whom it goes.
fn people(query: &str) -> Result<(Mailbox, Vec<Mailbox>), String> {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("from", addresses)) => from.extend(mailboxes(addresses)?),
            Some(("to", addresses)) => to.extend(mailboxes(addresses)?),
            _ => return Err(format!("it asks for something else than from and to: {EXPECTED}")),
        }
    }
    let [from] = <[Mailbox; 1]>::try_from(from).map_err(|_| format!("not one address behind from: {EXPECTED}"))?;
    if to.is_empty() { Err(format!("no address behind to: {EXPECTED}")) } else { Ok((from, to)) }
}

fn mailboxes(list: &str) -> Result<Vec<Mailbox>, String> {
    let address = |address: &str| address.trim().parse().map_err(|_| format!("no e-mail address: {EXPECTED}"));
    decoded(list)?.split(',').map(address).collect()
}

/// What the server's answer was, or why there was none.
fn failed(what: &str, error: &lettre::transport::smtp::Error) -> SendError {
    SendError::down(match error.status() {
        Some(code) => format!("SMTP {code}"),
        None if error.is_response() => "its answer is no SMTP".to_owned(),
        None => format!("{what}: {}", redact(&source(error))),
    })
}

fn source(error: &lettre::transport::smtp::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests;
