//! Opens a run file, also that of a run in progress or of a killed run.
//!
//! Both have the state "running" in the file; the map distinguishes them. While a process has the map open, the run is
//! in progress. Otherwise the run was killed, and is sealed with the numbers in the map.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tardy_record::file::{self, RunFileError, SIZE_MAX};
use tardy_record::pins::ReactionPlan;
use tardy_record::plan::{NoiseThread, Policy};
use tardy_record::run::State;
use tardy_record::series::SeriesKind;
use tardy_record::wiggle::{EdgeSeries, Seen};
use tardy_record::{Run, Series, validity};
use tardy_sys::shared_map::{self, SharedMap};
use thiserror::Error;

use tardy_probe::cells::{CELLS, HEADER_RUN_START, HEADER_SAMPLES_KEPT};
use tardy_probe::order::Granted;
use tardy_probe::timer::reading::{Of, Place};

use crate::engine::result_file::ResultFile;
use crate::engine::{RunFile, counters_of_phase, map_of_phase};
use crate::sources::own_probe::{LiveSeries, setup_of};

/// Why a run cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is larger than any run.
    #[error("{path} is not a run file: it has {size} bytes, more than the limit of {SIZE_MAX}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The file does not contain a run.
    #[error("{path}: {source}")]
    Content {
        /// The file.
        path: PathBuf,
        /// The error.
        source: RunFileError,
    },
}

/// A run that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The run.
    pub run: Run,
    /// A remark for the user, such as that the run was recovered or is still in progress.
    pub remark: Option<String>,
}

/// Opens a run file. A killed run is completed from its map and sealed.
pub fn open(path: &Path) -> Result<Opened, OpenError> {
    let text = read(path)?;
    let mut run =
        file::from_text(&text).map_err(|source| OpenError::Content { path: path.to_owned(), source })?;
    if run.progress.state != State::Running {
        return Ok(Opened { run, remark: None });
    }
    let current = run.phases.len().saturating_sub(1);
    let maps: Vec<PathBuf> = [current, current + 1]
        .into_iter()
        .filter_map(|phase| map_of_phase(&run.origin.id, phase))
        .filter(|map| map.exists())
        .collect();
    if maps.iter().any(|map| shared_map::is_in_use(map).unwrap_or(false)) {
        if let Some(map) = maps.first().and_then(|map| SharedMap::open(map).ok().map(Rc::new)) {
            overlay(&mut run, &map, current);
        }
        run.validity = validity::judge(&run);
        return Ok(Opened {
            run,
            remark: Some("this run is still in progress; these are its numbers so far".to_owned()),
        });
    }
    let counters = counters_of_phase(path, current);
    let source = if overlaid(&mut run, maps.first(), current) {
        Recovered::Memory
    } else if overlaid(&mut run, Some(&counters), current) {
        Recovered::Counters
    } else {
        Recovered::Checkpoint
    };
    let leftovers: Vec<PathBuf> = maps.into_iter().chain(Some(counters)).collect();
    Ok(seal(path, run, &leftovers, source))
}

/// The place of the last numbers of a killed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovered {
    /// In the map.
    Memory,
    /// In the copy of its counters.
    Counters,
    /// In the run file itself.
    Checkpoint,
}

impl Recovered {
    fn describe(self) -> &'static str {
        match self {
            Self::Memory => "its last numbers were still in memory, so no count is lost",
            Self::Counters => "its counters were on the disk, so at most the last 5 s are lost",
            Self::Checkpoint => "these are the numbers of its last checkpoint",
        }
    }
}

fn overlaid(run: &mut Run, map: Option<&PathBuf>, phase: usize) -> bool {
    let map = map.and_then(|map| SharedMap::open(map).ok().map(Rc::new));
    map.is_some_and(|map| overlay(run, &map, phase))
}

/// Removes a run file that is no longer needed, and the maps that its run left if it was killed.
pub(crate) fn discard(path: &Path) {
    if let Some(run) = read(path).ok().and_then(|text| file::from_text(&text).ok()) {
        let maps = (0..=run.plan.phases.len()).filter_map(|phase| map_of_phase(&run.origin.id, phase));
        for map in maps.filter(|map| shared_map::is_in_use(map).is_ok_and(|in_use| !in_use)) {
            let _ = fs::remove_file(map);
        }
        for phase in 0..run.phases.len() {
            let _ = fs::remove_file(counters_of_phase(path, phase));
        }
    }
    let _ = fs::remove_file(path);
}

fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    let fail = |source| OpenError::Io { path: path.to_owned(), source };
    // Reading a pipe or a device might never end.
    if !path.metadata().map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(fail)?;
    let mut text = Vec::new();
    let size = file.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(fail)? as u64;
    if size > SIZE_MAX {
        return Err(OpenError::TooLarge { path: path.to_owned(), size });
    }
    Ok(text)
}

/// Replaces the last checkpoint's numbers by those in the map. Returns whether the map had any.
fn overlay(run: &mut Run, map: &Rc<SharedMap>, phase: usize) -> bool {
    let Some(plan) = run.plan.phases.get(phase).cloned() else { return false };
    let Some(setup) = setup_of(&plan, false) else { return false };
    let counters = setup.counters;
    let fits = !counters.is_empty() && map.block_count() == counters.len() && map.cell_count() == CELLS;
    if phase >= run.phases.len() || !fits {
        return false;
    }
    let run_start_ns = map.header(HEADER_RUN_START).get();
    let mut found = false;
    for (block, counter) in counters.into_iter().enumerate() {
        let (of, policy) = (counter.of, counter.policy);
        let place = place(run, phase, (of, policy), run_start_ns);
        let mut live = LiveSeries::new(Rc::clone(map), block, place, 0);
        let slot = run.series.iter().position(|known| is_of(known, phase, of));
        if let Some(slot) = slot {
            live.adopt_slices(std::mem::take(&mut run.series[slot].slices));
        }
        live.read_remains();
        live.cut_slice(true);
        let Some(mut series) = live.series() else { continue };
        if let Some(slot) = slot {
            keep_supervisors_knowledge(&mut series, &run.series[slot]);
            keep_times(&run.series[slot], &mut series);
            run.series[slot] = series;
        } else {
            run.series.push(series);
        }
        found = true;
    }
    if let Some(samples) = &mut run.samples {
        samples.kept = samples.kept.max(map.header(HEADER_SAMPLES_KEPT).get());
    }
    run.refresh_progress();
    found
}

/// Copies data that only the supervisor had from the last checkpoint's series `known`.
fn keep_supervisors_knowledge(series: &mut Series, known: &Series) {
    for outlier in &mut series.worst {
        if let Some(known) = known.worst.iter().find(|known| known.at_ns == outlier.at_ns) {
            outlier.around.clone_from(&known.around);
            outlier.moment.clone_from(&known.moment);
        }
    }
    if let (SeriesKind::Timer(timer), Some(known)) = (&mut series.kind, known.timer()) {
        timer.causes.clone_from(&known.causes);
    }
}

/// Whether `known` is the series that `of` describes, in this phase.
fn is_of(known: &Series, phase: usize, of: Of<'_>) -> bool {
    let same = match of {
        Of::Timer { .. } => known.timer().is_some(),
        Of::Noise(_) | Of::Holes(_) => known.gaps().is_some(),
        Of::Toggles { .. } => known.edges().is_some_and(|edges| matches!(edges.seen, Seen::Written { .. })),
        Of::Reaction { .. } | Of::Echo(_) => {
            known.reaction().is_some_and(|known| Some((known.from, known.to)) == of.between())
        }
    };
    known.phase == phase && same && known.cpu() == of.cpu()
}

/// Copies the times of gaps from the last checkpoint's series: the map does not contain them.
fn keep_times(known: &Series, series: &mut Series) {
    if let (Some(known), SeriesKind::Gaps(gaps)) = (known.gaps(), &mut series.kind) {
        gaps.first.clone_from(&known.first);
        gaps.windows.clone_from(&known.windows);
        gaps.longest.clone_from(&known.longest);
        gaps.longest_from_ns = known.longest_from_ns;
    }
}

/// The context of the block `of`, whose thread requested `policy`.
fn place<'a>(run: &Run, phase: usize, (of, policy): (Of<'a>, Policy), run_start_ns: u64) -> Place<'a> {
    let known = run.series.iter().find(|known| is_of(known, phase, of)).map(|known| &known.kind);
    // A run that was killed before its first checkpoint records only refused requests, as remarks of the phase.
    let refused = run.phases[phase].remarks.iter().any(|remark| remark.contains("was refused"));
    let granted = match known {
        Some(SeriesKind::Timer(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: known.pinned }
        }
        Some(SeriesKind::Reaction(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: true }
        }
        Some(SeriesKind::Edges(EdgeSeries { seen: Seen::Written { policy, priority, .. }, .. })) => {
            Granted { policy: *policy, priority: *priority, pinned: true }
        }
        Some(SeriesKind::Gaps(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: true }
        }
        _ => match of {
            Of::Timer { thread, .. } if refused => {
                Granted { policy: Policy::Other, priority: 0, pinned: thread.pinned }
            }
            Of::Timer { timer, thread } => {
                Granted { policy: timer.policy, priority: thread.priority, pinned: thread.pinned }
            }
            Of::Noise(NoiseThread { priority, .. })
            | Of::Holes(NoiseThread { priority, .. })
            | Of::Toggles { thread: NoiseThread { priority, .. }, .. }
            | Of::Reaction { reaction: ReactionPlan { priority, .. }, .. }
            | Of::Echo(ReactionPlan { priority, .. }) => Granted {
                policy: if refused { Policy::Other } else { policy },
                priority: if refused { 0 } else { *priority },
                pinned: true,
            },
        },
    };
    Place { phase, of, granted, run_start_ns }
}

fn seal(path: &Path, mut run: Run, leftovers: &[PathBuf], source: Recovered) -> Opened {
    run.progress.state = State::CutShort;
    // Samples in the rings are not added to the samples file: its name comes from the run file, which any user may have
    // written, so it must not be trusted for writing. Only samples that the supervisor had not read yet are lost.
    let recorded = run.recorded_samples();
    if let Some(samples) = &mut run.samples {
        samples.settle(recorded);
    }
    run.validity = validity::judge(&run);
    let source = source.describe();
    let sealed = ResultFile::claim(path, true)
        .and_then(|file| RunFile::at(file, !run.redacted.is_empty()).write(&run));
    let remark = match sealed {
        Ok(()) => {
            for leftover in leftovers {
                let _ = fs::remove_file(leftover);
            }
            format!("this run was cut short; {source}, and the file is now sealed")
        }
        Err(error) => format!("this run was cut short; {source}. It could not be sealed: {error}"),
    };
    Opened { run, remark: Some(remark) }
}
