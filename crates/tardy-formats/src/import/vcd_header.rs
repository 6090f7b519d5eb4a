//! Reads the header of a VCD file (IEEE 1364-2005, clause 18), its time scale and variables, and the file in blocks.

use std::io::Read;

use crate::capture::Named;
use crate::error::{ImportError, Result};
use tardy_unpack::read_more;

/// Bytes that are read at once.
const BLOCK: usize = 1 << 20;
/// The longest word.
const WORD_MAX: usize = 64 * 1024;
/// The most variables; the bytes of their names are bounded by [`NAMES_MAX`].
const VARIABLE_MAX: usize = 200_000;
const NAMES_MAX: usize = 64 << 20;

/// Reads a text in blocks and drops the parts that were consumed.
pub(crate) struct Source<'a> {
    reader: &'a mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The number of lines that ended in the used part.
    lines: u64,
    pub(crate) ended: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn new(reader: &'a mut dyn Read) -> Self {
        Self { reader, buffer: vec![0; BLOCK + WORD_MAX], start: 0, end: 0, lines: 0, ended: false }
    }

    /// The unused part of the block.
    pub(crate) fn block(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks bytes of the block as used.
    pub(crate) fn consume(&mut self, count: usize) {
        let used = &self.buffer[self.start..self.start + count];
        self.lines += line_ends(used);
        self.start += count;
    }

    /// The number of the line at offset `at` of the block, from 1.
    pub(crate) fn line(&self, at: usize) -> u64 {
        let before = &self.block()[..at.min(self.block().len())];
        self.lines + 1 + line_ends(before)
    }

    /// Reads more into the block. False at the end of the file.
    ///
    /// # Errors
    /// If it cannot be read or a word is too long.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.end - self.start >= WORD_MAX && self.start == 0 {
            let reason = format!("it is longer than {WORD_MAX} bytes, the limit for a word");
            return Err(ImportError::line(self.line(0), "word", reason));
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if !self.ended {
            let count = read_more(&mut self.reader, &mut self.buffer[self.end..])?;
            self.ended = count == 0;
            self.end += count;
        }
        Ok(!self.ended)
    }

    /// The next word; `None` at the end. The last word may end with the file.
    fn word(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let block = self.block();
            let blank = block.iter().position(|byte| *byte > b' ').unwrap_or(block.len());
            let length = block[blank..].iter().position(|byte| *byte <= b' ');
            let length = match length {
                Some(length) => length,
                None if self.ended && blank < block.len() => block.len() - blank,
                None if self.ended => return Ok(None),
                None => {
                    self.consume(blank);
                    self.fill()?;
                    continue;
                }
            };
            let word = block[blank..blank + length].to_vec();
            self.consume(blank + length);
            return Ok(Some(word));
        }
    }

    /// The words up to `$end`. Words after the first `most` are skipped.
    fn section(&mut self, keyword: &str, most: usize) -> Result<Vec<String>> {
        let line = self.line(0);
        let mut words = Vec::new();
        loop {
            match self.word()? {
                None => {
                    let reason = format!("{keyword} has no $end; the file ends in its header");
                    return Err(ImportError::line(line, keyword, reason));
                }
                Some(word) if word == b"$end" => return Ok(words),
                Some(word) if words.len() < most => words.push(String::from_utf8_lossy(&word).into_owned()),
                Some(_) => {}
            }
        }
    }
}

/// The number of line ends in `bytes`. The count of a piece fits a byte, and nothing checks for an overflow, so that the
/// compiler can vectorise the loop.
fn line_ends(bytes: &[u8]) -> u64 {
    let add = |count: u8, byte: &u8| count.wrapping_add(u8::from(*byte == b'\n'));
    let in_piece = |piece: &[u8]| u64::from(piece.iter().fold(0, add));
    bytes.chunks(255).map(in_piece).sum()
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) id: Vec<u8>,
    /// The number of bits; 0 for a kind without bits, such as real.
    pub(crate) width: u32,
    /// The numbers of the first and the last bit, from `[7:0]`. `None` if they are not declared.
    range: Option<(u32, u32)>,
    name: String,
    scope: String,
}

impl Variable {
    fn whole_name(&self) -> String {
        if self.scope.is_empty() { self.name.clone() } else { format!("{}.{}", self.scope, self.name) }
    }

    /// The position from the right of the bit with this `number`.
    fn place(&self, number: u32) -> Option<u32> {
        let place = match self.range {
            Some((first, last)) if first >= last => number.checked_sub(last)?,
            Some((_, last)) => last.checked_sub(number)?,
            None => number,
        };
        (place < self.width).then_some(place)
    }
}

/// The variables of a file. Index `n` is the whole variable `n`; the bits of vectors follow after all variables.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) all: Vec<Variable>,
}

impl Variables {
    /// The variable of `index` and, if the index is that of a bit, the position of the bit from the right.
    pub(crate) fn of_index(&self, index: usize) -> (&Variable, Option<u32>) {
        let count = self.all.len().max(1);
        (&self.all[index % count], (index / count).checked_sub(1).map(|bit| bit as u32))
    }
}

impl Named for Variables {
    fn called(&self, name: &str) -> Vec<usize> {
        let is_called = |one: &Variable, name: &str| one.name == name || one.whole_name() == name;
        let mut found: Vec<usize> =
            (0..self.all.len()).filter(|index| is_called(&self.all[*index], name)).collect();
        let bit = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        if let (true, Some((base, number))) = (found.is_empty(), bit)
            && let Ok(number) = number.trim().parse::<u32>()
        {
            let base = base.trim_end();
            found = (0..self.all.len())
                .filter(|index| is_called(&self.all[*index], base))
                .filter_map(|index| {
                    let place = self.all[index].place(number)? as usize;
                    Some(index + (place + 1) * self.all.len())
                })
                .collect();
        }
        // One signal may be declared under the same name in several scopes.
        let (id, place) = match found.first() {
            Some(first) => (self.of_index(*first).0.id.clone(), self.of_index(*first).1),
            None => return found,
        };
        if found.iter().all(|index| self.of_index(*index).0.id == id && self.of_index(*index).1 == place) {
            found.truncate(1);
        }
        found
    }

    fn count(&self) -> usize {
        self.all.len()
    }

    fn name(&self, index: usize) -> String {
        let (variable, place) = self.of_index(index);
        let several = self.all.iter().filter(|one| one.name == variable.name).count() > 1;
        let name = if several { variable.whole_name() } else { variable.name.clone() };
        match place {
            None => name,
            Some(place) => {
                let number = match variable.range {
                    Some((first, last)) if first >= last => last + place,
                    Some((_, last)) => last - place,
                    None => place,
                };
                format!("{name}[{number}]")
            }
        }
    }
}

/// The content of the header.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// A tick in femtoseconds. `None` if the file has no time scale.
    pub(crate) tick_fs: Option<u64>,
    /// The place where the header states the time scale, as a sentence.
    pub(crate) scale_stated: Option<String>,
    /// The program that wrote the file.
    pub(crate) version: Option<String>,
    pub(crate) variables: Variables,
}

/// Reads the header, up to `$enddefinitions`.
///
/// # Errors
/// If it is malformed; the error names the place.
pub(crate) fn read(source: &mut Source<'_>) -> Result<Header> {
    let mut header = Header::default();
    let mut scopes: Vec<String> = Vec::new();
    let mut names = 0;
    loop {
        let Some(keyword) = source.word()? else {
            let reason = "the file ends before $enddefinitions; nothing was captured, or it was cut off";
            return Err(ImportError::line(source.line(0), "head", reason));
        };
        let line = source.line(0);
        match keyword.as_slice() {
            b"$enddefinitions" => {
                source.section("$enddefinitions", 0)?;
                return Ok(header);
            }
            b"$timescale" => {
                let scale = source.section("$timescale", 4)?.concat();
                let tick_fs = tick_fs(&scale, line)?;
                if header.tick_fs.replace(tick_fs).is_some_and(|before| before != tick_fs) {
                    let said = header.scale_stated.unwrap_or_default();
                    let reason =
                        format!("{said}, but this line has {scale}; a file can have only one time scale");
                    return Err(ImportError::line(line, "$timescale", reason));
                }
                let shown: String = scale.chars().take(40).collect();
                header.scale_stated = Some(format!("line {line} has $timescale {shown}"));
            }
            b"$version" => {
                let words = source.section("$version", 12)?;
                header.version = Some(words.join(" ").chars().filter(|c| !c.is_control()).take(60).collect())
                    .filter(|version: &String| !version.is_empty());
            }
            b"$scope" => {
                let words = source.section("$scope", 2)?;
                let name = words.get(1).cloned().unwrap_or_default();
                scopes.push(name);
            }
            b"$upscope" => {
                source.section("$upscope", 0)?;
                scopes.pop();
            }
            b"$var" => {
                let variable = variable(&source.section("$var", 8)?, scopes.join("."), line)?;
                names += variable.name.len() + variable.scope.len() + variable.id.len();
                if header.variables.all.len() >= VARIABLE_MAX || names > NAMES_MAX {
                    let reason =
                        format!("there are more than {VARIABLE_MAX} variables, or their names are too long");
                    return Err(ImportError::line(line, "$var", reason));
                }
                header.variables.all.push(variable);
            }
            word if word.starts_with(b"$") => {
                source.section(&String::from_utf8_lossy(&word[..word.len().min(40)]), 0)?;
            }
            word => {
                let shown =
                    String::from_utf8_lossy(&word[..word.len().min(40)]).replace(char::is_control, " ");
                let reason =
                    format!("'{shown}' is not part of a header; expected a keyword that begins with $");
                return Err(ImportError::line(line, "head", reason));
            }
        }
        if scopes.len() > 256 {
            return Err(ImportError::line(line, "$scope", "scopes are nested more than 256 levels deep"));
        }
    }
}

/// Reads `10us` as femtoseconds.
fn tick_fs(text: &str, line: u64) -> Result<u64> {
    let wrong = || {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
        let reason =
            format!("'{shown}' is not a time scale; expected 1, 10 or 100 and s, ms, us, ns, ps or fs");
        ImportError::line(line, "$timescale", reason)
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|number| [1, 10, 100].contains(number)).ok_or_else(wrong)?;
    let unit: u64 = match unit {
        "s" => 1_000_000_000_000_000,
        "ms" => 1_000_000_000_000,
        "us" => 1_000_000_000,
        "ns" => 1_000_000,
        "ps" => 1000,
        "fs" => 1,
        _ => return Err(wrong()),
    };
    Ok(number * unit)
}

/// `wire 8 # data [7:0]`
fn variable(words: &[String], scope: String, line: u64) -> Result<Variable> {
    let [kind, width, id, name, rest @ ..] = words else {
        return Err(ImportError::line(line, "$var", "expected a kind, a width, a code and a name"));
    };
    let width: u32 = width.parse().ok().filter(|width| (1..=1 << 20).contains(width)).ok_or_else(|| {
        let shown: String = width.chars().filter(|c| !c.is_control()).take(40).collect();
        ImportError::line(line, "$var", format!("'{shown}' is not a width in bits"))
    })?;
    let no_bits = ["real", "realtime", "string", "event"].contains(&kind.as_str());
    let name = format!("{name}{}", rest.concat());
    let mut variable = Variable {
        id: id.as_bytes().to_vec(),
        width: if no_bits { 0 } else { width },
        range: None,
        name,
        scope,
    };
    let range = variable.name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
    if let Some((name, range)) = range.filter(|_| width > 1)
        && let Some((first, last)) = range.split_once(':')
        && let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        && first.abs_diff(last) == width - 1
    {
        (variable.range, variable.name) = (Some((first, last)), name.trim_end().to_owned());
    }
    Ok(variable)
}
