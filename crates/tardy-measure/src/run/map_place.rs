//! Where the maps of a run are: files on tmpfs, named for the run.

use std::path::{Path, PathBuf};

/// The tmpfs that every Linux distribution mounts (shm_overview(7)).
const DIRECTORY: &str = "/dev/shm";

/// The map of one phase of a run. Ids are checked, since a run file may be hostile: one that could lead out of the
/// directory has no map.
pub(super) fn of_phase(run_id: &str, phase: usize) -> Option<PathBuf> {
    let harmless = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let harmless = !run_id.is_empty() && run_id.len() <= 64 && run_id.chars().all(harmless);
    harmless.then(|| Path::new(DIRECTORY).join(format!("tardy-{run_id}-{phase}.map")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_id_leads_nowhere() {
        assert!(of_phase("../../etc/passwd", 0).is_none());
        assert!(of_phase("", 0).is_none());
        assert_eq!(of_phase("20261121-1f", 2).unwrap(), Path::new("/dev/shm/tardy-20261121-1f-2.map"));
    }
}
