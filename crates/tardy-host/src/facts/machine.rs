//! The board or computer: firmware, distribution and memory.

use tardy_record::facts::{Fact, Machine};
use tardy_sys::kernel_files::KernelFiles;

use super::look::{Look, not_from};

const DMI: &str = "/sys/class/dmi/id";

/// Collects the facts about the machine.
pub(super) fn collect(files: &KernelFiles) -> Machine {
    Machine {
        board: board(files),
        firmware: firmware(files),
        distribution: distribution(files),
        memory_kb: memory(files),
    }
}

/// The device tree's model, otherwise DMI's, otherwise the `Hardware` line of ARM kernels before device trees.
fn board(files: &KernelFiles) -> Fact<String> {
    let tree = files.text_fact(&["/proc/device-tree/model", "/sys/firmware/devicetree/base/model"]);
    if tree.get().is_some() {
        return tree;
    }
    if let Some(words) = dmi(files, &["sys_vendor", "product_name", "board_name"]) {
        return Fact::known(words, DMI);
    }
    let cpuinfo = files.text("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim()).filter(|value| !value.is_empty())
    };
    match (field("Hardware"), field("Revision")) {
        (Some(hardware), Some(revision)) => {
            Fact::known(format!("{hardware}, revision {revision}"), "Hardware in /proc/cpuinfo")
        }
        (Some(hardware), None) => Fact::known(hardware.to_owned(), "Hardware in /proc/cpuinfo"),
        _ => Fact::unknown("no device tree, no DMI, no Hardware in /proc/cpuinfo"),
    }
}

fn firmware(files: &KernelFiles) -> Fact<String> {
    if let Some(words) = dmi(files, &["bios_vendor", "bios_version", "bios_date"]) {
        return Fact::known(words, DMI);
    }
    let path = "/proc/device-tree/chosen/u-boot,version";
    match files.text(path) {
        Ok(version) => Fact::known(format!("U-Boot {version}"), path),
        Err(_) => Fact::unknown(format!("no {DMI}, no U-Boot in the device tree")),
    }
}

/// The meaningful DMI fields, each once.
fn dmi(files: &KernelFiles, fields: &[&str]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for field in fields {
        let Ok(word) = files.text(&format!("{DMI}/{field}")) else { continue };
        let word = word.trim();
        let empty = word.is_empty()
            || matches!(word, "To Be Filled By O.E.M." | "Default string" | "System Product Name");
        if !empty && !words.iter().any(|other| other == word) {
            words.push(word.to_owned());
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}

fn distribution(files: &KernelFiles) -> Fact<String> {
    let paths = ["/etc/os-release", "/usr/lib/os-release"];
    for path in paths {
        let Ok(text) = files.text(path) else { continue };
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
        };
        if let Some(name) = value("PRETTY_NAME").or_else(|| value("NAME")) {
            return Fact::known(name, path);
        }
    }
    // Before os-release (2012), each distribution had its own file.
    match files.text("/etc/debian_version") {
        Ok(version) => Fact::known(format!("Debian {version}"), "/etc/debian_version"),
        Err(error) => {
            Fact::unknown(format!("no {}; {}", paths.join(", "), not_from("/etc/debian_version", &error)))
        }
    }
}

fn memory(files: &KernelFiles) -> Fact<u64> {
    const PATH: &str = "/proc/meminfo";
    let text = match files.text(PATH) {
        Ok(text) => text,
        Err(error) => return Fact::unknown(not_from(PATH, &error)),
    };
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    total.map_or_else(|| Fact::unknown(format!("{PATH}: no MemTotal")), |kb| Fact::known(kb, PATH))
}
