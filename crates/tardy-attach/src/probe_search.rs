//! Finds the USDT probes of watched programs, and makes events of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tardy_host::trace::tracefs::Tracefs;
use tardy_host::trace::user_probe::UserProbes;
use tardy_sys::processes;

use crate::reader::{ProbedFile, ProgramReader};
use crate::trace::ProgramTrace;

/// The most events that are made.
const PROBES_MAX: usize = 128;

/// How often the files of a program are listed. Listing them holds a lock that page faults of the program need.
const SEARCHES: u32 = 8;

/// The probes of all programs so far.
#[derive(Debug)]
pub struct ProbeSearch {
    tracefs: Tracefs,
    probes: UserProbes,
    /// The program that each process executed when it was searched, and how often it was.
    searched: BTreeMap<u32, (String, u32)>,
    reader: Rc<RefCell<ProgramReader>>,
    found: usize,
    /// Why a probe has no event; `None` if all have one.
    pub refused: Option<String>,
}

impl ProbeSearch {
    /// No probe yet. `reader` reads the programs' files.
    pub fn new(tracefs: &Tracefs, reader: &Rc<RefCell<ProgramReader>>) -> Self {
        Self {
            tracefs: tracefs.clone(),
            probes: UserProbes::new(tracefs),
            searched: BTreeMap::new(),
            reader: Rc::clone(reader),
            found: 0,
            refused: None,
        }
    }

    /// Searches the program and the libraries of the process, unless that was done often enough: a program that has just been
    /// started has not loaded them all.
    pub fn search(&mut self, pid: u32, trace: &mut ProgramTrace) {
        let Some(program) = processes::executable_of(pid) else { return };
        let (known, times) = self.searched.entry(pid).or_default();
        if *known != program {
            (*known, *times) = (program, 0);
        }
        if *times >= SEARCHES {
            return;
        }
        *times += 1;
        let (files, refused) = self.reader.borrow_mut().probes(pid);
        self.refused = refused.or(self.refused.take());
        for file in files {
            self.add_probes(&file, trace);
        }
    }

    fn add_probes(&mut self, ProbedFile { file, probes }: &ProbedFile, trace: &mut ProgramTrace) {
        for probe in probes {
            if self.found >= PROBES_MAX {
                self.refused = Some(format!("no more than {PROBES_MAX} probes are used"));
                return;
            }
            self.found += 1;
            let made = self
                .probes
                .add(file, probe.offset)
                .and_then(|event| trace.add_probe(&self.tracefs, &event, probe.is_begin, &probe.name));
            if let Err(error) = made {
                self.refused = Some(error);
            }
        }
    }
}
