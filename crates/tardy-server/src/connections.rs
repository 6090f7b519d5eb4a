//! The open connections: how many there are, and which one ends to make room for another.
//!
//! A connection for which the server works is never ended. One that waits for its other side, which may never send or read anything, is,
//! if its place is needed: the one that has waited for the longest time, of the address that has the most. So those who only keep
//! connections take places from each other.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::sharing::locked;

/// The address of the sender, for limits: that of all senders who can have one as they like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    /// At a time.
    most: usize,
    /// Of one address.
    most_of_one: usize,
    state: Mutex<Open>,
    /// Told when one ends, or begins to wait for its other side.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    address: IpAddr,
    /// Since when the server waits for the other side; `None` while it works.
    waits_since: Option<Instant>,
    task: Option<AbortHandle>,
}

impl Connections {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, state: Mutex::default(), changed: Notify::new() }
    }

    /// A place for a connection of this address. Waits while the server works for all others.
    pub(crate) async fn place(self: &Arc<Self>, address: IpAddr) -> Place {
        loop {
            let changed = self.changed.notified();
            if let Some(number) = locked(&self.state).take(address, self.most, self.most_of_one) {
                return Place { number, connections: Arc::clone(self) };
            }
            changed.await;
        }
    }
}

impl Open {
    /// The number of a new connection, after another one was ended if that is needed; `None` if none can be.
    fn take(&mut self, address: IpAddr, most: usize, most_of_one: usize) -> Option<u64> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.all.values().for_each(|one| *counts.entry(one.address).or_default() += 1);
        let has_too_many = counts.get(&address).is_some_and(|count| *count >= most_of_one);
        if has_too_many || self.all.len() >= most {
            let waiting = self.all.iter().filter(|(_, one)| !has_too_many || one.address == address);
            let waiting = waiting.filter_map(|(number, one)| Some((number, one, one.waits_since?)));
            let first =
                waiting.max_by_key(|(_, one, since)| (counts[&one.address], std::cmp::Reverse(*since)));
            let number = *first?.0;
            if let Some(task) = self.all.remove(&number).and_then(|one| one.task) {
                task.abort();
            }
        }
        self.next += 1;
        let new = Connection { address, waits_since: Some(Instant::now()), task: None };
        self.all.insert(self.next, new);
        Some(self.next)
    }
}

/// The place of a connection, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    connections: Arc<Connections>,
}

impl Place {
    /// What ends the connection if its place is needed.
    pub(crate) fn ended_by(&self, task: AbortHandle) {
        match locked(&self.connections.state).all.get_mut(&self.number) {
            Some(one) => one.task = Some(task),
            // It was needed at once.
            None => task.abort(),
        }
    }

    /// The server works for this connection until the result is dropped.
    pub(crate) fn work(self: &Arc<Self>) -> Work {
        self.set(None);
        Work(Arc::clone(self))
    }

    fn set(&self, waits_since: Option<Instant>) {
        if let Some(one) = locked(&self.connections.state).all.get_mut(&self.number) {
            one.waits_since = waits_since;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.connections.state).all.remove(&self.number);
        self.connections.changed.notify_waiters();
    }
}

/// The server works for a connection.
#[derive(Debug)]
pub(crate) struct Work(Arc<Place>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
        self.0.connections.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))
    }

    #[test]
    fn who_waits_longest_among_those_with_the_most_makes_room() {
        let mut open = Open::default();
        let take = |open: &mut Open, number: u8| open.take(address(number), 4, 4);
        assert_eq!((1..=3).map(|_| take(&mut open, 1)).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
        assert_eq!(take(&mut open, 2), Some(4));
        open.all.get_mut(&1).unwrap().waits_since = None;
        assert_eq!(take(&mut open, 3), Some(5));
        assert!(!open.all.contains_key(&2) && open.all.len() == 4, "the first of address 1 that waits");
        open.all.values_mut().for_each(|one| one.waits_since = None);
        assert_eq!(take(&mut open, 4), None, "the server works for all");
    }

    #[test]
    fn an_address_with_too_many_takes_its_own_places() {
        let mut open = Open::default();
        for _ in 0..3 {
            open.take(address(1), 100, 3).unwrap();
        }
        open.take(address(2), 100, 3).unwrap();
        open.take(address(1), 100, 3).unwrap();
        let of_one = open.all.values().filter(|one| one.address == address(1)).count();
        assert_eq!((of_one, open.all.len(), open.all.contains_key(&1)), (3, 4, false));
    }
}
