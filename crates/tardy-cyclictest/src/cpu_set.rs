//! The CPU sets of `-a` and `--mainaffinity`, as libnuma's `numa_parse_cpustring_all` reads them.

use tardy_record::cpu_list;

/// A set of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuSet {
    /// These, in ascending order.
    Only(Vec<u32>),
    /// `+0-3`: those of these that the process may use.
    Available(Vec<u32>),
    /// `!0`: all that the process may use, except these.
    AllBut(Vec<u32>),
}

/// The CPUs of the machine as the process sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// Those that the process may use, in ascending order.
    pub allowed: Vec<u32>,
    /// Those that are online and in its cpuset. A thread can be pinned to them even if `taskset` has restricted the process.
    pub cpuset: Vec<u32>,
}

impl CpuSet {
    /// Parses a set such as `2`, `0-3,5`, `!0` or `+0-1`. `None` means all CPUs that the process may use (`all`).
    ///
    /// # Errors
    /// A message for the user that names `option`.
    pub fn parse(text: &str, option: &str) -> Result<Option<Self>, String> {
        if text == "all" {
            return Ok(None);
        }
        let (list, is_inverted) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        let (list, is_relative) = list.strip_prefix('+').map_or((list, false), |rest| (rest, true));
        let wrong = || format!("{option} {text}: expected CPUs such as 2, 0-3,5 or !0");
        let cpus = list_of(list).ok_or_else(wrong)?;
        Ok(Some(match (is_inverted, is_relative) {
            (true, _) => Self::AllBut(cpus),
            (false, true) => Self::Available(cpus),
            (false, false) => Self::Only(cpus),
        }))
    }

    /// The CPUs of the set on this machine, in ascending order.
    ///
    /// # Errors
    /// A message for the user: a CPU is not available, or the set is empty.
    pub fn resolve(&self, cpus: &Cpus) -> Result<Vec<u32>, String> {
        let allowed = cpus.allowed.iter().copied();
        let set: Vec<u32> = match self {
            Self::Only(set) => {
                let is_available = |cpu: &u32| cpus.allowed.contains(cpu) || cpus.cpuset.contains(cpu);
                if let Some(cpu) = set.iter().find(|cpu| !is_available(cpu)) {
                    return Err(format!(
                        "CPU {cpu} does not exist, is offline or is not in this process's cpuset; available: {}",
                        numbers(&cpus.cpuset)
                    ));
                }
                set.clone()
            }
            Self::Available(set) => allowed.filter(|cpu| set.contains(cpu)).collect(),
            Self::AllBut(set) => allowed.filter(|cpu| !set.contains(cpu)).collect(),
        };
        if set.is_empty() {
            return Err(format!("no CPU remains; this process may use {}", numbers(&cpus.allowed)));
        }
        Ok(set)
    }
}

fn numbers(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// The CPUs of a list such as `0-3,5`, each once and in ascending order. Unlike the kernel's lists, it has neither strides nor
/// empty parts.
fn list_of(list: &str) -> Option<Vec<u32>> {
    let is_plain = !list.contains(':') && list.split(',').all(|part| !part.trim().is_empty());
    if is_plain { cpu_list::parse(list) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<Vec<u32>, String> {
        let cpus = Cpus { allowed: vec![0, 1, 2], cpuset: vec![0, 1, 2, 3] };
        CpuSet::parse(text, "-a")?.expect("it is not 'all'").resolve(&cpus)
    }

    #[test]
    fn sets_are_resolved_on_a_machine() {
        for (text, expected) in [
            ("2", &[2][..]),
            ("2,0-1", &[0, 1, 2]),
            ("1,1,0", &[0, 1]),
            ("3", &[3]),
            ("!0", &[1, 2]),
            ("!0-1", &[2]),
            ("+1-3", &[1, 2]),
            ("!+2", &[0, 1]),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(CpuSet::parse("all", "-a"), Ok(None));
    }

    #[test]
    fn wrong_and_empty_sets_are_errors() {
        for (text, expected) in [
            ("3-1", "-a 3-1: expected CPUs such as"),
            ("", "-a : expected CPUs"),
            ("0x1", "-a 0x1: expected CPUs"),
            ("1,", "-a 1,: expected CPUs"),
            ("allx", "-a allx: expected CPUs"),
            ("9", "CPU 9 does not exist, is offline or is not in this process's cpuset; available: 0 1 2 3"),
            ("!0-2", "no CPU remains; this process may use 0 1 2"),
            ("+3", "no CPU remains"),
        ] {
            let error = resolved(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
