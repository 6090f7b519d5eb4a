//! The numbers of a run are those of a measurement. A file with one that is larger is refused: sums and differences of accepted
//! numbers fit into 64 bits, and their products into 128.
//!
//! The numbers are looked at in the text that the run is written as, so that each of them is, also those of fields to come, without a
//! second traversal for every type.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::RunFileError;
use crate::run::Run;

/// The largest amount: 36 years in ns, and more than a loop can count in a year.
const AMOUNT_MAX: i128 = 1 << 60;
/// The latest time, and the largest count of bytes: 146 years in ns. Times of a clock count from 1970, and times are not added up.
const TIME_MAX: i128 = 1 << 62;
/// The largest sum of all amounts of one name.
const SUM_MAX: i128 = 1 << 62;
/// Amounts below this are not added up: as many as the largest file has stay below [`SUM_MAX`].
const ADDED_FROM: i128 = 1 << 35;

/// The names of times besides those that end in `at_ns`, and of counts that only grow.
const TIMES: [&str; 9] = [
    "start_ns",
    "end_ns",
    "from_ns",
    "to_ns",
    "base_ns",
    "whole_from_ns",
    "start_monotonic_ns",
    "done",
    "sum_of_squared_block_counts",
];
/// The names of numbers that are never calculated with.
const IDENTITIES: [&str; 2] = ["seed", "order_seed"];

/// Checks that no number of `run` is larger than what can be measured.
pub(super) fn check(run: &Run) -> Result<(), RunFileError> {
    let mut numbers = Numbers::default();
    match super::write(run, &mut numbers) {
        Ok(()) => Ok(()),
        Err(error) => {
            let (field, reason) = numbers.flaw.unwrap_or_else(|| (String::new(), error.to_string()));
            Err(super::contradiction(&field, &reason))
        }
    }
}

/// An object or an array around the place in the text.
#[derive(Clone, Copy, Debug)]
enum Around {
    /// Its keys begin at this byte of the path.
    Object(usize),
    /// The number of the element.
    Array(usize),
}

/// Looks at the numbers of JSON that is written to it.
#[derive(Debug, Default)]
struct Numbers {
    around: Vec<Around>,
    /// The keys that lead to the place, joined by dots.
    path: String,
    /// The text of a key or a number that is being read.
    token: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
    /// Whether the next string is a key.
    key_follows: bool,
    sums: BTreeMap<String, i128>,
    flaw: Option<(String, String)>,
}

impl Write for Numbers {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // A buffer that is dropped after an error is written once more.
        if self.flaw.is_some() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        text.iter().try_for_each(|byte| self.read(*byte))?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Numbers {
    fn read(&mut self, byte: u8) -> io::Result<()> {
        if self.in_string {
            self.read_string(byte);
            return Ok(());
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => {
                self.around.push(Around::Object(self.path.len()));
                self.key_follows = true;
            }
            b'[' => self.around.push(Around::Array(0)),
            b'}' | b']' => {
                self.end_number()?;
                if let Some(Around::Object(begin)) = self.around.pop() {
                    self.path.truncate(begin);
                }
                self.key_follows = false;
            }
            b',' => {
                self.end_number()?;
                match self.around.last_mut() {
                    Some(Around::Array(index)) => *index += 1,
                    Some(Around::Object(_)) => self.key_follows = true,
                    None => {}
                }
            }
            b'-' | b'0'..=b'9' => self.token.push(byte),
            // The rest of a number; of `true`, `false` and `null` nothing is kept.
            b'+' | b'.' | b'e' | b'E' if !self.token.is_empty() => self.token.push(byte),
            _ => {}
        }
        Ok(())
    }

    fn read_string(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.in_string = false;
                if self.key_follows {
                    self.enter_key();
                }
                return;
            }
            _ => {}
        }
        if self.key_follows {
            self.token.push(byte);
        }
    }

    fn enter_key(&mut self) {
        if let Some(Around::Object(begin)) = self.around.last() {
            self.path.truncate(*begin);
        }
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path += &String::from_utf8_lossy(&self.token);
        self.token.clear();
        self.key_follows = false;
    }

    fn end_number(&mut self) -> io::Result<()> {
        if self.token.is_empty() {
            return Ok(());
        }
        let token = std::mem::take(&mut self.token);
        let text = String::from_utf8_lossy(&token);
        if let Some(reason) = self.wrong(&text) {
            self.flaw = Some((self.field(), reason));
            return Err(io::ErrorKind::InvalidData.into());
        }
        // The allocation is used again.
        self.token = token;
        self.token.clear();
        Ok(())
    }

    /// Why a number is none of a measurement.
    fn wrong(&mut self, text: &str) -> Option<String> {
        let beyond = |most: i128| format!("{text} is beyond ±{most}, which no measurement exceeds");
        let Ok(number) = text.parse::<i128>() else {
            let number: f64 = text.parse().unwrap_or(f64::INFINITY);
            return (number.abs() > TIME_MAX as f64).then(|| beyond(TIME_MAX));
        };
        let name = self.path.rsplit('.').next().unwrap_or_default();
        if IDENTITIES.contains(&name) {
            return None;
        }
        if let [.., Around::Array(_), Around::Array(index)] = self.around[..] {
            // Bins: the edges and the count. The first and the last bin may have no end.
            let is_open = index < 2 && number.abs() == i128::from(i64::MAX);
            return (number.abs() > AMOUNT_MAX && !is_open).then(|| beyond(AMOUNT_MAX));
        }
        if name.ends_with("at_ns") || TIMES.contains(&name) {
            return (number.abs() > TIME_MAX).then(|| beyond(TIME_MAX));
        }
        if number.abs() > AMOUNT_MAX {
            return Some(beyond(AMOUNT_MAX));
        }
        if number.abs() >= ADDED_FROM {
            let sum = match self.sums.get_mut(&self.path) {
                Some(sum) => sum,
                None => self.sums.entry(self.path.clone()).or_default(),
            };
            *sum += number.abs();
            if *sum > SUM_MAX {
                return Some(format!("the sum of all of this name is beyond {SUM_MAX}"));
            }
        }
        None
    }

    /// The path of the number, with the numbers of the elements of arrays.
    fn field(&self) -> String {
        let mut field = String::new();
        let mut after = 0;
        for around in &self.around {
            match around {
                Around::Object(begin) => {
                    field += self.path.get(after..*begin).unwrap_or_default();
                    after = *begin;
                }
                Around::Array(index) => {
                    // The key of the array is the part of the path before the next object.
                    let end = self.key_end(after);
                    field += self.path.get(after..end).unwrap_or_default();
                    field += &format!("[{index}]");
                    after = end;
                }
            }
        }
        field + self.path.get(after..).unwrap_or_default()
    }

    /// Where the key that begins at a byte of the path ends: at the beginning of the next object's keys, or of the path's end.
    fn key_end(&self, from: usize) -> usize {
        let begins = self.around.iter().filter_map(|around| match around {
            Around::Object(begin) if *begin > from => Some(*begin),
            _ => None,
        });
        begins.min().unwrap_or(self.path.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> Option<(String, String)> {
        let mut numbers = Numbers::default();
        // Bytes arrive in pieces.
        let written = text.as_bytes().chunks(3).try_for_each(|piece| numbers.write_all(piece));
        assert_eq!(written.is_err(), numbers.flaw.is_some());
        numbers.flaw
    }

    fn field(text: &str) -> Option<String> {
        flaw(text).map(|(field, _)| field)
    }

    #[test]
    fn every_number_is_found_wherever_it_is() {
        let large = "9223372036854775807";
        let cases = [
            (format!("{{\"a\": {large}}}"), "a"),
            (format!("{{\"a\":{{\"b\":[1,{{\"c\":true,\"d\":-{large}}}]}}}}"), "a.b[1].d"),
            (format!("{{\"x\":[{{}},{{\"y\":[0,0,{large}]}}]}}"), "x[1].y[2]"),
            (format!("{{\"a\\\"[{{\":1,\"b\":{large}}}"), "b"),
            ("{\"a\":[],\"b\":1e300}".to_owned(), "b"),
            (format!("{{\"bins\":[[0,1,2],[1,{large},{large}]]}}"), "bins[1][2]"),
            ("{\"bins\":[[-9223372036854775808,0,1]]}".to_owned(), "bins[0][0]"),
            (format!("{{\"at_ns\":[0,{}]}}", u64::MAX), "at_ns[1]"),
        ];
        for (text, expected) in cases {
            assert_eq!(field(&text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn numbers_of_measurements_are_accepted() {
        let accepted = [
            "{\"bins\":[[-9223372036854775807,0,1],[0,9223372036854775807,3]]}".to_owned(),
            format!("{{\"seed\":{}}}", u64::MAX),
            format!("{{\"at_ns\":[{0},{0},{0},-{0}]}}", 1_u64 << 61),
            "{\"text\":\"9223372036854775807\",\"a\":null,\"rate\":2.5e9,\"b\":false}".to_owned(),
            format!("{{\"counted_ns\":{}}}", 1_u64 << 60),
        ];
        for text in accepted {
            assert_eq!(flaw(&text), None, "{text}");
        }
    }

    #[test]
    fn what_is_added_up_has_a_sum() {
        let text = |count: usize| {
            let one = format!("{{\"a\":{{\"counted_ns\":{}}}}}", 1_u64 << 60);
            format!("{{\"series\":[{}]}}", vec![one; count].join(","))
        };
        assert_eq!(flaw(&text(4)), None);
        let (field, reason) = flaw(&text(5)).unwrap();
        assert!(field == "series[4].a.counted_ns" && reason.contains("sum"), "{field}: {reason}");
    }
}
