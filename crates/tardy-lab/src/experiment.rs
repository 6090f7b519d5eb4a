//! Runs one experiment on one kernel and records its setup.

mod identity;
pub mod start_delay;

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use tardy_init::messages::Message;
use tardy_init::orders::Orders;
use tardy_record::lab::{Lab, LabClock, LabKernel};
use thiserror::Error;

use crate::checksum::sha256;
use crate::guest::initramfs::{self, Parts};
use crate::guest_directory::GuestDirectory;
use crate::kept_guests::KeptGuests;
use crate::kernel::Kernel;
use crate::kernel::image_file::ImageFile;
use crate::kernel::modules::Module;
use crate::machine::{self, Additions, Machine, Pace, Setup};
use crate::session::{self, Confinement, EmulatorError, Installed, Session, SessionError};

use identity::identity;

/// An experiment, which can be run on any kernel.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The machine.
    pub machine: Machine,
    /// The guest's clock.
    pub pace: Pace,
    /// The guest's memory in MiB; `raspi3b` always has 1024.
    pub memory_mib: u32,
    /// The CPU time that the emulator may use between two messages of the guest.
    pub patience: Duration,
    /// The modules that the guest loads and the commands that it runs.
    pub orders: Orders,
    /// The content of the initramfs. Modules and the kernel's configuration are added for each kernel.
    pub parts: Parts,
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The record of the lab.
    pub lab: Lab,
    /// The guest's result files and their names.
    pub files: Vec<(String, Vec<u8>)>,
    /// The exit status of the guest's last command.
    pub status: u8,
    /// The last lines of output of the guest's commands.
    pub output: Vec<String>,
    /// The guest's console: what its kernel printed.
    pub console: Vec<u8>,
}

/// A guest that is ready to boot.
#[derive(Debug)]
pub struct AssembledGuest<'a> {
    experiment: &'a Experiment,
    emulator: Installed,
    image_file: ImageFile,
    image: Vec<u8>,
    initramfs: Vec<u8>,
    device_tree: Option<Vec<u8>>,
    /// Its record, before it has run.
    lab: Lab,
}

/// The least memory that a kernel needs in addition to its image and the initramfs, in MiB.
const MEMORY_OVERHEAD_MIB: u64 = 24;
/// The maximum number of output lines that are kept.
const OUTPUT_LINES_MAX: usize = 20;

/// Why an experiment has no result.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The kernel and the machine have different architectures.
    #[error(
        "{spec} is a kernel for {kernel}, but {machine} has an {wanted} processor; choose another --machine"
    )]
    Processor {
        /// The kernel.
        spec: String,
        /// The kernel's processor.
        kernel: &'static str,
        /// The machine.
        machine: &'static str,
        /// The machine's processor.
        wanted: &'static str,
    },
    /// One of the kernel's files cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// The machine needs a device tree that the kernel does not have.
    #[error(
        "{machine} needs the device tree {file}, which {spec} does not have; for a kernel by path, add dtbs=DIR"
    )]
    DeviceTree {
        /// The machine.
        machine: &'static str,
        /// The file below the kernel's device trees.
        file: &'static str,
        /// The kernel.
        spec: String,
    },
    /// Kernel and initramfs do not fit into the guest's memory.
    #[error(
        "{spec} and its initramfs need {needed_mib} MiB, but the guest has {memory_mib} MiB: too little memory; use --memory \
         to give it more"
    )]
    Memory {
        /// The kernel.
        spec: String,
        /// The memory that they need.
        needed_mib: u64,
        /// The guest's memory.
        memory_mib: u32,
    },
    /// The guest's directory cannot be written.
    #[error("the guest's directory cannot be written: {0}")]
    Directory(io::Error),
    /// The files of the guest cannot be kept.
    #[error("the guest's kernel and initramfs cannot be kept in the cache: {0}")]
    Keep(io::Error),
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The guest did not shut down properly.
    #[error("{error}")]
    Session {
        /// The error.
        error: SessionError,
        /// The guest's console.
        console: Vec<u8>,
    },
}

/// How the emulator runs on the host.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// The CPU to which the emulator is pinned. The calling thread stays pinned to it too.
    pub core: Option<u32>,
    /// A file descriptor that becomes readable when the user asks tardy to stop.
    pub cancel: Option<RawFd>,
    /// How the emulator is confined, from [`session::confinement`].
    pub confinement: &'a Confinement,
    /// Where the kernel and the initramfs are kept, so that the run can be repeated.
    pub keep: Option<&'a KeptGuests>,
}

impl Experiment {
    /// Boots `kernel` and runs the experiment. The guest loads `modules` in their order. `on_message` is called with
    /// the guest's messages.
    ///
    /// # Errors
    /// If the guest cannot be started or does not shut down properly. The emulator has ended in any case.
    pub fn run(
        &self,
        kernel: &Kernel,
        modules: Vec<Module>,
        host: Host<'_>,
        on_message: &mut dyn FnMut(&Message),
    ) -> Result<Outcome, ExperimentError> {
        self.assembled(kernel, modules)?.run(host, on_message)
    }

    /// The guest with `kernel`, ready to boot.
    ///
    /// # Errors
    /// If one of its files cannot be read, or it does not fit the machine.
    pub fn assembled(
        &self,
        kernel: &Kernel,
        modules: Vec<Module>,
    ) -> Result<AssembledGuest<'_>, ExperimentError> {
        self.check(kernel)?;
        let emulator = session::installed(self.machine)?;
        let setup = self.setup(kernel, &modules);
        let arguments = machine::emulator_arguments(&setup);
        let image = kernel.image.read().map_err(unreadable(&kernel.image.path))?;
        let initramfs = self.initramfs(kernel, modules)?;
        let device_tree = self.device_tree(kernel)?;
        self.check_memory(kernel, image.len() + initramfs.len())?;
        let mut lab = Lab {
            identity: String::new(),
            clock: clock(self.pace),
            machine: self.machine.name().to_owned(),
            emulator: emulator.version.clone(),
            arguments,
            kernel: LabKernel {
                spec: kernel.spec.clone(),
                release: kernel.release.clone(),
                package: kernel.package.as_ref().map(ToString::to_string),
                sha256: sha256(&image),
            },
            command_line: setup.command_line,
            initramfs_sha256: sha256(&initramfs),
            tardy_sha256: sha256(&self.parts.tardy),
            device_tree_sha256: device_tree.as_deref().map(sha256),
            settled: Default::default(),
        };
        lab.identity = identity(&lab);
        Ok(AssembledGuest {
            experiment: self,
            emulator,
            image_file: kernel.image.clone(),
            image,
            initramfs,
            device_tree,
            lab,
        })
    }

    /// The emulator's arguments for `kernel` and `modules`, without those that confine it.
    pub fn emulator_arguments(&self, kernel: &Kernel, modules: &[Module]) -> Vec<String> {
        machine::emulator_arguments(&self.setup(kernel, modules))
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

    /// Checks that the kernel fits into the guest's memory. A kernel that is entered directly with too little memory
    /// loops forever and prints nothing.
    fn check_memory(&self, kernel: &Kernel, loaded_bytes: usize) -> Result<(), ExperimentError> {
        let needed_mib = (loaded_bytes as u64 >> 20) + MEMORY_OVERHEAD_MIB;
        if u64::from(self.memory_mib) >= needed_mib {
            return Ok(());
        }
        let (spec, memory_mib) = (kernel.spec.clone(), self.memory_mib);
        Err(ExperimentError::Memory { spec, needed_mib, memory_mib })
    }

    fn setup(&self, kernel: &Kernel, modules: &[Module]) -> Setup {
        let additions = Additions { modules: !modules.is_empty(), programs: self.parts.has_programs() };
        Setup {
            machine: self.machine,
            pace: self.pace,
            memory_mib: self.memory_mib,
            command_line: machine::command_line(self.machine, self.pace, additions, &kernel.append),
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

impl AssembledGuest<'_> {
    /// The SHA-256 of all that its results depend on, as in [`Lab::identity`].
    pub fn identity(&self) -> &str {
        &self.lab.identity
    }

    /// Boots it and runs the experiment, as [`Experiment::run`] does.
    ///
    /// # Errors
    /// If the guest cannot be started or does not shut down properly. The emulator has ended in any case.
    pub fn run(
        self,
        host: Host<'_>,
        on_message: &mut dyn FnMut(&Message),
    ) -> Result<Outcome, ExperimentError> {
        let mut lab = self.lab.clone();
        let Self { experiment, emulator, image, initramfs, device_tree, .. } = &self;
        let directory = GuestDirectory::create().map_err(ExperimentError::Directory)?;
        directory.put(machine::KERNEL, image).map_err(ExperimentError::Directory)?;
        directory.put(machine::INITRAMFS, initramfs).map_err(ExperimentError::Directory)?;
        if let Some(tree) = device_tree {
            directory.put(machine::DEVICE_TREE, tree).map_err(ExperimentError::Directory)?;
        }
        if let Some(kept) = host.keep {
            self.keep(kept).map_err(ExperimentError::Keep)?;
        }
        let session = Session {
            machine: experiment.machine,
            emulator,
            confinement: host.confinement,
            arguments: &self.lab.arguments,
            directory: directory.path(),
            core: host.core,
            patience: experiment.patience,
            cancel: host.cancel,
            observer: None,
        };
        let mut output = Vec::new();
        let results = session.run(&mut |message| {
            if let Message::Output { text } = message {
                output.push(text.clone());
                if output.len() > OUTPUT_LINES_MAX {
                    output.remove(0);
                }
            }
            on_message(message);
        });
        let console = fs::read(directory.path().join(machine::CONSOLE)).unwrap_or_default();
        let results = match results {
            Ok(results) => results,
            Err(error) => return Err(ExperimentError::Session { error, console }),
        };
        lab.settled = results.settled;
        Ok(Outcome { lab, files: results.files, status: results.status, output, console })
    }

    /// Keeps its files, so that the run can be repeated.
    fn keep(&self, kept: &KeptGuests) -> io::Result<()> {
        match self.image_file.packed {
            Some(_) => kept.keep_packed(&self.lab.kernel.sha256, &self.image_file.path)?,
            None => kept.keep(&self.lab.kernel.sha256, &self.image)?,
        }
        kept.keep(&self.lab.initramfs_sha256, &self.initramfs)
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
    fs::read(path).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> ExperimentError {
    move |source| ExperimentError::File { path: path.display().to_string(), source }
}
