//! `tardy lab verify`: checks that runs are identical to the byte, independent of other work on the host.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
use serde::Serialize;
use tardy_lab::experiment::Host;
use tardy_lab::machine::Pace;
use tardy_lab::parallel_guests;
use tardy_measure::engine::result_file::ResultFile;
use tardy_recipe::wrong;
use tardy_record::{Run, file};
use tardy_sys::signals::EndSignals;
use tardy_sys::{files, scheduling};

use crate::assemble::{Guest, Prepared, print_notices};
use crate::prepare::prepare;
use crate::results::{comparable, run_file, run_of};
use tardy_args::LabVerifyArgs;
use tardy_command::{Exit, output};

/// Other work of the host while a guest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    /// No disturbance by tardy.
    None,
    /// The same guest on every other CPU.
    Neighbours,
    /// A busy loop on the emulator's CPU.
    Hog,
}

impl Disturbance {
    const ALL: [Self; 3] = [Self::None, Self::Neighbours, Self::Hog];

    fn name(self) -> &'static str {
        match self {
            Self::None => "alone",
            Self::Neighbours => "with the same guest on every other CPU",
            Self::Hog => "with a busy loop on its CPU",
        }
    }
}

/// Boots each kernel several times and compares the run files.
pub(crate) fn run(arguments: &LabVerifyArgs) -> Result<Exit> {
    let prepared = prepare(&arguments.experiment, &mut print_notices())?;
    if !matches!(prepared.experiment.pace, Pace::Instructions { .. }) {
        return Err(wrong(
            "realtime",
            "only a guest whose clock counts instructions is reproducible; remove --realtime and --kvm"
                .to_owned(),
        )
        .into());
    }
    prepared.warn_if_unconfined();
    let keeper = Keeper::of(arguments, &prepared.guests)?;
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let mut all = Vec::new();
    for guest in &prepared.guests {
        let verified = verify(&prepared, guest, arguments.rounds, &signals, &keeper)?;
        if !arguments.json {
            output::print(&verified.text())?;
        }
        all.push(verified);
    }
    if arguments.json {
        output::print_json(&all)?;
    }
    let all_equal = all.iter().all(|verified| verified.differences.is_empty());
    Ok(if all_equal { Exit::Done } else { Exit::Failed })
}

/// The result of one kernel's boots.
#[derive(Serialize)]
struct Verified {
    guest: String,
    rounds: u32,
    boots: u32,
    /// The boots whose run differs from that of the first.
    differences: Vec<Difference>,
}

/// A boot whose run differs from that of the first.
#[derive(Serialize)]
struct Difference {
    /// The round, from 1.
    round: u32,
    /// Other work of the host during the round.
    disturbance: &'static str,
    /// The first difference, for the user.
    what: String,
}

impl Verified {
    /// Lines for the user.
    fn text(&self) -> String {
        let Self { guest, rounds, boots, differences } = self;
        let line = |Difference { round, disturbance, what }: &Difference| {
            format!("{guest}: round {round}, {disturbance}: differs {what}\n")
        };
        let verdict = match differences.len() {
            0 => "the same bytes every time".to_owned(),
            differing => format!("{differing} of them differ from the first"),
        };
        let lines: String = differences.iter().map(line).collect();
        format!("{lines}{guest}: {boots} boots in {rounds} rounds, {verdict}\n")
    }
}

/// Keeps the first run of each kernel and those that differ from it, if a directory is given.
struct Keeper<'a> {
    directory: Option<&'a Path>,
    force: bool,
}

impl<'a> Keeper<'a> {
    /// Creates the directory and claims the paths of the first runs before anything boots.
    fn of(arguments: &'a LabVerifyArgs, guests: &[Guest]) -> Result<Self> {
        let keeper = Self { directory: arguments.output.as_deref(), force: arguments.force };
        if let Some(directory) = keeper.directory {
            files::make_directories(directory).with_context(|| directory.display().to_string())?;
            for guest in guests {
                ResultFile::claim(&run_file(directory, &guest.slug), keeper.force)?;
            }
        }
        Ok(keeper)
    }

    fn keep(&self, name: &str, run: &Run) -> Result<()> {
        let Some(directory) = self.directory else { return Ok(()) };
        let place = ResultFile::claim(&run_file(directory, name), self.force)?;
        place.write(file::to_text(run).as_bytes())?;
        output::report(&format!("run file {}", place.path().display()));
        Ok(())
    }
}

/// Boots one kernel `rounds` times, with each disturbance in turn.
fn verify(
    prepared: &Prepared,
    guest: &Guest,
    rounds: u32,
    signals: &EndSignals,
    keeper: &Keeper<'_>,
) -> Result<Verified> {
    let mut first: Option<String> = None;
    let mut differences = Vec::new();
    let mut booted = 0;
    for round in 0..rounds {
        let disturbance = Disturbance::ALL[round as usize % Disturbance::ALL.len()];
        for run in boot(prepared, guest, disturbance, signals)? {
            booted += 1;
            let bytes = comparable(&run);
            let Some(first) = &first else {
                keeper.keep(&guest.slug, &run)?;
                first = Some(bytes);
                continue;
            };
            if *first != bytes {
                keeper.keep(&format!("{}-boot{booted}", guest.slug), &run)?;
                let what = first_difference(first, &bytes);
                differences.push(Difference { round: round + 1, disturbance: disturbance.name(), what });
            }
        }
    }
    Ok(Verified { guest: guest.slug.clone(), rounds, boots: booted, differences })
}

/// The runs of one round, one for each guest.
fn boot(
    prepared: &Prepared,
    guest: &Guest,
    disturbance: Disturbance,
    signals: &EndSignals,
) -> Result<Vec<Run>> {
    let count = if disturbance == Disturbance::Neighbours { prepared.cores.len().max(2) } else { 1 };
    let stop = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        if disturbance == Disturbance::Hog {
            let (core, stop) = (prepared.cores[0], &stop);
            scope.spawn(move || hog(core, stop));
        }
        let job = |_, core: Option<u32>, on_message: parallel_guests::OnMessage<'_>| {
            let cancel = Some(signals.as_raw_fd());
            // A guest alone shares its CPU with the busy loop.
            let core = core.or(prepared.cores.first().copied());
            let host = Host { core, cancel, confinement: &prepared.confinement, keep: None };
            prepared.experiment.run(&guest.kernel, guest.modules.clone(), host, on_message)
        };
        let outcomes = parallel_guests::run(count, &prepared.cores, job, |_, _| {});
        stop.store(true, Ordering::Relaxed);
        outcomes
    });
    outcomes.into_iter().map(|outcome| run_of(&outcome?)).collect()
}

fn hog(core: u32, stop: &AtomicBool) {
    // If pinning fails, the loop still keeps some CPU busy.
    let _ = scheduling::set_affinity(&[core]);
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// The characters of a run file that are shown before its first difference, and from there on.
const SHOWN: usize = 60;

/// The first difference between two run files, which have a single line, for the user.
pub(crate) fn first_difference(first: &str, second: &str) -> String {
    let mut pairs = first.char_indices().zip(second.chars());
    let Some(((at, _), _)) = pairs.find(|((_, a), b)| a != b) else { return "in length".to_owned() };
    let excerpt = |text: &str| {
        let before: Vec<char> = text[..at].chars().rev().take(SHOWN).collect();
        let after = text[at..].chars().take(SHOWN);
        before.into_iter().rev().chain(after).collect::<String>().trim().to_owned()
    };
    format!("from byte {at}: '{}' was '{}'", excerpt(second), excerpt(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_of_two_runs_is_reported() {
        assert_eq!(first_difference("abc", "aBc"), "from byte 1: 'aBc' was 'abc'");
        let (long, other) = ("é".repeat(900), "é".repeat(400) + "x" + &"é".repeat(499));
        let shown = first_difference(&long, &other);
        assert!(shown.starts_with("from byte 800: ") && shown.chars().count() < 4 * SHOWN + 40, "{shown}");
        assert_eq!(first_difference("a\n", "a\nb\n"), "in length");
    }
}
