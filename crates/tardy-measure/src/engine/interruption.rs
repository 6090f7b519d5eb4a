//! Requests to end a phase early: the first one asks the source to end, the second one ends it at once.

/// Whether a phase was asked to end, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interruption {
    since_ns: Option<u64>,
}

/// The action that a request to end requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// The source is to end by itself.
    End,
    /// The source was asked before, and is to be killed.
    Kill,
}

impl Interruption {
    /// Records a request to end that came at `now_ns`.
    pub(super) fn request(&mut self, now_ns: u64) -> Demand {
        if self.since_ns.is_some() {
            return Demand::Kill;
        }
        self.since_ns = Some(now_ns);
        Demand::End
    }

    /// Whether a request has come.
    pub(super) fn is_requested(self) -> bool {
        self.since_ns.is_some()
    }

    /// Whether the source has had longer than `patience_ns` to end by itself.
    pub(super) fn is_overdue(self, now_ns: u64, patience_ns: u64) -> bool {
        self.since_ns.is_some_and(|since_ns| now_ns > since_ns.saturating_add(patience_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_request_kills() {
        let mut interruption = Interruption::default();
        assert!(!interruption.is_requested() && !interruption.is_overdue(u64::MAX, 0));
        assert_eq!(interruption.request(10), Demand::End);
        assert_eq!(interruption.request(11), Demand::Kill);
        assert!(!interruption.is_overdue(15, 5), "patience counts from the first request");
        assert!(interruption.is_overdue(16, 5));
    }
}
