//! The kernel's own table of symbols, from its image.
//!
//! Distributions strip the kernel's ELF symbols, but the kernel keeps a compressed table for its messages (kernel/kallsyms.c). It is
//! a handful of arrays without names, made by scripts/kallsyms.c:
//!
//! - `token_table`: 256 strings, and `token_index`, where each begins. A name is a list of tokens.
//! - `names`: for each symbol its number of tokens (one byte, or two if the first has its high bit), and the tokens. The first
//!   character of the whole is the symbol's type as nm(1) prints it.
//! - `markers`: where every 256th symbol begins in `names`. In 6.2, and in later builds of 6.1, the order of the names follows.
//! - `offsets`: the addresses. Until Linux 6.19 they count from `relative_base`, which follows them, and since 7.0 each counts from its
//!   own place. They stand before the names until 6.3, and after the tokens since.
//!
//! The digits stand for themselves in nearly every table of tokens, which finds it; the others are found from there, and checked against
//! each other.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::little_endian::{number, word};

/// The tokens "0" to "9", one after the other.
const DIGITS: &[u8] = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00";
const TOKENS: usize = 256;
/// Of the arrays: until Linux 6.19, and since 7.0.
const ALIGNMENTS: [usize; 2] = [8, 4];
/// Symbols between two markers.
const STRIDE: usize = 256;
/// The bytes of a name, at most: its length, and 512 tokens.
const NAME_MAX: usize = 514;
/// The bytes of the markers and of the order of the names, at most: those of a million symbols.
const MARKERS_AND_ORDER_MAX: usize = 4 << 20;
/// The lowest virtual address of the kernel's image (Documentation/arch/x86/x86_64/mm.rst).
const IMAGE: u64 = 0xffff_ffff_8000_0000;

/// Why an image has no readable symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoSymbols {
    /// It has no table of tokens: it was built without `CONFIG_KALLSYMS`, or with a format that is not known.
    #[error("the kernel's image has no table of symbols (CONFIG_KALLSYMS)")]
    Tokens,
    /// The tables do not agree with each other.
    #[error("the kernel's table of symbols has a form that is not known")]
    Form,
}

/// Symbols and their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    by_name: BTreeMap<String, u64>,
    /// Ascending.
    functions: Vec<(u64, String)>,
}

impl Symbols {
    /// Reads the symbols from the bytes of an uncompressed image. `loaded_at`: the virtual address of the byte at an index, if it is
    /// loaded. Does not panic on any bytes.
    ///
    /// # Errors
    /// If they are not found, or contradict each other.
    pub fn of(image: &[u8], loaded_at: impl Fn(usize) -> Option<u64>) -> Result<Self, NoSymbols> {
        let tables: Vec<Tokens> =
            ALIGNMENTS.into_iter().filter_map(|alignment| Tokens::find(image, alignment)).collect();
        if tables.is_empty() {
            return Err(NoSymbols::Tokens);
        }
        tables.iter().find_map(|tokens| Self::read(image, tokens, &loaded_at)).ok_or(NoSymbols::Form)
    }

    fn read(image: &[u8], tokens: &Tokens, loaded_at: impl Fn(usize) -> Option<u64>) -> Option<Self> {
        let names = Names::find(image, tokens)?;
        let named = names.all(image, tokens)?;
        let offsets = Offsets { image, count: names.count };
        let first_text =
            named.iter().position(|name| matches!(name.as_str(), "T_text" | "T_stext" | "A_text"))?;
        let is_plausible = |addresses: &Vec<u64>| begins_text(addresses[first_text]);
        let addresses = offsets
            .relative_to_base(tokens.end)
            .filter(is_plausible)
            .or_else(|| offsets.relative_to_base(offsets.before(names.start)).filter(is_plausible))
            .or_else(|| offsets.relative_to_places(tokens.end, loaded_at).filter(is_plausible))?;
        Some(Self::from_all(named.into_iter().zip(addresses)))
    }

    /// Of symbols with their types, as nm(1) and /proc/kallsyms show them.
    pub fn from_all(all: impl Iterator<Item = (String, u64)>) -> Self {
        let mut symbols = Self::default();
        for (typed, address) in all {
            let Some(kind) = typed.chars().next() else { continue };
            let name = &typed[kind.len_utf8()..];
            if matches!(kind, 't' | 'T' | 'w' | 'W') {
                symbols.functions.push((address, name.to_owned()));
            }
            symbols.by_name.entry(name.to_owned()).or_insert(address);
        }
        // Of several names for an address, the first in the image.
        symbols.functions.sort_by_key(|(address, _)| *address);
        symbols
    }

    /// Adds functions that are not in the image: those of modules.
    pub fn add_functions(&mut self, functions: impl Iterator<Item = (u64, String)>) {
        self.functions.extend(functions);
        self.functions.sort_by_key(|(address, _)| *address);
    }

    /// The address of a symbol; for a per-CPU variable the offset in each CPU's area.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// The index and the offset in it of the function that contains the address.
    pub fn function_at(&self, address: u64) -> Option<(usize, u64)> {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        let start = self.functions.get(after.checked_sub(1)?)?.0;
        let first = self.functions.partition_point(|(other, _)| *other < start);
        Some((first, address - start))
    }

    /// All functions in the order of their addresses.
    pub fn functions(&self) -> &[(u64, String)] {
        &self.functions
    }
}

struct Tokens {
    start: usize,
    /// After the index, where the next array begins.
    end: usize,
    /// That of all arrays.
    alignment: usize,
    texts: Vec<Vec<u8>>,
}

impl Tokens {
    fn find(image: &[u8], alignment: usize) -> Option<Self> {
        let mut from = 0;
        while let Some(at) = find(&image[from..], DIGITS).map(|at| from + at) {
            if let Some(tokens) = Self::around(image, at, alignment) {
                return Some(tokens);
            }
            from = at + 1;
        }
        None
    }

    /// The table whose token of the digit 0 is here. Tokens that are not used are empty, so where it begins shows only by its index.
    fn around(image: &[u8], digits: usize, alignment: usize) -> Option<Self> {
        let mut texts: Vec<Vec<u8>> = Vec::with_capacity(TOKENS);
        let mut end = digits;
        for _ in usize::from(b'0')..TOKENS {
            let length = image.get(end..end + 64)?.iter().position(|byte| *byte == 0)?;
            texts.push(image[end..end + length].to_vec());
            end += length + 1;
        }
        let index = end.next_multiple_of(alignment);
        let index_end = index + 2 * TOKENS;
        let starts: Vec<usize> =
            image.get(index..index_end)?.chunks(2).map(|two| number(two) as usize).collect();
        let start = digits.checked_sub(starts[usize::from(b'0')])?;
        let mut texts = Vec::with_capacity(TOKENS);
        for (index, offset) in starts.iter().enumerate() {
            let at = start + offset;
            let length = image.get(at..)?.iter().take(64).position(|byte| *byte == 0)?;
            let next = starts.get(index + 1).copied().unwrap_or(end - start);
            if offset + length + 1 != next {
                return None;
            }
            texts.push(image[at..at + length].to_vec());
        }
        Some(Self { start, end: index_end, alignment, texts })
    }
}

struct Names {
    start: usize,
    count: usize,
}

impl Names {
    /// From the markers, which the tokens follow. Until Linux 6.3 the order of the names can stand between the two
    /// (`kallsyms_seqs_of_names`), three bytes for each.
    fn find(image: &[u8], tokens: &Tokens) -> Option<Self> {
        let earliest = tokens.start.saturating_sub(MARKERS_AND_ORDER_MAX);
        let aligned = (earliest..tokens.start).rev().filter(|at| at % tokens.alignment == 0);
        aligned.into_iter().find_map(|at| {
            let markers = Self::markers(image, at);
            (markers.len() > 1).then(|| Self::before(image, at, &markers, tokens.alignment)).flatten()
        })
    }

    /// The longest list of ascending markers from here.
    fn markers(image: &[u8], from: usize) -> Vec<usize> {
        let mut markers: Vec<usize> = Vec::new();
        for at in (from..).step_by(4) {
            let Some(marker) = word(image, at).map(|marker| marker as usize) else { break };
            let follows = match markers.last() {
                None => marker == 0,
                Some(last) => marker > *last && marker - last <= STRIDE * NAME_MAX,
            };
            if !follows {
                break;
            }
            markers.push(marker);
        }
        markers
    }

    /// The names that end where these markers begin, but for padding.
    fn before(image: &[u8], markers_start: usize, markers: &[usize], alignment: usize) -> Option<Self> {
        let latest = markers_start.checked_sub(*markers.last()?)? & !(alignment - 1);
        let earliest = latest.saturating_sub(STRIDE * NAME_MAX);
        (earliest..=latest).rev().step_by(alignment).find_map(|start| {
            let count = word(image, start.checked_sub(alignment)?)? as usize;
            let fits = count.div_ceil(STRIDE) == markers.len() && Self::agree(image, start, markers);
            fits.then_some(Self { start, count })
        })
    }

    fn agree(image: &[u8], start: usize, markers: &[usize]) -> bool {
        markers.windows(2).take(4).all(|pair| {
            let mut at = start + pair[0];
            for _ in 0..STRIDE {
                match entry(image, at) {
                    Some((from, length)) if length > 0 => at = from + length,
                    _ => return false,
                }
            }
            at == start + pair[1]
        })
    }

    /// All names, with their types in front.
    fn all(&self, image: &[u8], tokens: &Tokens) -> Option<Vec<String>> {
        let mut at = self.start;
        let mut names = Vec::new();
        for _ in 0..self.count {
            let (from, length) = entry(image, at)?;
            let parts = image.get(from..from.checked_add(length)?)?;
            let bytes: Vec<u8> =
                parts.iter().flat_map(|token| tokens.texts[usize::from(*token)].iter().copied()).collect();
            names.push(String::from_utf8(bytes).ok()?);
            at = from + length;
        }
        Some(names)
    }
}

/// Where the tokens of the name at `at` begin, and their number.
fn entry(image: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = usize::from(*image.get(at)?);
    match first & 0x80 {
        0 => Some((at + 1, first)),
        _ => Some((at + 2, (first & 0x7f) | usize::from(*image.get(at + 1)?) << 7)),
    }
}

/// Whether the kernel's code can begin at this address: at a page's beginning, in the part of the address space for its image.
fn begins_text(address: u64) -> bool {
    address & 0xfff == 0 && address >= IMAGE
}

/// The array of addresses, whose place and form differ between versions.
struct Offsets<'a> {
    image: &'a [u8],
    /// The number of symbols.
    count: usize,
}

impl Offsets<'_> {
    /// Where the array begins if it stands before the number of names.
    fn before(&self, names: usize) -> usize {
        names.saturating_sub(16).saturating_sub(4 * self.count) & !7
    }

    fn read(&self, at: usize) -> Option<impl Iterator<Item = u32>> {
        let offsets = self.image.get(at..at.checked_add(4 * self.count)?)?;
        Some(offsets.chunks(4).map(|four| number(four) as u32))
    }

    /// The addresses if the offsets count from the number that follows them.
    fn relative_to_base(&self, at: usize) -> Option<Vec<u64>> {
        let base = (at + 4 * self.count).next_multiple_of(8);
        let base = number(self.image.get(base..base + 8)?);
        if base < IMAGE {
            return None;
        }
        // With CONFIG_KALLSYMS_ABSOLUTE_PERCPU an offset that is not negative is an address.
        let negative = self.read(at)?.filter(|offset| (*offset as i32) < 0).count();
        let is_absolute = negative * 2 > self.count;
        let address = |offset: u32| match (is_absolute, offset as i32) {
            (true, negative @ ..0) => base.wrapping_sub(1).wrapping_sub(i64::from(negative) as u64),
            (true, _) => u64::from(offset),
            (false, _) => base.wrapping_add(u64::from(offset)),
        };
        Some(self.read(at)?.map(address).collect())
    }

    /// The addresses if each offset counts from where it is loaded.
    fn relative_to_places(&self, at: usize, loaded_at: impl Fn(usize) -> Option<u64>) -> Option<Vec<u64>> {
        let first = loaded_at(at)?;
        let address = |(place, offset): (u64, u32)| place.wrapping_add(i64::from(offset as i32) as u64);
        Some((first..).step_by(4).zip(self.read(at)?).map(address).collect())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: u64 = 0xffff_ffff_8100_0000;

    /// How scripts/kallsyms.c writes the addresses.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Form {
        /// Until Linux 6.1.
        BeforeNames,
        /// In 6.2 and 6.3, and in later builds of 6.1: with the order of the names.
        WithOrder,
        /// From 6.4 to 6.19.
        AfterTokens,
        /// Since 7.0.
        FromPlaces,
    }

    /// Where the byte at an index of [`image`] is loaded.
    fn loaded_at(index: usize) -> Option<u64> {
        Some(BASE + 0x20_0000 + index as u64)
    }

    fn read(image: &[u8]) -> Result<Symbols, NoSymbols> {
        Symbols::of(image, loaded_at)
    }

    /// An image with this table.
    fn image(symbols: &[(String, u64)], form: Form) -> Vec<u8> {
        let alignment = if form == Form::FromPlaces { 4 } else { 8 };
        let mut image = vec![0x55; 64 + alignment];
        let offsets = |image: &mut Vec<u8>| {
            for (_, address) in symbols {
                let offset =
                    if *address >= BASE { BASE.wrapping_sub(1).wrapping_sub(*address) } else { *address };
                image.extend((offset as u32).to_le_bytes());
            }
            image.resize(image.len().next_multiple_of(8), 0);
            image.extend(BASE.to_le_bytes());
        };
        if matches!(form, Form::BeforeNames | Form::WithOrder) {
            offsets(&mut image);
        }
        image.extend(&(symbols.len() as u64).to_le_bytes()[..alignment]);
        let start = image.len();
        let mut markers = Vec::new();
        for (index, (name, _)) in symbols.iter().enumerate() {
            if index % STRIDE == 0 {
                markers.push(((image.len() - start) as u32).to_le_bytes());
            }
            match name.len() {
                length @ ..0x80 => image.push(length as u8),
                length => image.extend([(length & 0x7f) as u8 | 0x80, (length >> 7) as u8]),
            }
            image.extend(name.bytes());
        }
        image.resize(image.len().next_multiple_of(alignment), 0);
        image.extend(markers.iter().flatten());
        if form == Form::WithOrder {
            image.extend((0..symbols.len()).flat_map(|index| (index as u32).to_be_bytes()[1..].to_vec()));
        }
        image.resize(image.len().next_multiple_of(alignment), 0);
        let (tokens, mut index) = (image.len(), Vec::new());
        for byte in 0..=255_u8 {
            index.extend(((image.len() - tokens) as u16).to_le_bytes());
            image.extend((byte.is_ascii_graphic()).then_some(byte));
            image.push(0);
        }
        image.resize(image.len().next_multiple_of(alignment), 0);
        image.extend(index);
        match form {
            Form::BeforeNames | Form::WithOrder => {}
            Form::AfterTokens => offsets(&mut image),
            Form::FromPlaces => {
                for (_, address) in symbols {
                    let place = loaded_at(image.len()).unwrap();
                    image.extend((address.wrapping_sub(place) as u32).to_le_bytes());
                }
            }
        }
        image.extend([0xaa; 64]);
        image
    }

    fn symbols() -> Vec<(String, u64)> {
        let mut symbols = vec![("Aruntime".to_owned(), 0x1234), ("T_text".to_owned(), BASE)];
        let function = |number: u64| (format!("tfunction_{number}"), BASE + 0x1000 + 16 * number);
        symbols.extend((0..600).map(function));
        symbols.push((format!("t{}", "long".repeat(60)), BASE + 0x10_0000));
        symbols
    }

    #[test]
    fn every_form_of_the_tables_is_read() {
        for form in [Form::BeforeNames, Form::WithOrder, Form::AfterTokens, Form::FromPlaces] {
            let mut symbols = symbols();
            if form == Form::FromPlaces {
                // The offset from a place cannot express small numbers. Per-CPU variables have addresses since 6.15.
                symbols[0].1 = BASE + 0x1234;
            }
            let read = read(&image(&symbols, form)).unwrap();
            assert_eq!(read.address("runtime"), Some(symbols[0].1), "a per-CPU symbol: {form:?}");
            assert_eq!(read.address("function_599"), Some(BASE + 0x1000 + 16 * 599));
            assert_eq!(read.address(&"long".repeat(60)), Some(BASE + 0x10_0000));
            assert_eq!(read.functions().len(), 602);
        }
    }

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let symbols = Symbols::from_all(symbols().into_iter());
        let (index, offset) = symbols.function_at(BASE + 0x1000 + 16 * 7 + 5).unwrap();
        assert_eq!((symbols.functions()[index].1.as_str(), offset), ("function_7", 5));
        assert_eq!(symbols.function_at(BASE - 1), None);
    }

    #[test]
    fn an_image_without_symbols_is_refused() {
        assert_eq!(read(&[0; 4096]), Err(NoSymbols::Tokens));
        let whole = image(&symbols(), Form::AfterTokens);
        let tokens = find(&whole, DIGITS).unwrap();
        assert_eq!(read(&whole[(tokens - 0x60) & !7..]), Err(NoSymbols::Form));
        let elsewhere = image(&symbols(), Form::FromPlaces);
        assert_eq!(Symbols::of(&elsewhere, |_| None), Err(NoSymbols::Form), "a table that is not loaded");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn damaged_tables_do_not_panic(at in any::<prop::sample::Index>(), value: u8, cut in any::<prop::sample::Index>()) {
            for form in [Form::AfterTokens, Form::FromPlaces] {
                let mut image = image(&symbols(), form);
                let at = at.index(image.len());
                image[at] = value;
                drop(read(&image));
                drop(read(&image[..cut.index(image.len())]));
            }
        }
    }
}
