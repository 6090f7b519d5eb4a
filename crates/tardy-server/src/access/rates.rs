//! How often one sender may ask. Each has a bucket that fills at a rate and is emptied by requests.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use axum::http::StatusCode;

use crate::access::who::Who;
use crate::answer::Refusal;
use crate::sharing::locked;

/// More senders than this are not remembered: full buckets are forgotten first.
const SENDERS_MAX: usize = 10_000;

/// How much a bucket holds, and how fast it fills.
#[derive(Clone, Copy, Debug)]
struct Rate {
    burst: f64,
    per_second: f64,
}

/// Tokens that are not known: a guess every 6 s.
const FAILURES: Rate = Rate { burst: 10.0, per_second: 1.0 / 6.0 };
/// Requests of one sender.
const REQUESTS: Rate = Rate { burst: 400.0, per_second: 100.0 };
/// Runs pushed with one token: a board that was offline for a month pushes a run an hour in a few seconds.
const PUSHES: Rate = Rate { burst: 2000.0, per_second: 500.0 };

#[derive(Clone, Copy, Debug)]
struct Bucket {
    level: f64,
    at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Failures(IpAddr),
    Requests(String),
    Pushes(String),
}

/// The buckets of all senders.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<BTreeMap<Key, Bucket>>);

impl Rates {
    /// Forgets what all senders sent.
    #[cfg(feature = "unconnected")]
    pub(crate) fn forget(&self) {
        locked(&self.0).clear();
    }

    /// Counts a token that is not known.
    pub(crate) fn count_failure(&self, peer: IpAddr) -> Result<(), Refusal> {
        self.count(Key::Failures(peer), FAILURES, Instant::now())
    }

    /// Counts a request.
    pub(crate) fn count_request(&self, who: &Who) -> Result<(), Refusal> {
        self.count(Key::Requests(who.name()), REQUESTS, Instant::now())
    }

    /// Counts a run that is pushed.
    pub(crate) fn count_push(&self, who: &Who) -> Result<(), Refusal> {
        self.count(Key::Pushes(who.name()), PUSHES, Instant::now())
    }

    fn count(&self, key: Key, rate: Rate, now: Instant) -> Result<(), Refusal> {
        let mut buckets = locked(&self.0);
        if buckets.len() >= SENDERS_MAX {
            buckets.retain(|key, bucket| filled(*bucket, rate_of(key), now).level < rate_of(key).burst);
        }
        let bucket = buckets.entry(key).or_insert(Bucket { level: rate.burst, at: now });
        *bucket = filled(*bucket, rate, now);
        if bucket.level >= 1.0 {
            bucket.level -= 1.0;
            return Ok(());
        }
        let seconds = ((1.0 - bucket.level) / rate.per_second).ceil() as u64;
        Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests; ask again later")
            .retry_after(seconds.max(1)))
    }
}

fn rate_of(key: &Key) -> Rate {
    match key {
        Key::Failures(_) => FAILURES,
        Key::Requests(_) => REQUESTS,
        Key::Pushes(_) => PUSHES,
    }
}

fn filled(bucket: Bucket, rate: Rate, now: Instant) -> Bucket {
    let seconds = now.saturating_duration_since(bucket.at).as_secs_f64();
    Bucket { level: (bucket.level + seconds * rate.per_second).min(rate.burst), at: now }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sender_that_asks_too_often_waits_and_others_do_not() {
        let rates = Rates::default();
        let start = Instant::now();
        let ask = |number: u8, at: Instant| {
            rates.count(Key::Failures(IpAddr::from([127, 0, 0, number])), FAILURES, at)
        };
        assert!((0..10).all(|_| ask(1, start).is_ok()));
        assert_eq!(ask(1, start).unwrap_err().retry_after_s, Some(6));
        assert!(ask(2, start).is_ok());
        assert!(ask(1, start + Duration::from_secs(6)).is_ok());
        assert!(ask(1, start + Duration::from_secs(7)).is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let rates = Rates::default();
        let start = Instant::now();
        for number in 0..20_000_u32 {
            let key = Key::Requests(number.to_string());
            rates.count(key, REQUESTS, start + Duration::from_secs(u64::from(number))).unwrap();
        }
        assert!(rates.0.lock().unwrap().len() <= SENDERS_MAX);
    }
}
