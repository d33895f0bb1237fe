//! A server that receives notifications: it records each request, and answers as the test demands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How the receiver answers; the body is empty unless named.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    Redirect(String),
    /// Status 200 with this body.
    Json(&'static str),
    /// Reads the request and never answers.
    Hang,
    /// Accepts the connection and resets it.
    Reset,
    /// Bytes that are no HTTP.
    Garbage,
    /// Status 200 after so many milliseconds.
    Slowly(u64),
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    pub fn json(&self) -> Value {
        crate::support::json::parse_valid(&self.body)
    }
}

/// A receiver, which lives as long as the test's process.
#[derive(Clone)]
pub struct Receiver {
    port: u16,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    pub fn answering(answer: Answer) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let receiver = Receiver { port, answer: Arc::new(Mutex::new(answer)), requests: Arc::default() };
        let serving = receiver.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(stream));
            }
        });
        receiver
    }

    pub fn new() -> Receiver {
        Receiver::answering(Answer::Status(200))
    }

    pub fn answer(&self, answer: Answer) {
        *self.answer.lock().expect("a lock") = answer;
    }

    /// The receiver's URL, which holds a secret, as such URLs do.
    pub fn url(&self) -> String {
        self.at("services/hunter2")
    }

    /// A URL of the receiver's with another path.
    pub fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The URL of an incident service, with a key that is a secret.
    pub fn with_key(&self) -> String {
        format!("http://hunter2@127.0.0.1:{}/v2/enqueue", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("a lock").clone()
    }

    /// Takes the requests so far, so that no later call returns them.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().expect("a lock"))
    }

    /// Takes the bodies of the requests so far.
    pub fn received(&self) -> Vec<Value> {
        self.take().iter().map(Request::json).collect()
    }

    pub fn wait_for(&self, requests: usize) {
        let began = Instant::now();
        while self.requests().len() < requests {
            assert!(began.elapsed() < Duration::from_secs(30), "{} of {requests} requests", self.requests().len());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn serve(&self, mut stream: TcpStream) {
        let answer = self.answer.lock().expect("a lock").clone();
        if let Answer::Reset = answer {
            // Unread bytes would have the connection reset.
            thread::sleep(Duration::from_millis(20));
            return;
        }
        let Some(request) = read_request(&stream) else { return };
        self.requests.lock().expect("a lock").push(request);
        let said = match answer {
            Answer::Status(status) => format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n"),
            Answer::Json(body) => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
            Answer::Redirect(to) => format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
            Answer::Garbage => "hunter2 is what you sent\r\n\r\n".to_owned(),
            Answer::Slowly(milliseconds) => {
                thread::sleep(Duration::from_millis(milliseconds));
                "HTTP/1.1 204 No Content\r\n\r\n".to_owned()
            }
            Answer::Hang | Answer::Reset => {
                thread::sleep(Duration::from_secs(60));
                return;
            }
        };
        let _ = stream.write_all(said.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
    }
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body: String::from_utf8(body).ok()? })
}
