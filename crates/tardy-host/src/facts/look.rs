//! Reads a file's content as a fact: the value and its path, or unknown with the path and the reason.

use std::str::FromStr;

use tardy_record::facts::Fact;
use tardy_record::per_cpu::PerCpu;
use tardy_sys::kernel_files::{KernelFileError, KernelFiles};

/// Reads facts from kernel files.
pub(super) trait Look {
    /// The text of the first of the files that exists and is not empty.
    fn text_fact(&self, paths: &[&str]) -> Fact<String>;
    /// The one number in a file.
    fn number_fact<T: FromStr>(&self, path: &str) -> Fact<T>;
    /// The result of `read` for each CPU directory `<prefix>N` under `parent`; `how` names the file.
    fn per_cpu_fact<T>(
        &self,
        parent: &str,
        prefix: &str,
        how: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Fact<PerCpu<T>>;
}

impl Look for KernelFiles {
    fn text_fact(&self, paths: &[&str]) -> Fact<String> {
        let mut reasons = Vec::new();
        for path in paths {
            match self.text(path) {
                Ok(text) if !text.is_empty() => return Fact::known(text, *path),
                Ok(_) => reasons.push(format!("{path}: empty")),
                Err(error) => reasons.push(not_from(path, &error)),
            }
        }
        Fact::unknown(reasons.join("; "))
    }

    fn number_fact<T: FromStr>(&self, path: &str) -> Fact<T> {
        match self.number(path) {
            Ok(number) => Fact::known(number, path),
            Err(error) => Fact::unknown(not_from(path, &error)),
        }
    }

    fn per_cpu_fact<T>(
        &self,
        parent: &str,
        prefix: &str,
        how: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Fact<PerCpu<T>> {
        let names = match self.names(parent) {
            Ok(names) => names,
            Err(error) => return Fact::unknown(not_from(parent, &error)),
        };
        let values: PerCpu<T> = names
            .iter()
            .filter_map(|name| Some((name.strip_prefix(prefix)?.parse().ok()?, format!("{parent}/{name}"))))
            .filter_map(|(cpu, directory): (u32, String)| Some((cpu, read(&directory)?)))
            .collect();
        if values.0.is_empty() { Fact::unknown(format!("{how}: absent")) } else { Fact::known(values, how) }
    }
}

/// Why a file did not yield a fact.
pub(super) fn not_from(path: &str, error: &KernelFileError) -> String {
    format!("{path}: {}", error.reason())
}
