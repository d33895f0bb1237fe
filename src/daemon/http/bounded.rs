//! Connections with bounds, so that a client that dawdles or floods costs little: ten seconds, 16 KB to read, 64 at once.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

const TIME: Duration = Duration::from_secs(10);
const BYTES: usize = 16 * 1024;
const CONNECTIONS: usize = 64;

pub struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

pub struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    bytes_left: usize,
    _place: Option<OwnedSemaphorePermit>,
}

impl Bounded {
    pub fn new(listener: TcpListener) -> Bounded {
        Bounded { listener, room: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Connection { stream, end: Box::pin(sleep(TIME)), bytes_left: BYTES, _place: place }, address)
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connection {
    fn is_over(&mut self, context: &mut Context) -> bool {
        self.end.as_mut().poll(context).is_ready() || self.bytes_left == 0
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context, buffer: &mut ReadBuf) -> Poll<Result<()>> {
        if self.is_over(context) {
            return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
        }
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.bytes_left = self.bytes_left.saturating_sub(buffer.filled().len() - before);
        poll
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
