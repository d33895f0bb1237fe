//! `sweep mcp`: a server of the Model Context Protocol, over stdin and stdout, for the agent that started it.
//!
//! The server is the protocol's side of what the commands do: each tool calls the function of one command, opens the
//! database for that call alone, and answers with that command's JSON, or a small page of it. So a database that was
//! away is asked anew by the next call, and nothing is held between two calls.
//!
//! ```text
//! stdin → lines → server → one call at a time, on a thread of its own → tools → the functions of the commands
//! stdout ←──┘
//! ```

mod call;
mod definitions;
mod tools;

use std::io::{self, ErrorKind};
use std::sync::Arc;

use anyhow::Context;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientJsonRpcMessage, ClientRequest, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Implementation, JsonRpcMessage, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::conclusion::{Conclusion, conclusion_of, usage};
use crate::sweep::Cancel;
use crate::sweep::limits::LISTENING;
use crate::text::{cut, redact};
use call::Call;
pub use call::McpOptions;
use definitions::{Definition, TOOLS};

/// Serves until stdin ends, or a signal comes.
pub fn run(mut options: McpOptions) -> anyhow::Result<Conclusion> {
    if let Some(name) = options.session.clone() {
        match tools::find_session(&options, name) {
            Ok(id) => options.session = Some(id),
            // The tools serve when the database is back, and the session is looked for again by each call.
            Err(error) if conclusion_of(&error) == Conclusion::Unavailable => {
                warn!("--session: {}", redact(&words_of(&error)));
            }
            Err(error) => return Err(error.context("--session")),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the server")?;
    let ended = runtime.block_on(serve(options));
    // Neither a read of a stdin that is no pipe, nor a database that does not answer, is waited for.
    runtime.shutdown_background();
    ended.map(|()| Conclusion::Done)
}

async fn serve(options: McpOptions) -> anyhow::Result<()> {
    let ends = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, ends) = (signal(kind).context(LISTENING)?, ends.clone());
        tokio::spawn(async move {
            signal.recv().await;
            ends.cancel();
        });
    }
    match Server::new(options).serve_with_ct(Lines::of_this_process(), ends).await {
        Ok(running) => running.waiting().await.map(drop).context("serving"),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(error).context("the client and the server could not begin"),
    }
}

/// Calls that wait for their turn, with the one that has it.
const CALLS_MAX: usize = 16;

/// Characters of what a client calls itself, and its version.
const CLIENT_MAX: usize = 60;

/// Why a tool is refused, as a phrase that follows its name.
const READS_ONLY: &str = "changes something, and this server only reads: it was not started with --allow-changes";

/// What a client may tell its model of the tools.
const INSTRUCTIONS: &str = include_str!("mcp/instructions.txt");

struct Server {
    options: Arc<McpOptions>,
    waiting: Arc<Semaphore>,
    /// The call that holds this has the one connection.
    turn: Arc<Mutex<()>>,
}

impl Server {
    fn new(options: McpOptions) -> Server {
        let waiting = Arc::new(Semaphore::new(CALLS_MAX));
        Server { options: Arc::new(options), waiting, turn: Arc::default() }
    }

    fn tools(&self) -> impl Iterator<Item = &'static Definition> {
        let allows_changes = self.options.allows_changes;
        TOOLS.iter().filter(move |tool| allows_changes || !tool.changes)
    }

    /// One call, on a thread of its own. It goes on when nobody waits for it any more, and a dry run is asked to end.
    async fn call(
        &self,
        tool: &'static Definition,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let Ok(_place) = self.waiting.try_acquire() else {
            return failed(&format!("{CALLS_MAX} calls wait already: wait for their answers, then try again"));
        };
        let _turn = self.turn.lock().await;
        if context.ct.is_cancelled() {
            return failed("it was cancelled before it began");
        }
        let (options, cancel, client) = (Arc::clone(&self.options), Cancel::default(), client_of(&context));
        let (its_cancel, is_refused) = (cancel.clone(), tool.changes && !self.options.allows_changes);
        let mut called = tokio::task::spawn_blocking(move || {
            let call = Call { options: &options, cancel: &its_cancel, client: client.as_deref() };
            tools::note_sign_of_life(&call);
            match is_refused {
                true => Err(usage(format!("{} {READS_ONLY}", tool.tool.name)).into()),
                false => (tool.call)(&call, request.arguments.unwrap_or_default()),
            }
        });
        let called = tokio::select! {
            called = &mut called => called,
            () = context.ct.cancelled() => {
                cancel.set();
                called.await
            }
        };
        match called {
            Ok(Ok(answer)) => CallToolResult::structured(answer),
            Ok(Err(error)) => failed(&words_of(&error)),
            Err(why) => {
                error!("{} failed: {why}", tool.tool.name);
                failed("sweep failed, and that is a fault of its own: its log on stderr says more")
            }
        }
    }
}

/// What went wrong, as an agent can use it.
fn words_of(error: &anyhow::Error) -> String {
    let why = format!("{error:#}");
    match conclusion_of(error) {
        Conclusion::Unavailable => format!("the database is unavailable; try again later: {why}"),
        _ => why,
    }
}

fn failed(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(redact(why))])
}

/// `claude-code 2.1`, in the client's own words.
fn client_of(context: &RequestContext<RoleServer>) -> Option<String> {
    let client = context.client_info()?;
    Some(redact(&cut(&format!("{} {}", client.name, client.version), CLIENT_MAX)).trim().to_owned())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let itself = Implementation::new("sweep", env!("CARGO_PKG_VERSION")).with_title("sweep");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(itself)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().map(|tool| tool.tool.clone()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &request.name;
        let Some(tool) = TOOLS.iter().find(|tool| tool.tool.name == *name) else {
            let known: Vec<&str> = self.tools().map(|tool| tool.tool.name.as_ref()).collect();
            let why = format!("there is no tool {}; expected one of {}", cut(&redact(name), 100), known.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        };
        Ok(self.call(tool, request, context).await.into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.tool.name == name).map(|tool| tool.tool.clone())
    }

    /// Refuses what the library does not know, and what it knows and could not read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = cut(&redact(&request.method), 100);
        Err(match method.as_str() {
            "initialize" | "tools/call" | "tools/list" => {
                ErrorData::invalid_params(format!("{method}: its params are not as the protocol has them"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method}"), None),
        })
    }
}

/// Bytes of one message. What a client sends is a name and a few arguments.
const MESSAGE_MAX: usize = 1 << 20;

/// How many answers may wait to be written. Then nothing more is read from a client that does not read them.
const UNWRITTEN_MAX: usize = 32;

/// Messages of JSON-RPC, one a line, on stdin and stdout. What is no message is answered as JSON-RPC has it, and costs
/// the connection nothing. The library's own transport says nothing of a line that is no JSON or is too long, and ends
/// when a notification comes before `initialize`.
struct Lines {
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
    fn of_this_process() -> Lines {
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
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
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
    fn hear(&mut self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Value> {
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

async fn write(to: Arc<Mutex<StdioWriter>>, message: impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    line.push(b'\n');
    let mut to = to.lock().await;
    to.write_all(&line).await?;
    to.flush().await
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
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

    async fn close(&mut self) -> io::Result<()> {
        self.to.lock().await.flush().await
    }
}
