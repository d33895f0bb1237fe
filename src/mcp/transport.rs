//! Messages of JSON-RPC, one a line, on stdin and stdout.
//!
//! What is no message is answered as JSON-RPC has it, and costs the connection nothing. The library's own transport
//! says nothing of a line that is no JSON or is too long, and ends when a notification comes before `initialize`.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;

/// Bytes of one message. What a client sends is a name and a few arguments.
const MESSAGE_MAX: usize = 1 << 20;

/// How many answers may wait to be written. Then nothing more is read from a client that does not read them.
const UNWRITTEN_MAX: usize = 32;

pub struct Lines {
    from: BufReader<StdioReader>,
    to: Arc<Mutex<StdioWriter>>,
    /// What has come of a line.
    line: Vec<u8>,
    /// The line is too long: what is left of it is passed over.
    is_passed_over: bool,
    /// The client has begun with `initialize`.
    has_begun: bool,
    /// The answer to what was no message.
    answering: Option<JoinHandle<()>>,
    /// Each answer that is yet to be written holds one of these permits.
    unwritten: Arc<Semaphore>,
}

impl Lines {
    pub fn of_this_process() -> Lines {
        let (from, to) = stdio_pipes();
        Lines {
            from: BufReader::new(from),
            to: Arc::new(Mutex::new(to)),
            line: Vec::new(),
            is_passed_over: false,
            has_begun: false,
            answering: None,
            unwritten: Arc::new(Semaphore::new(UNWRITTEN_MAX)),
        }
    }

    /// The next line, without its end; one that is too long is cut. None: there is no more. The future may be dropped
    /// and asked for again: what has come stays.
    async fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let room = MESSAGE_MAX + 1 - self.line.len();
            (&mut self.from).take(room as u64).read_until(b'\n', &mut self.line).await?;
            let is_ended = self.line.last() == Some(&b'\n');
            if !is_ended && self.line.len() <= MESSAGE_MAX {
                return Ok(None);
            }
            let mut line = std::mem::take(&mut self.line);
            line.truncate(line.len() - usize::from(is_ended));
            if !std::mem::replace(&mut self.is_passed_over, !is_ended) {
                return Ok(Some(line));
            }
        }
    }

    /// The message in a line; none: there is none to answer. Else the answer to what was no message.
    fn hear(&mut self, line: &[u8]) -> std::result::Result<Option<ClientJsonRpcMessage>, Value> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        if MESSAGE_MAX < line.len() {
            let why = format!("a message of more than {MESSAGE_MAX} bytes");
            return Err(mistake(ErrorCode::INVALID_REQUEST, &why, &Value::Null));
        }
        let Ok(document) = serde_json::from_slice::<Value>(line) else {
            return Err(mistake(ErrorCode::PARSE_ERROR, "expected one line of JSON", &Value::Null));
        };
        let id = document.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let is_notification = id.is_none() && document.get("method").is_some();
        match serde_json::from_value::<ClientJsonRpcMessage>(document) {
            Ok(message) => {
                if let JsonRpcMessage::Request(request) = &message {
                    self.has_begun |= matches!(request.request, ClientRequest::InitializeRequest(_));
                } else if !self.has_begun {
                    // The library ends when anything but a request comes first.
                    return Ok(None);
                }
                Ok(Some(message))
            }
            // A notification is never answered.
            Err(_) if is_notification => Ok(None),
            Err(_) => {
                let why = "expected a message of JSON-RPC 2.0";
                Err(mistake(ErrorCode::INVALID_REQUEST, why, &id.unwrap_or_default()))
            }
        }
    }
}

fn mistake(code: ErrorCode, why: &str, id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": why } })
}

async fn write(to: Arc<Mutex<StdioWriter>>, message: impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(&message).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    line.push(b'\n');
    let mut to = to.lock().await;
    to.write_all(&line).await?;
    to.flush().await
}

impl Transport<RoleServer> for Lines {
    type Error = Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<()>> + Send + 'static {
        let (to, unwritten) = (Arc::clone(&self.to), Arc::clone(&self.unwritten).try_acquire_owned());
        async move {
            let written = write(to, item).await;
            drop(unwritten);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // One at a time: a client that sends nonsense and reads no answer waits.
            if let Some(answering) = &mut self.answering {
                let _ = answering.await;
                self.answering = None;
            }
            drop(self.unwritten.acquire().await);
            let line = self.next_line().await.ok()??;
            match self.hear(&line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => {
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
