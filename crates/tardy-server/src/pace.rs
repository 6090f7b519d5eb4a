//! A connection whose other side reads what is sent to it: one that reads nothing, or a byte now and then, is ended.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The least bytes per second that are read or sent on average, after a wait of the whole patience.
const BYTES_PER_S: f64 = 4096.0;

/// How long the other side may let this one wait.
#[derive(Debug)]
pub(crate) struct Pace {
    patience: Duration,
    /// What is left of it.
    left: Duration,
}

impl Pace {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, left: patience }
    }

    /// When patience ends with a wait that begins now.
    pub(crate) fn end(&self) -> Instant {
        Instant::now() + self.left
    }

    /// The other side moved on by so many bytes after a wait.
    pub(crate) fn moved(&mut self, bytes: usize, waited: Duration) {
        let gained = Duration::from_secs_f64(bytes as f64 / BYTES_PER_S);
        self.left = self.left.saturating_sub(waited).saturating_add(gained).min(self.patience);
    }
}

/// A stream whose writes do not wait for ever.
#[derive(Debug)]
pub(crate) struct Paced<S> {
    stream: S,
    pace: Pace,
    /// Since when a write waits, and the end of patience.
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Paced<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, pace: Pace::new(patience), wait: None }
    }

    /// The outcome of a write, or the end of patience.
    fn within_patience(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = outcome {
            if let (Some((since, _)), Ok(bytes)) = (self.wait.take(), &outcome) {
                self.pace.moved(*bytes, since.elapsed());
            }
            return Poll::Ready(outcome);
        }
        let end = self.pace.end();
        let (_, sleep) = self.wait.get_or_insert_with(|| (Instant::now(), Box::pin(sleep_until(end))));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within_patience(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.within_patience(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_is_permitted_and_nearly_nothing_is_not() {
        let patience = Duration::from_secs(30);
        let mut pace = Pace::new(patience);
        (0..1000).for_each(|_| pace.moved(8192, Duration::from_secs(2)));
        assert_eq!(pace.left, patience);
        (0..30).for_each(|_| pace.moved(1, Duration::from_secs(1)));
        assert!(pace.left < Duration::from_secs(1), "{pace:?}");
        (0..1000).for_each(|_| pace.moved(1 << 20, Duration::ZERO));
        assert_eq!(pace.left, patience, "no more than that is saved");
    }
}
