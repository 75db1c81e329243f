//! The sockets of clients.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tonic::transport::server::Connected;

use crate::client::Client;

/// How long the end of a connection waits for the next bytes of its client.
const LINGER: Duration = Duration::from_secs(2);

/// A socket. It has a place among the bounded number of connections, and closes if its client makes no calls.
pub struct Connection {
    stream: TcpStream,
    client: Client,
    /// When the client has to have made a call.
    expiry: Pin<Box<Sleep>>,
    /// Since everything is sent.
    linger: Option<Pin<Box<Sleep>>>,
    _place: Place,
}

/// A place among the bounded number of connections.
pub struct Place {
    open: Arc<AtomicUsize>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// `open` counts the connections.
    pub fn take(permit: OwnedSemaphorePermit, open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self {
            open: open.clone(),
            _permit: permit,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connection {
    pub fn new(stream: TcpStream, client: Client, place: Place) -> Self {
        // Without it the last part of a message waits for an acknowledgement of the part before.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            expiry: Box::pin(sleep_until(client.expires())),
            client,
            linger: None,
            _place: place,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_ready() {
            return polled;
        }
        while self.expiry.as_mut().poll(context).is_ready() {
            let expires = self.client.expires();
            if expires <= Instant::now() {
                // As if the client had closed it.
                return Poll::Ready(Ok(()));
            }
            self.expiry.as_mut().reset(expires);
        }
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Waits until the client has closed its side. A socket that is closed with unread bytes is reset, and the client's
    /// system then drops what the client has not read yet: the last rows, for example.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.linger = Some(Box::pin(sleep(LINGER)));
        }
        let mut ignored = [0; 4_096];
        loop {
            let mut buffer = ReadBuf::new(&mut ignored);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.linger = Some(Box::pin(sleep(LINGER)));
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        match &mut self.linger {
            Some(linger) => linger.as_mut().poll(context).map(Ok),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Connected for Connection {
    type ConnectInfo = Client;

    fn connect_info(&self) -> Client {
        self.client.clone()
    }
}
