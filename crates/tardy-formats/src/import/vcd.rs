//! VCD, a value change dump (IEEE 1364-2005, clause 18), exported by logic analysers and simulators.
//!
//! For speed, words are read from blocks eight bytes at a time, and other channels are skipped without being parsed.
//! Values are words, not lines: some writers put all values of a time stamp into one line.

use std::io::Read;

use tardy_record::capture::ResolvedBy;

use super::ImportOptions;
use super::vcd_header::{self, Source, Variables};
use crate::capture::{Capture, Choice, Level, Levels, TimeBase};
use crate::error::{ImportError, Result};
use crate::imported::Imported;

/// Codes up to this length are looked up as numbers. Only files with 830,000 variables need longer ones.
const SHORT: usize = 3;

/// Imports a dump.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut source = Source::new(reader);
    let header = vcd_header::read(&mut source)?;
    let mut choice = Choice::among(&header.variables, options)?;
    let tick_fs = match (header.tick_fs, options.time_unit) {
        (Some(fs), _) => fs,
        (None, Some(unit)) => {
            choice.used.time_unit = true;
            10u64.pow(unit.ps_exponent() as u32) * 1000
        }
        (None, None) => {
            let reason = "the file has no time scale; use --time-unit with the unit of its ticks";
            return Err(ImportError::field("$timescale", reason));
        }
    };
    let targets: Vec<Target> =
        choice.indices.iter().map(|index| Target::of(&header.variables, *index)).collect::<Result<_>>()?;
    let time = TimeBase::of_femtoseconds(tick_fs, ResolvedBy::TimeScale);
    let declared = Declared::of(&header.variables, &targets);
    let mut scan = Scan::new(targets, declared, Capture::new(choice, time));
    loop {
        let used = match scan.block(source.block()) {
            Ok(used) => used,
            Err((at, field, reason)) => return Err(ImportError::line(source.line(at), field, reason)),
        };
        source.consume(used);
        if !source.fill()? {
            break;
        }
    }
    // A last word without an end may lack digits.
    let cut_short = !source.block().iter().all(u8::is_ascii_whitespace) || scan.comment;
    if scan.start.is_none() {
        let reason =
            "it contains no time stamp; nothing was captured, or the file was cut off after its header";
        return Err(ImportError::line(source.line(0), "values", reason));
    }
    scan.take_levels();
    scan.capture.end_at(scan.now);
    let undeclared = scan.undeclared_remark();
    let mut imported = scan.capture.imported(header.version);
    imported.time_unit_stated = header.scale_stated;
    imported.remarks.extend(undeclared);
    imported.cut_short = cut_short;
    imported.has_no_end = true;
    if cut_short {
        imported.remarks.push("the last word of the file is incomplete and left out".to_owned());
    }
    Ok(imported)
}

/// A chosen channel.
#[derive(Clone, Debug)]
struct Target {
    id: Vec<u8>,
    /// Which bit of its variable, from the right.
    bit: u32,
}

impl Target {
    fn of(variables: &Variables, index: usize) -> Result<Self> {
        use crate::capture::Named;
        let (variable, bit) = variables.of_index(index);
        let place = || format!("channel {}", variables.name(index));
        match (variable.width, bit) {
            (0, _) => Err(ImportError::field(place(), "it has no bits: it is a number, a text or an event")),
            (1, _) | (_, Some(_)) => Ok(Self { id: variable.id.clone(), bit: bit.unwrap_or(0) }),
            (width, None) => {
                let name = variables.name(index);
                let reason = format!("it is {width} bits wide; name a bit, for example '{name}[0]'");
                Err(ImportError::field(place(), reason))
            }
        }
    }
}

/// A short code as a number: its first byte is the lowest. `None` if it is longer.
fn key_of(id: &[u8]) -> Option<u64> {
    (id.len() <= SHORT).then(|| eight(id, 0))
}

/// The codes that the header declares.
#[derive(Debug)]
struct Declared {
    /// By the number of a short code: [`DECLARED`], and the bits of the targets that have it. So each of the many changes of
    /// other channels costs one lookup.
    roles: Vec<u8>,
    /// Longer codes, sorted.
    longer: Vec<Vec<u8>>,
}

/// The role of a code that is declared; target `n` has bit `n` in addition.
const DECLARED: u8 = 1 << 7;

impl Declared {
    fn of(variables: &Variables, targets: &[Target]) -> Self {
        let ids = || variables.all.iter().map(|variable| &variable.id);
        let keys = || ids().filter_map(|id| key_of(id)).map(|key| key as usize);
        let mut roles = vec![0; keys().max().map_or(0, |highest| highest + 1)];
        keys().for_each(|key| roles[key] = DECLARED);
        for (index, key) in targets.iter().map(|target| key_of(&target.id)).enumerate() {
            key.into_iter().for_each(|key| roles[key as usize] |= 1 << index);
        }
        let mut longer: Vec<Vec<u8>> = ids().filter(|id| key_of(id).is_none()).cloned().collect();
        longer.sort_unstable();
        Self { roles, longer }
    }

    /// The role of a short code; 0 if it is not declared.
    #[inline]
    fn role(&self, key: u64) -> u8 {
        self.roles.get(key as usize).copied().unwrap_or(0)
    }

    fn has(&self, id: &[u8]) -> bool {
        match key_of(id) {
            Some(key) => self.role(key) != 0,
            None => self.longer.binary_search_by(|known| known.as_slice().cmp(id)).is_ok(),
        }
    }
}

/// An error in a block: offset, field and reason.
type Flaw = (usize, &'static str, String);

struct Scan {
    targets: Vec<Target>,
    declared: Declared,
    /// The number of changes of undeclared codes, and the first such code.
    undeclared: (u64, String),
    capture: Capture,
    /// The levels after the changes that were read so far.
    levels: Levels,
    changed: bool,
    /// The first time in the file, in its ticks.
    start: Option<u64>,
    /// The current time, relative to the first.
    now: u64,
    ticks_max: u64,
    /// Whether the block ended in a comment.
    comment: bool,
}

impl Scan {
    fn new(targets: Vec<Target>, declared: Declared, capture: Capture) -> Self {
        let ticks_max = capture.ticks_max();
        Self {
            targets,
            declared,
            undeclared: (0, String::new()),
            capture,
            levels: Levels::default(),
            changed: false,
            start: None,
            now: 0,
            ticks_max,
            comment: false,
        }
    }

    /// Passes the levels of the current time to the capture.
    #[inline]
    fn take_levels(&mut self) {
        if self.changed && self.start.is_some() {
            self.changed = false;
            self.capture.state(self.now, self.levels);
        }
    }

    /// Reads the whole words of `block`. Returns their length in bytes.
    fn block(&mut self, block: &[u8]) -> std::result::Result<usize, Flaw> {
        // A word after the last blank may continue in the next block.
        let whole = block.iter().rposition(|byte| *byte <= b' ').map_or(0, |at| at + 1);
        let block = &block[..whole];
        let mut at = if self.comment { self.skip_comment(block, 0) } else { 0 };
        loop {
            let text = eight(block, at);
            let first = text as u8;
            match first {
                0..=b' ' => {
                    if at >= block.len() {
                        return Ok(block.len());
                    }
                    at += 1;
                }
                b'#' => {
                    let (time, end) = number(block, at + 1).ok_or_else(|| {
                        (at, "time", format!("'{}' is not a time; expected # and a number", shown(block, at)))
                    })?;
                    self.advance(time, at)?;
                    // A word ends with a blank.
                    at = end + 1;
                }
                b'0' | b'1' | b'x' | b'X' | b'z' | b'Z' | b'u' | b'U' | b'w' | b'W' | b'l' | b'L' | b'h'
                | b'H' | b'-' => {
                    let length = before_blank(text);
                    if length <= 1 + SHORT && length > 1 {
                        // Without the value and what follows the code.
                        self.scalar((text << (8 * (8 - length))) >> (8 * (9 - length)), first);
                        at += length + 1;
                    } else {
                        let end = word_end(block, at);
                        self.long_scalar(&block[at + 1..end], first, at)?;
                        at = end;
                    }
                }
                b'b' | b'B' | b'r' | b'R' | b's' | b'S' => {
                    let value_end = word_end(block, at);
                    let id_at = value_end + block[value_end..].iter().take_while(|b| **b <= b' ').count();
                    if id_at == block.len() {
                        // Its code is in the next block.
                        return Ok(at);
                    }
                    let end = word_end(block, id_at);
                    self.look_up(&block[id_at..end]);
                    if matches!(first, b'b' | b'B') {
                        self.vector(&block[at + 1..value_end], &block[id_at..end]);
                    }
                    at = end;
                }
                b'$' => {
                    let end = word_end(block, at);
                    let begins_comment = keyword(&block[at..end]).ok_or_else(|| {
                        (
                            at,
                            "keyword",
                            format!("'{}' is not a keyword of the value section", shown(block, at)),
                        )
                    })?;
                    at = if begins_comment { self.skip_comment(block, end) } else { end };
                }
                _ => {
                    return Err((at, "value", format!("'{}' is not a value change", shown(block, at))));
                }
            }
        }
    }

    /// Skips the words of a comment from `at` on. Returns where it ends, or the end of the block.
    fn skip_comment(&mut self, block: &[u8], mut at: usize) -> usize {
        self.comment = true;
        while self.comment && at < block.len() {
            let end = word_end(block, at);
            self.comment = &block[at..end] != b"$end";
            // Beyond the blank after the word.
            at = end + 1;
        }
        at
    }

    #[inline]
    fn advance(&mut self, time: u64, at: usize) -> std::result::Result<(), Flaw> {
        let start = *self.start.get_or_insert(time);
        let now = time.wrapping_sub(start);
        if time < start || now < self.now {
            let before = start + self.now;
            return Err((at, "time", format!("{time} is before {before}; times must ascend")));
        }
        if now > self.ticks_max {
            return Err((at, "time", format!("{time} is further from {start} than a capture can last")));
        }
        if now > self.now {
            self.take_levels();
            self.now = now;
        }
        Ok(())
    }

    /// A value of one bit, of a short code.
    #[inline]
    fn scalar(&mut self, key: u64, value: u8) {
        let role = self.declared.role(key);
        if role == DECLARED {
            return;
        }
        if role == 0 {
            let length = (u64::BITS - key.leading_zeros()).div_ceil(8) as usize;
            self.count_undeclared(&key.to_le_bytes()[..length]);
        }
        for index in 0..2 {
            if role & 1 << index != 0 {
                self.set(index, value);
            }
        }
    }

    /// A value of one bit, of a longer code.
    #[cold]
    fn long_scalar(&mut self, id: &[u8], value: u8, at: usize) -> std::result::Result<(), Flaw> {
        if id.is_empty() {
            let reason = format!("'{}' is a value without a code", char::from(value));
            return Err((at, "value", reason));
        }
        self.look_up(id);
        for index in 0..self.targets.len() {
            if self.targets[index].id == id {
                self.set(index, value);
            }
        }
        Ok(())
    }

    /// Counts a code that the header does not declare.
    fn look_up(&mut self, id: &[u8]) {
        if !self.declared.has(id) {
            self.count_undeclared(id);
        }
    }

    #[cold]
    fn count_undeclared(&mut self, id: &[u8]) {
        if self.undeclared.0 == 0 {
            self.undeclared.1 = shown(id, 0);
        }
        self.undeclared.0 += 1;
    }

    fn undeclared_remark(&self) -> Option<String> {
        let (count, first) = &self.undeclared;
        let of = match count {
            0 => return None,
            1 => format!("1 value change has the code '{first}', which"),
            _ => format!("{count} value changes have codes (the first is '{first}') that"),
        };
        Some(format!("{of} the header does not declare; they are ignored, and the file may be damaged"))
    }

    #[inline]
    fn set(&mut self, index: usize, value: u8) {
        let level = if self.targets[index].bit == 0 { level(value) } else { Level::Unknown };
        self.go_to(index, level);
    }

    #[inline]
    fn go_to(&mut self, index: usize, level: Level) {
        let before = std::mem::replace(&mut self.levels[index], level);
        self.changed |= before != level;
        self.capture.change(index, before, level);
    }

    /// A value of several bits. Missing bits on the left are copies of the leftmost one, or 0 if that is 1.
    fn vector(&mut self, value: &[u8], id: &[u8]) {
        for index in 0..self.targets.len() {
            let target = &self.targets[index];
            if target.id == id {
                let bit = value.len().checked_sub(target.bit as usize + 1).map(|place| value[place]);
                let extended = || match value.first() {
                    Some(b'0' | b'1') => b'0',
                    _ => b'x',
                };
                let level = level(bit.unwrap_or_else(extended));
                self.go_to(index, level);
            }
        }
    }
}

/// The level of a character. VHDL simulators write L and H for weak levels.
#[inline]
fn level(value: u8) -> Level {
    match value {
        b'0' | b'l' | b'L' => Level::Low,
        b'1' | b'h' | b'H' => Level::High,
        _ => Level::Unknown,
    }
}

/// Whether the keyword begins a comment. `None` if it is not a keyword of the value section.
fn keyword(word: &[u8]) -> Option<bool> {
    match word {
        b"$comment" => Some(true),
        b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$dumpoff" | b"$end" => Some(false),
        _ => None,
    }
}

/// The eight bytes from `at` on; the first one is the lowest. Bytes after the end of the block are 0.
#[inline]
fn eight(block: &[u8], at: usize) -> u64 {
    match block.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => eight_at_end(block, at),
    }
}

#[cold]
fn eight_at_end(block: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = block.get(at..).unwrap_or_default();
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES * 0x80;

/// The number of bytes before the first blank or control character, at most 8.
#[inline]
fn before_blank(text: u64) -> usize {
    // The high bit of each byte; a borrow changes only bytes after the first blank.
    let blanks = text.wrapping_sub(ONES * 0x21) & !text & HIGH;
    blanks.trailing_zeros() as usize / 8
}

/// A number of at most 19 digits that ends at a blank, and where it ends.
#[inline]
fn number(block: &[u8], from: usize) -> Option<(u64, usize)> {
    let (mut number, mut at) = match eight_digits(eight(block, from)) {
        Some(number) => (number, from + 8),
        None => (0, from),
    };
    loop {
        let mut text = eight(block, at);
        for _ in 0..8 {
            let byte = text as u8;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return ((1..=19).contains(&(at - from)) && byte <= b' ').then_some((number, at));
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            text >>= 8;
            at += 1;
        }
    }
}

/// The value of eight digits: pairs, then fours, then all are combined. `None` if one is not a digit.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    let digits = text.wrapping_sub(ONES * u64::from(b'0'));
    // A byte beyond '9' carries into its high bit, and so does one below '0'.
    if (text.wrapping_add(ONES * 0x46) | digits) & HIGH != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

fn word_end(block: &[u8], from: usize) -> usize {
    block[from..].iter().position(|byte| *byte <= b' ').map_or(block.len(), |length| from + length)
}

fn shown(block: &[u8], at: usize) -> String {
    let word = &block[at..word_end(block, at)];
    String::from_utf8_lossy(&word[..word.len().min(40)]).chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_of_nineteen_digits_is_read_and_one_of_twenty_is_not() {
        assert_eq!(number(b"9999999999999999999\n", 0), Some((9_999_999_999_999_999_999, 19)));
        assert_eq!(number(b"99999999999999999999\n", 0), None);
        assert_eq!(number(b"\n", 0), None);
    }

    proptest! {
        #[test]
        fn numbers_and_words_end_at_the_first_blank(
            word in "[!-~]{0,30}", digits in "[0-9]{1,19}", blank in "[\t\n\r ]", rest in "[ -~]{0,20}",
        ) {
            let block = format!("{word}{blank}{rest}");
            prop_assert_eq!(before_blank(eight(block.as_bytes(), 0)), word.len().min(8));
            let block = format!("#{digits}{blank}{rest}");
            prop_assert_eq!(number(block.as_bytes(), 1), Some((digits.parse().unwrap(), 1 + digits.len())));
            let block = format!("{digits}{word}{blank}{rest}");
            let all_digits = word.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(number(block.as_bytes(), 0).is_some(), all_digits && digits.len() + word.len() <= 19);
        }
    }
}
