//! The body of a call, whose client has to send its messages in time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;

use crate::client::Patience;

/// A body that fails (`DEADLINE_EXCEEDED`) if its client is silent for too long. Waits for other things do not count.
pub struct Patient {
    body: Body,
    patience: Patience,
    has_begun: bool,
    /// Of the call.
    deadline: Option<Instant>,
    /// While the server waits for the client.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub fn new(body: Body, patience: Patience, deadline: Option<Instant>) -> Self {
        Self {
            body,
            patience,
            has_begun: false,
            deadline,
            silence: None,
        }
    }

    fn begin_silence(&self) -> Pin<Box<Sleep>> {
        let patience = match self.has_begun {
            false => self.patience.first_message,
            true => self.patience.message,
        };
        let end = Instant::now() + patience;
        let deadline = self.deadline.unwrap_or(end);
        Box::pin(sleep_until(end.min(deadline)))
    }

    fn exceeded(&self) -> Status {
        let is_overdue = self.deadline.is_some_and(|end| end <= Instant::now());
        Status::deadline_exceeded(match is_overdue {
            true => {
                "the request took longer than its time limit, and the client has not sent all messages"
            }
            false => "the client has sent no message of the call for too long",
        })
    }
}

impl http_body::Body for Patient {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.silence = None;
            self.has_begun = true;
            return polled;
        }
        let mut silence = match self.silence.take() {
            Some(silence) => silence,
            None => self.begin_silence(),
        };
        if silence.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(self.exceeded())));
        }
        self.silence = Some(silence);
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
