//! The ways to detect an edge. Each is a type, so that the measuring loop is compiled for each.

use std::io;
use std::os::fd::AsFd;

use gpiocdev::Request;
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::gpio_sysfs::ValueFile;
use tardy_sys::shared_map::Block;

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// An edge is to be answered.
    Edge(Edge),
    /// The wait was interrupted, and there is nothing to answer.
    Nothing,
}

/// An edge to answer: the latest that has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// How many edges the kernel counted since the last answered one, this one included. Sources that see only levels
    /// report 1.
    pub(super) since_last: u64,
    /// How many of these edges were read together with it, this one included. The others were never answered.
    pub(super) read: u64,
    /// The kernel's time of the first of those.
    pub(super) first_ns: u64,
    /// The kernel's time of this edge; 0 if the kernel reports none.
    pub(super) at_ns: u64,
}

/// A way to detect edges.
pub(super) trait EdgeSource {
    /// Whether the kernel counts edges and reports the time of each.
    const SEES_EDGES: bool;

    /// Waits for an edge.
    fn wait(&mut self) -> io::Result<Waited>;
}

/// The character device's events.
pub(super) struct ByEvents<'a> {
    line: OneLine<'a>,
    events: Events,
    last: u32,
}

impl<'a> ByEvents<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self { line: OneLine::of(request.as_fd()), events: Events::default(), last: 0 }
    }
}

impl EdgeSource for ByEvents<'_> {
    const SEES_EDGES: bool = true;

    #[inline(always)]
    fn wait(&mut self) -> io::Result<Waited> {
        let read = match self.line.read_edges(&mut self.events) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Waited::Nothing),
            Err(error) => return Err(error),
        };
        let Some(last) = self.events[..read].last() else { return Ok(Waited::Nothing) };
        // The kernel counts with 32 bits, from 1.
        let since_last = u64::from(last.line_seqno.wrapping_sub(self.last));
        self.last = last.line_seqno;
        Ok(Waited::Edge(Edge {
            since_last,
            read: read as u64,
            first_ns: self.events[0].timestamp_ns,
            at_ns: last.timestamp_ns,
        }))
    }
}

/// The `value` file in sysfs, which can be polled.
pub(super) struct BySysfs<'a>(&'a ValueFile);

impl<'a> BySysfs<'a> {
    /// Discards earlier edges.
    pub(super) fn new(value: &'a ValueFile) -> io::Result<Self> {
        value.is_high()?;
        Ok(Self(value))
    }
}

impl EdgeSource for BySysfs<'_> {
    const SEES_EDGES: bool = false;

    #[inline(always)]
    fn wait(&mut self) -> io::Result<Waited> {
        match self.0.wait_for_edge() {
            // Only rising edges are reported, but the line may be low again by now.
            Ok(()) => {
                self.0.is_high().map(|_| Waited::Edge(Edge { since_last: 1, read: 1, first_ns: 0, at_ns: 0 }))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Waited::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// Polling the line's value in a loop.
pub(super) struct ByAsking<'a> {
    line: OneLine<'a>,
    block: Block<'a>,
    was_high: bool,
}

impl<'a> ByAsking<'a> {
    pub(super) fn new(request: &'a Request, block: Block<'a>) -> io::Result<Self> {
        let line = OneLine::of(request.as_fd());
        Ok(Self { line, block, was_high: line.is_high()? })
    }
}

impl EdgeSource for ByAsking<'_> {
    const SEES_EDGES: bool = false;

    #[inline(always)]
    fn wait(&mut self) -> io::Result<Waited> {
        loop {
            let high = self.line.is_high()?;
            if high && !self.was_high {
                self.was_high = true;
                return Ok(Waited::Edge(Edge { since_last: 1, read: 1, first_ns: 0, at_ns: 0 }));
            }
            self.was_high = high;
            if self.block.is_asked_to_end() {
                return Ok(Waited::Nothing);
            }
        }
    }
}
