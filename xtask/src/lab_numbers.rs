//! The lab's numbers in the documents, written from run files with the identity that they apply to.
//!
//! A document has a block between `<!-- lab-numbers -->` and `<!-- end of lab-numbers -->`. `make lab-numbers` runs the lab and
//! replaces the contents, which are not edited by hand. The numbers are exact for one identity: guest, kernel and emulator.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::marked_block::MarkedBlock;

/// The documents that have a block.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/lab.md"];
const BLOCK: MarkedBlock = MarkedBlock {
    begin: "<!-- lab-numbers: written by make lab-numbers -->",
    end: "<!-- end of lab-numbers -->",
};

/// The worst wake-ups of one kernel, and the identity that they apply to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Such as `debian:6.12-rt`.
    pub spec: String,
    /// The release of the kernel, as `uname -r` prints it.
    pub release: String,
    /// The emulator's version.
    pub emulator: String,
    /// The first digits of the run's identity.
    pub identity: String,
    /// Each phase's label, number of wake-ups and maximum in ns.
    pub phases: Vec<(String, u64, i64)>,
}

/// Reads the run files in `directory`.
///
/// # Errors
/// If there is none, or one lacks what the documents state.
pub fn read(directory: &Path) -> Result<Vec<Kernel>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".run.json"));
    paths.sort();
    let kernels: Result<Vec<Kernel>, String> = paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
            let run: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            kernel(&run).ok_or_else(|| format!("{}: not a run of the lab", path.display()))
        })
        .collect();
    kernels.and_then(|kernels| if kernels.is_empty() { Err("no run file".to_owned()) } else { Ok(kernels) })
}

fn kernel(run: &Value) -> Option<Kernel> {
    let lab = &run["lab"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let series = run["series"].as_array()?;
    let phase = |(index, phase): (usize, &Value)| {
        let own = || series.iter().filter(|one| one["phase"].as_u64() == Some(index as u64));
        let wakeups = own().filter_map(|one| one["tally"]["recorded"].as_u64()).sum();
        Some((text(&phase["label"])?, wakeups, own().filter_map(|one| one["max_ns"].as_i64()).max()?))
    };
    Some(Kernel {
        spec: text(&lab["kernel"]["spec"])?,
        release: text(&lab["kernel"]["release"])?,
        emulator: text(&lab["emulator"])?,
        identity: text(&lab["identity"])?.chars().take(12).collect(),
        phases: run["phases"].as_array()?.iter().enumerate().map(phase).collect::<Option<_>>()?,
    })
}

/// The text between the marks.
pub fn block(kernels: &[Kernel]) -> String {
    let mut text =
        String::from("| kernel | phase | wake-ups | worst, us | identity |\n|---|---|---|---|---|\n");
    for kernel in kernels {
        for (label, wakeups, max_ns) in &kernel.phases {
            text += &format!(
                "| {} ({}) | {label} | {wakeups} | {:.1} | {} |\n",
                kernel.spec,
                kernel.release,
                *max_ns as f64 / 1000.0,
                kernel.identity
            );
        }
    }
    let emulator = kernels.first().map_or("", |kernel| &kernel.emulator);
    text + &format!("\n`tardy lab run`, QEMU {emulator}. The numbers are exact for that identity.\n")
}

/// Replaces the blocks of all documents of this repository.
///
/// # Errors
/// If a document cannot be read or written, or has no block.
pub fn write(kernels: &[Kernel]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for document in DOCUMENTS {
        let path = root.join(document);
        let text = fs::read_to_string(&path).map_err(|error| format!("{document}: {error}"))?;
        let replaced =
            BLOCK.replaced(&text, &block(kernels)).ok_or_else(|| format!("{document}: no block"))?;
        fs::write(&path, replaced).map_err(|error| format!("{document}: {error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Kernel {
        Kernel {
            spec: "debian:6.12-rt".to_owned(),
            release: "6.12.1-rt".to_owned(),
            emulator: "7.2".to_owned(),
            identity: "0123456789ab".to_owned(),
            phases: vec![("loaded".to_owned(), 8000, 14_760)],
        }
    }

    #[test]
    fn a_block_is_replaced_and_the_rest_stays() {
        let text = format!("a\n{}\nold\n{}\nb\n", BLOCK.begin, BLOCK.end);
        let new = BLOCK.replaced(&text, &block(&[example()])).unwrap();
        assert!(new.starts_with("a\n") && new.ends_with("\nb\n") && !new.contains("old"));
        assert!(
            new.contains("| debian:6.12-rt (6.12.1-rt) | loaded | 8000 | 14.8 | 0123456789ab |"),
            "{new}"
        );
        assert_eq!(BLOCK.replaced(&new, &block(&[example()])).unwrap(), new, "writing again changes nothing");
        assert_eq!(BLOCK.replaced("no marks", ""), None);
    }
}
