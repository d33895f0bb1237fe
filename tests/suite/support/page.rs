//! The page as a client gets it: `sweep page` on a port of its own, its answers, and the contents of their HTML.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::daemon::Daemon;
use crate::support::program::{Program, sweep};

/// `sweep page`, not yet started.
pub fn page<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    sweep(["page", "--http", "127.0.0.1:0", "--database", url].into_iter().chain(arguments))
}

/// A started `sweep page`, with its port open.
pub fn served(url: &str) -> Daemon {
    Daemon::start(page(url, []))
}

/// The answer to one request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// Sends a request as a browser on this machine does, with further headers.
#[track_caller]
pub fn ask(daemon: &Daemon, request: &str, headers: &[&str]) -> Answer {
    ask_for(daemon, request, &[&["Host: localhost"], headers].concat())
}

/// Sends a request with these headers and no other.
#[track_caller]
pub fn ask_for(daemon: &Daemon, request: &str, headers: &[&str]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", daemon.port())).expect("a connection");
    let lines: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    write!(stream, "{request} HTTP/1.1\r\n{lines}\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {request}: {answer}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body: body.to_owned() }
}

/// The body of a page that must exist.
#[track_caller]
pub fn html(daemon: &Daemon, path: &str) -> String {
    let answer = ask(daemon, &format!("GET {path}"), &[]);
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

/// The texts of all elements of a field, in their order.
pub fn fields(html: &str, name: &str) -> Vec<String> {
    let begin = format!("data-field=\"{name}\"");
    let texts = html.split(&begin).skip(1).filter_map(|rest| rest.split_once('>')?.1.split('<').next());
    texts.map(plain).collect()
}

/// The values of an attribute, in their order.
pub fn attributes(html: &str, name: &str) -> Vec<String> {
    html.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).map(plain).collect()
}

/// The targets of the links.
pub fn links(html: &str) -> Vec<String> {
    let links = html.split("<a ").skip(1).filter_map(|rest| rest.split("href=\"").nth(1)?.split('"').next());
    links.map(plain).collect()
}

/// The link to the next page of items.
pub fn next_page(html: &str) -> Option<String> {
    let link = html.split("rel=\"next\"").nth(1)?.split("href=\"").nth(1)?;
    link.split('"').next().map(plain)
}

/// Replaces the escapes of a text.
pub fn plain(escaped: &str) -> String {
    const ESCAPES: [(&str, &str); 5] =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    ESCAPES.iter().fold(escaped.to_owned(), |text, (escape, character)| text.replace(escape, character))
}
