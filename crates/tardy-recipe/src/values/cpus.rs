//! Which CPUs are measured (`--cpus`).

use std::fmt;
use std::str::FromStr;

use tardy_record::cpu_list;

/// Highest CPU number that is accepted. No kernel has more CPUs.
const CPU_MAX: u32 = 65_535;

/// A choice of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuSelection {
    /// Every CPU that can be measured.
    All,
    /// Those that are isolated.
    Isolated,
    /// Those that are not isolated.
    Housekeeping,
    /// These, in ascending order, each once.
    List(Vec<u32>),
}

impl FromStr for CpuSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text {
            "all" => return Ok(Self::All),
            "isolated" => return Ok(Self::Isolated),
            "housekeeping" => return Ok(Self::Housekeeping),
            _ => {}
        }
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| {
                text.trim().parse::<u32>().map_err(|_| {
                    format!(
                        "'{part}' is not a CPU; expected all, isolated, housekeeping or a list such as 0-3,5"
                    )
                })
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last > CPU_MAX {
                return Err(format!("'{part}' is not a range of CPUs; expected a range such as 0-3"));
            }
            cpus.extend(first..=last);
        }
        Ok(Self::List(cpu_list::distinct(cpus)))
    }
}

impl fmt::Display for CpuSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Isolated => f.write_str("isolated"),
            Self::Housekeeping => f.write_str("housekeeping"),
            Self::List(cpus) => f.write_str(&cpu_list::format(cpus)),
        }
    }
}

crate::serde_as_text!(CpuSelection);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_without_duplicates() {
        for (text, selection) in [
            ("all", CpuSelection::All),
            ("isolated", CpuSelection::Isolated),
            ("housekeeping", CpuSelection::Housekeeping),
        ] {
            assert_eq!((text.parse(), selection.to_string().as_str()), (Ok(selection.clone()), text));
        }
        assert_eq!(" 5,0-2,1 ".parse(), Ok(CpuSelection::List(vec![0, 1, 2, 5])));
        assert_eq!(CpuSelection::List(vec![0, 1, 2, 5]).to_string(), "0-2,5");
        for (text, reason) in [
            ("x", "'x' is not a CPU"),
            ("0-", "'0-' is not a CPU"),
            ("", "'' is not a CPU"),
            ("3-1", "'3-1' is not a range"),
            ("65536", "is not a range"),
        ] {
            let error = text.parse::<CpuSelection>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
