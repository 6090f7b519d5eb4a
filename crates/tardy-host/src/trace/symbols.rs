//! Names of kernel functions by address.

use std::collections::{BTreeMap, BTreeSet};

use tardy_sys::kernel_files::KernelFiles;

/// The names of the functions at `addresses`, if the kernel shows them. Reads /proc/kallsyms once, which takes the
/// kernel 100 ms or more: not to be called during a measurement.
pub(super) fn names(files: &KernelFiles, addresses: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let all = files.bytes("/proc/kallsyms").unwrap_or_default();
    let lines = all.split(|byte| *byte == b'\n');
    lines.filter_map(symbol).filter(|(address, _)| addresses.contains(address)).collect()
}

/// The addresses of the functions called `wanted`, if the kernel shows them. It reads hundreds of thousands of lines.
pub fn addresses(files: &KernelFiles, wanted: &[&str]) -> BTreeMap<u64, String> {
    let all = files.bytes("/proc/kallsyms").unwrap_or_default();
    let lines = all.split(|byte| *byte == b'\n');
    let known =
        lines.filter_map(symbol).filter(|(address, name)| *address != 0 && wanted.contains(&name.as_str()));
    known.collect()
}

/// A line is `ffffffff814204b0 t hrtimer_wakeup`, followed by a tab and the module's name in brackets.
fn symbol(line: &[u8]) -> Option<(u64, String)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    Some((address, words.nth(1)?.to_owned()))
}

/// The address in a text such as `0xffffffff814204b0`.
pub(super) fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_named_if_the_kernel_shows_symbols() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let text =
            "ffffffff81420000 T other\nffffffff814204b0 t hrtimer_wakeup\nffffffffc0000010 t storm\t[ours]\n";
        std::fs::write(root.path().join("proc/kallsyms"), text).unwrap();
        let wanted = ["0xffffffff814204b0", "0xffffffffc0000010", "0x1234"];
        let wanted: BTreeSet<u64> = wanted.into_iter().filter_map(address).collect();
        let names = names(&KernelFiles::under(root.path()), &wanted);
        assert_eq!(names.into_values().collect::<Vec<_>>(), ["hrtimer_wakeup", "storm"]);
        assert_eq!(address("hrtimer_wakeup"), None);
    }
}
