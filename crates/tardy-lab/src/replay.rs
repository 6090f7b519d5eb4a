//! Runs a guest again as a run file describes it, with an observer in the emulator.
//!
//! A run file may come from somebody else. Of its description only the machine, the memory, the kernel's command line and hashes are
//! used; the emulator's arguments are made anew and must be those of the file.

use std::fs::{self, File};
use std::io;
use std::time::Duration;

use tardy_init::messages::Message;
use tardy_record::lab::{Lab, LabClock};
use thiserror::Error;

use crate::experiment::Host;
use crate::guest_directory::GuestDirectory;
use crate::kept_guests::{KeptGuests, Missing};
use crate::machine::{self, Machine, Pace, Setup};
use crate::observer::{MEMORY, OBSERVED, Observer};
use crate::session::{self, EmulatorError, GuestResults, Installed, Session, SessionError};

/// A guest that was run before.
#[derive(Debug)]
pub struct Replay {
    machine: Machine,
    emulator: Installed,
    arguments: Vec<String>,
    memory_mib: u32,
    image: Vec<u8>,
    initramfs: Vec<u8>,
}

/// What an observed guest returned.
#[derive(Debug)]
pub struct Replayed {
    /// The guest's results.
    pub results: GuestResults,
    /// The observer's file.
    pub observed: Vec<u8>,
    /// The guest's memory at the end. The file has no name any more.
    pub memory: File,
}

/// Why a run cannot be repeated.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Its clock did not count instructions.
    #[error(
        "it was not measured with a clock that counts instructions (--realtime or --kvm), so it cannot be repeated exactly"
    )]
    Clock,
    /// Only PCs can be observed.
    #[error("it is of the machine '{0}'; only guests of the machine 'pc' (x86-64) can be observed")]
    Machine(String),
    /// The emulator is another one.
    #[error("it was measured with QEMU {then}, but QEMU {now} is installed; measure again with this one")]
    Emulator {
        /// That of the run.
        then: String,
        /// The one that is installed.
        now: String,
    },
    /// The emulator was run differently.
    #[error(
        "it was measured with emulator arguments that this tardy does not use ('{then}', now '{now}'); measure again with this one"
    )]
    Arguments {
        /// The first argument of the run that differs.
        then: String,
        /// What it is now.
        now: String,
    },
    /// A file of the guest is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The emulator failed.
    #[error(transparent)]
    Start(#[from] EmulatorError),
    /// A file of the guest cannot be written or read.
    #[error("the guest's directory cannot be used: {0}")]
    Directory(io::Error),
    /// The guest did not shut down properly.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Replay {
    /// Finds all that the run consisted of.
    ///
    /// # Errors
    /// If a part of it is not available.
    pub fn of(lab: &Lab, kept: &KeptGuests) -> Result<Self, ReplayError> {
        let LabClock::Instructions { shift } = lab.clock else { return Err(ReplayError::Clock) };
        let machine = Machine::Pc;
        if lab.machine != machine.name() {
            return Err(ReplayError::Machine(lab.machine.clone()));
        }
        let emulator = session::installed(machine)?;
        if emulator.version != lab.emulator {
            return Err(ReplayError::Emulator { then: lab.emulator.clone(), now: emulator.version });
        }
        let after_m = lab.arguments.iter().skip_while(|argument| *argument != "-m").nth(1);
        let memory_mib = after_m.and_then(|mib| mib.parse().ok()).unwrap_or(0);
        let setup = Setup {
            machine,
            pace: Pace::Instructions { shift },
            memory_mib,
            command_line: lab.command_line.clone(),
        };
        let arguments = machine::emulator_arguments(&setup);
        if arguments != lab.arguments {
            return Err(difference(&lab.arguments, &arguments));
        }
        Ok(Self {
            machine,
            emulator,
            arguments,
            memory_mib,
            image: kept.find("kernel", &lab.kernel.sha256)?,
            initramfs: kept.find("initramfs", &lab.initramfs_sha256)?,
        })
    }

    /// The kernel's image.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The guest's memory in MiB.
    pub fn memory_mib(&self) -> u32 {
        self.memory_mib
    }

    /// The emulator's version, as it reports it.
    pub fn emulator_version(&self) -> &str {
        &self.emulator.version
    }

    /// Boots the guest and watches it.
    ///
    /// # Errors
    /// If the guest does not shut down properly. The emulator has ended in any case.
    pub fn run(
        &self,
        observer: &Observer,
        host: Host<'_>,
        patience: Duration,
        on_message: &mut dyn FnMut(&Message),
    ) -> Result<Replayed, ReplayError> {
        let directory = GuestDirectory::create().map_err(ReplayError::Directory)?;
        let files = [(machine::KERNEL, &self.image[..]), (machine::INITRAMFS, &self.initramfs[..])];
        for (name, content) in files.into_iter().chain(observer.files()) {
            directory.put(name, content).map_err(ReplayError::Directory)?;
        }
        let session = Session {
            machine: self.machine,
            emulator: &self.emulator,
            confinement: host.confinement,
            arguments: &observer.arguments(&self.arguments),
            directory: directory.path(),
            core: host.core,
            patience,
            cancel: host.cancel,
            observer: Some(observer),
        };
        let results = session.run(on_message)?;
        let observed = fs::read(directory.path().join(OBSERVED)).map_err(ReplayError::Directory)?;
        let memory = File::open(directory.path().join(MEMORY)).map_err(ReplayError::Directory)?;
        Ok(Replayed { results, observed, memory })
    }
}

fn difference(then: &[String], now: &[String]) -> ReplayError {
    let at = then.iter().zip(now).position(|(then, now)| then != now).unwrap_or(then.len().min(now.len()));
    let argument = |all: &[String]| all.get(at).cloned().unwrap_or_else(|| "nothing".to_owned());
    ReplayError::Arguments { then: argument(then), now: argument(now) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_that_differs_is_named() {
        let strings = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let error = difference(&strings(&["-m", "512", "-smp"]), &strings(&["-m", "256"]));
        assert!(error.to_string().contains("'512', now '256'"), "{error}");
        let error = difference(&strings(&["-m", "512", "-smp"]), &strings(&["-m", "512"]));
        assert!(error.to_string().contains("'-smp', now 'nothing'"), "{error}");
    }
}
