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
/// The longest end of a connection, whatever its client still sends.
const LONGEST_LINGER: Duration = Duration::from_secs(10);

/// A socket. It has a place among the bounded number of connections, and closes if its client makes no calls.
pub struct Connection {
    stream: TcpStream,
    client: Client,
    /// When the client has to have made a call.
    expiry: Pin<Box<Sleep>>,
    /// Once everything is sent: until the client closes its side, and at most until the time.
    linger: Option<(Pin<Box<Sleep>>, Instant)>,
    longest_linger: Duration,
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
            longest_linger: LONGEST_LINGER,
            _place: place,
        }
    }

    /// Whether the client has made no call for too long.
    fn has_expired(&mut self, context: &mut Context<'_>) -> bool {
        while self.expiry.as_mut().poll(context).is_ready() {
            let expires = self.client.expires();
            if expires <= Instant::now() {
                return true;
            }
            self.expiry.as_mut().reset(expires);
        }
        false
    }

    /// A write for which the socket has no room, because the client does not read.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Pending if self.has_expired(context) => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            polled => polled,
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
        match polled {
            // As if the client had closed it.
            Poll::Pending if self.has_expired(context) => Poll::Ready(Ok(())),
            polled => polled,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Waits until the client has closed its side. A socket that is closed with unread bytes is reset, and the client's
    /// system then drops what the client has not read yet: the last rows, for example.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            let last = Instant::now() + self.longest_linger;
            self.linger = Some((Box::pin(sleep(LINGER)), last));
        }
        let Self { stream, linger, .. } = &mut *self;
        let Some((linger, last)) = linger else {
            return Poll::Ready(Ok(()));
        };
        let mut ignored = [0; 4_096];
        loop {
            let mut buffer = ReadBuf::new(&mut ignored);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let now = Instant::now();
                    if now >= *last {
                        return Poll::Ready(Ok(()));
                    }
                    linger.as_mut().reset((now + LINGER).min(*last));
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        linger.as_mut().poll(context).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, polled)
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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    use super::*;
    use crate::client::{ConnectionLimits, Patience};

    /// A connection and the socket of its client.
    async fn connected(patience: Patience) -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (stream, address) = listener.accept().await.unwrap();
        let limits = ConnectionLimits::new(patience);
        let guest = limits.guests.enter(address.ip()).unwrap();
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let place = Place::take(permit, &Arc::default());
        let known = Client::new(Some(address), &limits, guest);
        (Connection::new(stream, known, place), client.unwrap())
    }

    #[tokio::test]
    async fn a_client_that_keeps_sending_cannot_hold_an_ended_connection() {
        let (mut connection, mut client) = connected(Patience::default()).await;
        connection.longest_linger = Duration::from_millis(300);
        for _ in 0..200 {
            client.write_all(b"x").await.unwrap();
            connection.stream.readable().await.unwrap();
            let ended = connection.shutdown();
            if timeout(Duration::from_millis(50), ended).await.is_ok() {
                return;
            }
        }
        panic!("the connection is still open");
    }

    #[tokio::test]
    async fn a_guest_that_reads_nothing_cannot_hold_a_connection() {
        let (mut connection, _client) = connected(Patience {
            guest: Duration::from_millis(200),
            ..Patience::default()
        })
        .await;
        let everything = vec![0; 64 << 20];
        let error = connection.write_all(&everything).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
