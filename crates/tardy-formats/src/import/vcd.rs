//! VCD, a value change dump (IEEE 1364-2005, clause 18), exported by logic analysers and simulators.
//!
//! For speed, values are read from blocks byte by byte, and other channels are skipped without being parsed. Values are
//! words, not lines: some writers put all values of a time stamp into one line.

use std::io::Read;

use tardy_record::capture::ResolvedBy;

use super::ImportOptions;
use super::vcd_header::{self, Source, Variables};
use crate::capture::{Capture, Choice, Level, Levels, TimeBase};
use crate::error::{ImportError, Result};
use crate::imported::Imported;

/// Codes up to this length are compared as numbers.
const SHORT: usize = 8;

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
    let declared = Declared::of(&header.variables);
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
    /// The code as a number, if it is short.
    key: u64,
    /// Which bit of its variable, from the right.
    bit: u32,
}

impl Target {
    fn of(variables: &Variables, index: usize) -> Result<Self> {
        use crate::capture::Named;
        let (variable, bit) = variables.of_index(index);
        let place = || format!("channel {}", variables.name(index));
        let key = variable_key(&variable.id);
        match (variable.width, bit) {
            (0, _) => Err(ImportError::field(place(), "it has no bits: it is a number, a text or an event")),
            (1, _) | (_, Some(_)) => Ok(Self { id: variable.id.clone(), key, bit: bit.unwrap_or(0) }),
            (width, None) => {
                let name = variables.name(index);
                let reason = format!("it is {width} bits wide; name a bit, for example '{name}[0]'");
                Err(ImportError::field(place(), reason))
            }
        }
    }
}

/// The last bytes of a code as a number, as [`key`] reads them.
fn variable_key(id: &[u8]) -> u64 {
    id[id.len().saturating_sub(SHORT)..].iter().fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// The codes declared in the header. Codes of up to three bytes are in a bitmap, so each of the many changes of other channels
/// costs one lookup. Longer ones, which only files with 830,000 variables need, are searched.
#[derive(Debug)]
struct Declared {
    bits: Vec<u64>,
    longer: Vec<Vec<u8>>,
}

impl Declared {
    fn of(variables: &Variables) -> Self {
        let is_short = |id: &&Vec<u8>| id.len() <= 3;
        let ids = || variables.all.iter().map(|variable| &variable.id);
        let highest = ids().filter(is_short).map(|id| variable_key(id)).max().unwrap_or(0) as usize;
        let mut bits = vec![0; highest / 64 + 1];
        for key in ids().filter(is_short).map(|id| variable_key(id) as usize) {
            bits[key / 64] |= 1 << (key % 64);
        }
        let mut longer: Vec<Vec<u8>> = ids().filter(|id| !is_short(id)).cloned().collect();
        longer.sort_unstable();
        Self { bits, longer }
    }

    #[inline]
    fn has(&self, id: &[u8], key: u64) -> bool {
        if id.len() > 3 {
            return self.longer.binary_search_by(|known| known.as_slice().cmp(id)).is_ok();
        }
        self.bits.get((key / 64) as usize).is_some_and(|bits| bits >> (key % 64) & 1 == 1)
    }
}

/// An error in a block: offset, field and reason.
type Flaw = (usize, &'static str, String);

struct Scan {
    targets: Vec<Target>,
    /// The targets' codes and their lengths, for a quick comparison. A missing second target has length 0.
    keys: [(u64, usize); 2],
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
    /// Whether the next word is in a comment.
    comment: bool,
}

impl Scan {
    fn new(targets: Vec<Target>, declared: Declared, capture: Capture) -> Self {
        let ticks_max = capture.ticks_max();
        let look = |index: usize| targets.get(index).map_or((0, 0), |one: &Target| (one.key, one.id.len()));
        Self {
            keys: [look(0), look(1)],
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
        let mut at = 0;
        loop {
            while at < block.len() && block[at] <= b' ' {
                at += 1;
            }
            let Some(first) = block.get(at).copied() else { return Ok(at) };
            if self.comment {
                let end = word_end(block, at);
                self.comment = &block[at..end] != b"$end";
                at = end;
                continue;
            }
            match first {
                b'#' => {
                    let (time, end) = number(block, at + 1).ok_or_else(|| {
                        (at, "time", format!("'{}' is not a time; expected # and a number", shown(block, at)))
                    })?;
                    self.advance(time, at)?;
                    at = end;
                }
                b'0' | b'1' | b'x' | b'X' | b'z' | b'Z' | b'u' | b'U' | b'w' | b'W' | b'l' | b'L' | b'h'
                | b'H' | b'-' => {
                    let (key, end) = key(block, at + 1);
                    if end == at + 1 {
                        let reason = format!("'{}' is a value without a code", shown(block, at));
                        return Err((at, "value", reason));
                    }
                    self.scalar(&block[at + 1..end], key, first);
                    at = end;
                }
                b'b' | b'B' | b'r' | b'R' | b's' | b'S' => {
                    let value_end = word_end(block, at);
                    let id_at = value_end + block[value_end..].iter().take_while(|b| **b <= b' ').count();
                    if id_at == block.len() {
                        // Its code is in the next block.
                        return Ok(at);
                    }
                    let (key, end) = key(block, id_at);
                    self.look_up(&block[id_at..end], key);
                    if matches!(first, b'b' | b'B') {
                        self.vector(&block[at + 1..value_end], &block[id_at..end]);
                    }
                    at = end;
                }
                b'$' => {
                    let end = word_end(block, at);
                    self.comment = keyword(&block[at..end]).ok_or_else(|| {
                        (
                            at,
                            "keyword",
                            format!("'{}' is not a keyword of the value section", shown(block, at)),
                        )
                    })?;
                    at = end;
                }
                _ => {
                    return Err((at, "value", format!("'{}' is not a value change", shown(block, at))));
                }
            }
        }
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

    #[inline]
    fn scalar(&mut self, id: &[u8], key: u64, value: u8) {
        let mut is_target = false;
        for index in 0..2 {
            if self.keys[index] == (key, id.len()) {
                is_target = true;
                self.set(index, id, value);
            }
        }
        if !is_target {
            self.look_up(id, key);
        }
    }

    /// Counts a code that the header does not declare.
    #[inline]
    fn look_up(&mut self, id: &[u8], key: u64) {
        if !self.declared.has(id, key) {
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
    fn set(&mut self, index: usize, id: &[u8], value: u8) {
        let target = &self.targets[index];
        if id.len() > SHORT && target.id != id {
            return;
        }
        let level = if target.bit == 0 { level(value) } else { Level::Unknown };
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

/// A number of at most 19 digits that ends at a blank, and where it ends.
#[inline]
fn number(block: &[u8], from: usize) -> Option<(u64, usize)> {
    let (mut number, mut at) = match block.get(from..from + 8).and_then(eight_digits) {
        Some(number) => (number, from + 8),
        None => (0, from),
    };
    while let Some(digit) = block.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    let digits = at - from;
    ((1..=19).contains(&digits) && block.get(at).is_some_and(|byte| *byte <= b' ')).then_some((number, at))
}

/// The value of eight digits: pairs, then fours, then all are combined. `None` if one is not a digit.
#[inline]
fn eight_digits(bytes: &[u8]) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The first character is the lowest byte.
    let text = u64::from_le_bytes(bytes.try_into().ok()?);
    let digits = text.wrapping_sub(ZEROS);
    // A byte beyond '9' carries into its high bit, and so does one below '0'.
    if (text.wrapping_add(0x4646_4646_4646_4646) | digits) & HIGH != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// A code as a number, and where it ends. For a code of more than 8 bytes, the number has the last 8.
#[inline]
fn key(block: &[u8], from: usize) -> (u64, usize) {
    let mut key = 0u64;
    let mut at = from;
    while let Some(byte) = block.get(at).copied().filter(|byte| *byte > b' ') {
        key = key << 8 | u64::from(byte);
        at += 1;
    }
    (key, at)
}

fn word_end(block: &[u8], from: usize) -> usize {
    block[from..].iter().position(|byte| *byte <= b' ').map_or(block.len(), |length| from + length)
}

fn shown(block: &[u8], at: usize) -> String {
    let word = &block[at..word_end(block, at)];
    String::from_utf8_lossy(&word[..word.len().min(40)]).chars().filter(|c| !c.is_control()).collect()
}
