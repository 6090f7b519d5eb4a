//! Names of kernel functions by address.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use tardy_sys::kernel_files::KernelFiles;

/// The kernel's symbol at the end of its own functions. Data and the functions of modules follow.
const END_OF_FUNCTIONS: &[u8] = b"_etext";

/// The names of the functions at `addresses`, if the kernel shows them.
///
/// Reads /proc/kallsyms until it has them all. The kernel makes its text while it is read, of more than 100,000 lines, which takes
/// 40 ms of a PC and ten times that of a small board: not to be called during a measurement.
pub(super) fn names(files: &KernelFiles, addresses: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    each_symbol(files, |address, name| {
        if addresses.contains(&address) {
            names.entry(address).or_insert_with(|| String::from_utf8_lossy(name).into_owned());
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
    each_symbol(files, |address, name| {
        let found = wanted.iter().find(|wanted| wanted.as_bytes() == name);
        if let Some(name) = found.filter(|_| address != 0) {
            known.insert(address, (*name).to_owned());
        }
        if known.len() == wanted.len() || name == END_OF_FUNCTIONS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    known
}

/// Calls `take` with address and name of each symbol, in the kernel's order, until it breaks.
fn each_symbol(files: &KernelFiles, mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>) {
    let read = files.each_line("/proc/kallsyms", |line| match symbol(line) {
        Some((address, name)) => take(address, name),
        None => ControlFlow::Continue(()),
    });
    // A kernel without the file shows no symbols.
    read.unwrap_or_default();
}

/// A line is `ffffffff814204b0 t hrtimer_wakeup`, followed by a tab and the module's name in brackets.
fn symbol(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    let digits = words.next()?;
    let address = digits
        .iter()
        .try_fold(0, |sum, digit| Some(sum << 4 | u64::from(char::from(*digit).to_digit(16)?)))?;
    Some((address, words.nth(1)?))
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
