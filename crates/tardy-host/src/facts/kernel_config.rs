//! The options that the kernel was built with.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use tardy_record::facts::{Fact, KernelOptions};
use tardy_sys::kernel_files::KernelFiles;

use super::SystemAnswers;
use super::look::not_from;

/// The running kernel's configuration, if CONFIG_IKCONFIG_PROC is set.
const OWN: &str = "/proc/config.gz";
/// Size limit in bytes. No configuration is longer; a compressed file that expands to more is malicious.
const SIZE_LIMIT: u64 = 4 << 20;

/// The options and their source.
#[derive(Debug, Default)]
pub(super) struct KernelConfig {
    /// Options that are set, without `CONFIG_`.
    pub(super) options: Fact<BTreeMap<String, String>>,
    /// Whether the running kernel provides them; a file on disk may belong to another build with the same name.
    pub(super) first_hand: bool,
}

impl KernelConfig {
    /// Whether an option is `y`; `None` if the configuration is unknown.
    pub(super) fn is_set(&self, option: &str) -> Option<bool> {
        Some(self.options.get()?.get(option).is_some_and(|value| value == "y"))
    }
}

/// Finds the configuration: the running kernel's, otherwise a file named for its release.
pub(super) fn find(files: &KernelFiles, answers: &SystemAnswers) -> KernelConfig {
    let mut reasons = Vec::new();
    match unpacked(files) {
        Ok(text) if parse(&text).is_empty() => reasons.push(format!("{OWN}: no options")),
        Ok(text) => return KernelConfig { options: Fact::known(parse(&text), OWN), first_hand: true },
        Err(reason) => reasons.push(reason),
    }
    for path in paths(files, answers) {
        match files.text(&path).map(|text| parse(&text)) {
            Ok(options) if options.is_empty() => reasons.push(format!("{path}: no options")),
            Ok(options) => return KernelConfig { options: Fact::known(options, path), first_hand: false },
            Err(error) => reasons.push(not_from(&path, &error)),
        }
    }
    KernelConfig { options: Fact::unknown(reasons.join("; ")), first_hand: false }
}

/// Whether the running kernel was built with an option, as a part of it or as a module; `None` if its configuration is
/// unknown.
pub fn has_option(files: &KernelFiles, option: &str) -> Option<bool> {
    Some(find(files, &SystemAnswers::none()).options.get()?.contains_key(option))
}

fn unpacked(files: &KernelFiles) -> Result<String, String> {
    let packed = files.bytes(OWN).map_err(|error| not_from(OWN, &error))?;
    let mut text = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(SIZE_LIMIT)
        .read_to_end(&mut text)
        .map_err(|error| format!("{OWN}: {error}"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn paths(files: &KernelFiles, answers: &SystemAnswers) -> Vec<String> {
    let release = files.text("/proc/sys/kernel/osrelease").ok().or_else(|| answers.release.clone());
    // A release with a slash would lead out of the directory.
    let Some(release) = release.filter(|release| !release.is_empty() && !release.contains('/')) else {
        return Vec::new();
    };
    vec![
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/usr/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/build/.config"),
    ]
}

fn parse(text: &str) -> BTreeMap<String, String> {
    KernelOptions::from_config_text(text).0
}
