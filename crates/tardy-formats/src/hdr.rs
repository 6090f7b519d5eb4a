//! HdrHistogram's encoding, version 2: counts of a log-linear layout as zigzag LEB128, deflated, in base64.
//!
//! The hdrhistogram crate is not used: it allocates what a file's header requests, up to gigabytes, and reading its
//! bins would need most of this code anyway. A test decodes a line that HdrHistogram encoded.

use std::io::{Read, Write};

use crate::error::{ImportError, Result};

const COOKIE: u32 = 0x1c84_9303;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304;
/// The bits of the cookie that hold the word size: V2 sets them to 1 (ZigZag encoding).
const WORD_SIZE: u32 = 0x10;
const HEADER: usize = 40;
/// The most bytes of a decoded histogram. 64 octaves of 2^17 counts of 9 bytes would be more.
const PAYLOAD_MAX: u64 = 64 << 20;

/// The layout of a histogram: number and width of its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The width of a bin in the lowest octave, as a power of two.
    unit_magnitude: u32,
    /// Half the number of bins in an octave, as a power of two.
    half_magnitude: u32,
}

impl Layout {
    /// A layout with this many significant `digits` for values from `lowest` on.
    pub(crate) fn new(lowest: u64, digits: u32) -> Option<Self> {
        if !(1..=5).contains(&digits) || lowest == 0 {
            return None;
        }
        let largest_single_unit = 2 * 10u64.pow(digits);
        let magnitude = u64::BITS - (largest_single_unit - 1).leading_zeros();
        let layout = Self { unit_magnitude: lowest.ilog2(), half_magnitude: magnitude - 1 };
        (layout.unit_magnitude + magnitude <= 61).then_some(layout)
    }

    /// The index of the bin that holds `value`.
    pub(crate) fn index(self, value: u64) -> usize {
        let mask = (1u64 << (self.half_magnitude + 1 + self.unit_magnitude)) - 1;
        let octave =
            u64::BITS - (value | mask).leading_zeros() - (self.unit_magnitude + self.half_magnitude + 1);
        let sub = value >> (octave + self.unit_magnitude);
        (((u64::from(octave) + 1) << self.half_magnitude) + sub - (1 << self.half_magnitude)) as usize
    }

    /// The values in bin `index`: from (inclusive), to (exclusive). `None` from 2^62 on.
    pub(crate) fn edges(self, index: usize) -> Option<(u64, u64)> {
        let half = 1u64 << self.half_magnitude;
        let index = index as u64;
        let (octave, sub) =
            if index < 2 * half { (0, index) } else { (index / half - 1, index % half + half) };
        let shift = u32::try_from(octave).ok()? + self.unit_magnitude;
        let lower = sub.checked_shl(shift).filter(|lower| lower >> shift == sub && *lower < 1 << 62)?;
        Some((lower, lower + (1u64.checked_shl(shift)?)))
    }
}

/// Decodes a histogram into bins: from (inclusive), to (exclusive) and count. `place` is the place for an error.
pub(crate) fn decode(text: &str, place: &str) -> Result<Vec<(u64, u64, u64)>> {
    let wrong = |reason: &str| ImportError::field(place, reason.to_owned());
    let bytes = from_base64(text).ok_or_else(|| wrong("it is not base64"))?;
    let word = |bytes: &[u8], at: usize| -> Result<u32> {
        let four = bytes.get(at..at + 4).ok_or_else(|| wrong("it ends in its header"))?;
        Ok(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let cookie = word(&bytes, 0)?;
    let payload = if cookie & !0xf0 == COMPRESSED_COOKIE {
        let mut payload = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[8.min(bytes.len())..])
            .take(PAYLOAD_MAX + 1)
            .read_to_end(&mut payload)
            .map_err(|error| wrong(&format!("decompression failed: {error}")))?;
        payload
    } else {
        bytes
    };
    if payload.len() as u64 > PAYLOAD_MAX {
        return Err(wrong("it is larger than any histogram"));
    }
    if word(&payload, 0)? & !0xf0 != COOKIE {
        return Err(wrong("it is not a version 2 histogram"));
    }
    let length = word(&payload, 4)? as usize;
    let ratio = f64::from_bits(u64::from(word(&payload, 32)?) << 32 | u64::from(word(&payload, 36)?));
    if word(&payload, 8)? != 0 || ratio != 1.0 {
        return Err(wrong(
            "it is shifted or scaled (normalising offset, double ratio), which is not supported",
        ));
    }
    let digits = word(&payload, 12)?;
    let lowest = u64::from(word(&payload, 16)?) << 32 | u64::from(word(&payload, 20)?);
    let layout = Layout::new(lowest, digits)
        .ok_or_else(|| wrong("its number of digits or its lowest value is invalid"))?;
    let counts = payload.get(HEADER..).unwrap_or_default();
    let counts = counts.get(..length).ok_or_else(|| wrong("it is shorter than its header states"))?;
    bins(layout, counts).ok_or_else(|| wrong("its counts are invalid"))
}

fn bins(layout: Layout, mut counts: &[u8]) -> Option<Vec<(u64, u64, u64)>> {
    let mut bins = Vec::new();
    let mut index = 0usize;
    while !counts.is_empty() {
        let count = zigzag(&mut counts)?;
        if count < 0 {
            index = index.checked_add(usize::try_from(count.unsigned_abs()).ok()?)?;
        } else {
            if count > 0 {
                let (lower, upper) = layout.edges(index)?;
                bins.push((lower, upper, count as u64));
            }
            index = index.checked_add(1)?;
        }
        if index > 1 << 26 {
            return None;
        }
    }
    Some(bins)
}

/// Reads a number of at most 9 bytes: seven bits from each, and eight from the ninth.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for at in 0..9 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        if at == 8 {
            number |= u64::from(*first) << 56;
            break;
        }
        number |= u64::from(first & 0x7f) << (7 * at);
        if first & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

fn push_zigzag(bytes: &mut Vec<u8>, value: i64) {
    let mut number = (value << 1 ^ value >> 63) as u64;
    for _ in 0..8 {
        if number < 0x80 {
            bytes.push(number as u8);
            return;
        }
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Encodes values with their counts, with three significant digits.
pub(crate) fn encode(values: &[(u64, u64)]) -> String {
    const DIGITS: u32 = 3;
    let layout = Layout::new(1, DIGITS).expect("three digits from 1 on are a layout");
    let mut by_index = std::collections::BTreeMap::new();
    let mut highest = 2;
    for (value, count) in values {
        let sum: &mut u64 = by_index.entry(layout.index(*value)).or_default();
        *sum = sum.saturating_add(*count);
        highest = highest.max(*value);
    }
    let mut counts = Vec::new();
    let mut next = 0;
    for (index, count) in by_index {
        match index - next {
            0 => {}
            1 => push_zigzag(&mut counts, 0),
            gap => push_zigzag(&mut counts, -(gap as i64)),
        }
        push_zigzag(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        next = index + 1;
    }
    let mut payload = Vec::new();
    for word in [COOKIE | WORD_SIZE, counts.len() as u32, 0, DIGITS] {
        payload.extend_from_slice(&word.to_be_bytes());
    }
    payload.extend_from_slice(&1u64.to_be_bytes());
    payload.extend_from_slice(&highest.to_be_bytes());
    payload.extend_from_slice(&1f64.to_be_bytes());
    payload.extend_from_slice(&counts);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&payload).expect("memory can be written");
    let packed = encoder.finish().expect("memory can be written");
    let mut bytes = (COMPRESSED_COOKIE | WORD_SIZE).to_be_bytes().to_vec();
    bytes.extend_from_slice(&(packed.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&packed);
    to_base64(&bytes)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * at) & 63) as usize] as char;
            text.push(if at <= group.len() { letter } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut word, mut bits) = (0u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)? as u32;
        word = word << 6 | value;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    (text.len() % 4 != 1).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_a_log_by_hdrhistogram_is_read() {
        // From the tests of HdrHistogram's readers. The log gives 2.769 ms as the maximum of this interval.
        const LINE: &str = "HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekI\
                            LGZkKmcCAEf2CsI=";
        let bins = decode(LINE, "x").unwrap();
        let (_, upper, _) = bins[bins.len() - 1];
        assert_eq!(format!("{:.3}", (upper - 1) as f64 / 1e6), "2.769");
        let again: Vec<(u64, u64)> = bins.iter().map(|(lower, _, count)| (*lower, *count)).collect();
        let decoded = decode(&encode(&again), "x").unwrap();
        let total = |bins: &[(u64, u64, u64)]| bins.iter().map(|bin| bin.2).sum::<u64>();
        assert_eq!((total(&decoded), decoded.len()), (total(&bins), bins.len()));
    }

    proptest! {
        #[test]
        fn encoded_counts_are_decoded(values in prop::collection::btree_map(0u64..1 << 50, 1u64..1 << 40, 0..80)) {
            let values: Vec<(u64, u64)> = values.into_iter().collect();
            let bins = decode(&encode(&values), "x").unwrap();
            let total = |counts: &mut dyn Iterator<Item = u64>| counts.sum::<u64>();
            prop_assert_eq!(
                total(&mut bins.iter().map(|bin| bin.2)),
                total(&mut values.iter().map(|value| value.1))
            );
            for (value, count) in values {
                let bin = bins.iter().find(|bin| bin.0 <= value && value < bin.1);
                prop_assert!(bin.is_some_and(|bin| bin.2 >= count), "{value}");
                let (lower, upper, _) = *bin.unwrap();
                prop_assert!(upper - lower == 1 || (upper - lower) * 1000 <= value);
            }
        }

        #[test]
        fn a_value_is_in_the_bin_of_its_index(value in 0u64..1 << 60, lowest in 1u64..10_000, digits in 1u32..=5) {
            let layout = Layout::new(lowest, digits).unwrap();
            let (lower, upper) = layout.edges(layout.index(value)).unwrap();
            prop_assert!(lower <= value && value < upper, "{value} not in {lower}..{upper}");
        }

        #[test]
        fn encoded_base64_is_decoded(bytes: Vec<u8>) {
            prop_assert_eq!(from_base64(&to_base64(&bytes)), Some(bytes));
        }

        #[test]
        fn random_bytes_do_not_panic(text in "[A-Za-z0-9+/]{0,200}") {
            let _ = decode(&text, "x");
        }
    }
}
