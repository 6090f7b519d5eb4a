//! Finds the USDT probes of watched programs, and makes events of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;

use tardy_host::trace::tracefs::Tracefs;
use tardy_host::trace::user_probe::UserProbes;
use tardy_sys::processes;

use crate::trace::ProgramTrace;
use crate::usdt;

/// The most events that are made.
const PROBES_MAX: usize = 128;

/// The probes of all programs so far.
#[derive(Debug)]
pub struct ProbeSearch {
    tracefs: Tracefs,
    probes: UserProbes,
    /// The program that each process executed when it was searched.
    searched: BTreeMap<u32, String>,
    /// Files and offsets that have an event.
    known: BTreeSet<(String, u64)>,
    /// Why a probe has no event; `None` if all have one.
    pub refused: Option<String>,
}

impl ProbeSearch {
    /// No probe yet.
    pub fn new(tracefs: &Tracefs) -> Self {
        Self {
            tracefs: tracefs.clone(),
            probes: UserProbes::new(tracefs),
            searched: BTreeMap::new(),
            known: BTreeSet::new(),
            refused: None,
        }
    }

    /// Searches the program and the libraries of the process, unless it was done for the same program.
    pub fn search(&mut self, pid: u32, trace: &mut ProgramTrace) {
        let Some(program) = processes::executable_of(pid) else { return };
        if self.searched.get(&pid) == Some(&program) {
            return;
        }
        self.searched.insert(pid, program);
        for executed in processes::executed_files(pid) {
            let found = usdt::probes(&|at, into| executed.file.read_exact_at(into, at).is_ok());
            for probe in found {
                let is_new = self.known.len() < PROBES_MAX
                    && self.known.insert((executed.identity.clone(), probe.offset));
                if !is_new {
                    continue;
                }
                let made = self.probes.add(&executed.path, probe.offset).and_then(|event| {
                    trace.add_probe(&self.tracefs, &event, probe.is_begin, &probe.name)
                });
                if let Err(error) = made {
                    self.refused = Some(error);
                }
            }
        }
    }
}
