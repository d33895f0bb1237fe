//! A connection to a server that may say only so much: a line of its answer without an end would fill the memory.
//!
//! Bytes are handed on one by one, as they are asked for. So whatever somebody on the way has put behind the answer to
//! STARTTLS is no answer of the server's that TLS verifies afterwards, but breaks the beginning of TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, Take};

/// What a server says to one mail is some hundred bytes, and its certificates are some thousand. More lines of one
/// answer would take long to read, since all of them are read again with each.
const BYTES_MAX: u64 = 1 << 14;

#[derive(Debug)]
pub struct Bounded<S>(Take<S>);

impl<S: AsyncRead + Unpin> Bounded<S> {
    pub fn new(stream: S) -> Bounded<S> {
        Bounded(stream.take(BYTES_MAX))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        let mut byte = [0];
        let mut byte = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut byte))?;
        buffer.put_slice(byte.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.0.get_mut()).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(self.0.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(self.0.get_mut()).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug> AsyncTokioStream for Bounded<S> {
    /// Nobody asks.
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
