//! The map of a phase: a file on tmpfs, named after the run, with the source's counters. It is empty if the source
//! counts elsewhere.
//!
//! While a process has the map open, the run is in progress; commands that open the run file check this (see
//! `recovery`).

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tardy_sys::shared_map::{MapError, SharedMap};

/// The tmpfs that every Linux distribution mounts (shm_overview(7)).
const DIRECTORY: &str = "/dev/shm";

/// The path of the map of one phase of a run. `None` for an id that could lead out of the directory: a run file may be
/// malicious.
pub(crate) fn map_of_phase(run_id: &str, phase: usize) -> Option<PathBuf> {
    let harmless = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let harmless = !run_id.is_empty() && run_id.len() <= 64 && run_id.chars().all(harmless);
    harmless.then(|| Path::new(DIRECTORY).join(format!("tardy-{run_id}-{phase}.map")))
}

/// The size of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLayout {
    /// Number of blocks.
    pub(crate) blocks: usize,
    /// Number of 64-bit cells in each block.
    pub(crate) cells: usize,
    /// Slots of each block's ring: a power of two, or 0 for no rings.
    pub(crate) ring_slots: usize,
    /// Whether the rings carry samples that the user has requested.
    pub(crate) carries_samples: bool,
}

impl MapLayout {
    /// The layout of a map without counters.
    pub(crate) const EMPTY: Self = Self { blocks: 1, cells: 1, ring_slots: 0, carries_samples: false };
}

/// The map of a phase in progress. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct PhaseMap {
    map: Rc<SharedMap>,
    is_removed: Cell<bool>,
}

impl PhaseMap {
    /// Creates the map of phase `phase`.
    ///
    /// # Errors
    /// A message for the user.
    pub(crate) fn create(run_id: &str, phase: usize, layout: MapLayout) -> Result<Self, String> {
        let path = map_of_phase(run_id, phase).ok_or("the run has no usable id; please report it")?;
        let MapLayout { blocks, cells, ring_slots, carries_samples } = layout;
        let map = SharedMap::create_with_rings(&path, blocks, cells, ring_slots).map_err(|error| match error {
            MapError::Io { .. } if carries_samples => format!(
                "{error}; tardy keeps counters in /dev/shm, and at least 4 s of samples for each CPU: make room, or \
                 leave --samples out"
            ),
            MapError::Io { .. } => {
                format!("{error}; tardy keeps counters in /dev/shm, which must be mounted and writable")
            }
            MapError::Foreign { .. } => error.to_string(),
        })?;
        Ok(Self { map: Rc::new(map), is_removed: Cell::new(false) })
    }

    /// Whether the source counts in it.
    pub(crate) fn has_counters(&self) -> bool {
        self.map.cell_count() > MapLayout::EMPTY.cells
    }

    /// The map itself.
    pub(crate) fn shared(&self) -> &Rc<SharedMap> {
        &self.map
    }

    /// Removes the file. The memory stays mapped until `self` is dropped.
    pub(crate) fn remove(&self) -> io::Result<()> {
        if self.is_removed.replace(true) { Ok(()) } else { self.map.remove() }
    }
}

impl Drop for PhaseMap {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_id_has_no_map() {
        assert!(map_of_phase("../../etc/passwd", 0).is_none());
        assert!(map_of_phase("", 0).is_none());
        assert_eq!(map_of_phase("20261121-1f", 2).unwrap(), Path::new("/dev/shm/tardy-20261121-1f-2.map"));
    }

    #[test]
    fn a_dropped_map_is_removed() {
        let id = format!("engine-map-{}", std::process::id());
        let map = PhaseMap::create(&id, 0, MapLayout::EMPTY).unwrap();
        let path = map.shared().path().to_owned();
        assert!(path.exists());
        drop(map);
        assert!(!path.exists());
    }
}
