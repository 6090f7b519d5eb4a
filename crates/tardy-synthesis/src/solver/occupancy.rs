//! Which steps of each link are occupied: a bitmap for each link and each different period, folded to that period.
//!
//! A step is occupied in the bitmap of a period if any frame occupies it in any of the hyperperiod's periods. So the offsets that
//! are free for a flow follow from the bitmaps of its own period alone. The bitmap of the hyperperiod is exact, and the others
//! are computed from it again if a frame is removed.

use super::grid::{Grid, GridHop, GridRoute};

/// How many offsets are examined at a time, in words of 64.
const CHUNK: usize = 16;

/// The bitmaps of all links.
#[derive(Clone, Debug)]
pub(super) struct Occupancy<'g> {
    grid: &'g Grid,
    words: Vec<u64>,
    /// The number of words of a link.
    stride: usize,
    /// The first word of each period in those of a link.
    first: Vec<usize>,
}

/// Memory that the search for an offset uses again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    words: Vec<u64>,
}

impl<'g> Occupancy<'g> {
    /// Free links.
    pub(super) fn of(grid: &'g Grid) -> Self {
        let mut stride = 0;
        let first = grid.periods.iter().map(|period| {
            let start = stride;
            // A word more, so that any 64 steps before the end are in two words.
            stride += period.div_ceil(64) as usize + 1;
            start
        });
        let first = first.collect();
        Self { grid, words: vec![0; stride * grid.ports], stride, first }
    }

    /// Frees all links.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    fn bitmap(&self, port: u32, class: usize) -> &[u64] {
        let start = port as usize * self.stride + self.first[class];
        &self.words[start..start + self.grid.periods[class].div_ceil(64) as usize + 1]
    }

    fn bitmap_mut(&mut self, port: u32, class: usize) -> &mut [u64] {
        let start = port as usize * self.stride + self.first[class];
        let length = self.grid.periods[class].div_ceil(64) as usize + 1;
        &mut self.words[start..start + length]
    }

    /// The first permitted offset of `range`, which does not include its end, at which a flow of this class is free on all links of the route.
    pub(super) fn first_free(
        &self,
        route: &GridRoute,
        class: usize,
        range: (u32, u32),
        scratch: &mut Scratch,
    ) -> Option<u32> {
        route.ranges_in(range).find_map(|range| self.first_free_in(route, class, range, scratch))
    }

    fn first_free_in(
        &self,
        route: &GridRoute,
        class: usize,
        (from, end): (u32, u32),
        scratch: &mut Scratch,
    ) -> Option<u32> {
        let mut base = from;
        while base < end {
            let mut blocked = [0_u64; CHUNK];
            for hop in &route.hops {
                self.add_blocked(hop, class, base, &mut blocked, scratch);
                if blocked.iter().all(|word| *word == u64::MAX) {
                    break;
                }
            }
            let free = blocked.iter().enumerate().find(|(_, word)| **word != u64::MAX);
            if let Some((place, word)) = free {
                let offset = base + place as u32 * 64 + (!word).trailing_zeros();
                return (offset < end).then_some(offset);
            }
            base += 64 * CHUNK as u32;
        }
        None
    }

    /// Marks the offsets from `base` on at which the frame would meet another one on the hop's link.
    fn add_blocked(
        &self,
        hop: &GridHop,
        class: usize,
        base: u32,
        blocked: &mut [u64; CHUNK],
        scratch: &mut Scratch,
    ) {
        let period = self.grid.periods[class];
        let start = ((u64::from(base) + u64::from(hop.shift)) % u64::from(period)) as u32;
        let words = CHUNK + (hop.length as usize).div_ceil(64) + 1;
        scratch.words.clear();
        scratch.words.resize(words, 0);
        let window = &mut scratch.words[..];
        copy_cyclic(self.bitmap(hop.port, class), period, start, window);
        let mut done = 1;
        while done < hop.length as usize {
            let step = done.min(hop.length as usize - done);
            or_shifted(window, step);
            done += step;
        }
        for (blocked, word) in blocked.iter_mut().zip(window) {
            *blocked |= *word;
        }
    }

    /// Occupies the links of a route for a flow of this class.
    pub(super) fn occupy(&mut self, route: &GridRoute, class: usize, offset: u32) {
        for hop in &route.hops {
            for other in 0..self.grid.periods.len() {
                self.each_interval(hop, (class, other), offset, |bitmap, start, length, period| {
                    set_cyclic(bitmap, period, start, length);
                });
            }
        }
    }

    /// Frees the links of a route that [`Self::occupy`] has occupied.
    pub(super) fn release(&mut self, route: &GridRoute, class: usize, offset: u32) {
        let whole = self.grid.periods.len() - 1;
        for hop in &route.hops {
            self.each_interval(hop, (class, whole), offset, |bitmap, start, length, period| {
                clear_cyclic(bitmap, period, start, length);
            });
            for other in 0..whole {
                self.fold_again(hop, (class, other), offset);
            }
        }
    }

    /// Calls `apply` for the intervals that a frame occupies in the bitmap of class `other`.
    fn each_interval(
        &mut self,
        hop: &GridHop,
        (class, other): (usize, usize),
        offset: u32,
        apply: impl Fn(&mut [u64], u32, u32, u32),
    ) {
        let (period, common) = (self.grid.periods[other], self.grid.common(class, other));
        let first = (offset + hop.shift) % common;
        let length = hop.length.min(common);
        let bitmap = self.bitmap_mut(hop.port, other);
        for start in (first..period).step_by(common as usize) {
            apply(bitmap, start, length, period);
        }
    }

    /// Computes the steps that a removed frame occupied in the bitmap of class `other` from the bitmap of the hyperperiod.
    fn fold_again(&mut self, hop: &GridHop, (class, other): (usize, usize), offset: u32) {
        let whole = self.grid.periods.len() - 1;
        let (period, hyperperiod) = (self.grid.periods[other], self.grid.periods[whole]);
        let common = self.grid.common(class, other);
        let first = (offset + hop.shift) % common;
        let length = hop.length.min(common);
        for start in (first..period).step_by(common as usize) {
            for step in start..start + length {
                let step = step % period;
                let exact = self.bitmap(hop.port, whole);
                let is_occupied = (step..hyperperiod).step_by(period as usize).any(|at| bit(exact, at));
                let bitmap = self.bitmap_mut(hop.port, other);
                match is_occupied {
                    true => bitmap[step as usize / 64] |= 1 << (step % 64),
                    false => bitmap[step as usize / 64] &= !(1 << (step % 64)),
                }
            }
        }
    }
}

fn bit(bitmap: &[u64], at: u32) -> bool {
    bitmap[at as usize / 64] >> (at % 64) & 1 == 1
}

/// 64 bits from `start` on, which must be at most 64 before the end of the words.
fn word_at(bitmap: &[u64], start: u32) -> u64 {
    let (place, shift) = (start as usize / 64, start % 64);
    if shift == 0 { bitmap[place] } else { bitmap[place] >> shift | bitmap[place + 1] << (64 - shift) }
}

/// Copies the bits from `start` on, which continue at 0 after `period` bits.
fn copy_cyclic(bitmap: &[u64], period: u32, start: u32, to: &mut [u64]) {
    let mut at = start;
    for word in to {
        if at + 64 <= period {
            *word = word_at(bitmap, at);
            at += 64;
            if at == period {
                at = 0;
            }
            continue;
        }
        let (mut bits, mut have) = (0, 0);
        while have < 64 {
            let count = (period - at).min(64 - have);
            let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
            bits |= (word_at(bitmap, at) & mask) << have;
            have += count;
            at = (at + count) % period;
        }
        *word = bits;
    }
}

/// Marks every bit whose `step`-th successor is marked.
fn or_shifted(words: &mut [u64], step: usize) {
    let (skip, shift) = (step / 64, step % 64);
    let count = words.len().saturating_sub(skip);
    for place in 0..count {
        let low = words[place + skip];
        let high = words.get(place + skip + 1).copied().unwrap_or(0);
        words[place] |= if shift == 0 { low } else { low >> shift | high << (64 - shift) };
    }
}

fn set_cyclic(bitmap: &mut [u64], period: u32, start: u32, length: u32) {
    each_part(period, start, length, |place, mask| bitmap[place] |= mask);
}

fn clear_cyclic(bitmap: &mut [u64], period: u32, start: u32, length: u32) {
    each_part(period, start, length, |place, mask| bitmap[place] &= !mask);
}

/// The words of an interval that continues at 0 after `period`, each with the mask of its bits.
fn each_part(period: u32, start: u32, length: u32, mut apply: impl FnMut(usize, u64)) {
    let (mut at, mut left) = (start, length);
    while left > 0 {
        let count = left.min(64 - at % 64).min(period - at);
        let mask = if count == 64 { u64::MAX } else { ((1 << count) - 1) << (at % 64) };
        apply(at as usize / 64, mask);
        left -= count;
        at = (at + count) % period;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bits one by one, as they should be.
    fn window(bits: &[bool], start: usize, count: usize) -> Vec<bool> {
        (0..count).map(|place| bits[(start + place) % bits.len()]).collect()
    }

    fn packed(bits: &[bool]) -> Vec<u64> {
        let mut words = vec![0; bits.len().div_ceil(64) + 1];
        for (place, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
            words[place / 64] |= 1 << (place % 64);
        }
        words
    }

    fn unpacked(words: &[u64], count: usize) -> Vec<bool> {
        (0..count).map(|place| words[place / 64] >> (place % 64) & 1 == 1).collect()
    }

    proptest! {
        #[test]
        fn bits_are_copied_across_the_end_of_the_period(
            bits in prop::collection::vec(any::<bool>(), 1..300), start in 0_usize..300, words in 1_usize..8,
        ) {
            let start = start % bits.len();
            let mut copied = vec![0; words];
            copy_cyclic(&packed(&bits), bits.len() as u32, start as u32, &mut copied);
            prop_assert_eq!(unpacked(&copied, words * 64), window(&bits, start, words * 64));
        }

        #[test]
        fn an_interval_is_set_and_cleared_across_the_end(period in 1_u32..300, start in 0_u32..300, length in 0_u32..300) {
            let (start, length) = (start % period, length.min(period));
            let expected: Vec<bool> = (0..period).map(|at| (at + period - start) % period < length).collect();
            let mut words = packed(&vec![false; period as usize]);
            set_cyclic(&mut words, period, start, length);
            prop_assert_eq!(unpacked(&words, period as usize), expected);
            clear_cyclic(&mut words, period, start, length);
            prop_assert!(words.iter().all(|word| *word == 0));
        }

        #[test]
        fn shifting_marks_predecessors(bits in prop::collection::vec(any::<bool>(), 64..256), step in 0_usize..256) {
            let mut words = packed(&bits);
            let count = words.len() * 64;
            or_shifted(&mut words, step);
            let expected: Vec<bool> = (0..count)
                .map(|place| bits.get(place) == Some(&true) || bits.get(place + step) == Some(&true))
                .collect();
            prop_assert_eq!(unpacked(&words, count), expected);
        }
    }
}
