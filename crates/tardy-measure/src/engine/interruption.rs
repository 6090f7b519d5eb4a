//! Requests to end a phase early. The first one of the user asks the source to end, the second one ends it at once. The rule of a
//! plan can ask as well.

/// Whether a phase was asked to end, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interruption {
    /// When the source was asked to end.
    since_ns: Option<u64>,
    is_by_user: bool,
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
    /// Records a request to end that came at `now_ns`, of the user or because the phase is useless.
    pub(super) fn request(&mut self, now_ns: u64) -> Demand {
        if std::mem::replace(&mut self.is_by_user, true) {
            return Demand::Kill;
        }
        self.since_ns.get_or_insert(now_ns);
        Demand::End
    }

    /// Records at `now_ns` that the plan's rule ends the phase.
    pub(super) fn end_by_rule(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
    }

    /// Whether the user has asked, or the phase is useless.
    pub(super) fn is_by_user(self) -> bool {
        self.is_by_user
    }

    /// Whether only the plan's rule has asked.
    pub(super) fn is_by_rule(self) -> bool {
        self.since_ns.is_some() && !self.is_by_user
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
        assert!(interruption.is_by_user() && !interruption.is_by_rule());
        assert_eq!(interruption.request(11), Demand::Kill);
        assert!(!interruption.is_overdue(15, 5), "patience counts from the first request");
        assert!(interruption.is_overdue(16, 5));
    }

    #[test]
    fn the_first_interrupt_after_the_end_by_a_rule_does_not_kill() {
        let mut interruption = Interruption::default();
        interruption.end_by_rule(10);
        assert!(interruption.is_requested() && interruption.is_by_rule() && !interruption.is_by_user());
        assert_eq!(interruption.request(11), Demand::End);
        assert!(interruption.is_overdue(16, 5) && !interruption.is_by_rule());
        assert_eq!(interruption.request(12), Demand::Kill);
    }
}
