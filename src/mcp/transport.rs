//! Messages of JSON-RPC, one a line, on stdin and stdout.
//!
//! What is no message is answered as JSON-RPC has it, and costs the connection nothing. The library's own transport
//! says nothing of a line that is no JSON or is too long, and ends when a notification comes before `initialize`.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;

/// Bytes of one message. What a client sends is a name and a few arguments.
const MESSAGE_MAX: usize = 1 << 20;

/// So many answers wait until they are written. Then nothing more is read from a client that does not read them.
const UNWRITTEN_MAX: usize = 32;

pub struct Lines<R, W> {
    from: BufReader<R>,
    to: Arc<Mutex<W>>,
    /// What has come of a line.
    line: Vec<u8>,
    /// The line is too long: what is left of it is passed over.
    is_passed_over: bool,
    /// The client has begun with `initialize`.
    has_begun: bool,
    /// The answer to what was no message.
    answering: Option<JoinHandle<()>>,
    unwritten: Unwritten,
}

/// Counts what is yet to be written.
#[derive(Clone, Default)]
struct Unwritten(Arc<(AtomicUsize, Notify)>);

/// One of these, until it is dropped.
struct One(Unwritten);

impl Unwritten {
    fn one(&self) -> One {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        One(self.clone())
    }

    /// Until there are few.
    async fn few(&self) {
        let (number, written) = &*self.0;
        loop {
            let is_written = written.notified();
            if number.load(Ordering::SeqCst) < UNWRITTEN_MAX {
                return;
            }
            is_written.await;
        }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let One(Unwritten(shared)) = self;
        shared.0.fetch_sub(1, Ordering::SeqCst);
        shared.1.notify_one();
    }
}

/// What a line turned out to be.
enum Heard {
    Message(Box<ClientJsonRpcMessage>),
    Nothing,
    /// No message: the answer to it.
    Mistake(Value),
}

impl Lines<StdioReader, StdioWriter> {
    pub fn of_this_process() -> Self {
        let (from, to) = stdio_pipes();
        Lines::of(from, to)
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn of(from: R, to: W) -> Self {
        Lines {
            from: BufReader::new(from),
            to: Arc::new(Mutex::new(to)),
            line: Vec::new(),
            is_passed_over: false,
            has_begun: false,
            answering: None,
            unwritten: Unwritten::default(),
        }
    }

    /// The next line, without its end; one that is too long is cut. None: there is no more. It may be dropped at any
    /// await and asked again: what has come stays.
    async fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let come = self.from.fill_buf().await?;
            if come.is_empty() {
                return Ok(None);
            }
            let end = come.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(come.len(), |end| end + 1);
            if !self.is_passed_over {
                self.line.extend_from_slice(&come[..end.unwrap_or(come.len())]);
            }
            self.from.consume(taken);
            let was_passed_over = self.is_passed_over;
            self.is_passed_over = end.is_none() && MESSAGE_MAX < self.line.len();
            match (was_passed_over, end.is_some()) {
                (false, true) => return Ok(Some(std::mem::take(&mut self.line))),
                (false, false) if self.is_passed_over => {
                    return Ok(Some(std::mem::take(&mut self.line)));
                }
                (false, false) => {}
                (true, is_ended) => self.is_passed_over = !is_ended,
            }
        }
    }

    fn hear(&mut self, line: &[u8]) -> Heard {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Heard::Nothing;
        }
        if MESSAGE_MAX < line.len() {
            let why = format!("a message of more than {MESSAGE_MAX} bytes");
            return Heard::Mistake(mistake(ErrorCode::INVALID_REQUEST, &why, &Value::Null));
        }
        let Ok(document) = serde_json::from_slice::<Value>(line) else {
            return Heard::Mistake(mistake(ErrorCode::PARSE_ERROR, "expected one line of JSON", &Value::Null));
        };
        let id = document.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(document.clone()) else {
            return match (id, document.get("method")) {
                // A notification is never answered.
                (None, Some(_)) => Heard::Nothing,
                (id, _) => {
                    let why = "expected a message of JSON-RPC 2.0";
                    Heard::Mistake(mistake(ErrorCode::INVALID_REQUEST, why, &id.unwrap_or_default()))
                }
            };
        };
        let JsonRpcMessage::Request(request) = &message else {
            // The library ends when anything but a request comes first.
            return if self.has_begun { Heard::Message(Box::new(message)) } else { Heard::Nothing };
        };
        self.has_begun |= matches!(request.request, ClientRequest::InitializeRequest(_));
        Heard::Message(Box::new(message))
    }
}

fn mistake(code: ErrorCode, why: &str, id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": why } })
}

async fn write<W: AsyncWrite + Unpin>(to: Arc<Mutex<W>>, message: impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(&message).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    line.push(b'\n');
    let mut to = to.lock().await;
    to.write_all(&line).await?;
    to.flush().await
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<R, W> {
    type Error = Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<()>> + Send + 'static {
        let (one, to) = (self.unwritten.one(), Arc::clone(&self.to));
        async move {
            let written = write(to, item).await;
            drop(one);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // One at a time: whoever sends nonsense and reads no answer waits.
            if let Some(answering) = &mut self.answering {
                let _ = answering.await;
                self.answering = None;
            }
            self.unwritten.few().await;
            let line = self.next_line().await.ok()??;
            match self.hear(&line) {
                Heard::Message(message) => return Some(*message),
                Heard::Nothing => {}
                Heard::Mistake(answer) => {
                    let to = Arc::clone(&self.to);
                    self.answering = Some(tokio::spawn(async move { drop(write(to, answer).await) }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        self.to.lock().await.flush().await
    }
}
