//! Frames that are sent in fragments (IEEE 802.1Q 6.7.2, IEEE 802.3 clause 99, formerly 802.1Qbu and 802.3br).
//!
//! A fragment has at least 64 octets with its check sequence, of which that of all but the last is 4 octets of its own. So a frame is
//! divided after 60 octets at the earliest, and before its last 64, and what has less than 124 octets is sent whole. Each
//! fragment has a preamble of 8 octets, and a gap of 12 follows it.

use crate::transmission_time;

/// Octets in front of a fragment, and after it.
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;
/// The check sequence of a fragment that is not the last.
const CHECK: u64 = 4;
/// The fewest octets of a fragment without its check sequence, and of the last one with that of the frame.
const FIRST_MIN: u64 = 60;
const LAST_MIN: u64 = 64;

/// The most octets that an express frame waits for: a fragment that cannot be divided, its preamble, and the gap.
pub const UNDIVIDED_OCTETS: u32 = (FIRST_MIN + LAST_MIN - 1 + PREAMBLE + GAP) as u32;
/// The octets that a division adds: a check sequence, a gap, and a preamble.
pub const DIVISION_OCTETS: u32 = (CHECK + GAP + PREAMBLE) as u32;

/// The fragment that is being sent, of a frame that may be interrupted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) start_ps: u64,
    /// Its octets with the frame's check sequence, if it is not divided again.
    pub(super) octets: u64,
}

impl Fragment {
    /// A whole frame that takes `whole_ps` on the wire.
    pub(super) fn whole(start_ps: u64, whole_ps: u64, rate_bps: u64) -> Self {
        let octets = u128::from(whole_ps) * u128::from(rate_bps) / 8_000_000_000_000;
        let octets = u64::try_from(octets).unwrap_or(u64::MAX).saturating_sub(PREAMBLE + GAP);
        Self { start_ps, octets }
    }

    /// When its last octet has been sent.
    pub(super) fn sent_ps(&self, rate_bps: u64) -> u64 {
        self.start_ps.saturating_add(octets_ps(PREAMBLE + self.octets, rate_bps))
    }

    /// When the next frame can start.
    pub(super) fn end_ps(&self, rate_bps: u64) -> u64 {
        self.start_ps.saturating_add(octets_ps(PREAMBLE + self.octets + GAP, rate_bps))
    }

    /// Divides it as early as possible from `now_ps` on: when the next frame can start, and how many octets are left. `None`: it is
    /// too late.
    pub(super) fn divided(&self, now_ps: u64, rate_bps: u64) -> Option<(u64, u64)> {
        let passed_ps = u128::from(now_ps.saturating_sub(self.start_ps));
        let begun = (passed_ps * u128::from(rate_bps)).div_ceil(8_000_000_000_000);
        let sent = u64::try_from(begun).ok()?.saturating_sub(PREAMBLE).max(FIRST_MIN);
        let left = self.octets.checked_sub(sent).filter(|left| *left >= LAST_MIN)?;
        Some((self.start_ps.saturating_add(octets_ps(PREAMBLE + sent + CHECK + GAP, rate_bps)), left))
    }
}

fn octets_ps(octets: u64, rate_bps: u64) -> u64 {
    transmission_time::octets_ps(u32::try_from(octets).unwrap_or(u32::MAX), rate_bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One octet takes 1 ns.
    const RATE_BPS: u64 = 8_000_000_000;

    fn fragment(octets: u64) -> Fragment {
        Fragment { start_ps: 1_000_000, octets }
    }

    fn at(fragment: &Fragment, octets: u64) -> Option<(u64, u64)> {
        let divided = fragment.divided(1_000_000 + octets * 1000, RATE_BPS);
        divided.map(|(end_ps, left)| ((end_ps - 1_000_000) / 1000, left))
    }

    #[test]
    fn a_frame_of_123_octets_is_sent_whole_and_one_of_124_is_divided_in_the_middle() {
        assert_eq!(at(&fragment(123), 0), None);
        assert_eq!(at(&fragment(124), 0), Some((84, 64)));
        assert_eq!(at(&fragment(124), 68), Some((84, 64)));
        assert_eq!(at(&fragment(124), 69), None);
    }

    #[test]
    fn a_long_frame_is_divided_after_the_octet_that_is_being_sent() {
        let long = fragment(1518);
        assert_eq!(at(&long, 508), Some((524, 1018)));
        assert_eq!(at(&long, 8 + 1518 - 64), Some((8 + 1454 + 16, 64)));
        assert_eq!(at(&long, 8 + 1518 - 63), None);
    }

    #[test]
    fn an_express_frame_waits_for_at_most_143_octets() {
        let mut longest = 0;
        for octets in 64..400 {
            let fragment = fragment(octets);
            for passed in 0..8 + octets + 12 {
                let end = at(&fragment, passed).map_or(8 + octets + 12, |(end, _)| end);
                longest = longest.max(end - passed);
            }
        }
        assert_eq!(longest, u64::from(UNDIVIDED_OCTETS));
    }
}
