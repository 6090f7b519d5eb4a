//! One experiment on one kernel: from its parts to the run's place in the record.

mod identity;
mod place;

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use tardy_record::lab::{Lab, LabClock, LabKernel};
use thiserror::Error;

use crate::checksum::sha256;
use crate::guest::initramfs::{self, Parts};
use crate::guest::orders::Orders;
use crate::guest::words::Word;
use crate::kernel::Kernel;
use crate::kernel::modules::Module;
use crate::machine::{self, Machine, Pace, Setup};
use crate::session::{self, EmulatorError, Session, SessionError};

use identity::identity;
use place::Place;

/// What shall happen in a guest, whatever its kernel.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The machine.
    pub machine: Machine,
    /// What its time is.
    pub pace: Pace,
    /// Its memory; `raspi3b` always has 1024.
    pub memory_mib: u32,
    /// How long the emulator may work without a word from the guest.
    pub patience: Duration,
    /// What the guest is told.
    pub orders: Orders,
    /// What it is made of; modules and the kernel's configuration are added for each kernel.
    pub parts: Parts,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Where it took place.
    pub lab: Lab,
    /// Files that the guest handed out, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Exit status of the guest's last command.
    pub status: u8,
    /// The last lines that its commands said.
    pub said: Vec<String>,
    /// What the guest's kernel printed.
    pub console: Vec<u8>,
}

/// What a kernel takes beside its image and the initramfs, at the very least, in MiB.
const MEMORY_BESIDE_MIB: u64 = 24;
/// Lines of the guest's commands that are kept.
const SAID_MAX: usize = 20;

/// Why nothing came of it.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The machine cannot boot that kernel.
    #[error(
        "{spec} is a kernel for {kernel}, and {machine} has a processor of {wanted}; choose another --machine"
    )]
    Processor {
        /// The kernel.
        spec: String,
        /// Its processor.
        kernel: &'static str,
        /// The machine.
        machine: &'static str,
        /// Its processor.
        wanted: &'static str,
    },
    /// A file of the kernel's.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The machine needs a device tree.
    #[error("{machine} needs the device tree {file}, and {spec} has none; a kernel by path takes dtbs=DIR")]
    DeviceTree {
        /// The machine.
        machine: &'static str,
        /// The file below the kernel's device trees.
        file: &'static str,
        /// The kernel.
        spec: String,
    },
    /// Kernel and initramfs would not fit.
    #[error(
        "{spec} and what goes with it take {needed_mib} MiB before anything runs, and the guest has {memory_mib} MiB: too \
         little memory for it (--memory)"
    )]
    Memory {
        /// The kernel.
        spec: String,
        /// What they take.
        needed_mib: u64,
        /// What the guest has.
        memory_mib: u32,
    },
    /// The directory for the guest.
    #[error("the guest's directory cannot be made: {0}")]
    Place(io::Error),
    /// The emulator.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The guest.
    #[error("{error}")]
    Session {
        /// How it ended.
        error: SessionError,
        /// What its kernel had printed by then.
        console: Vec<u8>,
    },
}

/// Where on the host a guest runs, and who may end it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// The CPU that the emulator is pinned to. The calling thread stays pinned to it.
    pub core: Option<u32>,
    /// Readable when a person wants an end.
    pub cancel: Option<RawFd>,
}

impl Experiment {
    /// Boots `kernel`, with `modules` in their order, and does the experiment. `tell` gets what the guest
    /// says meanwhile.
    ///
    /// # Errors
    /// When the guest cannot be started or does not come to its end; no emulator is left behind.
    pub fn run(
        &self,
        kernel: &Kernel,
        modules: Vec<Module>,
        host: Host,
        tell: &mut dyn FnMut(&Word),
    ) -> Result<Outcome, ExperimentError> {
        self.check(kernel)?;
        let setup = self.setup(kernel);
        let words = machine::words(&setup);
        let place = Place::make().map_err(ExperimentError::Place)?;
        let image = read(&kernel.image)?;
        let initramfs = self.initramfs(kernel, modules)?;
        let device_tree = self.device_tree(kernel)?;
        self.check_memory(kernel, image.len() + initramfs.len())?;
        place.put(machine::KERNEL, &image).map_err(ExperimentError::Place)?;
        place.put(machine::INITRAMFS, &initramfs).map_err(ExperimentError::Place)?;
        if let Some(tree) = &device_tree {
            place.put(machine::DEVICE_TREE, tree).map_err(ExperimentError::Place)?;
        }
        let mut lab = Lab {
            identity: String::new(),
            clock: clock(self.pace),
            machine: self.machine.name().to_owned(),
            emulator: session::version(self.machine)?,
            arguments: words.clone(),
            kernel: LabKernel {
                spec: kernel.spec.clone(),
                release: kernel.release.clone(),
                package: kernel.package.clone(),
                sha256: sha256(&image),
            },
            command_line: setup.command_line,
            initramfs_sha256: sha256(&initramfs),
            tardy_sha256: sha256(&self.parts.tardy),
            device_tree_sha256: device_tree.as_deref().map(sha256),
            settled: Default::default(),
        };
        lab.identity = identity(&lab);
        let session = Session {
            machine: self.machine,
            words: &words,
            directory: place.path(),
            core: host.core,
            patience: self.patience,
            cancel: host.cancel,
        };
        let mut said = Vec::new();
        let brought = session.run(&mut |word| {
            if let Word::Say { text } = word {
                said.push(text.clone());
                // The last words are what an error quotes.
                if said.len() > SAID_MAX {
                    said.remove(0);
                }
            }
            tell(word);
        });
        let console = fs::read(place.path().join(machine::CONSOLE)).unwrap_or_default();
        let brought = match brought {
            Ok(brought) => brought,
            Err(error) => return Err(ExperimentError::Session { error, console }),
        };
        lab.settled = brought.settled;
        Ok(Outcome { lab, files: brought.files, status: brought.status, said, console })
    }

    /// What the emulator is told for `kernel`.
    pub fn words(&self, kernel: &Kernel) -> Vec<String> {
        machine::words(&self.setup(kernel))
    }

    fn check(&self, kernel: &Kernel) -> Result<(), ExperimentError> {
        if kernel.arch == self.machine.arch() {
            return Ok(());
        }
        Err(ExperimentError::Processor {
            spec: kernel.spec.clone(),
            kernel: kernel.arch.name(),
            machine: self.machine.name(),
            wanted: self.machine.arch().name(),
        })
    }

    /// A kernel that is entered directly with too little memory says nothing and goes round for ever.
    fn check_memory(&self, kernel: &Kernel, loaded_bytes: usize) -> Result<(), ExperimentError> {
        let needed_mib = (loaded_bytes as u64 >> 20) + MEMORY_BESIDE_MIB;
        if u64::from(self.memory_mib) >= needed_mib {
            return Ok(());
        }
        let (spec, memory_mib) = (kernel.spec.clone(), self.memory_mib);
        Err(ExperimentError::Memory { spec, needed_mib, memory_mib })
    }

    fn setup(&self, kernel: &Kernel) -> Setup {
        Setup {
            machine: self.machine,
            pace: self.pace,
            memory_mib: self.memory_mib,
            command_line: machine::command_line(self.machine, self.pace, &kernel.append),
        }
    }

    fn initramfs(&self, kernel: &Kernel, modules: Vec<Module>) -> Result<Vec<u8>, ExperimentError> {
        let config = kernel.config.as_deref().map(read).transpose()?;
        let config = config.map(|text| (kernel.release.clone(), text));
        let parts = Parts { config, modules, ..self.parts.clone() };
        Ok(initramfs::build(&parts, &self.orders).to_bytes())
    }

    fn device_tree(&self, kernel: &Kernel) -> Result<Option<Vec<u8>>, ExperimentError> {
        let Some(file) = self.machine.device_tree() else { return Ok(None) };
        let path = kernel.device_trees.as_ref().map(|directory| directory.join(file));
        match path.filter(|path| path.is_file()) {
            Some(path) => read(&path).map(Some),
            None => Err(ExperimentError::DeviceTree {
                machine: self.machine.name(),
                file,
                spec: kernel.spec.clone(),
            }),
        }
    }
}

fn clock(pace: Pace) -> LabClock {
    match pace {
        Pace::Instructions { shift } => LabClock::Instructions { shift },
        Pace::Realtime { .. } => LabClock::RealtimeEmulated,
        Pace::Kvm { .. } => LabClock::RealtimeKvm,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    fs::read(path).map_err(|source| ExperimentError::File { path: path.display().to_string(), source })
}
