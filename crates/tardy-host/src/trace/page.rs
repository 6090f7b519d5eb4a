//! Parses pages of the kernel's ring buffer as `trace_pipe_raw` returns them (kernel/trace/ring_buffer.c,
//! include/linux/ring_buffer.h).
//!
//! A page begins with a time stamp and its used length. Events follow, each with a header of 32 bits: 5 bits of type or
//! length and 27 bits of time since the previous event. The pages come from this machine's kernel but are parsed as
//! untrusted: malformed data ends the page.

use super::format::{Field, Format};

/// `RB_MISSED_EVENTS`: events before this page were lost.
const MISSED: u64 = 1 << 31;
/// `RB_MISSED_STORED`: the number of lost events follows the last event.
const MISSED_STORED: u64 = 1 << 30;
/// The bits of the commit field that hold the length.
const LENGTH: u64 = (1 << 27) - 1;
/// Bits of time in an event's header; more are in the next word.
const DELTA_BITS: u32 = 27;
/// The five highest bits of a time, which an absolute time stamp omits.
const NOT_IN_STAMP: u64 = 0x1f << 59;

/// `RINGBUF_TYPE_PADDING`, `_TIME_EXTEND` and `_TIME_STAMP`; lower types are lengths.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// The page layout of this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: usize,
    /// Page size in bytes.
    pub size: usize,
}

impl PageLayout {
    /// The layout that `events/header_page` describes; `None` if it describes no page.
    pub fn of(header_page: &Format) -> Option<Self> {
        let (timestamp, commit) = (header_page.field("timestamp")?, header_page.field("commit")?);
        let data = header_page.field("data")?;
        let size = data.offset.checked_add(data.size)?;
        let sound = timestamp.size == 8 && matches!(commit.size, 4 | 8) && (64..=1 << 20).contains(&size);
        sound.then_some(Self { timestamp, commit, data: data.offset, size })
    }

    /// Parses one page and passes lost events and then each event to `take`.
    pub fn read(self, page: &[u8], mut take: impl FnMut(Piece<'_>)) {
        let (Some(start_ns), Some(commit)) = (self.timestamp.number(page), self.commit.number(page)) else {
            return;
        };
        let used = (commit & LENGTH) as usize;
        let body = page.get(self.data..).unwrap_or(&[]);
        let events = &body[..used.min(body.len())];
        if commit & MISSED != 0 {
            let stored = Field { offset: used, size: self.commit.size };
            let count = (commit & MISSED_STORED != 0).then(|| stored.number(body)).flatten();
            take(Piece::Lost { before_ns: start_ns, count });
        }
        let mut events = Events { rest: events, at_ns: start_ns };
        while let Some((at_ns, bytes)) = events.next() {
            take(Piece::Event { at_ns, bytes });
        }
    }
}

/// A piece of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Events before this time were lost.
    Lost {
        /// Time of the page's beginning.
        before_ns: u64,
        /// Number of lost events, if the page reports it.
        count: Option<u64>,
    },
    /// An event.
    Event {
        /// Time of the event.
        at_ns: u64,
        /// Its data, from `common_type` on.
        bytes: &'a [u8],
    },
}

struct Events<'a> {
    rest: &'a [u8],
    at_ns: u64,
}

impl<'a> Events<'a> {
    /// The next event with data; `None` at the end of the page or at malformed data.
    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        loop {
            let (kind, delta) = head(self.word()?);
            match kind {
                PADDING if delta == 0 => return None,
                PADDING => {
                    // A discarded event: its time counts, its data do not.
                    self.at_ns = self.at_ns.wrapping_add(delta);
                    let length = self.word()? as usize;
                    self.take(length.checked_sub(4)?)?;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.at_ns = self.at_ns.wrapping_add(high).wrapping_add(delta);
                }
                TIME_STAMP => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.at_ns = (self.at_ns & NOT_IN_STAMP) | (high.wrapping_add(delta) & !NOT_IN_STAMP);
                }
                _ => {
                    self.at_ns = self.at_ns.wrapping_add(delta);
                    let length = match kind {
                        // The length is in the next word and includes that word.
                        0 => (self.word()? as usize).checked_sub(4)?,
                        words => words as usize * 4,
                    };
                    return Some((self.at_ns, self.take(length)?));
                }
            }
        }
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Type and time of an event's header: a C bit-field, which begins at the lowest bit of a little-endian word and at the
/// highest of a big-endian one.
fn head(word: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (word & 31, u64::from(word >> 5))
    } else {
        (word >> DELTA_BITS, u64::from(word & ((1 << DELTA_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// header_page of a 64-bit kernel, but with pages of 256 bytes.
    fn layout() -> PageLayout {
        PageLayout::of(&Format::parse(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:240;\tsigned:0;\n",
        ))
        .unwrap()
    }

    fn word(kind: u32, delta: u32) -> [u8; 4] {
        let word = if cfg!(target_endian = "little") { kind | delta << 5 } else { kind << 27 | delta };
        word.to_ne_bytes()
    }

    fn page(commit_flags: u64, words: &[[u8; 4]]) -> Vec<u8> {
        let body = words.concat();
        let mut page = 1000u64.to_ne_bytes().to_vec();
        page.extend((body.len() as u64 | commit_flags).to_ne_bytes());
        page.extend(body);
        page.resize(256, 0);
        page
    }

    type Read = (Vec<(u64, Vec<u8>)>, Vec<(u64, Option<u64>)>);

    fn read(page: &[u8]) -> Read {
        let (mut events, mut losses) = (Vec::new(), Vec::new());
        layout().read(page, |piece| match piece {
            Piece::Event { at_ns, bytes } => events.push((at_ns, bytes.to_vec())),
            Piece::Lost { before_ns, count } => losses.push((before_ns, count)),
        });
        (events, losses)
    }

    #[test]
    fn times_add_up_over_every_kind_of_entry() {
        let n = u32::to_ne_bytes;
        let bytes = page(
            0,
            &[
                word(1, 5),
                n(7),
                word(TIME_EXTEND, 3),
                n(2),
                word(0, 0),
                n(8),
                n(9),
                word(PADDING, 4),
                n(8),
                n(0),
                word(2, 1),
                n(1),
                n(2),
                word(TIME_STAMP, 9),
                n(1),
                word(1, 1),
                n(3),
                word(PADDING, 0),
                n(4),
            ],
        );
        let extended = 1005 + 3 + (2 << 27);
        let stamped = (1 << 27) + 9;
        let expected: Vec<(u64, Vec<u8>)> = vec![
            (1005, n(7).to_vec()),
            (extended, n(9).to_vec()),
            (extended + 5, [n(1), n(2)].concat()),
            (stamped + 1, n(3).to_vec()),
        ];
        assert_eq!(read(&bytes), (expected, Vec::new()));
    }

    #[test]
    fn losses_are_reported_with_their_number_if_known() {
        let n = u32::to_ne_bytes;
        let lost = |count| vec![(1000, count)];
        assert_eq!(read(&page(MISSED, &[word(1, 0), n(0)])).1, lost(None));
        let mut bytes = page(MISSED | MISSED_STORED, &[word(1, 0), n(0)]);
        bytes[24..32].copy_from_slice(&77u64.to_ne_bytes());
        assert_eq!(read(&bytes).1, lost(Some(77)));
    }

    #[test]
    fn malformed_page_descriptions_are_refused() {
        for text in ["", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"] {
            assert_eq!(PageLayout::of(&Format::parse(text)), None);
        }
    }

    proptest! {
        #[test]
        fn no_page_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let (events, _) = read(&bytes);
            prop_assert!(events.iter().map(|(_, event)| event.len()).sum::<usize>() <= bytes.len());
        }

        #[test]
        fn a_truncated_page_yields_its_complete_events(cut in 16usize..64) {
            let n = u32::to_ne_bytes;
            let whole = page(0, &[word(1, 1), n(1), word(1, 1), n(2), word(1, 1), n(3)]);
            let (events, _) = read(&whole[..cut]);
            prop_assert_eq!(events.len(), ((cut - 16) / 8).min(3));
        }
    }
}
