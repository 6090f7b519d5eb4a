//! Names of kernel functions by address.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use tardy_sys::kernel_files::KernelFiles;

/// The kernel's symbol at the end of its own functions. Data and the functions of modules follow.
const END_OF_FUNCTIONS: &[u8] = b"_etext";

/// The names of the functions at `addresses`, if the kernel shows them.
///
/// Reads /proc/kallsyms until it has them all. The kernel makes its text while it is read, of more than 100,000 lines, which takes
/// tens of milliseconds: not to be called during a measurement.
pub(super) fn names(files: &KernelFiles, addresses: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    each_symbol(files, |symbol| {
        if let Some(address) = symbol.address().filter(|address| addresses.contains(address)) {
            names.entry(address).or_insert_with(|| String::from_utf8_lossy(symbol.name).into_owned());
        }
        if names.len() == addresses.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    names
}

/// The addresses of the functions called `wanted`, which are not those of modules, if the kernel shows them.
///
/// Reads /proc/kallsyms until it has them all, or until modules follow.
pub fn addresses(files: &KernelFiles, wanted: &[&str]) -> BTreeMap<u64, String> {
    let mut known = BTreeMap::new();
    each_symbol(files, |symbol| {
        if let Some(name) = wanted.iter().find(|wanted| wanted.as_bytes() == symbol.name) {
            known.extend(symbol.address().filter(|address| *address != 0).zip(Some((*name).to_owned())));
        }
        if known.len() == wanted.len() || symbol.name == END_OF_FUNCTIONS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    known
}

/// A line of /proc/kallsyms: `ffffffff814204b0 t hrtimer_wakeup`, followed by a tab and the module's name in brackets. There are so many
/// that nothing of them is read in vain.
struct Symbol<'line> {
    digits: &'line [u8],
    name: &'line [u8],
}

impl<'line> Symbol<'line> {
    fn of(line: &'line [u8]) -> Option<Self> {
        let end = line.iter().position(|byte| *byte == b' ')?;
        let rest = line.get(end + " t ".len()..)?;
        let name = rest.split(|byte| *byte == b'\t').next()?;
        Some(Self { digits: &line[..end], name })
    }

    fn address(&self) -> Option<u64> {
        u64::from_str_radix(std::str::from_utf8(self.digits).ok()?, 16).ok()
    }
}

/// Calls `take` with each symbol, in the kernel's order, until it breaks.
fn each_symbol(files: &KernelFiles, mut take: impl FnMut(&Symbol<'_>) -> ControlFlow<()>) {
    let read = files.each_line("/proc/kallsyms", |line| match Symbol::of(line) {
        Some(symbol) => take(&symbol),
        None => ControlFlow::Continue(()),
    });
    // A kernel without the file shows no symbols.
    read.unwrap_or_default();
}

/// The address in a text such as `0xffffffff814204b0`.
pub(super) fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel_with(symbols: &str) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/kallsyms"), symbols).unwrap();
        let files = KernelFiles::under(root.path());
        (root, files)
    }

    #[test]
    fn addresses_are_named_if_the_kernel_shows_symbols() {
        let (_root, files) = kernel_with(
            "ffffffff81420000 T other\nffffffff814204b0 t hrtimer_wakeup\nffffffffc0000010 t storm\t[ours]\n",
        );
        let wanted = ["0xffffffff814204b0", "0xffffffffc0000010", "0x1234"];
        let wanted: BTreeSet<u64> = wanted.into_iter().filter_map(address).collect();
        assert_eq!(names(&files, &wanted).into_values().collect::<Vec<_>>(), ["hrtimer_wakeup", "storm"]);
        assert_eq!(address("hrtimer_wakeup"), None);
    }

    #[test]
    fn functions_of_modules_are_not_the_kernels() {
        let (_root, files) = kernel_with(
            "ffffffff814204b0 t hrtimer_wakeup\nffffffff82000000 T _etext\nffffffffc0000010 t posix_timer_fn\t[x]\n",
        );
        let found = addresses(&files, &["hrtimer_wakeup", "posix_timer_fn"]);
        assert_eq!(found, BTreeMap::from([(0xffff_ffff_8142_04b0, "hrtimer_wakeup".to_owned())]));
    }

    #[test]
    fn hidden_addresses_are_unknown() {
        let (_root, files) = kernel_with("0000000000000000 t hrtimer_wakeup\n");
        assert_eq!(addresses(&files, &["hrtimer_wakeup"]), BTreeMap::new());
        assert_eq!(addresses(&KernelFiles::under("/nonexistent"), &["hrtimer_wakeup"]), BTreeMap::new());
    }
}
