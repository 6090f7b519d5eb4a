//! Names for addresses: kernel functions, and programs as one.

use crate::block::KERNEL;
use crate::kallsyms::Symbols;

/// A number that stands for a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);

/// The names of functions that were executed. Each is kept once.
pub struct Names<'a> {
    symbols: &'a Symbols,
    /// For each function of the kernel the first of its parts: the compiler moves what is rarely executed to `NAME.cold`.
    whole: Vec<u32>,
    /// After the kernel's last function. Modules are loaded above.
    end: u64,
    others: Vec<String>,
}

impl<'a> Names<'a> {
    /// The names of this kernel's functions.
    pub fn of(symbols: &'a Symbols) -> Self {
        let functions = symbols.functions();
        let whole = functions.iter().enumerate().map(|(index, (_, name))| {
            let hot = name.strip_suffix(".cold").and_then(|hot| symbols.address(hot));
            hot.and_then(|address| symbols.function_at(address)).map_or(index, |(index, _)| index) as u32
        });
        let end = symbols.address("_einittext").or(symbols.address("_etext")).unwrap_or(u64::MAX);
        Self { symbols, whole: whole.collect(), end, others: Vec::new() }
    }

    /// The function at an address, and whether it begins there.
    pub fn at(&mut self, address: u64) -> (Name, bool) {
        if address < KERNEL {
            return (self.other("program"), false);
        }
        match self.symbols.function_at(address) {
            Some((index, offset)) if self.contains(index, address) => (Name(self.whole[index]), offset == 0),
            _ => (self.other("module"), false),
        }
    }

    /// A name that is not of a function.
    pub fn other(&mut self, text: &str) -> Name {
        let index = self.others.iter().position(|known| known == text).unwrap_or_else(|| {
            self.others.push(text.to_owned());
            self.others.len() - 1
        });
        Name((self.whole.len() + index) as u32)
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        let index = name.0 as usize;
        match self.symbols.functions().get(index) {
            Some((_, text)) => text,
            None => &self.others[index - self.whole.len()],
        }
    }

    /// Whether the last function that begins before an address contains it. Above the kernel are modules, of which not all may be known.
    fn contains(&self, function: usize, address: u64) -> bool {
        let is_module = |address: u64| address >= self.end;
        is_module(address) == is_module(self.symbols.functions()[function].0)
    }
}
