//! `sweep mcp`: a server of the Model Context Protocol, over stdin and stdout, for the agent that started it.
//!
//! The server is the protocol's side of what the commands do: each tool calls the function of one command, opens the
//! database for that call alone, and answers with that command's JSON, or a small page of it. So a database that was
//! away is asked anew by the next call, and nothing is held between two calls.
//!
//! ```text
//! stdin → transport → server → one call at a time, on a thread of its own → tools → the functions of the commands
//! stdout ←───┘
//! ```

mod answer;
mod arguments;
mod call;
mod schemas;
mod server;
mod tools;
mod transport;

use anyhow::{Context, Result};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::conclusion::Conclusion;
use crate::sweep::limits::LISTENING;
pub use call::McpOptions;
use server::Server;
use transport::Lines;

/// Serves until stdin ends, or a signal comes.
pub fn run(options: McpOptions) -> Result<Conclusion> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the server")?;
    let ended = runtime.block_on(serve(options));
    // Neither a read of a stdin that is no pipe, nor a database that does not answer, is waited for.
    runtime.shutdown_background();
    ended.map(|()| Conclusion::Done)
}

async fn serve(options: McpOptions) -> Result<()> {
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
